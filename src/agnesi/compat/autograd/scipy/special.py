"""``autograd.scipy.special``: SciPy's, which is agnesi's inside of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as _np
import scipy.special as _theirs

import agnesi.api.special as _ours
import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.extend import defjvp as _defjvp
from agnesi.compat.autograd.extend import defvjp as _defvjp
from agnesi.compat.autograd.extend import primitive as _primitive
from agnesi.compat.autograd.numpy.forwarding import forwarding as _forwarding
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted

_complex_erf = _primitive(_theirs.erf)
_defvjp(_complex_erf, lambda ans, x: lambda g: g * 2 / _np.sqrt(_np.pi) * np.exp(-x * x))
_defjvp(_complex_erf, lambda g, ans, x: g * 2 / _np.sqrt(_np.pi) * np.exp(-x * x))


def _erf(x: Any) -> Any:
    return _complex_erf(x) if x.dtype.kind == "c" else _ours.erf(x)


def _erfc(x: Any) -> Any:
    return 1 - _complex_erf(x) if x.dtype.kind == "c" else _ours.erfc(x)


erf, erfc = _lifted(_theirs.erf, _erf), _lifted(_theirs.erfc, _erfc)
__getattr__ = _forwarding(__name__, _theirs, ours=_ours)
