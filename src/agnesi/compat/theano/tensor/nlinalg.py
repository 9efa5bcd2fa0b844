"""``theano.tensor.nlinalg``: linear algebra that Theano takes from NumPy."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as _F
from agnesi.api import linalg as _ours
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.opclasses import named as _named
from agnesi.compat.theano.tensor.shaping import diag as _diag
from agnesi.compat.theano.variable import bare as _bare
from agnesi.compat.theano.variable import forwarding as _forwarding
from agnesi.compat.theano.variable import lifted as _lifted
from agnesi.compat.theano.variable import wrapped as _wrapped
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


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix, of which one half is read."""
    matrix = _bare(as_tensor_variable(a))
    half = _F.tril(matrix) if UPLO == "L" else _F.triu(matrix).mT
    whole = half + _F.conj(_F.tril(half, -1)).mT
    return list(_wrapped(_ours.eigh(whole)))


def norm(x: Any, ord: Any = None) -> Any:
    """The norm of a vector or a matrix, in NumPy's words."""
    return _lifted(_ours.norm)(x, ord=ord)


#: Theano's classes of operations, which are called to make one.
MatrixInverse = _named("MatrixInverse", "inv", makes=lambda: _lifted(_ours.inv))
MatrixPinv = _named("MatrixPinv", "pinv", makes=lambda: _lifted(_ours.pinv))
Det = _named("Det", "det", makes=lambda: _lifted(_ours.det))
Eigh = _named("Eigh", "eigh", makes=lambda UPLO="L": lambda a: eigh(a, UPLO))
SVD = _named("SVD", "svd", makes=lambda full_matrices=True, compute_uv=True: (
    lambda a: svd(a, full_matrices, compute_uv)))


__getattr__ = _forwarding(__name__, _ours, _RENAMED)


_strictly(__name__)
