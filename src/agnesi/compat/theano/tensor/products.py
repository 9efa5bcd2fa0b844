"""Products over the last axes of operands whose other axes broadcast, of a dtype that is requested.
"""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import cast
from agnesi.compat.theano.variable import Variable, lifted


def matmul(x1: Any, x2: Any, dtype: Any = None) -> Variable:
    """Products of matrices."""
    return _of(F.matmul, x1, x2, dtype)


def matvec(x1: Any, x2: Any, dtype: Any = None) -> Variable:
    """Products of matrices and vectors."""
    return _of(F.matvec, x1, x2, dtype)


def vecmat(x1: Any, x2: Any, dtype: Any = None) -> Variable:
    """Products of vectors and matrices."""
    return _of(F.vecmat, x1, x2, dtype)


def vecdot(x1: Any, x2: Any, dtype: Any = None) -> Variable:
    """Products of vectors."""
    return _of(F.vecdot, x1, x2, dtype)


def _of(product: Any, x1: Any, x2: Any, dtype: Any) -> Variable:
    found = lifted(product)(x1, x2)
    return found if dtype is None else cast(found, dtype)
