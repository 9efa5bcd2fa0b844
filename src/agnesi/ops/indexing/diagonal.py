"""Diagonals and triangles of matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.integers import known_integer
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Size, combine
from agnesi.core.op import Op
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import need_shape
from agnesi.core.storage.leaves import COPY
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements, results
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import filled
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import moveaxis

#: An offset beyond the diagonals of any matrix.
_MAX_OFFSET = 2**31 - 1
#: Elements of a matrix up to which a plan caches the mask of its triangle.
_FEW_ELEMENTS = 1 << 12


def _length(rows: Size, columns: Size, k: int) -> Size:
    """Elements on diagonal ``k``."""
    rows, columns = (rows, columns - k) if k >= 0 else (rows + k, columns)
    if isinstance(rows, int) and isinstance(columns, int):
        return max(min(rows, columns), 0)
    least = rows - combine("max", rows - columns, 0) if rows != columns else rows
    return combine("max", least, 0) if k else least


@record
class Diagonal(LinearOp):
    """Diagonal ``k`` of the last two axes."""

    k: int
    name = "diagonal"
    traits = frozenset(("movement",))
    view = True

    def infer(self, x: Any) -> Any:
        *rest, rows, columns = x.shape
        return (*rest, _length(rows, columns, self.k)), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = np.diagonal(x, self.k, -2, -1)
        found.flags.writeable = x.flags.writeable
        return found

    @property
    def put(self) -> Op:
        """The operation that gives the matrix with another diagonal."""
        return PutDiagonal(self.k)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(DiagonalMatrix(self.k, *x.shape[-2:]), g),)

    def lower(self, at: Any, x: Any) -> Any:
        *rest, i = at
        return x(*rest, i + max(-self.k, 0), i + max(self.k, 0))


def _within(at: loops.Affine, n: int) -> loops.Affine:
    """The index itself where it always is in [0, n), else the nearest that does."""
    bounds = at.bounds()
    if bounds is not None and bounds[0] >= 0 and bounds[1] < n:
        return at
    top = loops.call("minimum", loops.index(at), n - 1)
    return loops.atom_of(loops.call("maximum", top, 0))


@record
class DiagonalMatrix(LinearOp):
    """Matrices of zeros with the last axis of the operand on diagonal ``k``."""

    k: int
    rows: Size
    columns: Size
    work = results(1)
    name = "diag"

    def infer(self, x: Any) -> Any:
        need_shape(x.shape[-1:], (_length(self.rows, self.columns, self.k),), "the diagonal")
        return (*x.shape[:-1], self.rows, self.columns), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        result = np.zeros((*x.shape[:-1], self.rows, self.columns), x.dtype)
        if x.ndim == 1:
            first, step = max(self.k, 0) + self.columns * max(-self.k, 0), self.columns + 1
            result.reshape(-1)[first : first + x.size * step : step] = x
            return result
        i = np.arange(x.shape[-1])
        result[..., i + max(-self.k, 0), i + max(self.k, 0)] = x
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(Diagonal(self.k), g),)

    def lower(self, at: Any, x: Any) -> Any:
        on, value = _on_diagonal(self.k, at, x)
        return loops.const(0, x.dtype) if on is None else loops.where(on, value, 0)


@record
class PutDiagonal(Op):
    """Matrices with diagonal ``k`` of the last two axes replaced."""

    k: int
    work = elements(2)
    name = "put_diagonal"
    keep_inputs = ()

    def infer(self, base: Any, new: Any) -> Any:
        need_shape(new.shape, Diagonal(self.k).infer(base)[0], "the diagonal")
        return base.shape, base.dtype

    def perform(self, base: np.ndarray, new: np.ndarray) -> np.ndarray:
        result = base.copy()
        Diagonal(self.k).perform(result)[...] = new
        return result

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor) -> tuple[Any, ...]:
        return apply(self, g, filled(new.shape, 0, g.dtype)), apply(Diagonal(self.k), g)

    def jvp(self, ts: Any, y: Tensor, base: Tensor, new: Tensor) -> Any:
        return apply(self, *(filled(x.shape, 0, x.dtype) if t is None else t
                             for t, x in zip(ts, (base, new), strict=True)))

    def lower(self, at: Any, base: Any, new: Any) -> Any:
        on, value = _on_diagonal(self.k, at, new)
        return base(*at) if on is None else loops.where(on, value, base(*at))


def _on_diagonal(k: int, at: Any, x: Any) -> tuple[Any, Any]:
    """Whether an element of matrices is on diagonal ``k``, and which of ``x`` it is there; None
    where no element does."""
    *rest, row, column = at
    if x.shape[-1] == 0:
        return None, None
    low, right = max(-k, 0), max(k, 0)
    i = loops.index(row + -low)
    on = i.eq(loops.index(column + -right)) & (i >= 0) & (i < x.shape[-1])
    return on, x(*rest, _within(row + -low, x.shape[-1]))


@record
class Triangle(LinearOp):
    """The lower (or upper) triangle of the last two axes, zeros elsewhere."""

    k: int
    upper: bool
    work = elements(2)
    name = "triangle"

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return np.triu(x, self.k) if self.upper else np.tril(x, self.k)

    def c_call(self, x: np.ndarray) -> Any:
        if x.size > _FEW_ELEMENTS:
            return None
        rows, columns = x.shape[-2:]
        below = np.tri(rows, columns, self.k - self.upper, dtype=bool)
        return partial(np.where, below != self.upper), (np.zeros((), x.dtype),)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(self, g),)

    def lower(self, at: Any, x: Any) -> Any:
        row, column = loops.index(at[-2] + self.k), loops.index(at[-1])
        inside = loops.call("greater_equal" if self.upper else "less_equal", column, row)
        return loops.where(inside, x(*at), 0)


def _matrix(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"a matrix has at least 2 dimensions, this has shape {x.shape}")
    return x


def _rows(x: Any) -> Tensor:
    """The operand of a triangle; a vector is each row of a square, as for NumPy."""
    x = as_tensor(x)
    return broadcast_to(x, (x.shape[0], x.shape[0])) if x.ndim == 1 else _matrix(x)


@planned
@public
def tril(x: TensorLike, /, k: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices up to diagonal ``k``, zeros above it.

    :param x: Matrices, of shape (..., m, n); a vector is each row of a square one, as in NumPy.
    :param k: Which diagonal ends the triangle: 0 the main one, positive ones above it.
    :returns: Of the shape and dtype of ``x``, or of the square.
    :raises ShapeError: If ``x`` is a number.
    :see: triu, tri, tril_indices, diag

    >>> ag.tril(ag.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return apply(Triangle(known_integer(k, "k"), False), _rows(x))


@planned
@public
def triu(x: TensorLike, /, k: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices from diagonal ``k``, zeros below it.

    :like: tril
    :see: tril, tri, triu_indices, diag

    >>> ag.triu(ag.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return apply(Triangle(known_integer(k, "k"), True), _rows(x))


@planned
@public
def diagonal(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, *,
             out: Tensor | None = None) -> Tensor:
    """A diagonal of the matrices on two axes, as the last axis of the result.

    The result looks into ``x``: later changes of ``x`` show in it, and changes of it in ``x``, as
    in PyTorch (NumPy's cannot be changed).

    :param x: At least two axes.
    :param offset: Which diagonal: 0 the main one, positive ones above it.
    :param axis1, axis2: The axes of the matrices' rows and columns.
    :returns: The axes that stay, then the diagonal.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :raises ValueError: If the axes are the same.
    :raises IndexError: If an axis is out of range.
    :see: diag, trace, fill_diagonal, linalg.diagonal

    >>> ag.diagonal(ag.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    x = _matrix(x)
    if shapes.axis_of(axis1, x.ndim) == shapes.axis_of(axis2, x.ndim):
        raise ValueError(f"axis1 and axis2 are both {axis1}")
    offset = max(min(known_integer(offset, "offset"), _MAX_OFFSET), -_MAX_OFFSET)
    return apply(Diagonal(offset), moveaxis(x, (axis1, axis2), (-2, -1)))


@planned
@public
def diag(x: TensorLike, k: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal ``k`` of a matrix, or the matrix with a vector on that diagonal.

    That of a matrix is a copy, as in PyTorch; :func:`diagonal` looks into it.

    :param x: A vector or a matrix.
    :param k: Which diagonal: 0 the main one, positive ones above it.
    :returns: A vector, or a matrix of shape (n + |k|, n + |k|).
    :raises ShapeError: For other numbers of axes.
    :see: diagonal, diagflat, tril, triu, eye

    >>> ag.diag(ag.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    x, k = as_tensor(x), known_integer(k, "k")
    if x.ndim == 2:
        return apply(COPY, apply(Diagonal(k), x))
    if x.ndim != 1:
        raise ShapeError(f"diag takes a vector or a matrix, not shape {x.shape}")
    n = x.shape[0] + abs(k)
    return apply(DiagonalMatrix(k, n, n), x)


@planned
@public
def trace(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, *,
          out: Tensor | None = None) -> Tensor:
    """The sum of a diagonal.

    :param x: At least two axes.
    :param offset: Which diagonal: 0 the main one, positive ones above it.
    :param axis1, axis2: The axes of the matrices' rows and columns.
    :returns: The axes that stay; small integers are summed in 64 bits.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :see: diagonal, linalg.trace, sum

    >>> ag.trace(ag.eye(3)).item()
    3.0
    """
    return diagonal(x, offset, axis1, axis2).sum(-1)
