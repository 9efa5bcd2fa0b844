"""Reductions: sums, products, extremes, truth; mean and variance; norms."""

from __future__ import annotations

import builtins
import functools
from typing import Any, ClassVar

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.integers import known_integer
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.extents import need_elements
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import Axis, DTypeLike, TensorLike
from agnesi.core.public import apply_to, explain_errors, into, planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS, aside
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, compare, select
from agnesi.ops.base.convert import accumulator, as_tensor, cast, exact, written
from agnesi.ops.base.expand import add_up, broadcast_to, lower_reduce
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.totals import is_narrow, nonzeros, of_few, total, wide_of

_NAMES = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
    "logical_and": "all", "logical_or": "any",
}


@planned
def _shared(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    chosen = x == y
    count = apply(reducer("add", axes, True), cast(chosen, dtypes.accumulated(x.dtype)))
    rest = cast(select.where(compare.equal(count, 0), np.nan, 0), x.dtype)
    return select.where(chosen, cast(g / count, x.dtype), rest)


@record
class Reduce(Op):
    """Combine the elements along axes by a scalar operation; the dtype stays.

    Of no elements there is no extreme, unless it is to be combined with another number
    (``combined``): then it is the identity element, such as -inf for max.
    """

    kind: str
    axes: tuple[int, ...]
    keepdims: bool = False
    combined: bool = False
    function: ClassVar[Any]
    names = tuple(_NAMES.values())

    def __post_init__(self) -> None:
        extreme = self.kind in ("maximum", "minimum")
        truth = self.kind.startswith("logical")
        product = self.kind == "multiply"
        traits = frozenset(
            ("nonlinear", "extreme") if extreme else ("nonlinear",) if product else ())
        for attribute, value in {
            "name": _NAMES[self.kind],
            "traits": traits,
            "keep_inputs": (0,) if extreme or product else (),
            "keep_output": extreme,
            "differentiable": not truth,
            "function": add_up if self.kind == "add" else getattr(np, self.kind).reduce,
            "decompose": self._by_halves if product else None,
        }.items():
            object.__setattr__(self, attribute, value)

    def infer(self, x: Any) -> Any:
        shape = shapes.reduced(x.shape, self.axes, self.keepdims)
        if self.kind in ("maximum", "minimum") and not self.combined:
            for axis in self.axes:
                need_elements(x.shape[axis])
                if x.shape[axis] == 0:
                    raise ShapeError(
                        f"axis {axis} of shape {x.shape} has no elements, so there is no "
                        f"{self.name}; give it at least one element"
                    )
        return shape, dtypes.bool_ if self.kind.startswith("logical") else x.dtype

    def reduction(self, x: Any) -> tuple[int, ...]:
        return self.axes

    def perform(self, x: np.ndarray) -> np.ndarray:
        if x.size >= MIN_ASIDE_NANOSECONDS:
            found: np.ndarray = aside(x.size, self._compute, x)
            return found
        return self._compute(x)

    def _compute(self, x: np.ndarray) -> np.ndarray:
        if x.dtype.itemsize == 2 and x.dtype in dtypes.HALVES and self.kind in ("add", "multiply"):
            wide = silently(self.function, x, self.axes, np.float32, None, self.keepdims)
            return silently(np.asarray(wide).astype, x.dtype)
        if self.combined and not x.size:
            shape = shapes.reduced(x.shape, self.axes, self.keepdims)
            return np.full(shape, beaten(self.kind, x.dtype), x.dtype)
        dtype = x.dtype if self.kind in ("add", "multiply") else None
        return silently(self.function, x, self.axes, dtype, None, self.keepdims)

    def c_call(self, x: np.ndarray) -> Any:
        if not 0 < x.size < MIN_ASIDE_NANOSECONDS or x.dtype in dtypes.HALVES:
            return None
        added = self.kind == "add" and x.dtype.kind not in "biu"  # as ``add_up``
        first = (complex(-0.0, -0.0) if x.dtype.kind == "c" else -0.0,) if added else ()
        dtype = x.dtype if self.kind in ("add", "multiply") else None
        return getattr(np, self.kind).reduce, (self.axes, dtype, None, self.keepdims, *first)

    def fill(self, out: np.ndarray, x: np.ndarray) -> bool:
        if x.dtype in dtypes.HALVES or x.size >= MIN_ASIDE_NANOSECONDS or not x.size:
            return False
        silently(self.function, x, self.axes, None, out, self.keepdims)
        return True

    def spread(self, v: Tensor, shape: Any) -> Tensor:
        """A value of the result's shape along the axes that were reduced."""
        if not self.keepdims and v.shape:
            v = v.reshape(shapes.reduced(shape, self.axes, True))
        return broadcast_to(v, shape)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        g = self.spread(g, x.shape)
        if self.kind == "add":
            return (g,)
        if self.kind == "multiply":
            others = self.others(x)
            return (g * (others.conj() if others.dtype.kind == "c" else others),)
        return (self.share(g, y, x),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        t = ts[0]
        if self.kind == "multiply":
            t = t * self.others(x)
        elif self.kind != "add":
            t = self.share(t, y, x)
        return apply(reducer("add", self.axes, self.keepdims), t)

    def share(self, g: Tensor, y: Tensor, x: Tensor) -> Tensor:
        """``g`` divided among the elements that are the extreme; all NaN if that is NaN.

        A single element gets the whole gradient.
        """
        if builtins.all(x.shape[axis] == 1 for axis in self.axes):
            return g
        return _shared(g, self.spread(y, x.shape), x, self.axes)

    def others(self, x: Tensor) -> Tensor:
        """For each element, the product of the others along the axes; exact beside zeros."""
        from agnesi.ops.base.scans import product_of_others

        return product_of_others(x, self.axes)

    def _by_halves(self, x: Tensor) -> Tensor | None:
        """Products of complex numbers by halves: no reduction of real numbers gives them."""
        sizes = [x.shape[axis] for axis in self.axes]
        if x.dtype.kind != "c" or not builtins.all(isinstance(n, int) and n for n in sizes):
            return None
        from agnesi.ops.base.scans import halved

        for axis in self.axes:
            x = halved(x, axis)
        return x if self.keepdims else reshape(x, shapes.reduced(x.shape, self.axes, False))

    def lower(self, at: Any, x: Any) -> Any:
        full: list[Any] = list(at)
        if not self.keepdims:
            for axis in self.axes:
                full.insert(axis, loops.Affine())
        read = x
        if self.kind.startswith("logical") and x.dtype != "bool":
            read = loops.Read(x.shape, "bool", lambda i: x(*i).ne(0))
        return lower_reduce(self.kind, tuple(full), self.axes, read)


@functools.lru_cache(maxsize=4096)
def reducer(kind: str, axes: tuple[int, ...], keepdims: bool, combined: bool = False) -> Reduce:
    """The operation with these parameters, made once."""
    return Reduce(kind, axes, keepdims, combined)


def beaten(kind: str, dtype: np.dtype) -> Any:
    """The identity element of the maximum or minimum of a dtype."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if kind == "maximum" else np.iinfo(dtype).max
    return -np.inf if kind == "maximum" else np.inf


@functools.lru_cache(maxsize=4096)
def _reducer_for(kind: str, axis: Axis, ndim: int, keepdims: bool) -> Reduce:
    return reducer(kind, shapes.axes_of(axis, ndim), bool(keepdims))


def _axes(axis: Any) -> Axis:
    """Axes as the cache of operations takes them, for which True is 1."""
    if isinstance(axis, (tuple, list)):
        return tuple([known_integer(a, "axis") for a in axis])
    return known_integer(axis, "axis")


def reduced(kind: str, x: Tensor, axis: Axis, keepdims: bool, out: Tensor | None = None) -> Tensor:
    """A reduction of this kind, over axes as the user gave them."""
    if axis is not None and type(axis) is not int and (
        type(axis) is not tuple or bool in map(type, axis)
    ):
        axis = _axes(axis)
    op = _reducer_for(kind, axis, x.ndim if x.array is None else x.array.ndim, keepdims)
    return apply(op, x) if out is None else apply_to(out, op, x)


#: What a reduction of no elements is.
NEUTRAL = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}
_BETWEEN = {"add": arith.add, "multiply": arith.multiply, "maximum": select.maximum,
            "minimum": select.minimum}


def _some(kind: str, x: Tensor, axis: Axis, keepdims: bool, initial: Any, where: Any,
          out: Tensor | None) -> Tensor:
    """A reduction of the elements where ``where`` holds, and of ``initial``."""
    neutral = NEUTRAL.get(kind, initial)
    if neutral is None:
        raise ValueError(f"{_NAMES[kind]} of some elements needs initial= for where there are none")
    if where is not None:
        x = select.where(where, x, as_tensor(neutral, x.dtype))
    axes = shapes.axes_of(axis, x.ndim)
    if kind in ("maximum", "minimum"):
        op = reducer(extreme_over(kind, x.dtype), axes, bool(keepdims), combined=True)
        found = apply(op, with_order(x))
        initial = as_tensor(initial, x.dtype) if x.dtype.kind == "b" else initial
    else:
        found = reduced(kind, x, axis, keepdims)
    found = found if initial is None else _BETWEEN[kind](found, initial)
    return found if out is None else into(out, found)


#: NumPy's dtype characters: floats that are summed in their own dtype, ordered dtypes, all numeric
#: dtypes.
_WIDE = "fd"
_REAL = "efdbBhHiIlL"
_NUMBERS = "?FD" + _REAL


# -- sums and products --------------------------------------------------------------------------
@planned
@of_few("add", _WIDE, _reducer_for)
@explain_errors
def sum(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, keepdims: bool = False,
        initial: TensorLike | None = None, where: TensorLike | None = None,
        out: Tensor | None = None) -> Tensor:
    """Sum over axes (all by default); integers are summed in 64 bits.

    Elements count where ``where`` holds, and so does ``initial``.

    :param x: Of any shape; bool counts as 0 and 1.
    :param dtype: What to compute in and to give; by default integers narrower than 64 bits and bool
        are accumulated in int64 or uint64, all else as it is.
    :param initial: A number to begin with.
    :type initial: number, optional
    :returns: The shape of ``x`` without the axes (``()`` where all go). The sum of no elements is
        0; NaN spreads.
    :raises ValueError: If an axis is named twice.
    :see: prod, mean, cumsum, nansum, count_nonzero

    >>> ag.sum(ag.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])
    """
    if initial is not None or where is not None:
        return _some("add", accumulator(x, dtype), axis, keepdims, initial, where, out)
    if is_narrow(x) and out is None and (wide := wide_of(x, dtype)).kind in "iu":
        return total("add", x, axis, keepdims, wide)
    return reduced("add", accumulator(x, dtype), axis, keepdims, out)


@planned
@of_few("multiply", _WIDE, _reducer_for)
@explain_errors
def prod(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, keepdims: bool = False,
         initial: TensorLike | None = None, where: TensorLike | None = None,
         out: Tensor | None = None) -> Tensor:
    """Product over axes (all by default); its gradient is right beside zeros, too.

    Elements count where ``where`` holds, and so does ``initial``.

    :like: sum
    :returns: The shape of ``x`` without the axes (``()`` where all go). The product of no elements
        is 1; NaN spreads.
    :see: sum, cumprod, nanprod

    >>> ag.prod(ag.tensor([2.0, 3.0, 4.0]))
    tensor(24.)
    """
    if initial is not None or where is not None:
        return _some("multiply", accumulator(x, dtype), axis, keepdims, initial, where, out)
    if is_narrow(x) and out is None and (wide := wide_of(x, dtype)).kind in "iu":
        return total("multiply", x, axis, keepdims, wide)
    return reduced("multiply", accumulator(x, dtype), axis, keepdims, out)


@planned
@of_few("add", _WIDE, _reducer_for, arith.divide)
@public
def mean(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, keepdims: bool = False,
         where: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Arithmetic mean over axes (all by default), of the elements where ``where`` holds.

    Integers give the default float; ``dtype`` says which type to compute in and to give.

    :param x: Numbers to average; bool counts as 0 and 1.
    :param dtype: What to compute in and to give; by default that of ``x``, or the default float
        dtype for integers and bool.
    :param where: Which elements count; broadcast to the shape of ``x``.
    :type where: array_like of bool, optional
    :returns: The shape of ``x`` without the axes. The mean of no elements is NaN; NaN spreads.
    :raises DTypeError: If ``dtype`` is neither floating nor complex.
    :see: average, median, nanmean, sum, var, std

    >>> ag.mean(ag.tensor([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    if where is None and is_narrow(x) and (kind := _kind(x, dtype)).kind == "f":
        wide = total("add", x, axis, keepdims, dtypes.float64)
        return cast(wide / shapes.count(x.shape, shapes.axes_of(axis, x.ndim)), kind)
    x, kind = _exact(x, dtype)
    if where is None and is_known(x) and kind in dtypes.HALVES and not x._requires_grad:
        wide = total("add", x, axis, keepdims, dtypes.float32)  # no copy of it all in float32
        return cast(wide / shapes.count(x.shape, shapes.axes_of(axis, x.ndim)), kind)
    return cast(_mean(x, shapes.axes_of(axis, x.ndim), keepdims, 0, where), kind)


def _exact(x: Any, dtype: Any) -> tuple[Tensor, np.dtype]:
    """An operand as statistics are computed of it, and their dtype."""
    x = as_tensor(x)
    kind = _kind(x, dtype)
    whole = x.dtype.kind in "biu" and kind.kind in "fV"
    return exact(x) if whole else written(x, kind), kind


def _kind(x: Tensor, dtype: Any) -> np.dtype:
    """The dtype of a mean."""
    kind = dtypes.floating(x.dtype) if dtype is None else dtypes.as_dtype(dtype)
    if kind.kind not in "fVc":
        raise DTypeError(f"the result is a float or complex number, not {kind}")
    return kind


def _mean(x: Tensor, axes: tuple[int, ...], keepdims: bool, less: Any = 0, where: Any = None
          ) -> Tensor:
    """Sum over axes divided by the number of elements less ``less``; float16 sums are not cut."""
    dtype = x.dtype
    wide = cast(x, dtypes.float32) if dtype in dtypes.HALVES else x
    count: Any = x.count(axes) if x._lazy else shapes.count(x.shape, axes)  # type: ignore[attr-defined]
    if where is not None:
        wide = select.where(where, wide, 0)
        counted = broadcast_to(cast(as_tensor(where), dtypes.real_of(wide.dtype)), wide.shape)
        count = apply(reducer("add", axes, bool(keepdims)), counted)
    elif isinstance(count, (Dim, Tensor)):
        count = cast(as_tensor(count), dtypes.real_of(wide.dtype))
    if isinstance(less, Tensor) or less:
        number = isinstance(count, int) and not isinstance(less, Tensor)
        count = builtins.max(float(count - less), 0.0) if number else select.maximum(
            count - less, 0)
    result = arith.divide(apply(reducer("add", axes, bool(keepdims)), wide), count)
    return result if wide is x else cast(result, dtype)


@where_torch
@planned
@public
def var(x: TensorLike, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False,
        ddof: float | None = None, dtype: DTypeLike = None, where: TensorLike | None = None,
        out: Tensor | None = None) -> Tensor:
    """Variance over axes (all by default).

    :param x: Numbers, real or complex (of which the squared absolute values count).
    :param correction: The squares are divided by ``n - correction``: 0 gives that of a population,
        1 that of a sample.
    :param keepdims: Whether the axes stay, with size 1.
    :param ddof: NumPy's name for ``correction``.
    :type ddof: float
    :param dtype: What to compute in; by default that of ``x``, or the default float dtype for
        integers.
    :param where: Which elements count.
    :type where: array_like of bool, optional
    :returns: Real, the shape of ``x`` without the axes; NaN where ``n - correction`` is not
        positive.
    :raises DTypeError: If ``dtype`` is neither floating nor complex.
    :see: std, mean, nanvar, cov

    >>> ag.var(ag.tensor([1.0, 2.0, 3.0]), correction=1)
    tensor(1.)
    """
    x, kind = _exact(x, dtype)
    axes = shapes.axes_of(axis, x.ndim)
    off = x - _mean(x, axes, True, 0, where)
    squares = arith.square(off) if x.dtype.kind in "fV" else arith.real(off * arith.conj(off))
    spread = _mean(squares, axes, keepdims, freedom(correction, ddof), where)
    return cast(spread, dtypes.real_of(kind))


@where_torch
@planned
@public
def std(x: TensorLike, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False,
        ddof: float | None = None, dtype: DTypeLike = None, where: TensorLike | None = None,
        out: Tensor | None = None) -> Tensor:
    """Standard deviation over axes (all by default); its gradient is 0 where it is 0.

    Parameters are those of :func:`var`.

    :param x: Numbers, real or complex (of which the squared absolute values count).
    :param correction: The squares are divided by ``n - correction``: 0 gives that of a population,
        1 that of a sample.
    :param ddof: NumPy's name for ``correction``.
    :param dtype: What to compute in; by default that of ``x``, or the default float dtype for
        integers.
    :returns: Real, the shape of ``x`` without the axes; NaN where ``n - correction`` is not
        positive.
    :raises DTypeError: If ``dtype`` is neither floating nor complex.
    :see: var, mean, nanstd

    >>> ag.std(ag.tensor([1.0, 2.0, 3.0]), correction=1)
    tensor(1.)
    """
    x = as_tensor(x)
    if axis is not None and x.ndim == 0:
        shapes.axes_of(axis, 0)  # refuses it under this name
    return root(var(x, axis, correction=correction, keepdims=keepdims, ddof=ddof, dtype=dtype,
                     where=where))


def freedom(correction: float, ddof: float | None) -> float:
    """Return the number taken off the count of elements, given by one of its two names."""
    if ddof is None:
        return correction
    if correction:
        raise ValueError("correction and ddof are the same; give one of them")
    return ddof


def root(squares: Tensor) -> Tensor:
    """Square root of a sum of squares, with gradient 0 at 0."""
    if is_known(squares) and not squares._requires_grad:
        return arith.sqrt(squares)
    nothing = squares == 0
    return select.where(nothing, 0, arith.sqrt(select.where(nothing, 1, squares)))


# -- extremes -----------------------------------------------------------------------------------
def _extreme(kind: str, x: Any, axis: Axis, keepdims: bool, out: Tensor | None) -> Tensor:
    t = with_order(as_tensor(x))
    try:
        return reduced(extreme_over(kind, t.dtype), t, axis, keepdims, out)
    except IndexError as error:
        if isinstance(x, (Tensor, np.ndarray)):
            raise
        raise IndexError(f"{error}: the second argument is an axis; ag.{kind}(a, b) compares "
                         "values") from None


def with_order(x: Tensor) -> Tensor:
    """The operand, refused where its numbers have no order."""
    if x.dtype.kind == "c":
        raise DTypeError(f"complex numbers have no order: {typed(x)}; reduce ag.abs(x) instead")
    return x


@where_torch
@planned
@of_few("maximum", _REAL, _reducer_for)
@explain_errors
def max(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
        initial: TensorLike | None = None, where: TensorLike | None = None,
        out: Tensor | None = None) -> Tensor:
    """Greatest element along axes (all by default); NaN wins; equal ones share the gradient.

    Elements count where ``where`` holds, and so does ``initial``.

    :param x: Of any shape and of a dtype with an order, bool included.
    :param axis: Axes to reduce over; all by default. The name ``dim`` is PyTorch's: with it the
        result is the pair ``values, indices``.
    :param initial: One more candidate; needed with ``where``, and where an axis may have no
        elements.
    :type initial: number, optional
    :returns: The shape of ``x`` without the axes, of its dtype.
    :raises ShapeError: If there are no elements and no ``initial``.
    :raises DTypeError: For complex numbers, which have no order.
    :raises ValueError: If ``where`` is given without ``initial``, or an axis is named twice.
    :raises IndexError: If an axis is out of range.
    :see: min, amax, argmax, maximum, nanmax, topk

    >>> ag.max(ag.tensor([[1, 5], [7, 2]]), axis=1)
    tensor([5, 7])
    """
    if initial is not None or where is not None:
        return _some("maximum", as_tensor(x), axis, keepdims, initial, where, out)
    return _extreme("maximum", x, axis, keepdims, out)


@where_torch
@planned
@of_few("minimum", _REAL, _reducer_for)
@explain_errors
def min(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
        initial: TensorLike | None = None, where: TensorLike | None = None,
        out: Tensor | None = None) -> Tensor:
    """Least element along axes (all by default); NaN wins; equal ones share the gradient.

    Elements count where ``where`` holds, and so does ``initial``.

    :like: max
    :see: max, amin, argmin, minimum, nanmin

    >>> ag.min(ag.tensor([[1, 5], [7, 2]]), axis=1)
    tensor([1, 2])
    """
    if initial is not None or where is not None:
        return _some("minimum", as_tensor(x), axis, keepdims, initial, where, out)
    return _extreme("minimum", x, axis, keepdims, out)


@planned
@of_few("maximum", _REAL, _reducer_for)
@explain_errors
def amax(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
         initial: TensorLike | None = None, where: TensorLike | None = None,
         out: Tensor | None = None) -> Tensor:
    """Like :func:`max`; with ``dim``, too, it gives the values only.

    :param x: Of any shape and of a dtype with an order, bool included.
    :param axis: Axes to reduce over, negative ones counted from the end; all by default. Also
        written ``dim``.
    :param initial: One more candidate; needed with ``where``, and where an axis may have no
        elements.
    :type initial: number, optional
    :returns: The shape of ``x`` without the axes, of its dtype.
    :raises ShapeError: If there are no elements and no ``initial``.
    :raises DTypeError: For complex numbers, which have no order.
    :raises ValueError: If ``where`` is given without ``initial``.
    :see: max, amin, argmax

    >>> ag.amax(ag.tensor([[1, 5], [7, 2]]), dim=1)
    tensor([5, 7])
    """
    return max(x, axis, keepdims=keepdims, initial=initial, where=where, out=out)


@planned
@of_few("minimum", _REAL, _reducer_for)
@explain_errors
def amin(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
         initial: TensorLike | None = None, where: TensorLike | None = None,
         out: Tensor | None = None) -> Tensor:
    """Like :func:`min`; with ``dim``, too, it gives the values only.

    :like: amax
    :see: min, amax, argmin

    >>> ag.amin(ag.tensor([[1, 5], [7, 2]]), dim=1)
    tensor([1, 2])
    """
    return min(x, axis, keepdims=keepdims, initial=initial, where=where, out=out)


def extreme_over(kind: str, dtype: np.dtype) -> str:
    """The reduction that finds an extreme of a dtype."""
    if dtype.kind != "b":
        return kind
    return "logical_or" if kind == "maximum" else "logical_and"


# -- truth --------------------------------------------------------------------------------------
@planned
@of_few("logical_and", _NUMBERS, _reducer_for)
@explain_errors
def all(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
        where: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Return whether all elements along axes are true (not 0); of no elements it is True.

    :param x: Of any shape and dtype; what is not 0 counts as true, NaN too.
    :returns: bool, the shape of ``x`` without the axes.
    :raises ValueError: If an axis is named twice.
    :see: any, logical_and, count_nonzero, allclose

    >>> ag.all(ag.tensor([[True, False], [True, True]]), axis=1)
    tensor([False,  True])
    """
    if where is not None:
        return _some("logical_and", as_tensor(x), axis, keepdims, None, where, out)
    return reduced("logical_and", as_tensor(x), axis, keepdims, out)


@planned
@of_few("logical_or", _NUMBERS, _reducer_for)
@explain_errors
def any(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
        where: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Return whether some element along axes is true (not 0); of no elements it is False.

    :like: all
    :see: all, logical_or, count_nonzero

    >>> ag.any(ag.tensor([[True, False], [False, False]]), axis=1)
    tensor([ True, False])
    """
    if where is not None:
        return _some("logical_or", as_tensor(x), axis, keepdims, None, where, out)
    return reduced("logical_or", as_tensor(x), axis, keepdims, out)


@planned
@public
def count_nonzero(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
                  out: Tensor | None = None) -> Tensor:
    """Number of elements along axes that are not 0.

    :param x: Of any shape and dtype; NaN counts.
    :returns: int64, the shape of ``x`` without the axes.
    :see: nonzero, sum, any

    >>> ag.count_nonzero(ag.tensor([0, 3, 0, 4]))
    tensor(2)
    """
    x = as_tensor(x)
    if is_known(x) and x.dtype.kind != "V":
        return nonzeros(x, axis, keepdims)
    return reduced("add", cast(compare.not_equal(x, 0), dtypes.int64), axis, keepdims)


# -- norms --------------------------------------------------------------------------------------
