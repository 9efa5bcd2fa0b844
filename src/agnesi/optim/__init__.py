"""Optimizers and learning-rate schedules.

In: parameters with gradients, or groups of them with options. Out: the same, changed in place.
What must hold: steps are PyTorch's, eager and compiled, and states load from PyTorch's.
"""

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.core.support.paths import add_paths as _add_paths
from agnesi.optim import by_hand as _by_hand  # noqa: F401 - importing it is what counts
from agnesi.optim import flat as flat
from agnesi.optim import lr_scheduler as lr_scheduler
from agnesi.optim import swa_utils as swa_utils
from agnesi.optim.adam import Adam as Adam
from agnesi.optim.adam import AdamW as AdamW
from agnesi.optim.adaptive import Adadelta as Adadelta
from agnesi.optim.adaptive import Adagrad as Adagrad
from agnesi.optim.adaptive import RMSprop as RMSprop
from agnesi.optim.adaptive import Rprop as Rprop
from agnesi.optim.groups import ParameterGroup as ParameterGroup
from agnesi.optim.lbfgs import LBFGS as LBFGS
from agnesi.optim.matrices import Adafactor as Adafactor
from agnesi.optim.matrices import Muon as Muon
from agnesi.optim.matrices import SparseAdam as SparseAdam
from agnesi.optim.moments import ASGD as ASGD
from agnesi.optim.moments import Adamax as Adamax
from agnesi.optim.moments import Lamb as Lamb
from agnesi.optim.moments import Lion as Lion
from agnesi.optim.moments import NAdam as NAdam
from agnesi.optim.moments import RAdam as RAdam
from agnesi.optim.optimizer import Optimizer as Optimizer
from agnesi.optim.sgd import SGD as SGD

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.optim'", name)


_add_paths(__name__, """
    adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd
""")
_strictly(__name__)
