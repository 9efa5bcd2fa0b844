"""Sparse matrices from elsewhere, and functions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.sparse.tensors import CSC, CSR, SparseTensor
from agnesi.core.accepted import DTypeLike, ShapeLike, TensorLike
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim
from agnesi.core.op import typed
from agnesi.core.public import explain_errors
from agnesi.core.shapes import fits
from agnesi.core.support import dtypes
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast, pair
from agnesi.ops.base.creation import filled, made, sizes_of
from agnesi.ops.indexing.ranges import Arange
from agnesi.ops.sparse.patterns import Solve, check_square, lined_up
from agnesi.ops.sparse.products import SAMPLED


# -- construction -----------------------------------------------------------------------------
@explain_errors
def csr(x: TensorLike, shape: ShapeLike | None = None, dtype: DTypeLike = None) -> CSR:
    """A sparse matrix by rows, from anything that says what its entries are.

    Parameters
    ----------
    x : SparseTensor, SciPy sparse array, array_like, or tuple
        A dense matrix gives its elements that are not 0.  A tuple is ``(data, (rows, columns))``,
        or ``(data, indices, indptr)``.
    shape : (int, int), optional
        Of a tuple; by default the least that has all entries.
    dtype : dtype, optional
        Type of the entries; theirs by default.

    Returns
    -------
    CSR
        By rows.

    Raises
    ------
    ShapeError
        If ``x`` is no matrix, or does not fit the shape.

    See Also
    --------
    sparse.csc, sparse.coo, sparse.csr_from_dense, sparse.from_scipy

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csr([[0.0, 2.0], [0.0, 0.0]])
    CSR(float32, shape=(2, 2), nnz=1)
    """
    found: CSR = _sparse(x, shape, dtype, CSR).tocsr()
    return found


@explain_errors
def csc(x: TensorLike, shape: ShapeLike | None = None, dtype: DTypeLike = None) -> CSC:
    """A sparse matrix by columns; parameters are those of :func:`csr`.

    Parameters
    ----------
    x : SparseTensor, SciPy sparse array, array_like, or tuple
        As for :func:`csr`; ``indices`` of a triple are rows.
    shape : (int, int), optional
        Of a tuple; by default the least that has all entries.
    dtype : dtype, optional
        Type of the entries; theirs by default.

    Returns
    -------
    CSC
        By columns.

    Raises
    ------
    ShapeError
        If ``x`` is no matrix, or does not fit the shape.

    See Also
    --------
    sparse.csr, sparse.coo, sparse.csc_from_dense

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csc(([1.0, 2.0], ([0, 1], [2, 0])), shape=(2, 3)).todense()
    tensor([[0., 0., 1.],
            [2., 0., 0.]])
    """
    found: CSC = _sparse(x, shape, dtype, CSC).tocsc()
    return found


@explain_errors
def coo(data: TensorLike, coordinates: TensorLike, shape: ShapeLike | None = None) -> CSR:
    """A sparse matrix (by rows) from entries, their rows and their columns, in any order.

    Parameters
    ----------
    data : array_like
        The entries, a vector; those at one place count together.
    coordinates : pair of array_like of int
        Rows and columns.
    shape : (int, int), optional
        By default the least that has all entries.

    Returns
    -------
    CSR
        Of the dtype of ``data``.

    Raises
    ------
    IndexError
        If an entry lies outside.
    ShapeError
        If the vectors differ in length.

    See Also
    --------
    sparse.csr, sparse.csc

    Examples
    --------
    >>> import agnesi as ag
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
    rows, columns = np.nonzero(x.numpy() if not x.requires_grad else x.detach().numpy())
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
    if lines.array is not None and lines.size and not (
        lines.array.min() >= 0 and lines.array.max() < shape[kind.major]
    ):
        raise IndexError(f"there are entries outside of shape {tuple(shape)}")
    order, indices, indptr = lined_up(lines, places, shape[kind.major])
    return kind(data[order], indices, indptr, shape)


@explain_errors
def from_scipy(x: Any) -> Any:
    """A matrix of ``scipy.sparse``: CSC if it is one, else CSR.

    Parameters
    ----------
    x : scipy.sparse array or matrix
        What to take.

    Returns
    -------
    CSR or CSC
        On the same memory where dtypes allow.

    See Also
    --------
    sparse.to_scipy, sparse.csr

    Examples
    --------
    >>> import agnesi as ag, scipy.sparse
    >>> ag.sparse.from_scipy(scipy.sparse.eye_array(3))
    CSR(float64, shape=(3, 3), nnz=3)
    """
    kind = CSC if x.format == "csc" else CSR
    x = x.tocsr() if kind is CSR else x
    return kind(x.data, x.indices, x.indptr, x.shape)


@explain_errors
def to_scipy(a: SparseTensor) -> Any:
    """``a.to_scipy()``.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix with a value.

    Returns
    -------
    scipy.sparse.csr_array or csc_array
        On the same memory.

    See Also
    --------
    sparse.from_scipy, sparse.dense_from_sparse

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.to_scipy(ag.sparse.eye(2)).nnz
    2
    """
    return a.to_scipy()


@explain_errors
def eye(n: int, m: int | None = None, *, dtype: DTypeLike = None) -> CSR:
    """Ones on the diagonal.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns; ``n`` by default.
    dtype : dtype, optional
        Type of the elements; by default the default float dtype (``config.default_float``).

    Returns
    -------
    CSR
        Of shape (n, m).

    See Also
    --------
    sparse.square_diagonal

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.eye(2, 3).todense()
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    count = min(n, n if m is None else m)
    line = np.arange(count)
    ones = filled((count,), 1, as_tensor(1.0).dtype if dtype is None else as_dtype(dtype))
    return coo(ones, (line, line), (n, n if m is None else m))


@explain_errors
def square_diagonal(diagonal: TensorLike) -> CSC:
    """A square matrix with a vector on its diagonal.

    Parameters
    ----------
    diagonal : array_like
        A vector of n elements.

    Returns
    -------
    CSC
        Of shape (n, n).

    Raises
    ------
    ShapeError
        If it is no vector.

    See Also
    --------
    sparse.diag, sparse.eye

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.square_diagonal(ag.tensor([1.0, 2.0])).todense()
    tensor([[1., 0.],
            [0., 2.]])
    """
    x = as_tensor(diagonal)
    if x.ndim != 1:
        raise ShapeError(f"the diagonal must be a vector, not {typed(x)}")
    n = x.shape[0]
    places, starts = (made(Arange(0, 1, k, dtypes.int64), k) for k in (n, n + 1))
    return CSC._made(x, places, starts, (n, n))


# -- Theano's words ---------------------------------------------------------------------------
@explain_errors
def csm_properties(a: SparseTensor) -> tuple[Tensor, Tensor, Tensor, Any]:
    """``data, indices, indptr, shape``.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    tuple
        Three tensors, and a tuple of two sizes.

    See Also
    --------
    sparse.csm_data, sparse.csm_indices, sparse.csm_indptr, sparse.csm_shape

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csm_properties(ag.sparse.eye(2))[3]
    (2, 2)
    """
    return (*a.parts, a.shape)


@explain_errors
def csm_data(a: SparseTensor) -> Tensor:
    """The entries.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    Tensor
        A vector.

    See Also
    --------
    sparse.csm_indices, sparse.csm_indptr, sparse.csm_shape

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csm_data(ag.sparse.csr([[0.0, 2.0]]))
    tensor([2.])
    """
    return a.data


@explain_errors
def csm_indices(a: SparseTensor) -> Tensor:
    """The column of each entry (CSR), or its row (CSC).

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    Tensor
        A vector.

    See Also
    --------
    sparse.csm_data, sparse.csm_indptr, sparse.csm_shape

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csm_indices(ag.sparse.csr([[0.0, 2.0]])).shape
    (1,)
    """
    return a.indices


@explain_errors
def csm_indptr(a: SparseTensor) -> Tensor:
    """Where the entries of each row (CSR) or column (CSC) begin.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    Tensor
        A vector.

    See Also
    --------
    sparse.csm_data, sparse.csm_indices, sparse.csm_shape

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csm_indptr(ag.sparse.csr([[0.0, 2.0]])).tolist()
    [0, 1]
    """
    return a.indptr


@explain_errors
def csm_shape(a: SparseTensor) -> Any:
    """The shape.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    tuple of int
        Two sizes.

    See Also
    --------
    sparse.csm_data, sparse.csm_indices, sparse.csm_indptr

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csm_shape(ag.sparse.csr([[0.0, 2.0]]))
    (1, 2)
    """
    return a.shape


@explain_errors
def csr_from_dense(x: TensorLike) -> CSR:
    """The elements of a dense matrix that are not 0, by rows.

    Parameters
    ----------
    x : array_like
        A matrix with a value.

    Returns
    -------
    CSR
        By rows.

    Raises
    ------
    TraceError
        While a graph is written.

    See Also
    --------
    sparse.csr, sparse.dense_from_sparse

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csr_from_dense([[0.0, 2.0], [1.0, 0.0]]).data
    tensor([2., 1.])
    """
    return csr(x)


@explain_errors
def csc_from_dense(x: TensorLike) -> CSC:
    """The elements of a dense matrix that are not 0, by columns.

    Parameters
    ----------
    x : array_like
        A matrix with a value.

    Returns
    -------
    CSC
        By columns.

    Raises
    ------
    TraceError
        While a graph is written.

    See Also
    --------
    sparse.csc, sparse.dense_from_sparse

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.csc_from_dense([[0.0, 2.0], [1.0, 0.0]]).data
    tensor([1., 2.])
    """
    return csc(x)


@explain_errors
def dense_from_sparse(a: SparseTensor) -> Tensor:
    """The matrix with all its zeros.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    Tensor
        Of its shape and dtype.

    See Also
    --------
    sparse.csr_from_dense, sparse.to_scipy

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.dense_from_sparse(ag.sparse.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return a.todense()


@explain_errors
def transpose(a: SparseTensor) -> Any:
    """The transpose, of the other format.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    SparseTensor
        CSC of CSR and the other way round; on the same three tensors.

    See Also
    --------
    sparse.csr, sparse.csc

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.transpose(ag.sparse.csr([[0.0, 2.0]])).shape
    (2, 1)
    """
    return a.T


@explain_errors
def neg(a: SparseTensor) -> Any:
    """``-a``.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.

    Returns
    -------
    SparseTensor
        Of the same pattern.

    See Also
    --------
    sparse.sub

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.neg(ag.sparse.eye(2)).data
    tensor([-1., -1.])
    """
    return -a


@explain_errors
def add(a: Any, b: Any) -> Any:
    """The sum: sparse if both are, else dense.

    Parameters
    ----------
    a, b : SparseTensor or array_like
        Of one shape; one at least is sparse.

    Returns
    -------
    SparseTensor or Tensor
        Of the promoted dtype.

    Raises
    ------
    ShapeError
        If the shapes differ.

    See Also
    --------
    sparse.sub, sparse.mul

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.add(ag.sparse.eye(2), ag.sparse.eye(2)).diagonal()
    tensor([2., 2.])
    """
    return a + b


@explain_errors
def sub(a: Any, b: Any) -> Any:
    """The difference: sparse if both are, else dense.

    Parameters
    ----------
    a, b : SparseTensor or array_like
        Of one shape; one at least is sparse.

    Returns
    -------
    SparseTensor or Tensor
        Of the promoted dtype.

    Raises
    ------
    ShapeError
        If the shapes differ.

    See Also
    --------
    sparse.add, sparse.neg

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.sub(ag.sparse.eye(2), ag.sparse.eye(2)).todense()
    tensor([[0., 0.],
            [0., 0.]])
    """
    return a - b


@explain_errors
def mul(a: Any, b: Any) -> Any:
    """The elementwise product, which is sparse.

    Parameters
    ----------
    a, b : SparseTensor or array_like
        They broadcast to the shape of the sparse one.

    Returns
    -------
    SparseTensor
        Of the promoted dtype.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    sparse.dot, sparse.row_scale, sparse.col_scale

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.mul(ag.sparse.eye(2), [[3.0, 4.0], [5.0, 6.0]]).diagonal()
    tensor([3., 6.])
    """
    return a * b if isinstance(a, SparseTensor) else b * a


@explain_errors
def row_scale(a: SparseTensor, s: TensorLike) -> Any:
    """Every row times its number in a vector.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.
    s : array_like
        A number for each row.

    Returns
    -------
    SparseTensor
        Of the same pattern.

    Raises
    ------
    ShapeError
        If the vector does not fit.

    See Also
    --------
    sparse.col_scale, sparse.mul

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.row_scale(ag.sparse.eye(2), ag.tensor([2.0, 3.0])).data
    tensor([2., 3.])
    """
    return a * as_tensor(s)[:, None]


@explain_errors
def col_scale(a: SparseTensor, s: TensorLike) -> Any:
    """Every column times its number in a vector.

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.
    s : array_like
        A number for each column.

    Returns
    -------
    SparseTensor
        Of the same pattern.

    Raises
    ------
    ShapeError
        If the vector does not fit.

    See Also
    --------
    sparse.row_scale, sparse.mul

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.col_scale(ag.sparse.eye(2), ag.tensor([2.0, 3.0])).data
    tensor([2., 3.])
    """
    return a * as_tensor(s)


@explain_errors
def sp_sum(a: SparseTensor, axis: int | None = None) -> Tensor:
    """The sum of all elements, or of those along an axis (dense).

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.
    axis : int, optional
        0 or 1.

    Returns
    -------
    Tensor
        One number, or a vector.

    Raises
    ------
    IndexError
        If the axis is out of range.

    See Also
    --------
    sum

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.sp_sum(ag.sparse.csr([[0.0, 2.0], [1.0, 0.0]]), axis=0)
    tensor([1., 2.])
    """
    return a.sum(axis)


@explain_errors
def diag(a: SparseTensor) -> Tensor:
    """The main diagonal of a matrix (dense).

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix of shape (m, n).

    Returns
    -------
    Tensor
        A vector of ``min(m, n)`` elements.

    See Also
    --------
    sparse.square_diagonal, sparse.eye

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.diag(ag.sparse.eye(2))
    tensor([1., 1.])
    """
    return a.diagonal()


@explain_errors
def remove0(a: SparseTensor) -> Any:
    """The matrix without entries that are 0 (eager only).

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix with a value.

    Returns
    -------
    SparseTensor
        Of the same format.

    Raises
    ------
    TraceError
        While a graph is written.

    See Also
    --------
    sparse.structured

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.remove0(ag.sparse.csr(([0.0, 1.0], [0, 1], [0, 2]))).nnz
    1
    """
    kept = a.data.detach().numpy() != 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[a.indptr.numpy()]
    places = np.flatnonzero(kept)
    return type(a)(a.data[places], a.indices.numpy()[places], indptr, a.shape)


# -- products ---------------------------------------------------------------------------------
@explain_errors
def dot(a: Any, b: Any) -> Any:
    """The product of two matrices, one of which at least is sparse: dense unless both are.

    Parameters
    ----------
    a, b : SparseTensor, COO or array_like
        Matrices that fit.

    Returns
    -------
    SparseTensor or Tensor
        Of the promoted dtype.

    Raises
    ------
    ShapeError
        If the inner sizes differ.

    See Also
    --------
    sparse.mul, sparse.sampling_dot, matmul

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.sparse.dot(ag.tensor([[1.0, 2.0]]), ag.sparse.eye(2))
    tensor([[1., 2.]])
    """
    return a @ b


#: Gradients are structured in any case, so Theano's three products are one, as is PyTorch's.
mm = structured_dot = true_dot = dot


@explain_errors
def sampling_dot(x: TensorLike, y: TensorLike, pattern: SparseTensor) -> Any:
    """``x @ y.T`` times ``pattern``, computed only where that has entries.

    Parameters
    ----------
    x, y : array_like
        Matrices (m, k) and (n, k).
    pattern : SparseTensor
        Of shape (m, n).

    Returns
    -------
    SparseTensor
        Of the pattern's.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    sparse.dot

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ag.sparse.sampling_dot(x, x, ag.sparse.eye(2)).data
    tensor([ 5., 25.])
    """
    a, b = pair(x, y)
    if a.ndim != 2 or b.ndim != 2 or not _agree((a.shape[0], b.shape[0]), pattern.shape):
        raise ShapeError(
            f"{typed(a)} times the transpose of {typed(b)} has not the shape {pattern.shape}"
        )
    first, second = (a, b) if isinstance(pattern, CSR) else (b, a)
    found = apply(SAMPLED, first, second, *pattern.parts[1:])
    return pattern.with_data(pattern.data * found)


def _agree(a: Any, b: Any) -> bool:
    return all(isinstance(n, Dim) or isinstance(m, Dim) or n == m
               for n, m in zip(a, b, strict=True))


@explain_errors
def spsolve(a: SparseTensor, b: TensorLike) -> Tensor:
    """``x`` with ``a @ x = b``, by SciPy's SuperLU.

    Its gradients, one for every entry of ``a`` and for ``b``, are solutions with the transpose.

    Parameters
    ----------
    a : SparseTensor
        A square matrix.
    b : array_like
        A vector, or a matrix with a right-hand side in each column.

    Returns
    -------
    Tensor
        Of the shape of ``b``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular.
    ShapeError
        If the matrix is not square, or ``b`` does not fit.

    See Also
    --------
    linalg.solve

    Examples
    --------
    >>> import agnesi as ag
    >>> A = ag.sparse.csr([[2.0, 0.0], [1.0, 4.0]])
    >>> ag.sparse.spsolve(A, ag.tensor([2.0, 5.0]))
    tensor([1., 1.])
    """
    check_square(a.shape)
    data, right = pair(a.data, b)
    if right.dtype.kind not in "fc":
        data, right = cast(data, dtypes.float64), cast(right, dtypes.float64)
    if right.ndim not in (1, 2) or not _agree(right.shape[:1], a.shape[:1]):
        raise ShapeError(f"{typed(right)} is no right-hand side for a matrix of shape {a.shape}")
    columns = right if right.ndim == 2 else right[:, None]
    found: Tensor = apply(Solve(isinstance(a, CSC)), data, columns, *a.parts[1:])
    return found if right.ndim == 2 else found[:, 0]


@explain_errors
def norm(a: SparseTensor, ord: Any = None) -> Tensor:
    """The Frobenius norm; or the greatest sum of magnitudes of a column (1) or row (inf).

    Parameters
    ----------
    a : SparseTensor
        A sparse matrix.
    ord : {None, "fro", 1, inf}
        Which norm.

    Returns
    -------
    Tensor
        One real number.

    Raises
    ------
    ValueError
        If there is no such norm.

    See Also
    --------
    linalg.norm, linalg.matrix_norm

    Examples
    --------
    >>> import agnesi as ag
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

    Parameters
    ----------
    function : callable
        Of the entries, a vector; it keeps their number.

    Returns
    -------
    callable
        It takes a sparse matrix and gives one of the same pattern.

    See Also
    --------
    sparse.remove0, sparse.SparseTensor.map

    Examples
    --------
    >>> import agnesi as ag
    >>> structured_exp = ag.sparse.structured(ag.exp)
    >>> structured_exp(ag.sparse.csr([[0.0, 1.0]])).nnz
    1
    """
    return lambda a: a.map(function)
