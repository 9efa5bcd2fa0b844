"""``theano.tensor.nlinalg``: linear algebra that Theano takes from NumPy."""

from __future__ import annotations

from typing import Any

from agnesi.api import linalg as _ours
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.shaping import diag as _diag
from agnesi.compat.theano.variable import lent as _lent
from agnesi.compat.theano.variable import lifted as _lifted
from agnesi.core.keywords import strictly as _strictly

_RENAMED = {"matrix_inverse": "inv"}


def matrix_dot(*matrices: Any) -> Any:
    """The product of matrices, from left to right."""
    found = as_tensor_variable(matrices[0])
    for x in matrices[1:]:
        found = found.dot(x)
    return found


def alloc_diag(x: Any) -> Any:
    """A vector as a diagonal matrix."""
    return _diag(x)


diag, extract_diag = _diag, _diag


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """U, s, V with a = U diag(s) V; s alone without ``compute_uv``."""
    if not compute_uv:
        return _lifted(_ours.svdvals)(a)
    return list(_lifted(_ours.svd)(a, full_matrices=full_matrices))


def norm(x: Any, ord: Any = None) -> Any:
    """The norm of a vector or a matrix, in NumPy's words."""
    return _lifted(_ours.norm)(x, ord=ord)


__getattr__ = _lent(__name__, _ours, _RENAMED)


_strictly(__name__)
