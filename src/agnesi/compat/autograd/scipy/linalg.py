"""``autograd.scipy.linalg``: SciPy's, which is agnesi's inside of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as _np
import scipy.linalg as _theirs

import agnesi.api.linalg as _ours
from agnesi.compat.autograd.numpy.forwarding import forwarding as _forwarding
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.values import getval as _getval


def _sqrtm(a: Any, **ignored: Any) -> Any:
    """The square root, which is complex where SciPy's is."""
    turns = _np.iscomplexobj(_theirs.sqrtm(_getval(a)))
    return _ours.sqrtm(a.astype("complex128") if turns else a)


sqrtm = _lifted(_theirs.sqrtm, _sqrtm)
__getattr__ = _forwarding(__name__, _theirs, ours=_ours)
