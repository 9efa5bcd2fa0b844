"""Tensors of counted and of evenly spaced numbers, and the identity matrix."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.calls.modules import is_pythons
from agnesi.core.dispatch import apply
from agnesi.core.integers import check_integer, integer
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Dim, Size, combine
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.errors import check_allocatable
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known, is_tracing
from agnesi.core.support.worker_threads import results
from agnesi.core.tensor import Tensor, wrap
from agnesi.core.value_sizes import refusal, size_of
from agnesi.ops.base.arith import add, divide, floor_divide, multiply, negative, power, subtract
from agnesi.ops.base.bounds import most_of
from agnesi.ops.base.chosen import positions_of
from agnesi.ops.base.compare import equal, less, not_equal
from agnesi.ops.base.convert import as_tensor, cast, is_live, too_large
from agnesi.ops.base.creation import checked_sizes, constant, float_dtype, made
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.base.select import ceil, maximum, where

#: Sums of three integers below it have less than 64 bits.
_LEAST_LARGE_INTEGER = 1 << 60


@record
class Arange(Op):
    """``start + step * i`` for i below ``size``, computed in ``dtype``."""

    start: Any
    step: Any
    size: Size
    dtype: np.dtype
    name = "arange"
    traits = frozenset(("cheap",))
    differentiable = False

    def infer(self) -> Any:
        return (self.size,), self.dtype

    def perform(self) -> np.ndarray:
        size: Any = self.size
        check_allocatable((size,), dtypes.int64)
        end = self.start + self.step * size
        if self.dtype == dtypes.int64 and _are_small(self.start, end, self.step):
            return np.arange(self.start, end, self.step)
        return self._rounded(size)

    @np.errstate(all="ignore")
    def _rounded(self, size: int) -> np.ndarray:
        """The numbers in any dtype, with what overflows."""
        start, step = (np.asarray(v).astype(self.dtype) for v in (self.start, self.step))
        numbers = np.arange(size).astype(self.dtype, copy=False)
        if start != 0 or step != 1:
            np.multiply(step, numbers, out=numbers)
            np.add(start, numbers, out=numbers)
        return numbers

    def work(self) -> int:
        size: Any = self.size
        return size if isinstance(size, int) else 0

    def lower(self, at: Any) -> Any:
        name = self.dtype.name
        if self.dtype.kind in "iu":
            return loops.cast(loops.index(at[0] * int(self.step) + int(self.start)), name)
        return loops.cast(loops.index(at[0]), name) * self.step + self.start


@record
class Linspace(Op):
    """Evenly spaced numbers; the last one is ``stop`` itself where the end is included."""

    start: float
    stop: float
    num: int
    endpoint: bool
    dtype: np.dtype
    work = results(4)
    name = "linspace"
    differentiable = False

    def infer(self) -> Any:
        return (self.num,), self.dtype

    @np.errstate(all="ignore")
    def perform(self) -> np.ndarray:
        check_allocatable((self.num,), dtypes.float64)
        return np.linspace(self.start, self.stop, self.num, self.endpoint, dtype=self.dtype)

    def lower(self, at: Any) -> Any:
        count = combine("max", self.num - 1 if self.endpoint else self.num, 1)
        i, end, span = loops.index(at[0]), loops.size(count), self.stop - self.start
        step = span / (count if isinstance(count, int) else loops.cast(end, "float64"))
        value = loops.cast(i, "float64") * step + self.start
        if self.endpoint:
            value = loops.where(i.eq(end), self.stop, value)
        return loops.cast(value, self.dtype.name)


@record
class Eye(Op):
    """Ones on the diagonal ``k`` of a matrix of zeros."""

    rows: Size
    columns: Size
    k: int
    dtype: np.dtype
    work = results(1)
    name = "eye"
    differentiable = False

    def infer(self) -> Any:
        return (self.rows, self.columns), self.dtype

    @np.errstate(all="ignore")
    def perform(self) -> np.ndarray:
        rows: Any = self.rows
        columns: Any = self.columns
        return np.eye(rows, columns, self.k, self.dtype)

    def lower(self, at: Any) -> Any:
        same = loops.index(at[0] + self.k).eq(loops.index(at[1]))
        return loops.cast(same, self.dtype.name)


# -- functions ------------------------------------------------------------------------------
def _number(x: Any) -> Any:
    """A bound of arange: a Python number or a size."""
    if isinstance(x, Tensor):
        x = x.array
    if isinstance(x, (np.ndarray, np.generic)) and x.size == 1:
        x = x.item()
    if not isinstance(x, (int, float, Dim)):
        raise TypeError(f"the bounds and the step are numbers, not {typed(x)}")
    return x


@planned
@public
def arange(start: TensorLike, /, stop: TensorLike | None = None, step: TensorLike = 1,
           dtype: DTypeLike = None, *, device: str | None = None, out: Tensor | None = None
           ) -> Tensor:
    """Numbers from ``start`` (0 where one bound is given) up to and without ``stop``.

    :param start, stop, step: Integers give int64, Python floats the default float dtype, others
        theirs.  Gradients flow to the start and the step; the number of elements that they and
        ``stop`` decide is piecewise constant.
    :type start, stop, step: number, size
    :param dtype: Type of the elements, whatever that of the bounds.
    :returns: A vector of ``ceil((stop - start) / step)`` elements; none where that is negative.
    :raises ValueError: If the step is 0.
    :raises TypeError: If a bound is no number.
    :raises DTypeError: If a whole number does not fit into the dtype.
    :see: linspace, logspace, indices

    >>> ag.arange(2, 8, 2)
    tensor([2, 4, 6])
    """
    ends: tuple[Any, ...] = (0, start, step) if stop is None else (start, stop, step)
    first, last, each = ends
    if dtype is None and _are_small(first, last, each) and each != 0:
        size: Any = len(range(first, last, each))
        return made(Arange(first, each, size, dtypes.int64), size)
    if any(isinstance(v, Tensor) and not is_known(v) for v in ends):
        return _between(first, last, each, dtype)
    first, last, each = (_number(v) for v in (first, last, each))
    if each == 0 and not isinstance(each, Dim):
        raise ValueError("the step of arange must not be zero")
    floats = any(isinstance(v, float) for v in (first, last, each))
    of_sizes = any(isinstance(v, Dim) for v in (first, last, each))
    if of_sizes and (floats or not isinstance(each, int)):
        return _between(first, last, each, dtype)
    if dtype is None:
        kind = float_dtype(of_ends(*ends)) if floats else dtypes.int64
    else:
        kind = dtypes.as_dtype(dtype)
    if of_sizes:
        size = _extent(first, last, each)
    else:
        size = max(int(np.ceil((last - first) / each)), 0) if floats \
            else max(-((first - last) // each), 0)
        if size >= 1 << 63:
            check_allocatable((size,), kind)
        if kind.kind in "iu" and not floats:
            _check_ends(first, each, size, kind)
    if kind.kind in "fV" and any(map(is_live, ends[::2])):
        begin, between = (cast(as_tensor(v), kind) for v in ends[::2])
        return add(multiply(apply(Arange(0, 1, size, kind)), between), begin)
    return made(Arange(first, each, size, kind), size)


def _are_small(start: Any, stop: Any, step: Any) -> bool:
    """Return whether these are Python's integers of which int64 holds every sum of three."""
    return type(start) is type(stop) is type(step) is int and (
        max(abs(start), abs(stop), abs(step)) < _LEAST_LARGE_INTEGER)


def _check_ends(start: int, step: int, size: int, kind: np.dtype) -> None:
    """Refuse whole numbers of which the first or the last does not fit into the dtype."""
    limits = np.iinfo(kind)
    for number in (start, start + max(size - 1, 0) * step):
        if not limits.min <= number <= limits.max:
            raise too_large(number, kind)
    if abs(step) > np.iinfo(np.int64).max:
        raise too_large(step, dtypes.int64)


def _between(start: Any, stop: Any, step: Any, dtype: Any) -> Tensor:
    """``arange`` with bounds or a step that depend on data."""
    kind = np.dtype("int64") if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(step, Tensor) and not is_known(step):
        step, = demanded("arange", "the step of arange must not be zero",
                         lambda step: not_equal(step, 0), step=step)
    ends = [as_tensor(v) for v in (start, stop, step)]
    floats = any(v.dtype.kind in "fV" for v in ends)
    if floats and dtype is None:
        kind = float_dtype(of_ends(start, stop, step))
    first, last, between = map(_end, (start, stop, step)) if floats else (
        cast(v, dtypes.int64) for v in ends)
    if floats:
        count = cast(ceil(divide(subtract(last, first), between)), dtypes.int64)
    elif type(step) is int and abs(step) == 1:
        count = multiply(subtract(last, first), step)
    else:
        count = negative(floor_divide(subtract(first, last), between))
    count = maximum(count, 0)
    if type(start) is type(step) is int and refusal(count) is None:
        size = size_of(count, "the size of arange")
        return made(Arange(start, step, size, kind), size)
    numbers = cast(counted(count, most_of(count), "the size of arange"), kind)
    return add(multiply(numbers, cast(between, kind)), cast(first, kind))


def counted(count: Tensor, most: Any, name: str = "a size") -> Tensor:
    """Numbers from 0 up to a scalar that a program computes, which is ``most`` at most; None where
    the size is unknown."""
    if most is not None and refusal(count) is not None:
        return positions_of(less(made(Arange(0, 1, most, dtypes.int64), most), count))
    size = size_of(count, name)
    return made(Arange(0, 1, size, dtypes.int64), size)


def _extent(start: Any, stop: Any, step: Any) -> Any:
    """Size of an arange with unknown bounds."""
    span = stop - start if step > 0 else start - stop
    count = span if abs(step) == 1 else (span + (abs(step) - 1)) // abs(step)
    return count if isinstance(count, Dim) and not count.op else combine("max", count, 0)


@planned
@public
def linspace(start: TensorLike, stop: TensorLike, /, num: int = 50, dtype: DTypeLike = None, *,
             device: str | None = None, endpoint: bool = True, axis: int = 0,
             out: Tensor | None = None) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, which may be tensors.

    :param start, stop: The ends, which broadcast.
    :type start, stop: number or array_like
    :param num: How many elements.
    :param dtype: Type of the elements; by default that of the ends, or the default float dtype.
        Integer types truncate.
    :param endpoint: Whether ``stop`` is the last element; otherwise the spacing is ``(stop - start)
        / num``.
    :param axis: Where the numbers are in the result of ends that have axes.
    :returns: A vector of ``num`` elements, for each pair of ends that have axes; gradients flow to
        the ends.
    :raises ValueError: If ``num`` is negative.
    :raises TypeError: If an end is no number, or the dtype a bool.
    :raises ShapeError: If the ends do not broadcast.
    :see: arange, logspace, geomspace

    >>> ag.linspace(0, 1, 3)
    tensor([0. , 0.5, 1. ])
    """
    if isinstance(dtype, bool):
        raise TypeError(f"the fourth argument by position is the dtype, not {dtype}; give endpoint "
                        "by name")
    kind = float_dtype(of_ends(start, stop) if dtype is None else dtype)
    num = integer(num, "num", 0)
    for name, end in (("start", start), ("stop", stop)):
        if isinstance(end, str):
            raise TypeError(f"{name} must be a number, not {typed(end)}")
    if any(map(_is_tensor, (start, stop))):
        return _along(axis, cast(_spaced(_end(start), _end(stop), num, endpoint), kind))
    first, last = (float(v) for v in (start, stop))  # type: ignore[arg-type]
    return _along(axis, made(Linspace(first, last, num, endpoint, kind), num))


def _is_tensor(end: Any) -> bool:
    """Return whether an end of a range has axes, or a value that is not known yet."""
    return is_live(end) or np.ndim(end) > 0


def _along(axis: int, rows: Tensor) -> Tensor:
    return rows if type(axis) is int and axis == 0 else moveaxis(rows, 0, axis)


def _spaced(first: Tensor, last: Tensor, num: int, endpoint: bool) -> Tensor:
    """``linspace`` of ends that are tensors, in double precision."""
    parts = combine("max", num - 1 if endpoint else num, 1)
    step = divide(subtract(last, first), parts)
    count = reshape(arange(num, dtype=dtypes.float64), (num, *(1,) * step.ndim))
    values = add(multiply(count, step), first)
    return where(equal(count, parts), last, values) if endpoint else values


def _end(x: Any) -> Tensor:
    """One end of a range as a double."""
    if not isinstance(x, Tensor):  # Python numbers are not rounded in between
        x = as_tensor(np.float64(x) if type(x) in (int, float) else x)
    if x.dtype.kind == "c":
        raise TypeError(f"the ends are real numbers, not {typed(x)}")
    return cast(x, dtypes.float64)


def strong_dtypes(*ends: Any) -> list[np.dtype]:
    """The dtypes of the bounds that have a strong one: NumPy's arrays and scalars, and tensors."""
    return [end.dtype for end in ends if (
        isinstance(end, (np.generic, np.ndarray)) and not is_pythons(end)) or (
            isinstance(end, Tensor) and not end.weak)]


def of_ends(*ends: Any) -> Any:
    """The dtype that floats of NumPy and float tensors among the ends of a range have; None without
    any."""
    floats = [d for d in strong_dtypes(*ends) if d.kind in "fV"]
    return functools.reduce(dtypes.promote, floats) if floats else None


@where_torch
@planned
@public
def logspace(start: TensorLike, stop: TensorLike, num: int = 50, base: TensorLike = 10.0,
             dtype: DTypeLike = None, *, endpoint: bool = True, axis: int = 0,
             out: Tensor | None = None) -> Tensor:
    """``num`` numbers from ``base**start`` to ``base**stop``, evenly spaced in the exponent.

    :like: linspace
    :param start, stop: Exponents of the first and the last element; they and the base broadcast.
    :type start, stop: number or array_like
    :param base: Base of the powers; by name, as the fourth argument is NumPy's ``endpoint``.
    :type base: number or array_like
    :param dtype: Type of the elements; by default that of the ends, or the default float dtype.
    :param endpoint: Whether ``base**stop`` is the last element.
    :returns: A vector of ``num`` elements, for each pair of ends that have axes; gradients flow to
        the ends and the base.
    :raises TypeError: If a fourth argument is given by position.
    :see: linspace, geomspace, arange

    >>> ag.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    kind = float_dtype(of_ends(start, stop, base) if dtype is None else dtype)
    num = integer(num, "num", 0)
    if isinstance(num, Dim) or any(map(_is_tensor, (start, stop, base))):
        ends = [_end(x) for x in (start, stop, base)]
        shape = shapes.broadcast(*(x.shape for x in ends))
        first, last, root = [broadcast_to(x, shape) for x in ends]
        return _along(axis, cast(power(root, _spaced(first, last, num, endpoint)), kind))
    low, high, by = (float(v) for v in (start, stop, base))  # type: ignore[arg-type]
    check_allocatable((num,), dtypes.float64)
    with np.errstate(all="ignore"):
        values = np.logspace(low, high, num, endpoint, by, kind)
    return _along(axis, constant(values, values.dtype) if is_tracing() else wrap(values))


@planned
@public
def eye(n_rows: int | Dim, n_cols: int | Dim | None = None, /, k: int = 0, dtype: DTypeLike = None,
        *,
        device: str | None = None, out: Tensor | None = None) -> Tensor:
    """Ones on a diagonal of a matrix of zeros.

    :param n_rows, n_cols: Sizes; ``n_cols`` is ``n_rows`` by default.
    :type n_rows, n_cols: int
    :param k: Which diagonal: 0 the main one, positive ones above it, negative ones below.
    :param dtype: Type of the elements; by default the default float dtype
        (``config.default_float``).
    :returns: Of shape (n_rows, n_cols).
    :raises ValueError: If a size is negative.
    :see: identity, diag, tri, identity_like

    >>> ag.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    rows, columns = checked_sizes((n_rows, n_rows if n_cols is None else n_cols))
    check_integer(k, "k")
    if isinstance(k, Dim) or (isinstance(k, Tensor) and not is_known(k)):
        row, column = (made(Arange(0, 1, n, dtypes.int64), n) for n in (rows, columns))
        return cast(equal(subtract(column, reshape(row, (rows, 1))), k), float_dtype(dtype))
    return made(Eye(rows, columns, operator.index(k), float_dtype(dtype)), rows, columns)


@public
def identity_like(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The matrix of the shape and dtype of ``x`` with ones on its diagonal (Theano's name).

    :param x: A matrix; only its shape and dtype are read.
    :returns: Of the shape and dtype of ``x``.
    :raises ValueError: If ``x`` is no matrix.
    :see: eye, identity, zeros_like

    >>> ag.identity_like(ag.zeros((1, 2)))
    tensor([[1., 0.]])
    """
    x = as_tensor(x)
    if x.ndim != 2:
        raise ValueError(f"identity_like takes a matrix, not {x.ndim} dimensions")
    rows, columns = x.shape
    return eye(rows, columns, dtype=x.dtype)
