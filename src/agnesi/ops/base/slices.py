"""Basic slices: reading a regular region, replacing it, and the adjoint of reading it."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Dim, Shape, Size, combine, is_open, is_settled
from agnesi.core.ir.extents import Extent
from agnesi.core.op import Op
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_tracing
from agnesi.core.support.worker_threads import elements, results
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import filled
from agnesi.ops.base.linearity import LinearOp

Entry = int | tuple[Any, Any, Any]
Key = tuple[Entry, ...]

#: The entry of a key that takes a whole axis.
FULL = (None, None, 1)

#: Elements of rows from which borders are written together with what they are around.
_MIN_ROW = 16


def _may_be_negative(size: Any) -> bool:
    """Return whether a size is computed with differences or numbers below 0."""
    if not isinstance(size, Dim):
        return isinstance(size, int) and size < 0
    return size.op == "-" or (size.op in ("+", "*", "//") and any(map(_may_be_negative, size.args)))


def _clamped(bound: Any, n: Size, low: int, high: Size) -> Size:
    """A slice bound as a position between ``low`` and ``high``, for unknown sizes."""
    if isinstance(bound, (int, Extent)) and bound < 0:
        bound = n + bound
    elif low == 0 and not isinstance(bound, Dim) and bound == 0:  # backwards: n may be 0
        return 0
    elif bound == n:
        return high
    elif _may_be_negative(bound):  # the last factor is 1 where it is
        bound = bound + n * combine("max", 1 - combine("max", bound + 1, 0), 0)
    least = combine("max", bound, low)
    return high - combine("max", high - least, 0)


def bounds(entry: Any, n: Size) -> tuple[Size, Size, int]:
    """Start, size and step of a slice of an axis of size ``n``."""
    start, stop, step = entry
    if all(v is None or isinstance(v, int) for v in entry) and isinstance(n, int):
        run = range(*slice(start, stop, step).indices(n))
        return run.start, len(run), run.step
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first = (low if step > 0 else high) if start is None else _clamped(start, n, low, high)
    last = (high if step > 0 else low) if stop is None else _clamped(stop, n, low, high)
    span = last - first if step > 0 else first - last
    if abs(step) != 1:
        span = (span + (abs(step) - 1)) // abs(step)
    trivial = span == n or start is None or (start == 0 and stop is None)
    return first, span if trivial else combine("max", span, 0), step


def _position(i: int, n: Any, axis: int) -> Size:
    if is_open(n):
        return n + i if i < 0 else i
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of range for axis {axis} of size {n}")
    return i + n if i < 0 else i


def _region(key: Key, shape: Shape) -> Shape:
    """The shape of what a key selects."""
    found = []
    for axis, (entry, n) in enumerate(zip(key, shape, strict=True)):
        if isinstance(entry, int):
            _position(entry, n, axis)
        else:
            found.append(bounds(entry, n)[1])
    return tuple(found)


@record
class Slice(LinearOp):
    """Basic indexing: for each axis an integer, which drops it, or (start, stop, step).

    Bounds mean what they mean in Python; start and stop may be None, or unknown sizes.
    ``partial`` marks the first half of an indexing expression (``ops.indexing.scatter.Target``).
    """

    key: Key
    partial: bool = False
    name = "getitem"
    traits = frozenset(("movement",))
    view = True

    def infer(self, x: Any) -> Any:
        return _region(self.key, x.shape), x.dtype

    def index(self) -> tuple[Any, ...]:
        """The key as NumPy takes it; with it even a single element is a view."""
        return (*[e if isinstance(e, int) else slice(*e) for e in self.key], ...)

    def perform(self, x: np.ndarray) -> np.ndarray:
        return x[self.index()]

    @property
    def put(self) -> Op:
        """The operation that gives the base with another value of the view."""
        return SlicePut(self.key)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(Unslice(self.key, x.shape), g),)

    def lower(self, at: Any, x: Any) -> Any:
        inner, own = iter(at), []
        for axis, (entry, n) in enumerate(zip(self.key, x.shape, strict=True)):
            if isinstance(entry, int):
                position: Any = _position(entry, n, axis)
                own.append(loops.Affine(position))
            else:
                start, _, step = bounds(entry, n)
                own.append(next(inner) * step + start)
        return x(*own)


def views(x: Tensor, keys: Iterable[Key]) -> list[Tensor]:
    """Return a view of a tensor for each key, which must fit its shape. The collector is paused, so
    that thousands of views take linear time.
    """
    data = x.array
    with no_gc():
        if data is None or is_tracing():
            return [apply(Slice(key), x) for key in keys]
        finished = HOOKS.finished
        return [finished(data[op.index()], op, (x,)) for op in map(Slice, keys)]


def slice_part(key: Key, shape: Sequence[int], new: Any) -> loops.Part:
    """``new`` as the part of a result that the key selects."""
    starts, steps, extents, flips = [], [], [], []
    for axis, (entry, n) in enumerate(zip(key, shape, strict=True)):
        if isinstance(entry, int):
            start, size, step = _position(entry, n, axis), 1, 1
        else:
            start, size, step = bounds(entry, n)  # type: ignore[assignment]
        flips.append(step < 0)
        starts.append(start + (size - 1) * step if step < 0 and size else start)
        steps.append(abs(step))
        extents.append(size)

    def element(at: Any) -> Any:
        return new(*(
            i * -1 + (n - 1) if flip else i
            for i, n, flip, entry in zip(at, extents, flips, key, strict=True)
            if not isinstance(entry, int)
        ))

    return loops.Part(tuple(starts), tuple(steps), tuple(extents), element)  # type: ignore[arg-type]


def region(key: Key, shape: Sequence[Size]) -> tuple[int, ...] | None:
    """Where a key's first element is; None if it has numbers, steps or unknown sizes."""
    starts = []
    for entry, n in zip(key, shape, strict=True):
        if isinstance(entry, int) or not isinstance(n, int) or entry[2] not in (None, 1):
            return None
        if not all(v is None or isinstance(v, int) for v in entry):
            return None
        starts.append(slice(*entry).indices(n)[0])
    return tuple(starts)


@record
class SlicePut(Op):
    """The base with the region of a basic key replaced."""

    key: Key
    work = elements(2)
    name = "setitem"
    keep_inputs = ()
    inlines = changes = True

    def infer(self, base: Any, new: Any) -> Any:
        region, _ = Slice(self.key).infer(base)
        if is_settled((*region, *new.shape)) and region != new.shape:
            raise ShapeError(f"the value has shape {new.shape}, the indexed region {region}")
        return base.shape, base.dtype

    def perform(self, base: np.ndarray, new: np.ndarray) -> np.ndarray:
        result = base.copy()
        result[Slice(self.key).index()] = new
        return result

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor) -> tuple[Any, ...]:
        rest = None
        if base._requires_grad:
            nothing = filled(new.shape, 0, g.dtype)
            rest = apply(self, g, nothing)
        return rest, apply(Slice(self.key), g) if new._requires_grad else None

    def jvp(self, ts: Any, y: Tensor, base: Tensor, new: Tensor) -> Any:
        tb, tn = ts
        if tb is None:
            return apply(Unslice(self.key, base.shape), tn)
        if tn is None:
            tn = filled(new.shape, 0, new.dtype)
        return apply(self, tb, tn)

    def parts(self, base: Any, new: Any) -> list[loops.Part]:
        return [
            loops.Part.whole(base.shape, lambda at: base(*at)),
            slice_part(self.key, base.shape, new),
        ]


@record
class Unslice(LinearOp):
    """Zeros of a shape with the operand in the region of a basic key: the adjoint of Slice."""

    key: Key
    shape: Shape
    work = results(2)
    name = "unslice"

    def infer(self, x: Any) -> Any:
        shapes.need_shape(x.shape, _region(self.key, self.shape), "the operand")
        return self.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        result = np.zeros(self.shape, x.dtype)
        result[Slice(self.key).index()] = x
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(Slice(self.key), g),)

    def parts(self, x: Any) -> list[loops.Part]:
        starts = region(self.key, self.shape)
        real = not x.dtype.startswith("complex")
        if starts is not None and real and self._is_border(x.shape):
            return [loops.Part.whole(self.shape, lambda at: _inside(at, self.shape, x, starts))]
        return self._layers(x)

    def boxes(self, x: Any) -> list[loops.Part] | None:
        return None if region(self.key, self.shape) is None else self._layers(x)

    def _layers(self, x: Any) -> list[loops.Part]:
        zero = loops.const(0, x.dtype)
        return [loops.Part.whole(self.shape, lambda at: zero), slice_part(self.key, self.shape, x)]

    def _is_border(self, inside: Sequence[Any]) -> bool:
        """Return whether zeros stand around rows that vectors fill, and are the lesser part."""
        whole = math.prod(self.shape)
        return bool(inside) and inside[-1] >= _MIN_ROW and 2 * math.prod(inside) >= whole


def _inside(at: Any, shape: Shape, x: Any, starts: Sequence[int]) -> Any:
    """The operand's element where there is one, and zero around them."""
    indices, tests = [], []
    for i, start, n, size in zip(at, starts, x.shape, shape, strict=True):
        index = loops.index(i + -start)
        if start:
            tests.append(index >= 0)
        if start + n != size:
            tests.append(index < n)
        index = loops.call("maximum", index, 0) if start else index
        indices.append(loops.atom_of(loops.call("minimum", index, n - 1) if start + n != size
                                    else index))
    found = x(*indices)
    return loops.where(functools.reduce(operator.and_, tests), found, 0) if tests else found


@planned
@public
def flip(x: TensorLike, /, axis: Axis = None, *, out: Tensor | None = None) -> Tensor:
    """Reverse the order of the elements along axes (all by default).

    :param axis: Which axes; all by default. Also written ``dim``.
    :returns: A view.
    :raises IndexError: If an axis is out of range.
    :see: fliplr, flipud, roll, rot90

    >>> ag.flip(ag.arange(3))
    tensor([2, 1, 0])
    """
    x = as_tensor(x)
    axes = shapes.axes_of(axis, x.ndim)
    key = tuple((None, None, -1) if a in axes else FULL for a in range(x.ndim))
    return apply(Slice(key), x) if axes else x
