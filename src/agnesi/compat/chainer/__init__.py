"""Chainer 1 for programs that were written for it: change the import (and Python 2's syntax).

Variables hold NumPy's arrays and know which function made them; values and gradients of functions
are agnesi's.  Devices are the processor.

Examples
--------
>>> import numpy as np
>>> from agnesi.compat.chainer import FunctionSet, Variable, functions as F, optimizers
>>> model = FunctionSet(l1=F.Linear(2, 3), l2=F.Linear(3, 1))
>>> optimizer = optimizers.SGD(lr=0.1)
>>> optimizer.setup(model.collect_parameters())
>>> optimizer.zero_grads()
>>> x = Variable(np.ones((4, 2), dtype=np.float32))
>>> loss = F.sum(model.l2(F.tanh(model.l1(x))) ** 2)
>>> loss.backward()
>>> optimizer.update()
"""

from agnesi.compat.chainer import computational_graph as computational_graph
from agnesi.compat.chainer import cuda as cuda
from agnesi.compat.chainer import functions as functions
from agnesi.compat.chainer import gradient_check as gradient_check
from agnesi.compat.chainer import links as links
from agnesi.compat.chainer import optimizer as optimizer
from agnesi.compat.chainer import optimizers as optimizers
from agnesi.compat.chainer import serializers as serializers
from agnesi.compat.chainer import utils as utils
from agnesi.compat.chainer.function import Function as Function
from agnesi.compat.chainer.function_set import FunctionSet as FunctionSet
from agnesi.compat.chainer.link import Chain as Chain
from agnesi.compat.chainer.link import ChainList as ChainList
from agnesi.compat.chainer.link import Link as Link
from agnesi.compat.chainer.optimizer import GradientMethod as GradientMethod
from agnesi.compat.chainer.optimizer import Optimizer as Optimizer
from agnesi.compat.chainer.variable import Variable as Variable
from agnesi.core.keywords import strictly as _strictly

__version__ = "1.8.0"

_strictly(__name__)
