"""Functions of PyTorch's that NumPy has not, and its keywords of arithmetic."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from agnesi.core import shapes
from agnesi.core.ir.dims import is_settled
from agnesi.core.keywords import NEEDED, strict
from agnesi.core.op import EXPLAINED, explain, renamed_error, typed
from agnesi.core.options import NotNegativeBound
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, compare, select
from agnesi.ops.base.convert import as_tensor, floating, pair
from agnesi.ops.base.elementwise import Binary, with_methods
from agnesi.ops.base.movement import expand_dims, sized
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.elementwise.composites import composite
from agnesi.ops.indexing.index import take
from agnesi.ops.sparse.words import is_sparse

__all__ = ["add", "addmm", "bmm", "cdist", "divide", "equal", "index_select", "mm", "subtract"]

def _towards_zero(a: Any, b: Any) -> Tensor:
    """The quotient without its fraction; of integers an integer."""
    a, b = pair(a, b)
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return arith.floor_divide(a - arith.fmod(a, b), b)
    return select.trunc(arith.divide(a, b))


_ROUNDINGS: dict[str, Callable[[Any, Any], Tensor]] = {
    "floor": arith.floor_divide, "trunc": _towards_zero,
}


def _scaled(row: Binary) -> Binary:
    """A sum or difference whose second operand may have a factor ``alpha``."""

    def function(input: TensorLike = NEEDED, other: TensorLike = NEEDED, /, *more: Any,
                 **keywords: Any) -> Tensor:
        if not keywords:
            return row(input, other, *more) if more else row(input, other)
        return scaled(*(x for x in (input, other, *more) if x is not NEEDED), **keywords)

    @planned
    @strict
    def scaled(input: TensorLike, other: TensorLike, out: Tensor | None = None, *,
               alpha: TensorLike = 1) -> Tensor:
        if type(alpha) is not int or alpha != 1:
            try:
                other = arith.multiply(other, alpha)
            except EXPLAINED as error:
                raise renamed_error(error, row.__name__, (input, other, alpha)) from None
        return row(input, other, out=out)

    return _named(function, scaled, row, "alpha : number or Tensor\n    A factor of ``x2``.")


def _divided(row: Binary) -> Binary:
    """A quotient that may be rounded."""

    def function(input: TensorLike = NEEDED, other: TensorLike = NEEDED, /, *more: Any,
                 **keywords: Any) -> Tensor:
        if not keywords:
            return row(input, other, *more) if more else row(input, other)
        return rounded(*(x for x in (input, other, *more) if x is not NEEDED), **keywords)

    @strict
    def rounded(input: TensorLike, other: TensorLike, out: Tensor | None = None, *,
                rounding_mode: str | None = None) -> Tensor:
        if rounding_mode is None:
            return row(input, other) if out is None else row(input, other, out=out)
        if not isinstance(rounding_mode, str) or rounding_mode not in _ROUNDINGS:
            wrong = ValueError("rounding_mode must be None, 'floor' or 'trunc', not "
                               f"{rounding_mode!r}")
            raise explain(wrong, row.__name__, (input, other))
        return _ROUNDINGS[rounding_mode](input, other)

    return _named(function, rounded, row,
                  "rounding_mode : {None, 'floor', 'trunc'}\n    How the quotient is rounded: not "
                  "at all, down or towards zero.")


def _named(function: Callable[..., Any], whole: Callable[..., Any], row: Binary, parameter: str
           ) -> Binary:
    """The function by the row's name, with the signature of the ``whole`` one, which takes
    keywords."""
    for f in (function, whole, inspect.unwrap(whole)):
        f.__name__ = f.__qualname__ = row.__name__
        f.__module__ = __name__
    shown = inspect.signature(row)  # with the keyword of PyTorch's before the last
    own = inspect.signature(whole).parameters
    *operands, out = shown.parameters.values()
    extra = [own[n] for n in own if n not in ("input", "other", "out")]
    function.__signature__ = shown.replace(  # type: ignore[attr-defined]
        parameters=[*operands, *extra, out])
    function.__doc__ = str(row.__doc__).replace("out : Tensor", f"{parameter}\nout : Tensor")
    return with_methods(function)


add = _scaled(arith.add)
subtract = _scaled(arith.subtract)
divide = _divided(arith.divide)


@where_torch
@strict
def equal(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Return whether elements are equal, one by one, as in NumPy; the method ``x.equal(y)`` is
    PyTorch's.

    :param x1, x2: They broadcast; NaN equals nothing.
    :returns: bool, of the broadcast shape.
    :raises ShapeError: If the shapes do not broadcast.
    :see: not_equal, isclose, array_equal, Tensor.equal

    >>> ag.equal([1, 2], [1, 3])
    tensor([ True, False])
    """
    return compare.equal(x1, x2) if out is None else compare.equal(x1, x2, out=out)


with_methods(equal)


def _product(x: Any, other: Any, ndim: int, what: str, out: Tensor | None) -> Tensor:
    """The matrix product of operands with just so many axes."""
    if is_sparse(x) or is_sparse(other):
        a, b = (v if is_sparse(v) else as_tensor(v) for v in (x, other))
    else:
        a, b = pair(x, other)
    for operand in (a, b):
        if operand.ndim != ndim:
            raise ShapeError(f"both must be {what}, not {typed(operand)}; x @ y takes vectors and "
                             "stacks, and broadcasts")
    if ndim == 3 and not (is_sparse(a) or is_sparse(b)):
        b = sized(b, 0, a.shape[0])
    if ndim == 3 and a.shape[0] != b.shape[0] and is_settled((a.shape[0], b.shape[0])):
        raise ShapeError(f"batches or inner sizes differ: {typed(a)} and {typed(b)}; x @ y "
                         "broadcasts batches")
    return matmul(a, b, out=out)


@planned
@public
def mm(x: TensorLike, mat2: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices; :func:`matmul` takes vectors and stacks as well.

    :param x, mat2: The matrices, of shapes (n, k) and (k, m).
    :returns: Of shape (n, m).
    :raises ShapeError: If one is no matrix, or the inner sizes differ.
    :see: matmul, bmm, addmm

    >>> ag.mm(ag.ones(2, 3), ag.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    return _product(x, mat2, 2, "matrices", out)


@planned
@public
def bmm(x: TensorLike, mat2: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The products of two stacks of matrices, which :func:`matmul` broadcasts.

    :param x, mat2: The stacks, of shapes (b, n, k) and (b, k, m).
    :returns: Of shape (b, n, m).
    :raises ShapeError: If one has not three axes, or the batches or inner sizes differ.
    :see: matmul, mm, baddbmm

    >>> ag.bmm(ag.ones(2, 1, 3), ag.ones(2, 3, 1)).shape
    (2, 1, 1)
    """
    return _product(x, mat2, 3, "stacks of matrices with three axes", out)


@planned
@public
def addmm(input: TensorLike, mat1: TensorLike, mat2: TensorLike, *, beta: TensorLike = 1,
          alpha: TensorLike = 1,
          out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``: one operation when compiled.

    :param input: What is added; broadcast.
    :param mat1, mat2: The matrices.
    :param beta, alpha: The factors.
    :type beta, alpha: number
    :returns: Of the shape (n, m) of the product.
    :raises ShapeError: If the shapes do not fit.
    :see: matmul, addcmul, linear

    >>> ag.addmm(ag.ones(2), ag.eye(2), ag.eye(2), alpha=3)
    tensor([[4., 1.],
            [1., 4.]])
    """
    product = _product(mat1, mat2, 2, "matrices", None)
    product = product if alpha == 1 else product * alpha
    product, added = pair(product, input)
    return product + (added if beta == 1 else added * beta)


@planned
@public
def index_select(x: TensorLike, axis: int, index: TensorLike, *, out: Tensor | None = None
                 ) -> Tensor:
    """The slices of an axis at the indices that a vector names.

    :param x: At least one axis.
    :param index: A vector, or a number for one slice.
    :type index: array_like of int
    :returns: As ``x``, but on the axis as long as ``index``.
    :raises ValueError: If ``index`` has several axes.
    :raises IndexError: If an index or the axis is out of range.
    :see: take, index_add, narrow

    >>> ag.index_select(ag.tensor([[1, 2, 3]]), 1, [2, 0])
    tensor([[3, 1]])
    """
    indices = as_tensor(index)
    if indices.ndim > 1:
        raise ValueError(f"index must be a vector, not of shape {indices.shape}")
    x = as_tensor(x)
    return take(x, expand_dims(indices, 0) if indices.ndim == 0 else indices,
                shapes.axis_of(axis, x.ndim))


@planned
@public
def cdist(x1: TensorLike, x2: TensorLike, p: NotNegativeBound = 2.0, *,
          out: Tensor | None = None) -> Tensor:
    """Distances between all rows of two matrices, or of stacks of matrices.

    :param x1, x2: Of shapes (..., n, k) and (..., m, k).
    :param p: Of the norm.
    :returns: Of shape (..., n, m).  Its gradient is 0 where a distance is 0.
    :raises ShapeError: If the rows have different lengths.
    :see: nn.PairwiseDistance, dist, norm

    >>> ag.cdist(ag.tensor([[0.0, 0.0]]), ag.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    return _distances(*map(floating, pair(x1, x2)), how=(p,))


@composite
def _distances(a: Tensor, b: Tensor, *, how: tuple[Any, ...]) -> Tensor:
    """The norm ``how`` of the difference of each row of one and each of the other."""
    (p,) = how
    norm = import_module("agnesi.ops.reductions.vector_norms").norm

    return norm(expand_dims(a, -2) - expand_dims(b, -3), p, -1)
