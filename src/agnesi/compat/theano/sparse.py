"""``theano.sparse``: agnesi's sparse matrices under Theano's names."""

from __future__ import annotations

from typing import Any

import agnesi as _agnesi
from agnesi.api import functions as _F
from agnesi.api import sparse as _ours
from agnesi.api import special as _special
from agnesi.api.sparse.tensors import CSC as _CSC
from agnesi.api.sparse.tensors import CSR as _CSR
from agnesi.compat.theano.sparse_variable import SparseType as SparseType
from agnesi.compat.theano.sparse_variable import SparseVariable as SparseVariable
from agnesi.compat.theano.tensor.kinds import all_dtypes as all_dtypes
from agnesi.compat.theano.tensor.kinds import complex_dtypes as complex_dtypes
from agnesi.compat.theano.tensor.kinds import continuous_dtypes as continuous_dtypes
from agnesi.compat.theano.tensor.kinds import discrete_dtypes as discrete_dtypes
from agnesi.compat.theano.tensor.kinds import float_dtypes as float_dtypes
from agnesi.compat.theano.tensor.kinds import integer_dtypes as integer_dtypes
from agnesi.compat.theano.variable import bare as _bare
from agnesi.compat.theano.variable import forwarding as _forwarding
from agnesi.compat.theano.variable import wrapped as _wrapped
from agnesi.core.keywords import strictly as _strictly

SparseTensorType = SparseType
sparse_formats = ["csc", "csr"]


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


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Matrices below each other."""
    return _joined([_bare(b).tocsr() for b in blocks], 0, _CSR, format or "csc", dtype)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Matrices beside each other."""
    return _joined([_bare(b).tocsc() for b in blocks], 1, _CSC, format or "csc", dtype)


def _joined(blocks: Any, axis: int, kind: Any, format: str, dtype: Any) -> Any:
    """Matrices that are kept by an axis, joined along it."""
    ends = [blocks[0].parts[2]]
    for b in blocks[1:]:
        ends.append(b.parts[2][1:] + ends[-1][-1])
    sizes = list(blocks[0].shape)
    sizes[axis] = sum(b.shape[axis] for b in blocks)
    found = kind(*(_F.concatenate([b.parts[k] for b in blocks]) for k in (0, 1)),
                 _F.concatenate(ends), tuple(sizes)).asformat(format)
    return _wrapped(found if dtype is None else found.astype(_bare(dtype)))


def ensure_sorted_indices(x: SparseVariable) -> Any:
    """The matrix with the entries of each row, or column, in order."""
    return _wrapped(_bare(x).sum_duplicates())


def structured_add(x: SparseVariable, y: Any) -> Any:
    """Entries and a number; of two sparse matrices their sum."""
    if isinstance(y, SparseVariable):
        return x + y
    return _wrapped(_bare(x).map(lambda d: d + _bare(y)))


def structured_pow(x: SparseVariable, y: Any) -> Any:
    """Powers of the entries."""
    return _wrapped(_bare(x).map(lambda d: d ** _bare(y)))


def structured_minimum(x: SparseVariable, y: Any) -> Any:
    """The lesser of each entry and a number."""
    return _wrapped(_bare(x).map(lambda d: _F.minimum(d, _bare(y))))


def structured_maximum(x: SparseVariable, y: Any) -> Any:
    """The greater of each entry and a number."""
    return _wrapped(_bare(x).map(lambda d: _F.maximum(d, _bare(y))))


def structured_add_s_v(x: SparseVariable, y: Any) -> Any:
    """Entries and, of a vector, the element of their column."""
    ours = _bare(x)
    return _wrapped(ours.map(lambda d: d + _bare(y)[ours.cols]))


def usmm(alpha: Any, x: Any, y: Any, z: Any) -> Any:
    """``alpha * dot(x, y) + z``."""
    return __getattr__("dot")(x, y) * alpha + z


def get_item_2d(x: SparseVariable, index: Any) -> Any:
    """Rows and columns of a matrix."""
    return x[index]


get_item_scalar = get_item_2d

def _comparison(name: str) -> Any:
    def compared(x: Any, y: Any) -> Any:
        """Which elements compare so: sparse, if both matrices are."""
        both = isinstance(x, SparseVariable) and isinstance(y, SparseVariable)
        found = getattr(_F, name)(*(
            _bare(v).todense() if isinstance(v, SparseVariable) else _bare(v) for v in (x, y)
        )).astype("uint8")
        return _wrapped(_ours.csr_from_dense(found) if both else found)

    return compared


eq, neq = _comparison("equal"), _comparison("not_equal")
lt, le, gt, ge = map(_comparison, ("less", "less_equal", "greater", "greater_equal"))


#: Functions of the entries alone: 0 stays 0, or is left out ("structured").
_ENTRIES = {
    **{n: n for n in ("abs sqrt sin tan sinh tanh arcsin arcsinh arctan arctanh log1p expm1 sign "
                      "ceil floor trunc rint rad2deg deg2rad conj").split()},
    "sgn": "sign", "sqr": "square", "conjugate": "conj", "structured_conjugate": "conj",
    "structured_exp": "exp", "structured_log": "log", "structured_sigmoid": "sigmoid",
}
_OURS = _forwarding(__name__, _ours, {
    "mul_s_d": "mul", "mul_s_s": "mul", "add_s_s": "add", "add_s_d": "add",
    "mul_s_v": "mul", "multiply": "mul", "subtract": "sub"})


def __getattr__(name: str) -> Any:
    if name not in _ENTRIES:
        return _OURS(name)
    function = getattr(_agnesi, _ENTRIES[name], None) or getattr(_special, _ENTRIES[name])
    return lambda x: _wrapped(_bare(x).map(function))


_strictly(__name__)
