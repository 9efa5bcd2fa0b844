"""``autograd.numpy.linalg``: NumPy's, which is agnesi's inside of derivatives."""

from __future__ import annotations

from typing import Any

import numpy.linalg as _theirs

import agnesi as _agnesi
from agnesi.compat.autograd.numpy.forwarding import forwarding as _forwarding
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.core.support.errors import ShapeError as _ShapeError


def _half(x: Any, upper: bool) -> Any:
    """The Hermitian matrix of which one triangle is given: the other one has no gradient."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise _ShapeError("the matrices must be square")  # the caller is named with its arguments
    part = _agnesi.triu(x, 1) if upper else _agnesi.tril(x, -1)
    diagonal = _agnesi.real(_agnesi.diagonal(x, axis1=-2, axis2=-1))
    middle = diagonal[..., None] * _agnesi.eye(x.shape[-1], dtype=diagonal.dtype)
    return part + _agnesi.conj(_agnesi.swapaxes(part, -1, -2)) + middle


eigh = _lifted(_theirs.eigh, lambda a, UPLO="L": _agnesi.linalg.eigh(_half(a, UPLO == "U"), UPLO))
eigvalsh = _lifted(_theirs.eigvalsh,
                   lambda a, UPLO="L": _agnesi.linalg.eigvalsh(_half(a, UPLO == "U"), UPLO))
__getattr__ = _forwarding(__name__, _theirs)
