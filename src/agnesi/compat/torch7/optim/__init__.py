"""Torch7's ``optim``: ``x, losses = optim.sgd(feval, x, state)``, with x changed in place.

``feval(x)`` gives the loss and its gradient, a tensor like x; ``state`` is a dict that holds
parameters of the method and what it remembers.
"""

from agnesi.compat.torch7.optim.records import ConfusionMatrix as ConfusionMatrix
from agnesi.compat.torch7.optim.records import Logger as Logger
from agnesi.compat.torch7.optim.searches import FistaLS as FistaLS
from agnesi.compat.torch7.optim.searches import checkgrad as checkgrad
from agnesi.compat.torch7.optim.searches import cmaes as cmaes
from agnesi.compat.torch7.optim.searches import de as de
from agnesi.compat.torch7.optim.searches import lswolfe as lswolfe
from agnesi.compat.torch7.optim.searches import polyinterp as polyinterp
from agnesi.compat.torch7.optim.steps import adadelta as adadelta
from agnesi.compat.torch7.optim.steps import adagrad as adagrad
from agnesi.compat.torch7.optim.steps import adam as adam
from agnesi.compat.torch7.optim.steps import adamax as adamax
from agnesi.compat.torch7.optim.steps import asgd as asgd
from agnesi.compat.torch7.optim.steps import cg as cg
from agnesi.compat.torch7.optim.steps import lbfgs as lbfgs
from agnesi.compat.torch7.optim.steps import nag as nag
from agnesi.compat.torch7.optim.steps import rmsprop as rmsprop
from agnesi.compat.torch7.optim.steps import rprop as rprop
from agnesi.compat.torch7.optim.steps import sgd as sgd
from agnesi.core.keywords import strictly as _strictly

_strictly(__name__)
