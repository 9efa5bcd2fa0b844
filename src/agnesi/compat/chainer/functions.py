"""``chainer.functions``: functions of variables, and those with parameters as Chainer 1.0 had."""

import sys as _sys

from agnesi.compat.chainer import forms as _forms
from agnesi.compat.chainer.forms.activation import *  # noqa: F403
from agnesi.compat.chainer.forms.array import *  # noqa: F403
from agnesi.compat.chainer.forms.connection import *  # noqa: F403
from agnesi.compat.chainer.forms.loss import *  # noqa: F403
from agnesi.compat.chainer.forms.math import *  # noqa: F403
from agnesi.compat.chainer.forms.noise import *  # noqa: F403
from agnesi.compat.chainer.forms.pooling import *  # noqa: F403
from agnesi.compat.chainer.parameterized import *  # noqa: F403
from agnesi.core.keywords import strictly as _strictly

#: Modules of Chainer's that its examples import functions from.
for _path in ("pooling_2d", "loss.vae", "activation", "array", "connection", "loss", "math",
              "noise", "pooling"):
    _sys.modules[f"{__name__}.{_path}"] = getattr(_forms, _path.partition("_")[0].partition(".")[0])

_strictly(__name__)
