"""``theano.sparse``: agnesi's sparse matrices under Theano's names."""

from __future__ import annotations

from typing import Any

from agnesi.api import sparse as _ours
from agnesi.api.sparse.tensors import CSC as _CSC
from agnesi.api.sparse.tensors import CSR as _CSR
from agnesi.compat.theano.sparse_variable import SparseType as SparseType
from agnesi.compat.theano.sparse_variable import SparseVariable as SparseVariable
from agnesi.compat.theano.variable import bare as _bare
from agnesi.compat.theano.variable import lent as _lent
from agnesi.compat.theano.variable import wrapped as _wrapped

SparseTensorType = SparseType


def matrix(format: str, name: str | None = None, dtype: Any = None) -> SparseVariable:
    """A new sparse input of a format."""
    return SparseType(format, dtype)(name)


def csr_matrix(name: str | None = None, dtype: Any = None) -> SparseVariable:
    """A new sparse input by rows."""
    return matrix("csr", name, dtype)


def csc_matrix(name: str | None = None, dtype: Any = None) -> SparseVariable:
    """A new sparse input by columns."""
    return matrix("csc", name, dtype)


csr_fmatrix, csr_dmatrix = SparseType("csr", "float32"), SparseType("csr", "float64")
csc_fmatrix, csc_dmatrix = SparseType("csc", "float32"), SparseType("csc", "float64")


def as_sparse_variable(x: Any, name: str | None = None) -> SparseVariable:
    """A matrix of SciPy's as a constant; variables as they are."""
    if isinstance(x, SparseVariable):
        return x
    found = SparseVariable(_ours.from_scipy(x.tocsr() if x.format not in ("csr", "csc") else x))
    found.name = name
    return found


as_sparse = as_sparse_or_tensor_variable = as_sparse_variable


def _made(kind: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    sizes = _bare(shape)
    sizes = [sizes[0], sizes[1]] if not isinstance(sizes, (tuple, list)) else sizes
    return _wrapped(kind(_bare(data), _bare(indices), _bare(indptr), tuple(sizes)))


def CSR(data: Any, indices: Any, indptr: Any, shape: Any) -> Any:  # noqa: N802 - Theano's name
    """A matrix by rows of its parts."""
    return _made(_CSR, data, indices, indptr, shape)


def CSC(data: Any, indices: Any, indptr: Any, shape: Any) -> Any:  # noqa: N802 - Theano's name
    """A matrix by columns of its parts."""
    return _made(_CSC, data, indices, indptr, shape)


def clean(x: SparseVariable) -> Any:
    """The matrix without entries that are 0."""
    return _wrapped(_ours.remove0(_bare(x)))


def cast(x: SparseVariable, dtype: Any) -> Any:
    """The matrix with entries of another dtype."""
    return _wrapped(_bare(x).astype(_bare(dtype)))


def sp_ones_like(x: SparseVariable) -> Any:
    """The matrix with 1 for each entry."""
    return _wrapped(_bare(x).map(lambda d: d * 0 + 1))


def sp_zeros_like(x: SparseVariable) -> Any:
    """The matrix with 0 for each entry."""
    return _wrapped(_bare(x).map(lambda d: d * 0))


__getattr__ = _lent(__name__, _ours, {
    "structured_add": "add", "mul_s_d": "mul", "mul_s_s": "mul", "add_s_s": "add", "add_s_d": "add",
    "mul_s_v": "mul"})
