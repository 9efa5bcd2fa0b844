"""Functions of sparse tensors under PyTorch's names: ``torch.sparse``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.api import functions as F
from agnesi.api.sparse.coordinates import sparse_coo_tensor
from agnesi.api.sparse.tensors import CSC, CSR, SparseTensor
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import explain_errors, on_host
from agnesi.core.shapes import axis_of
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, beside
from agnesi.ops.numerics.scatter_reduce import scatter_reduce
from agnesi.ops.sparse.coordinates import COO
from agnesi.ops.sparse.words import is_sparse


@explain_errors
def sum(input: SparseTensor, dim: int | tuple[int, ...] | list[int] | None = None,
        dtype: DTypeLike = None) -> Any:
    """The sum of all elements, or along axes.

    :param input: A sparse tensor.
    :type input: COO or SparseTensor
    :param dim: The axis or axes, all by default.
    :type dim: int or tuple of int, optional
    :param dtype: Of the values that are added; theirs by default.
    :returns: Sparse if the operand is one by coordinates and an axis is given.
    :rtype: Tensor or COO
    :raises TypeError: If ``input`` is another tensor.
    :raises IndexError: If the axis has no places.
    :see: sparse.sp_sum

    >>> ag.sparse.sum(ag.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse(), 0).to_dense()
    tensor([1., 2.])
    """
    found: Any = input if dtype is None else input.to(dtype)
    return found.sum(dim)


@explain_errors
def softmax(input: COO, dim: int, *, dtype: DTypeLike = None) -> COO:
    """Softmax over the values along an axis; what has no place counts as minus infinity.

    :param input: A sparse tensor by coordinates.
    :param dim: An axis with places.
    :param dtype: Of the values that are taken; theirs by default.
    :returns: At the same places, as ``coalesce`` gives them.
    :raises TypeError: If ``input`` is another tensor.
    :raises IndexError: If the axis has no places.
    :see: sparse.log_softmax

    >>> x = ag.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [0.0, 0.0, 5.0], (2, 3))
    >>> ag.sparse.softmax(x, dim=1).to_dense()
    tensor([[0.5, 0. , 0.5],
            [0. , 1. , 0. ]])
    """
    whole, shifted, total, _ = _exponentials(input, dim, dtype)
    return whole.with_values(F.exp(shifted) / total)


@explain_errors
def log_softmax(input: COO, dim: int, *, dtype: DTypeLike = None) -> COO:
    """The logarithm of :func:`softmax`.

    :like: softmax
    :see: sparse.softmax

    >>> x = ag.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [0.0, 0.0, 5.0], (2, 3))
    >>> ag.sparse.log_softmax(x, dim=1).values()
    tensor([-0.693..., -0.693...,  0.   ...])
    """
    whole, shifted, total, there = _exponentials(input, dim, dtype)
    found = shifted - F.log(total)
    return whole.with_values(found if there is None else F.where(there, found, 0))


def _exponentials(x: COO, dim: int, dtype: Any) -> tuple[COO, Tensor, Tensor, Tensor | None]:
    """The tensor, its values less the greatest along an axis, beside each the sum of their
    exponentials, and which values count: all, but where compiled code keeps a place twice."""
    if not isinstance(x, COO):
        raise TypeError(f"input must be a sparse tensor by coordinates, not {typed(x)}")
    whole = (x if dtype is None else x.to(dtype)).coalesce()
    axis = axis_of(dim, whole.ndim)
    if axis >= whole.sparse_dim():
        raise IndexError(f"axis {dim} of {typed(x)} has no places: {whole.sparse_dim()} have some")
    places, values = whole.indices(), whole.values()
    there = None
    if not whole.is_coalesced():
        there = whole.firsts().reshape((-1,) + (1,) * (values.ndim - 1))
        values = F.where(there, values, -float("inf"))
    line, count = F.zeros((values.shape[0],), dtype=places.dtype), 1
    for k in range(whole.sparse_dim()):
        if k != axis:
            line, count = line * whole.shape[k] + places[k], count * whole.shape[k]
    wide = F.broadcast_to(line.reshape((-1,) + (1,) * (values.ndim - 1)), values.shape)
    none = F.full((count, *values.shape[1:]), -float("inf"), dtype=values.dtype)
    greatest = scatter_reduce(none, 0, wide, values.detach(), reduce="amax")
    shifted = values - greatest[line]
    nothing = F.zeros((count, *values.shape[1:]), dtype=values.dtype)
    return whole, shifted, F.index_add(nothing, 0, line, F.exp(shifted))[line], there


@explain_errors
def addmm(mat: TensorLike, mat1: COO | SparseTensor | TensorLike,
          mat2: COO | SparseTensor | TensorLike, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` of a sparse matrix and a dense one.

    :param mat: What is added.
    :param mat1, mat2: The factors.
    :type mat1, mat2: COO, SparseTensor or array_like
    :param beta, alpha: Numbers.
    :returns: Dense.
    :raises ShapeError: If the shapes do not fit.
    :see: sparse.mm

    >>> ag.sparse.addmm(ag.ones((2, 2)), ag.eye(2).to_sparse(), ag.eye(2), alpha=3)
    tensor([[4., 1.],
            [1., 4.]])
    """
    product = mat1 @ (mat2 if is_sparse(mat2) else beside(mat2, mat))
    return beside(mat, product) * beta + product * alpha


@explain_errors
def sparse_csr_tensor(crow_indices: TensorLike, col_indices: TensorLike, values: TensorLike,
                      size: ShapeLike | None = None, *, dtype: DTypeLike = None,
                      device: str | None = None, requires_grad: bool = False) -> CSR:
    """A sparse matrix by rows, from its three tensors (PyTorch's).

    :param crow_indices: Where the entries of each row begin, and the end.
    :type crow_indices: array_like of int
    :param col_indices: The columns of the entries.
    :type col_indices: array_like of int
    :param values: The entries.
    :param size: The shape; by default the least that has all of them.
    :type size: (int, int), optional
    :param dtype: Of the values; theirs by default.
    :param device: "cpu".
    :param requires_grad: Whether the values are a leaf of their own that gets a gradient.
    :returns: Gradients flow to ``values``.
    :raises ShapeError: Where they do not make a matrix of this shape.
    :see: sparse.csr, sparse_coo_tensor

    >>> A = ag.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0])
    >>> A.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    on_host(device)
    data, indices, indptr, shape = _compressed(crow_indices, col_indices, values, size, dtype,
                                               requires_grad)
    return CSR(data, indices, indptr, shape)


@explain_errors
def sparse_csc_tensor(ccol_indices: TensorLike, row_indices: TensorLike, values: TensorLike,
                      size: ShapeLike | None = None, *, dtype: DTypeLike = None,
                      device: str | None = None, requires_grad: bool = False) -> CSC:
    """A sparse matrix by columns, from its three tensors (PyTorch's).

    :like: sparse_csr_tensor
    :param ccol_indices: Where the entries of each column begin, and the end.
    :type ccol_indices: array_like of int
    :param row_indices: The rows of the entries.
    :type row_indices: array_like of int
    :see: sparse.csc, sparse_csr_tensor

    >>> ag.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    on_host(device)
    data, indices, indptr, shape = _compressed(ccol_indices, row_indices, values,
                                               None if size is None else size[::-1],  # type: ignore
                                               dtype, requires_grad)
    return CSC(data, indices, indptr, shape[::-1])


def _compressed(starts: Any, places: Any, values: Any, size: Any, dtype: Any, learned: bool) -> Any:
    data, indices, indptr = as_tensor(values), as_tensor(places), as_tensor(starts)
    if dtype is not None:
        data = data.astype(dtype)
    if learned:
        data = data.detach().clone().requires_grad_()
    if indptr.ndim != 1 or indices.ndim != 1:
        raise ShapeError(f"indices must be vectors, not {typed(indptr)} and {typed(indices)}")
    if size is None:
        size = (indptr.shape[0] - 1, int(indices.max()) + 1 if indices.shape[0] else 0)
    return data, indices, indptr, tuple(size)


def _constructor(name: str, dtype: str) -> Callable[..., COO]:
    def make(indices: TensorLike, values: TensorLike, size: ShapeLike | None = None) -> COO:
        return sparse_coo_tensor(indices, values, size, dtype=dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A sparse tensor of {dtype}, as PyTorch's older programs make one.

    :param indices: Of shape (axes with places, values): where each value is.
    :type indices: array_like of int
    :param values: Of shape (values, *other axes).
    :param size: The shape; by default the least that has all places.
    :type size: tuple of int, optional
    :returns: Gradients flow to ``values``.
    :raises ShapeError, DTypeError, IndexError: Where they do not make a tensor of this shape.
    :see: sparse_coo_tensor

    >>> ag.sparse.{name}([[0], [1]], [1], (2, 2)).dtype.name
    '{dtype}'
    """
    return explain_errors(make)


FloatTensor = _constructor("FloatTensor", "float32")
DoubleTensor = _constructor("DoubleTensor", "float64")
LongTensor = _constructor("LongTensor", "int64")
