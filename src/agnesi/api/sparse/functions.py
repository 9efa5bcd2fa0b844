"""Sparse matrices from elsewhere, and functions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.sparse.tensors import CSC, CSR, SparseTensor
from agnesi.core.dispatch import apply
from agnesi.core.op import called, typed
from agnesi.core.options import Size
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import explain_errors
from agnesi.core.shapes import fits
from agnesi.core.support import dtypes
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.nonzeros import nonzero
from agnesi.ops.base.convert import as_tensor, cast, pair
from agnesi.ops.base.creation import filled, made, sizes_of
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.gather.gather_scatter import within
from agnesi.ops.base.select import minimum
from agnesi.ops.indexing.ranges import Arange
from agnesi.ops.sparse.coordinates import COO
from agnesi.ops.sparse.patterns import Solve, check_square, is_known, lined_up
from agnesi.ops.sparse.products import SAMPLED


# -- construction -----------------------------------------------------------------------------
@explain_errors
def csr(x: TensorLike, shape: ShapeLike | None = None, dtype: DTypeLike = None) -> CSR:
    """A sparse matrix by rows, from anything that says what its entries are.

    :param x: A dense matrix gives its elements that are not 0.  A tuple is ``(data, (rows,
        columns))``, or ``(data, indices, indptr)``.
    :type x: SparseTensor, SciPy sparse array, array_like, or tuple
    :param shape: Of a tuple; by default the least that has all entries.
    :type shape: (int, int), optional
    :param dtype: Type of the entries; theirs by default.
    :returns: By rows.
    :raises ShapeError: If ``x`` is no matrix, or does not fit the shape.
    :see: sparse.csc, sparse.coo, sparse.csr_from_dense, sparse.from_scipy

    >>> ag.sparse.csr([[0.0, 2.0], [0.0, 0.0]])
    CSR(float32, shape=(2, 2), nnz=1)
    """
    found: CSR = _sparse(x, shape, dtype, CSR).tocsr()
    return found


@explain_errors
def csc(x: TensorLike, shape: ShapeLike | None = None, dtype: DTypeLike = None) -> CSC:
    """A sparse matrix by columns; parameters are those of :func:`csr`.

    :like: csr
    :param x: As for :func:`csr`; ``indices`` of a triple are rows.
    :type x: SparseTensor, SciPy sparse array, array_like, or tuple
    :returns: By columns.
    :see: sparse.csr, sparse.coo, sparse.csc_from_dense

    >>> ag.sparse.csc(([1.0, 2.0], ([0, 1], [2, 0])), shape=(2, 3)).todense()
    tensor([[0., 0., 1.],
            [2., 0., 0.]])
    """
    found: CSC = _sparse(x, shape, dtype, CSC).tocsc()
    return found


@explain_errors
def coo(data: TensorLike, coordinates: TensorLike, shape: ShapeLike | None = None) -> CSR:
    """A sparse matrix (by rows) from entries, their rows and their columns, in any order.

    :param data: The entries, a vector; those at one place count together.
    :param coordinates: Rows and columns.
    :type coordinates: pair of array_like of int
    :param shape: By default the least that has all entries.
    :type shape: (int, int), optional
    :returns: Of the dtype of ``data``.
    :raises IndexError: If an entry is outside.
    :raises ShapeError: If the vectors differ in length.
    :see: sparse.csr, sparse.csc

    >>> ag.sparse.coo([1.0, 2.0], ([1, 0], [0, 1])).todense()
    tensor([[0., 2.],
            [1., 0.]])
    """
    found: CSR = _from_triples(as_tensor(data), coordinates, shape, CSR)
    return found


def _sparse(x: Any, shape: Any, dtype: Any, kind: Any) -> Any:
    if isinstance(x, SparseTensor):
        found: Any = x
    elif hasattr(x, "tocsr") and hasattr(x, "nnz"):
        found = from_scipy(x)
    elif isinstance(x, tuple) and len(x) == 3:
        found = kind(*x, _least(x, kind) if shape is None else shape)
    elif isinstance(x, tuple) and len(x) == 2 and len(x[1]) == 2:
        found = _from_triples(as_tensor(x[0]), x[1], shape, kind)
    else:
        found = _from_dense(as_tensor(x), kind)
    if shape is not None and not fits(found.shape, sizes_of(shape)):
        raise ShapeError(f"the matrix has shape {tuple(found.shape)}, not {shape}")
    return found if dtype is None else found.astype(dtype)


def _least(x: Any, kind: Any) -> tuple[int, int]:
    indices = np.asarray(x[1])
    sizes = len(x[2]) - 1, int(indices.max()) + 1 if indices.size else 0
    return sizes if kind is CSR else sizes[::-1]


def _from_dense(x: Tensor, kind: Any) -> Any:
    if x.ndim != 2:
        raise ShapeError(f"a sparse matrix has two axes, unlike {typed(x)}")
    rows, columns = nonzero(x)
    return _from_triples(x[rows, columns], (rows, columns), x.shape, kind)


def _from_triples(data: Tensor, coordinates: Any, shape: Any, kind: Any) -> Any:
    rows, columns = map(as_tensor, coordinates)
    if data.ndim != 1 or rows.ndim != 1 or columns.ndim != 1:
        raise ShapeError(f"entries, rows and columns must be vectors, not {typed(data)}, "
                         f"{typed(rows)} and {typed(columns)}; the order is (data, (rows, columns))"
                         ", unlike torch.sparse_coo_tensor's, which ag.sparse_coo_tensor has")
    if shape is None:
        shape = tuple(int(p.max()) + 1 if p.shape[0] else 0 for p in (rows, columns))
    lines, places = (rows, columns) if kind is CSR else (columns, rows)
    if lines.array is None:
        lines = within(lines, shape[kind.major], called("sparse", (rows, columns)), least=0)
    elif lines.size and not (
        lines.array.min() >= 0 and lines.array.max() < shape[kind.major]
    ):
        raise IndexError(f"there are entries outside of shape {tuple(shape)}")
    order, indices, indptr = lined_up(lines, places, shape[kind.major])
    return kind(data[order], indices, indptr, shape)


@explain_errors
def from_scipy(x: object) -> Any:
    """A matrix of ``scipy.sparse``: CSC if it is one, else CSR.

    :param x: What to take.
    :type x: scipy.sparse array or matrix
    :returns: On the same memory where dtypes allow.
    :rtype: CSR or CSC
    :see: sparse.to_scipy, sparse.csr

    >>> import agnesi as ag, scipy.sparse
    >>> ag.sparse.from_scipy(scipy.sparse.eye_array(3))
    CSR(float64, shape=(3, 3), nnz=3)
    """
    given: Any = x
    kind = CSC if given.format == "csc" else CSR
    given = given.tocsr() if kind is CSR else given
    return kind(given.data, given.indices, given.indptr, given.shape)


@explain_errors
def to_scipy(a: SparseTensor) -> Any:
    """``a.to_scipy()``.

    :param a: A sparse matrix with a value.
    :returns: On the same memory.
    :rtype: scipy.sparse.csr_array or csc_array
    :see: sparse.from_scipy, sparse.dense_from_sparse

    >>> ag.sparse.to_scipy(ag.sparse.eye(2)).nnz
    2
    """
    return a.to_scipy()


@explain_errors
def eye(n: Size, m: Size | None = None, *, dtype: DTypeLike = None) -> CSR:
    """Ones on the diagonal.

    :param n: Number of rows.
    :param m: Number of columns; ``n`` by default.
    :param dtype: Type of the elements; by default the default float dtype
        (``config.default_float``).
    :returns: Of shape (n, m).
    :see: sparse.square_diagonal

    >>> ag.sparse.eye(2, 3).todense()
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    rows, columns = sizes_of((n, n if m is None else m))
    count = min(rows, columns)
    ones = filled((count,), 1, as_tensor(1.0).dtype if dtype is None else as_dtype(dtype))
    starts = minimum(_counted(rows + 1), cast(as_tensor(count), dtypes.int32))
    return CSR._made(ones, _counted(count), starts, (rows, columns))


def _counted(n: Size) -> Tensor:
    return made(Arange(0, 1, n, dtypes.int32), n)


@explain_errors
def square_diagonal(diagonal: TensorLike) -> CSC:
    """A square matrix with a vector on its diagonal.

    :param diagonal: A vector of n elements.
    :returns: Of shape (n, n).
    :raises ShapeError: If it is no vector.
    :see: sparse.diag, sparse.eye

    >>> ag.sparse.square_diagonal(ag.tensor([1.0, 2.0])).todense()
    tensor([[1., 0.],
            [0., 2.]])
    """
    x = as_tensor(diagonal)
    if x.ndim != 1:
        raise ShapeError(f"the diagonal must be a vector, not {typed(x)}")
    n = x.shape[0]
    return CSC._made(x, _counted(n), _counted(n + 1), (n, n))


# -- Theano's words ---------------------------------------------------------------------------
@explain_errors
def csm_properties(a: SparseTensor) -> tuple[Tensor, Tensor, Tensor, Any]:
    """``data, indices, indptr, shape``.

    :returns: Three tensors, and a tuple of two sizes.
    :rtype: tuple
    :see: sparse.csm_data, sparse.csm_indices, sparse.csm_indptr, sparse.csm_shape

    >>> ag.sparse.csm_properties(ag.sparse.eye(2))[3]
    (2, 2)
    """
    return (*a.parts, a.shape)


@explain_errors
def csm_data(a: SparseTensor) -> Tensor:
    """The entries.

    :returns: A vector.
    :see: sparse.csm_indices, sparse.csm_indptr, sparse.csm_shape

    >>> ag.sparse.csm_data(ag.sparse.csr([[0.0, 2.0]]))
    tensor([2.])
    """
    return a.data


@explain_errors
def csm_indices(a: SparseTensor) -> Tensor:
    """The column of each entry (CSR), or its row (CSC).

    :returns: A vector.
    :see: sparse.csm_data, sparse.csm_indptr, sparse.csm_shape

    >>> ag.sparse.csm_indices(ag.sparse.csr([[0.0, 2.0]])).shape
    (1,)
    """
    return a.indices


@explain_errors
def csm_indptr(a: SparseTensor) -> Tensor:
    """Where the entries of each row (CSR) or column (CSC) begin.

    :returns: A vector.
    :see: sparse.csm_data, sparse.csm_indices, sparse.csm_shape

    >>> ag.sparse.csm_indptr(ag.sparse.csr([[0.0, 2.0]])).tolist()
    [0, 1]
    """
    return a.indptr


@explain_errors
def csm_shape(a: SparseTensor) -> Any:
    """The shape.

    :returns: Two sizes.
    :rtype: tuple of int
    :see: sparse.csm_data, sparse.csm_indices, sparse.csm_indptr

    >>> ag.sparse.csm_shape(ag.sparse.csr([[0.0, 2.0]]))
    (1, 2)
    """
    return a.shape


@explain_errors
def csr_from_dense(x: TensorLike) -> CSR:
    """The elements of a dense matrix that are not 0, by rows.

    :param x: A matrix with a value.
    :returns: By rows.
    :raises TraceError: While a graph is written.
    :see: sparse.csr, sparse.dense_from_sparse

    >>> ag.sparse.csr_from_dense([[0.0, 2.0], [1.0, 0.0]]).data
    tensor([2., 1.])
    """
    return csr(x)


@explain_errors
def csc_from_dense(x: TensorLike) -> CSC:
    """The elements of a dense matrix that are not 0, by columns.

    :param x: A matrix with a value.
    :returns: By columns.
    :raises TraceError: While a graph is written.
    :see: sparse.csc, sparse.dense_from_sparse

    >>> ag.sparse.csc_from_dense([[0.0, 2.0], [1.0, 0.0]]).data
    tensor([1., 2.])
    """
    return csc(x)


@explain_errors
def dense_from_sparse(a: SparseTensor) -> Tensor:
    """The matrix with all its zeros.

    :returns: Of its shape and dtype.
    :see: sparse.csr_from_dense, sparse.to_scipy

    >>> ag.sparse.dense_from_sparse(ag.sparse.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return a.todense()


@explain_errors
def transpose(a: SparseTensor) -> Any:
    """The transpose, of the other format.

    :returns: CSC of CSR and the other way round; on the same three tensors.
    :rtype: SparseTensor
    :see: sparse.csr, sparse.csc

    >>> ag.sparse.transpose(ag.sparse.csr([[0.0, 2.0]])).shape
    (2, 1)
    """
    return a.T


@explain_errors
def neg(a: SparseTensor) -> Any:
    """``-a``.

    :returns: Of the same pattern.
    :rtype: SparseTensor
    :see: sparse.sub

    >>> ag.sparse.neg(ag.sparse.eye(2)).data
    tensor([-1., -1.])
    """
    return -a


@explain_errors
def add(a: SparseTensor | TensorLike, b: SparseTensor | TensorLike) -> Any:
    """The sum: sparse if both are, else dense.

    :param a, b: Of one shape; one at least is sparse.
    :type a, b: SparseTensor or array_like
    :returns: Of the promoted dtype.
    :rtype: SparseTensor or Tensor
    :raises ShapeError: If the shapes differ.
    :see: sparse.sub, sparse.mul

    >>> ag.sparse.add(ag.sparse.eye(2), ag.sparse.eye(2)).diagonal()
    tensor([2., 2.])
    """
    left: Any = a
    return left + b


@explain_errors
def sub(a: SparseTensor | TensorLike, b: SparseTensor | TensorLike) -> Any:
    """The difference: sparse if both are, else dense.

    :like: add
    :see: sparse.add, sparse.neg

    >>> ag.sparse.sub(ag.sparse.eye(2), ag.sparse.eye(2)).todense()
    tensor([[0., 0.],
            [0., 0.]])
    """
    left: Any = a
    return left - b


@explain_errors
def mul(a: SparseTensor | TensorLike, b: SparseTensor | TensorLike) -> Any:
    """The elementwise product, which is sparse.

    :param a, b: They broadcast to the shape of the sparse one.
    :type a, b: SparseTensor or array_like
    :returns: Of the promoted dtype.
    :rtype: SparseTensor
    :raises ShapeError: If the shapes do not fit.
    :see: sparse.dot, sparse.row_scale, sparse.col_scale

    >>> ag.sparse.mul(ag.sparse.eye(2), [[3.0, 4.0], [5.0, 6.0]]).diagonal()
    tensor([3., 6.])
    """
    sparse, other = (a, b) if isinstance(a, SparseTensor) else (b, a)
    product: Any = sparse
    return product * other


@explain_errors
def row_scale(a: SparseTensor, s: TensorLike) -> Any:
    """Every row times its number in a vector.

    :like: neg
    :param s: A number for each row.
    :raises ShapeError: If the vector does not fit.
    :see: sparse.col_scale, sparse.mul

    >>> ag.sparse.row_scale(ag.sparse.eye(2), ag.tensor([2.0, 3.0])).data
    tensor([2., 3.])
    """
    return a * as_tensor(s)[:, None]


@explain_errors
def col_scale(a: SparseTensor, s: TensorLike) -> Any:
    """Every column times its number in a vector.

    :like: row_scale
    :param s: A number for each column.
    :see: sparse.row_scale, sparse.mul

    >>> ag.sparse.col_scale(ag.sparse.eye(2), ag.tensor([2.0, 3.0])).data
    tensor([2., 3.])
    """
    return a * as_tensor(s)


@explain_errors
def sp_sum(a: SparseTensor, axis: int | None = None) -> Tensor:
    """The sum of all elements, or of those along an axis (dense).

    :param axis: 0 or 1.
    :returns: One number, or a vector.
    :raises IndexError: If the axis is out of range.
    :see: sum

    >>> ag.sparse.sp_sum(ag.sparse.csr([[0.0, 2.0], [1.0, 0.0]]), axis=0)
    tensor([1., 2.])
    """
    return a.sum(axis)


@explain_errors
def diag(a: SparseTensor) -> Tensor:
    """The main diagonal of a matrix (dense).

    :param a: A sparse matrix of shape (m, n).
    :returns: A vector of ``min(m, n)`` elements.
    :see: sparse.square_diagonal, sparse.eye

    >>> ag.sparse.diag(ag.sparse.eye(2))
    tensor([1., 1.])
    """
    return a.diagonal()


@explain_errors
def remove0(a: SparseTensor) -> Any:
    """The matrix without entries that are 0 (eager only).

    :param a: A sparse matrix with a value.
    :returns: Of the same format.
    :rtype: SparseTensor
    :raises TraceError: While a graph is written.
    :see: sparse.structured

    >>> ag.sparse.remove0(ag.sparse.csr(([0.0, 1.0], [0, 1], [0, 2]))).nnz
    1
    """
    if not is_known(*a.parts):
        left, = nonzero(a.data)
        lines = (a.rows if a.major == 0 else a.cols)[left]
        order, indices, indptr = lined_up(lines, a.indices[left], a.shape[a.major])
        return a._made(a.data[left][order], indices, indptr, a.shape)
    kept = a.data.detach().numpy() != 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[a.indptr.numpy()]
    places = np.flatnonzero(kept)
    return type(a)(a.data[places], a.indices.numpy()[places], indptr, a.shape)


# -- products ---------------------------------------------------------------------------------
@explain_errors
def dot(a: SparseTensor | COO | TensorLike, b: SparseTensor | COO | TensorLike) -> Any:
    """The product of two matrices, one of which at least is sparse: dense unless both are.

    :param a, b: Matrices that fit.
    :type a, b: SparseTensor, COO or array_like
    :returns: Of the promoted dtype.
    :rtype: SparseTensor or Tensor
    :raises ShapeError: If the inner sizes differ.
    :see: sparse.mul, sparse.sampling_dot, matmul

    >>> ag.sparse.dot(ag.tensor([[1.0, 2.0]]), ag.sparse.eye(2))
    tensor([[1., 2.]])
    """
    left: Any = a
    return left @ b


#: Gradients are structured in any case, so Theano's three products are one, as is PyTorch's.
mm = spmm = structured_dot = true_dot = dot


@explain_errors
def sampling_dot(x: TensorLike, y: TensorLike, pattern: SparseTensor) -> Any:
    """``x @ y.T`` times ``pattern``, computed only where that has entries.

    :param x, y: Matrices (m, k) and (n, k).
    :param pattern: Of shape (m, n).
    :returns: Of the pattern's.
    :rtype: SparseTensor
    :raises ShapeError: If the shapes do not fit.
    :see: sparse.dot

    >>> x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ag.sparse.sampling_dot(x, x, ag.sparse.eye(2)).data
    tensor([ 5., 25.])
    """
    a, b = pair(x, y)
    text = f"{typed(a)} times the transpose of {typed(b)} has not the shape {pattern.shape}"
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(text)
    sizes, wanted = (a.shape[0], b.shape[0], a.shape[1]), (*pattern.shape, b.shape[1])
    if not fits(sizes, wanted):
        raise ShapeError(text)
    a = ensured_sizes("sampling_dot", a, sizes, wanted, text)
    first, second = (a, b) if isinstance(pattern, CSR) else (b, a)
    found = apply(SAMPLED, first, second, *pattern.parts[1:])
    return pattern.with_data(pattern.data * found)


@explain_errors
def spsolve(a: SparseTensor, b: TensorLike) -> Tensor:
    """``x`` with ``a @ x = b``, by SciPy's SuperLU.

    Its gradients, one for every entry of ``a`` and for ``b``, are solutions with the transpose.

    :param a: A square matrix.
    :param b: A vector, or a matrix with a right-hand side in each column.
    :returns: Of the shape of ``b``.
    :raises numpy.linalg.LinAlgError: If the matrix is singular.
    :raises ShapeError: If the matrix is not square, or ``b`` does not fit.
    :see: linalg.solve

    >>> A = ag.sparse.csr([[2.0, 0.0], [1.0, 4.0]])
    >>> ag.sparse.spsolve(A, ag.tensor([2.0, 5.0]))
    tensor([1., 1.])
    """
    check_square(a.shape)
    data, right = pair(a.data, b)
    if right.dtype.kind not in "fc":
        data, right = cast(data, dtypes.float64), cast(right, dtypes.float64)
    text = f"{typed(right)} is no right-hand side for a matrix of shape {a.shape}"
    if right.ndim not in (1, 2) or not fits(right.shape[:1], a.shape[:1]):
        raise ShapeError(text)
    right = ensured_sizes("spsolve", right, right.shape[:1], a.shape[:1], text)
    columns = right if right.ndim == 2 else right[:, None]
    found: Tensor = apply(Solve(isinstance(a, CSC)), data, columns, *a.parts[1:])
    return found if right.ndim == 2 else found[:, 0]


@explain_errors
def norm(a: SparseTensor, ord: str | float | None = None) -> Tensor:
    """The Frobenius norm; or the greatest sum of magnitudes of a column (1) or row (inf).

    :param ord: Which norm.
    :type ord: {None, "fro", 1, inf}
    :returns: One real number.
    :raises ValueError: If there is no such norm.
    :see: linalg.norm, linalg.matrix_norm

    >>> ag.sparse.norm(ag.sparse.csr([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    if ord in (None, "fro"):
        entries = a.map(abs).data
        return (entries * entries).sum() ** 0.5
    if ord not in (1, np.inf):
        raise ValueError(f"ord must be None, 'fro', 1 or inf, not {ord!r}")
    return abs(a).sum(axis=0 if ord == 1 else 1).max()


def structured(function: Callable[[Tensor], Tensor]) -> Callable[[SparseTensor], Any]:
    """A function of tensors as one of sparse matrices, which leaves zeros alone.

    :param function: Of the entries, a vector; it keeps their number.
    :returns: It takes a sparse matrix and gives one of the same pattern.
    :see: sparse.remove0, sparse.SparseTensor.map

    >>> structured_exp = ag.sparse.structured(ag.exp)
    >>> structured_exp(ag.sparse.csr([[0.0, 1.0]])).nnz
    1
    """
    return lambda a: a.map(function)
