"""Functions that are a few lines over others: no rules of their own."""

from __future__ import annotations

from typing import Any

from agnesi.core import shapes
from agnesi.core.ir.dims import is_static
from agnesi.core.options import NotNegative, NotNegativeBound
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import add, imag, multiply, real, subtract
from agnesi.ops.base.compare import (
    equal,
    greater,
    isfinite,
    isinf,
    isnan,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
)
from agnesi.ops.base.convert import as_tensor, cast, common, floating, pair, written
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.literals import to_write
from agnesi.ops.base.movement import moveaxis, sized
from agnesi.ops.base.reduce import all as every
from agnesi.ops.base.select import where
from agnesi.ops.contractions.matmul import tensordot
from agnesi.ops.elementwise.complexes import complex as join
from agnesi.ops.indexing.join import concat, stack
from agnesi.ops.reductions.vector_norms import norm


@planned
@public
def isclose(x1: TensorLike, x2: TensorLike, /, rtol: NotNegative = 1e-5, atol: NotNegative = 1e-8,
            *, equal_nan: bool = False, out: Tensor | None = None) -> Tensor:
    """Return whether elements agree: ``|x1 - x2| <= atol + rtol * |x2|``.

    :param x1, x2: They broadcast; integers and bool are compared as float64.
    :param rtol: Tolerance relative to ``|x2|``.
    :param atol: Absolute tolerance.
    :param equal_nan: Whether NaN agrees with NaN.
    :returns: bool, of the broadcast shape. Infinities agree with themselves only.
    :raises ShapeError: If the shapes do not broadcast.
    :see: allclose, eq, array_equal

    >>> ag.isclose(ag.tensor([1.0, 2.0]), ag.tensor([1.0 + 1e-7, 2.1]))
    tensor([ True, False])
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if not (dtypes.is_inexact(a.dtype) or dtypes.is_inexact(b.dtype)):
        a, b = cast(a, dtypes.float64), cast(b, dtypes.float64)
    near = less_equal(magnitude(subtract(a, b)), add(multiply(magnitude(b), rtol), atol))
    same = logical_or(equal(a, b), logical_and(near, isfinite(b)))
    return logical_or(same, logical_and(isnan(a), isnan(b))) if equal_nan else same


@planned
@public
def allclose(x1: TensorLike, x2: TensorLike, /, rtol: NotNegative = 1e-5,
             atol: NotNegative = 1e-8, *,
             equal_nan: bool = False, out: Tensor | None = None) -> Tensor:
    """Return whether all elements agree, as a tensor of one bool.

    :like: isclose
    :returns: One bool, of shape (): whether :func:`isclose` holds everywhere; True for no elements.
    :see: isclose, array_equal, all

    >>> bool(ag.allclose(ag.ones(3), ag.ones(3) + 1e-7))
    True
    """
    return every(isclose(x1, x2, rtol, atol, equal_nan=equal_nan))


@planned
@public
def array_equal(x1: TensorLike, x2: TensorLike, /, equal_nan: bool = False, *,
                out: Tensor | None = None) -> Tensor:
    """Return whether two arrays have the same shape and elements; NaN is NaN with ``equal_nan``.

    :param x1, x2: Of any shapes, which need not fit.
    :param equal_nan: Whether NaN equals NaN.
    :returns: One bool, of shape ().
    :see: array_equiv, allclose, eq

    >>> bool(ag.array_equal(ag.ones(2), [1, 1]))
    True
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if a.ndim != b.ndim:
        return as_tensor(False)
    if a.shape == b.shape:
        return _all_equal(a, b, equal_nan)
    if is_static((*a.shape, *b.shape)):
        return as_tensor(False)
    alike = equal(stack([as_tensor(n) for n in a.shape]), stack([as_tensor(n) for n in b.shape]))
    a, b = a[tuple(map(slice, b.shape))], b[tuple(map(slice, a.shape))]  # what both have
    return logical_and(every(alike), _all_equal(a, b, equal_nan))


def _all_equal(a: Tensor, b: Tensor, equal_nan: bool) -> Tensor:
    same = equal(a, b)
    return every(logical_or(same, logical_and(isnan(a), isnan(b))) if equal_nan else same)


@planned
@public
def diff(x: TensorLike, /, n: int = 1, axis: int = -1, prepend: TensorLike | None = None,
         append: TensorLike | None = None, *, out: Tensor | None = None) -> Tensor:
    """Differences of neighbours, ``n`` times.

    :param x: At least one axis; differences of bool are whether they differ.
    :param n: How many times differences are taken; 0 gives ``x``.
    :param prepend, append: Put in front of and behind the elements first; numbers for a single row.
    :returns: As ``x``, but ``n`` shorter along the axis, or empty.
    :raises ValueError: If ``n`` is negative.
    :see: cumsum, gradient, ediff1d

    >>> ag.diff(ag.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    if n < 0:
        raise ValueError(f"n must not be negative: {n}")
    if n and (prepend is not None or append is not None):
        x = concat([e for e in (_edge(prepend, x, axis), x, _edge(append, x, axis))
                    if e is not None], axis)
    before = (slice(None),) * axis
    for _ in range(n):
        if type(x.shape[axis]) is int and not x.shape[axis]:
            break  # there are no differences of nothing, however often
        ahead, behind = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = not_equal(ahead, behind) if x.dtype.kind == "b" else ahead - behind
    return x


def _edge(given: Any, x: Tensor, axis: int) -> Tensor | None:
    """Return what :func:`diff` puts beside ``x``: a number becomes a row of it."""
    if given is None:
        return None
    edge = common(x, given)[1]
    if edge.ndim:
        return edge
    return broadcast_to(edge, tuple(1 if a == axis else n for a, n in enumerate(x.shape)))


@planned
@public
def inner(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Sum of products over the last axes of both.

    :param x1, x2: Of equally long last axes, or numbers.
    :returns: Of shape (*x1.shape[:-1], *x2.shape[:-1]); complex numbers are not conjugated.
    :raises ShapeError: If the last axes differ in size.
    :see: dot, vdot, vecdot, outer, tensordot

    >>> ag.inner(ag.tensor([1, 2]), ag.tensor([[3, 4], [5, 6]]))
    tensor([11, 17])
    """
    a, b = as_tensor(x1), as_tensor(x2)
    return tensordot(a, b, axes=((-1,), (-1,))) if a.ndim and b.ndim else multiply(a, b)


@where_torch
@planned
@public
def cross(x1: TensorLike, x2: TensorLike, /, axis: int | None = None, *, axisa: int = -1,
          axisb: int = -1, axisc: int = -1, out: Tensor | None = None) -> Tensor:
    """Cross product of vectors of three elements.

    :param x1, x2: They broadcast.
    :param axis: The axis of size 3 in both and in the result, by default the last one; also written
        ``dim``.
    :param axisa, axisb, axisc: The axes of ``x1``, ``x2`` and the result, where they are not the
        same.
    :returns: Of the broadcast shape.
    :raises ShapeError: If the axis has another size than 3, or the shapes do not broadcast.
    :see: linalg.cross, dot, outer

    >>> ag.cross(ag.tensor([1, 0, 0]), ag.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(as_tensor(x1), axisa, -1), moveaxis(as_tensor(x2), axisb, -1)
    if not shapes.fits((a.shape[-1], b.shape[-1]), (3, 3)):
        raise ShapeError(f"axes {axisa} and {axisb} must have size 3, not {a.shape[-1]} and "
                         f"{b.shape[-1]}")
    (a0, a1, a2), (b0, b1, b2) = ([sized(v, -1, 3)[..., i] for i in range(3)] for v in (a, b))
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return moveaxis(stack(parts, axis=-1), -1, axisc)


@planned
@public
def dist(x1: TensorLike, x2: TensorLike, /, p: NotNegativeBound = 2, *,
         out: Tensor | None = None) -> Tensor:
    """The p-norm of the difference.

    :param x1, x2: They broadcast.
    :param p: Order of the norm: 2 is Euclid's, ``inf`` the greatest absolute difference.
    :returns: One real number, of shape ().
    :raises ShapeError: If the shapes do not broadcast.
    :see: linalg.vector_norm

    >>> ag.dist(ag.tensor([0.0, 0.0]), ag.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return norm(subtract(*map(floating, pair(x1, x2))), ord=p)


@planned
@public
def nan_to_num(x: TensorLike, /, nan: float | None = 0.0, posinf: float | None = None,
               neginf: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """NaN and infinities replaced by numbers: zero and the largest ones by default.

    :param x: Integers are given back as they are; of complex numbers each part is replaced.
    :param nan: Stands for NaN; None is 0.
    :param posinf, neginf: Stand for the infinities; by default the greatest and the least number of
        the dtype.
    :returns: Of the shape and dtype of ``x``; the gradient is 0 where something was replaced.
    :see: isnan, isinf, where

    >>> ag.nan_to_num(ag.tensor([1.0, float("nan")]))
    tensor([1., 0.])
    """
    x = as_tensor(x)
    if x.dtype.kind == "c":
        return join(*[nan_to_num(part, nan, posinf, neginf) for part in (real(x), imag(x))])
    if x.dtype.kind not in "fV":
        return x
    limits = dtypes.limits(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    infinite = where(greater(x, 0), as_tensor(high, x.dtype), as_tensor(low, x.dtype))
    return where(isnan(x), 0.0 if nan is None else nan, where(isinf(x), infinite, x))


@planned
@public
def masked_fill(x: TensorLike, mask: TensorLike, value: TensorLike, *, out: Tensor | None = None
                ) -> Tensor:
    """``value`` where the mask is true.

    :param x: It is left as it is.
    :param mask: Where to put the value; it broadcasts with ``x``.
    :type mask: array_like of bool
    :param value: Converted to the dtype of ``x``.
    :type value: number or array_like
    :returns: Of the broadcast shape; gradients are 0 where the mask is true.
    :raises DTypeError: If the mask is not bool.
    :raises ShapeError: If the shapes do not broadcast.
    :see: where, putmask, place, index_put

    >>> ag.masked_fill(ag.tensor([1, 2]), ag.tensor([True, False]), 7)
    tensor([7, 2])
    """
    x = as_tensor(x)
    value = to_write(value, x.dtype)
    return where(mask, written(value, x.dtype), x)


@planned
@public
def lerp(start: TensorLike, end: TensorLike, weight: TensorLike, *, out: Tensor | None = None
         ) -> Tensor:
    """``start + weight * (end - start)``.

    :param start, end: The values at weights 0 and 1.
    :param weight: Any number; beyond [0, 1] it extrapolates. All three broadcast.
    :returns: Of the broadcast shape and the promoted dtype.
    :raises ShapeError: If the shapes do not broadcast.
    :see: interp, addcmul

    >>> ag.lerp(ag.zeros(2), ag.ones(2), 0.25)
    tensor([0.25, 0.25])
    """
    start, end, weight = common(start, end, weight)
    return add(start, multiply(subtract(end, start), weight))


@planned
@public
def addcmul(x: TensorLike, tensor1: TensorLike, tensor2: TensorLike, *, value: TensorLike = 1,
            out: Tensor | None = None) -> Tensor:
    """``x + value * tensor1 * tensor2``.

    :param x: Numbers to add to.
    :param tensor1, tensor2: Factors, or dividend and divisor; all three broadcast.
    :param value: Factor of the product or quotient.
    :type value: number or Tensor
    :returns: Of the broadcast shape and the promoted dtype.
    :raises ShapeError: If the shapes do not broadcast.
    :see: addcdiv, multiply, lerp

    >>> ag.addcmul(ag.ones(2), ag.ones(2), ag.ones(2), value=0.5)
    tensor([1.5, 1.5])
    """
    x, tensor1, tensor2 = common(x, tensor1, tensor2)
    return add(x, multiply(multiply(tensor1, tensor2), value))


@planned
@public
def addcdiv(x: TensorLike, tensor1: TensorLike, tensor2: TensorLike, *, value: TensorLike = 1,
            out: Tensor | None = None) -> Tensor:
    """``x + value * tensor1 / tensor2``.

    :like: addcmul
    :see: addcmul, divide, lerp

    >>> ag.addcdiv(ag.ones(2), ag.ones(2), ag.tensor([2.0, 4.0]))
    tensor([1.5 , 1.25])
    """
    x, tensor1, tensor2 = common(x, tensor1, tensor2)
    return add(x, multiply(tensor1 / tensor2, value))
