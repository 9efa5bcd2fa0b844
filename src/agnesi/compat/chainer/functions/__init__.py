"""``chainer.functions``: functions of variables, and those with parameters as Chainer 1.0 had."""

from agnesi.compat.chainer.functions.activation import *  # noqa: F403
from agnesi.compat.chainer.functions.array import *  # noqa: F403
from agnesi.compat.chainer.functions.connection import *  # noqa: F403
from agnesi.compat.chainer.functions.loss import *  # noqa: F403
from agnesi.compat.chainer.functions.math import *  # noqa: F403
from agnesi.compat.chainer.functions.noise import *  # noqa: F403
from agnesi.compat.chainer.functions.pooling import *  # noqa: F403
from agnesi.compat.chainer.parameterized import *  # noqa: F403
