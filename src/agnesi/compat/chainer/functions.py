"""``chainer.functions``: functions of variables, and those with parameters as Chainer 1.0 had."""

import sys as _sys

from agnesi.compat.chainer.forms import pooling as _pooling
from agnesi.compat.chainer.forms.activation import *  # noqa: F403
from agnesi.compat.chainer.forms.array import *  # noqa: F403
from agnesi.compat.chainer.forms.connection import *  # noqa: F403
from agnesi.compat.chainer.forms.loss import *  # noqa: F403
from agnesi.compat.chainer.forms.math import *  # noqa: F403
from agnesi.compat.chainer.forms.noise import *  # noqa: F403
from agnesi.compat.chainer.forms.pooling import *  # noqa: F403
from agnesi.compat.chainer.parameterized import *  # noqa: F403
from agnesi.core.keywords import strictly as _strictly

#: The module of Chainer 1.0 that its examples import.
_sys.modules[f"{__name__}.pooling_2d"] = _pooling

_strictly(__name__)
