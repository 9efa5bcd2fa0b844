"""Triangles of matrices, whose diagonal may be a variable, and where they are."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import _grid, as_tensor_variable
from agnesi.compat.theano.variable import Variable, bare, lifted, wrapped


def tril(m: Any, k: Any = 0) -> Variable:
    """The elements up to a diagonal, zeros above it."""
    return _part(F.less_equal, F.tril, m, k)


def triu(m: Any, k: Any = 0) -> Variable:
    """The elements from a diagonal on, zeros below it."""
    return _part(F.greater_equal, F.triu, m, k)


def _part(inside: Any, known: Any, m: Any, k: Any) -> Variable:
    m = as_tensor_variable(m)
    if not isinstance(k, Variable):
        return lifted(known)(m, k)
    rows, columns = _grid(*m._value.shape[-2:])
    return wrapped(F.where(inside(columns - rows, bare(k)), m._value, 0))


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Rows and columns of the elements up to a diagonal of a matrix of ``n`` rows."""
    return _places(F.less_equal, n, k, m)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Rows and columns of the elements from a diagonal on, of a matrix of ``n`` rows."""
    return _places(F.greater_equal, n, k, m)


def _places(inside: Any, n: Any, k: Any, m: Any) -> Any:
    rows, columns = _grid(n, m)
    return list(wrapped(F.nonzero(inside(columns - rows, bare(k)))))


def tril_indices_from(a: Any, k: Any = 0) -> Any:
    """The same for a matrix."""
    return tril_indices(*_sizes(a, k))


def triu_indices_from(a: Any, k: Any = 0) -> Any:
    """The same for a matrix."""
    return triu_indices(*_sizes(a, k))


def _sizes(a: Any, k: Any) -> tuple[Any, Any, Any]:
    a = as_tensor_variable(a)
    if a.ndim != 2:
        raise ValueError(f"the input must be a matrix, not {a.type}")
    return a.shape[0], k, a.shape[1]
