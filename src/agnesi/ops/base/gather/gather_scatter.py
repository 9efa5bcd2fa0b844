"""Gather, scatter and scatter-add by tensors of indices, as they are compiled.

The public functions are in ``index`` and ``scatter`` (``ops/indexing/scatter.py`` has
``index_add``).  What they record becomes the operations of this file when it is compiled, with a
check that indices are in range.  Indices are clamped, too, in case the check runs later, so that no
other memory is ever touched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import constant_value
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Shape, is_open, is_static, product
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.foreign import BoundsCheck, Call, number, operand, result, scratch, units_for
from agnesi.core.ir.node import Node
from agnesi.core.op import Op, called
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError, check_allocatable, error_named
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import NO_NEGATIVE_POWERS, POWER
from agnesi.ops.base.compare import equal, greater_equal, less, logical_and, logical_or
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import constant
from agnesi.ops.base.reduce import reducer

#: Constants up to this many bytes are looked through.
_SEEN_BYTES = 1 << 20
#: What an element at an index takes where it is not in the caches.
_ELEMENT_NANOSECONDS = 6
#: Elements that are added between two looks for signals.
_AT_ONCE = 1 << 20
#: Elements up to which NumPy adds as fast by the indices themselves as by places in a vector.
_FEW_ELEMENTS = 200
#: Arrays of indices that NumPy takes at once.
_MOST_INDICES = 63
#: Axes with which NumPy's ``add.at`` works: with more it ends the process (NumPy 2.4).
_MOST_AXES_AT = 32


# -- types and keys ---------------------------------------------------------------------------
def selected(shape: Shape, axes: Sequence[int], at: int, indices: Sequence[Any]) -> Shape:
    """Shape of what tensors of indices on ``axes`` select; theirs comes at axis ``at``."""
    if len(axes) != len(indices) or len({*axes}) != len(axes) or not all(
            0 <= a < len(shape) for a in axes) or not 0 <= at <= len(shape) - len(axes):
        raise ShapeError(f"{len(indices)} tensors of indices do not name the axes {tuple(axes)} of "
                         f"shape {shape}")
    common = shapes.broadcast(*(i.shape for i in indices))
    rest = tuple(n for a, n in enumerate(shape) if a not in axes)
    return (*rest[:at], *common, *rest[at:])


def picking(op: Any, x: np.ndarray, *indices: np.ndarray) -> int:
    """The ``work`` of reading elements at indices."""
    if x.size * indices[0].size < MIN_ASIDE_NANOSECONDS:
        return 0
    return math.prod(selected(x.shape, op.axes, op.at, indices)) * _ELEMENT_NANOSECONDS


def changing(op: Any, base: np.ndarray, new: np.ndarray, *indices: np.ndarray) -> int:
    """The ``work`` of copying an array and writing elements at indices."""
    return base.size + new.size * _ELEMENT_NANOSECONDS


def numpy_key(ndim: int, axes: Sequence[int], at: int, indices: Any) -> tuple[tuple[Any, ...], Any]:
    """The key for NumPy, and the order of the operand's axes that puts the result's at ``at``."""
    rest = [a for a in range(ndim) if a not in axes]
    order = (*rest[:at], *axes, *rest[at:])
    return (*(slice(None),) * at, *indices), order


def taken(x: np.ndarray, axes: Sequence[int], at: int, indices: Any) -> np.ndarray:
    """The elements at indices."""
    if len(indices) == 1 and at == axes[0] and x.size:  # else indices are not looked at
        return x.take(indices[0], axes[0])
    if len(indices) > _MOST_INDICES:
        return np.ascontiguousarray(x).reshape(-1)[_flat(x, axes, at, indices)]
    key, order = numpy_key(x.ndim, axes, at, indices)
    return np.asarray(x.transpose(order)[key])


def replaced(base: np.ndarray, axes: Sequence[int], at: int, new: np.ndarray,
             indices: Any) -> np.ndarray:
    """A copy of ``base`` with ``new`` at the indices; of repeated ones the last stays."""
    result = np.array(base, order="C")
    indices = [np.asarray(i, order="C") for i in indices]  # NumPy goes in the order of memory
    if len(indices) > _MOST_INDICES:
        offsets = _flat(base, axes, at, indices)
        result.reshape(-1)[offsets.reshape(-1)] = np.broadcast_to(new, offsets.shape).reshape(-1)
        return result
    key, order = numpy_key(base.ndim, axes, at, indices)
    result.transpose(order)[key] = new
    return result


def add_at(base: np.ndarray, axes: Sequence[int], at: int, new: np.ndarray, indices: Any) -> None:
    """Add ``new`` into ``base`` at the indices; repeated ones add up, 16-bit floats in float32."""
    if base.dtype in dtypes.HALVES:
        wide = base.astype(dtypes.float32, "C")
        add_at(wide, axes, at, new.astype(dtypes.float32), indices)
        silently(np.copyto, base, wide, "unsafe")
        return
    rows = base.flags.c_contiguous
    if base.ndim > _MOST_AXES_AT:
        if not rows:
            copy = np.ascontiguousarray(base)
            add_at(copy, axes, at, new, indices)
            base[...] = copy
            return
    elif not rows or (new.size <= _FEW_ELEMENTS and len(indices) <= _MOST_INDICES):
        key, order = numpy_key(base.ndim, axes, at, indices)
        try:
            silently(np.add.at, base.transpose(order), key, new)
            return
        except IndexError:
            if not rows:
                raise  # else the other way says it with the range of the indices
    new, flat = np.asarray(new), _flat(base, axes, at, indices)
    if flat.shape != new.shape:
        flat = np.broadcast_to(flat, new.shape)
    at_indices(np.add, base.reshape(-1), flat.reshape(-1), new.reshape(-1))


def at_indices(function: Any, base: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> None:
    """Call ``function.at`` on slices of long vectors, so that signals are handled in between: it
    holds Python's lock."""
    for i in range(0, values.size, _AT_ONCE):
        silently(function.at, base, offsets[i : i + _AT_ONCE], values[i : i + _AT_ONCE])


def _flat(base: np.ndarray, axes: Sequence[int], at: int, indices: Any) -> np.ndarray:
    """Where the elements at indices are among all in row-major order."""
    _, order = numpy_key(base.ndim, axes, at, indices)
    moved = base.transpose(order)
    steps = [math.prod(base.shape[a + 1:]) for a in range(base.ndim)]
    strides = [steps[a] for a in order]
    flat: Any = 0
    width = max(np.ndim(i) for i in indices)
    after = moved.ndim - at - len(axes)
    for k, i in enumerate(indices):
        n = moved.shape[at + k]
        i = np.asarray(i)
        if i.dtype == np.int64:  # without a sign the negative ones are the greatest
            within = not i.size or np.maximum.reduce(i.view(np.uint64), None) < n
        else:
            within = False
        if not within:
            i = _counted_from_start(i, n)
        if strides[at + k] != 1:
            i = i * strides[at + k]
        flat = flat + i.reshape(i.shape + (1,) * after) if k else i.reshape(i.shape + (1,) * after)
    for a in (*range(at), *range(at + len(axes), moved.ndim)):
        result_axis = a if a < at else a - len(axes) + width
        shape = [1] * (at + width + after)
        shape[result_axis] = moved.shape[a]
        flat = flat + (np.arange(moved.shape[a]) * strides[a]).reshape(shape)
    return np.asarray(flat)


def _counted_from_start(i: np.ndarray, n: int) -> np.ndarray:
    """Indices on an axis of size ``n``, in int64; those that count from its end are replaced."""
    least = i.min(initial=0)
    if i.size and (least < -n or i.max() >= n):
        raise IndexError(f"indices run from {i.min()} to {i.max()}, the axis has size {n}")
    i = i.astype(np.int64, copy=False)
    return np.where(i < 0, i + n, i) if least < 0 else i


# -- checks -----------------------------------------------------------------------------------
@record
class Ensured(Op):
    """The first operand, where the one bool of the second holds; else an error.

    ``subject`` is the operation in errors, with its operands' types.  ``bounds`` are those of
    the first operand, [least, size), where the condition says nothing but that they hold.
    """

    message: str
    subject: str
    error: str = "ValueError"
    bounds: tuple[int, int] | None = None
    name = "ensure"
    traits = frozenset(("cheap", "raises"))
    keep_inputs = (1,)
    condition = 1

    def infer(self, x: Any, condition: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray, condition: np.ndarray) -> np.ndarray:
        if not condition:
            raise error_named(self.error)(self.message)
        return x

    def failure(self, x: Any, condition: Any) -> tuple[str, str]:
        """The error and its text."""
        return self.error, f"{self.subject}: {self.message}"

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, condition: Tensor) -> tuple[Any, ...]:
        return passed(self, g, condition), None

    def jvp(self, ts: Any, y: Tensor, x: Tensor, condition: Tensor) -> Any:
        return passed(self, ts[0], condition)

    def lower(self, at: Any, x: Any, condition: Any) -> Any:
        return x(*at)


def passed(op: Op, t: Tensor | None, condition: Tensor) -> Tensor | None:
    """A derivative that passes a check: in a graph it is checked too, where the value may not be
    computed at all."""
    return t if t is None or is_known(t, condition) else apply(op, t, condition)


def _hands_on(op: Op) -> bool:
    """Return whether all integers of an operation's result are some of its first operand's."""
    moves = op.view or op.flat or "broadcast" in op.traits
    return moves or "extreme" in op.traits or type(op) is Ensured


def span(node: Node) -> tuple[int, int] | None:
    """Bounds of the integers in a node, where they follow from its operations or its dtype."""
    found = _span(node)
    if found is None and node.dtype.kind in "iu":
        kind = np.iinfo(node.dtype)
        found = int(kind.min), int(kind.max)
    return found


def _span(node: Node) -> tuple[int, int] | None:
    op = node.op
    if op is None:
        value = constant_value(node)
        if value is None or not 0 < value.nbytes <= _SEEN_BYTES:
            return None
        return int(value.min()), int(value.max())
    if op.name == "arange":
        size = op.size.most if isinstance(op.size, Extent) else op.size
        if size is None or is_open(size):
            return None
        ends = int(op.start), int(op.start + op.step * (size - 1))
        return min(ends), max(ends)
    if "indices" in op.traits:
        return 0, node.inputs[0].shape[op.axis] - 1
    if _hands_on(op):
        return span(node.inputs[0])
    if op.name == "where":
        return _around(span(node.inputs[1]), span(node.inputs[2]))
    if "conversion" in op.traits:
        inner, kind = span(node.inputs[0]), np.iinfo(node.dtype)
        return inner if inner and kind.min <= inner[0] and inner[1] <= kind.max else None
    if op.name in ("minimum", "maximum") and node.dtype.kind in "iu":
        (low, high), (low2, high2) = map(span, node.inputs)  # type: ignore[misc]
        pick = min if op.name == "minimum" else max
        return pick(low, low2), pick(high, high2)
    return None


def _around(a: Any, b: Any) -> tuple[int, int] | None:
    """The smallest interval that contains two intervals; None if one is unknown."""
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _are_indices(node: Node, size: Any) -> bool:
    """Return whether a node's integers are indices of an axis of a size, known or not."""
    while (op := node.op) is not None:
        if "indices" in op.traits:
            return node.inputs[0].shape[op.axis] is size
        if op.name == "arange":
            return (op.start, op.step) == (0, 1) and op.size is size
        if not _hands_on(op):
            return False
        node = node.inputs[0]
    return False


def within(indices: Tensor, size: Any, subject: str, *, least: Any = None,
           what: str = "an index", beside: Sequence[Any] = ()) -> Tensor:
    """Integers that are known, or checked when the code runs, to be in [least, size).

    ``least`` is ``-size`` by default, as for indices; ``subject`` is what the error names.  Where
    a size of ``beside`` is 0, none of them is read.
    """
    least = -size if least is None else least
    node = graph_node(indices)
    known = span(node) if isinstance(size, int) else None
    if _are_indices(node, size):
        return indices
    if 0 in (*indices.shape, *beside) or (
            known is not None and least <= known[0] and known[1] < size):
        return indices
    wide = indices if indices.dtype == dtypes.uint64 else cast(indices, dtypes.int64)
    fits = less(wide, _bound(size, wide.dtype))
    if indices.dtype.kind == "i":
        fits = logical_and(greater_equal(wide, _bound(least, wide.dtype)), fits)
    if fits.shape:
        fits = apply(reducer("logical_and", tuple(range(len(fits.shape))), False), fits)
    for n in beside:
        if not isinstance(n, int):
            fits = logical_or(fits, equal(as_tensor(n), 0))
    message = f"{what} is out of range: it must be at least {least} and less than {size}"
    bounds = (least, size) if isinstance(least, int) and isinstance(size, int) else None
    return apply(Ensured(message, subject, "IndexError", bounds), indices, fits)


def checked_within(x: Tensor, size: Any, what: str, name: str) -> Tensor:
    """Integers from 0 up to below ``size``: an IndexError at once where they are known, else when
    the code runs; ``name`` is the function's."""
    if is_known(x):
        data = x.array
        check_allocatable(data.shape, data.dtype)  # as large as what is computed from them
        if data.size and not (data.min() >= 0 and data.max() < size):
            raise IndexError(f"{what} is out of range: it must be at least 0 and less than {size}")
        return x
    return within(x, size, called(name, (x,)), least=0, what=what)


def _bound(size: Any, dtype: np.dtype) -> Tensor:
    return constant(size, dtype) if isinstance(size, int) else cast(as_tensor(size), dtype)


def _checked(indices: Sequence[Tensor], shape: Any, axes: Sequence[int],
             subject: str) -> list[Tensor]:
    whole = shapes.broadcast(*[i.shape for i in indices])
    return [within(i, shape[a], subject, beside=[n for n in whole if n not in i.shape])
            for i, a in zip(indices, axes, strict=True)]


# -- indices in loops --------------------------------------------------------------------------
def located(index: Any, n: int) -> Any:
    """An index expression as a position in [0, n): negative from the end, then clamped."""
    value = index if index.dtype == "uint64" else loops.cast(index, "int64")
    if value.op == "index":
        bounds = value.param.bounds()
        if bounds is not None and bounds[0] >= 0 and bounds[1] < n:
            return value.param
    if index.dtype.startswith("int"):
        value = loops.call("maximum", loops.where(value < 0, value + n, value), 0)
    return loops.atom_of(loops.call("minimum", value, n - 1))


def _own_index(at: Any, op: Any, shape: Any, indices: Any) -> tuple[Any, ...]:
    """The index in a tensor of ``shape`` that the point ``at`` of the selected region names."""
    width = max(len(i.shape) for i in indices)
    common = at[op.at: op.at + width]
    free = iter((*at[: op.at], *at[op.at + width:]))
    return tuple(
        located(indices[op.axes.index(a)].broadcast(common), n) if a in op.axes else next(free)
        for a, n in enumerate(shape)
    )


#: Rows from which a function is faster than loops.
_MIN_ROWS = 4
#: Elements of all rows together from which it is faster.
_MIN_ELEMENTS = 1000
#: Elements of a single row from which it is faster.
_MIN_ROW_ELEMENTS = 2000
#: Bytes of blocks that a function copies.
_MIN_BLOCK_BYTES = 256
#: Bytes of results that are larger than caches.
_MIN_MEMORY_BYTES = 16 << 20
_ADDED = frozenset(("float32", "float64", "int32", "int64"))


def _function(library: str, op: Any, x: Any, given: int, indices: Sequence[Any],
              over: int | None = None) -> Call | None:
    """How the function of a library does an operation at indices of the last axis of ``x``.

    ``given`` is the operand that is read; indices follow it.  Threads share the rows.  A gather
    from a single row is split over its indices, a scatter-add into a single row is one unit.  In
    all other cases there is no call (None), and the operation becomes a loop nest.
    """
    (axis, *others), (index, *_) = op.axes, indices
    if others or op.at != axis or not is_static((*x.shape, *index.shape)):
        return None
    count, n, m = map(math.prod, (x.shape[:axis], (x.shape[axis],), index.shape))
    if product(x.shape[axis + 1:]) != 1 or index.dtype.name not in ("int32", "int64"):
        return None
    enough = (
        count * m >= _MIN_ELEMENTS if count >= _MIN_ROWS else count == 1 and m >= _MIN_ROW_ELEMENTS
    )
    if not enough or n >= 1 << 31:
        return None
    units = units_for(count * m, m if count == 1 and over is None else count)
    kind = x.dtype.name if over is not None else x.dtype.itemsize
    table = (operand(given), operand(given + 1), result(), scratch(), scratch(1),
             *map(number, (count, n, m, units)))
    workspace = 4 * m * units if count > 1 else 1
    bounds_check = BoundsCheck(given + 1, (-n, n), 4) if over is None else None
    return Call(f"{library}:{kind} {index.dtype.name}", table, scratch=(workspace, 1), units=units,
                over=over, bounds_check=bounds_check)


def _copies(op: Any, x: Any, indices: Sequence[Any]) -> Call | None:
    """How a function copies blocks of memory at indices of an axis."""
    (axis, *others), (index, *_) = op.axes, indices
    if others or op.at != axis or not is_static((*x.shape, *index.shape)):
        return None
    count, n, m = map(math.prod, (x.shape[:axis], (x.shape[axis],), index.shape))
    size = math.prod(x.shape[axis + 1:]) * x.dtype.itemsize
    if size < _MIN_BLOCK_BYTES or index.dtype.name not in ("int32", "int64") or n >= 1 << 31:
        return None
    units = units_for(count * m * size // x.dtype.itemsize, count * m)
    table = (operand(0), operand(1), result(), scratch(), scratch(),
             *map(number, (count, n, m, units, size)))
    past = " past" if count * m * size >= _MIN_MEMORY_BYTES else ""
    return Call(f"blocks:{index.dtype.name}{past}", table, scratch=(1,), units=units,
                bounds_check=BoundsCheck(1, (-n, n), 4))


@record
class Gather(Op):
    """Elements at tensors of indices on some axes; their common shape comes at axis ``at``."""

    axes: tuple[int, ...]
    at: int
    name = "gather"
    traits = frozenset(("movement", "gather"))
    keep_inputs = ()
    work = picking

    def infer(self, x: Any, *indices: Any) -> Any:
        return selected(x.shape, self.axes, self.at, indices), x.dtype

    def perform(self, x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        return taken(x, self.axes, self.at, indices)

    def lower(self, at: Any, x: Any, *indices: Any) -> Any:
        return x(*_own_index(at, self, x.shape, indices))

    def foreign(self, x: Any, *indices: Any) -> Call | None:
        call = _function("take", self, x, 0, indices) if x.dtype.itemsize in (4, 8) else None
        return call or _copies(self, x, indices)


@record
class Spread(Op):
    """Base of operations that write a region of their first operand, in row-major order."""

    axes: tuple[int, ...]
    at: int
    keep_inputs = ()
    inlines = changes = True
    work = changing

    def infer(self, base: Any, new: Any, *indices: Any) -> Any:
        return base.shape, base.dtype

    def parts(self, base: Any, new: Any, *indices: Any) -> list[Any]:
        def target(at: Any) -> Any:
            return _own_index(at, self, base.shape, indices)

        return [
            loops.Part.whole(base.shape, lambda at: base(*at)),
            loops.Sequential(new.shape, target, lambda own, at: self.value(own, target, at, new)),
        ]

    def value(self, own: Any, target: Any, at: Any, new: Any) -> Any:
        """Return the value that the element ``at`` of the region writes."""
        raise NotImplementedError


@record
class ScatterPut(Spread):
    """The base with the elements at tensors of indices replaced; of repeated ones the last."""

    name = "scatter_put"

    def perform(self, base: np.ndarray, new: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        return replaced(base, self.axes, self.at, new, indices)

    def value(self, own: Any, target: Any, at: Any, new: Any) -> Any:
        return new(*at)


@record
class ScatterAdd(Spread):
    """The base with the second operand added at tensors of indices; repeated ones add up."""

    name = "scatter_add"

    def perform(self, base: np.ndarray, new: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        result = base.copy()
        add_at(result, self.axes, self.at, new, indices)
        return result

    def value(self, own: Any, target: Any, at: Any, new: Any) -> Any:
        return own(*target(at)) + new(*at)

    def foreign(self, base: Any, new: Any, *indices: Any) -> Call | None:
        if base.dtype.name not in _ADDED:
            return None
        return _function("add at", self, base, 1, indices, over=0)


# -- from what is recorded --------------------------------------------------------------------
def gathered(x: Tensor, axes: tuple[int, ...], at: int, indices: Sequence[Tensor],
             name: str) -> Tensor:
    """``Gather`` at checked indices, for the operation ``name``."""
    subject = called(name, (x, *indices))
    return apply(Gather(axes, at), x, *_checked(indices, x.shape, axes, subject))


def spread(kind: type[Spread], base: Tensor, new: Tensor, axes: tuple[int, ...], at: int,
           indices: Sequence[Tensor], name: str) -> Tensor:
    """``ScatterPut`` or ``ScatterAdd`` at checked indices, for the operation ``name``."""
    subject = called(name, (base, *indices, new))
    found = _checked(indices, base.shape, axes, subject)
    if kind is not ScatterAdd or base.dtype not in dtypes.HALVES:
        return apply(kind(axes, at), base, new, *found)
    wide = (cast(x, dtypes.float32) for x in (base, new))
    return cast(apply(kind(axes, at), *wide, *found), base.dtype)


# -- powers of whole numbers ------------------------------------------------------------------
def _whole_power(a: Tensor, b: Tensor) -> Tensor | None:
    """Whole numbers have no negative powers: exponents are checked as indices are."""
    exponents = graph_node(b)
    known = span(exponents) if b.dtype.kind == "i" else (0, 0)
    checked = type(exponents.op) is Ensured
    if known is None or known[0] >= 0 or checked or 0 in b.shape:
        return None
    fits: Tensor = greater_equal(b, constant(0, b.dtype))
    if fits.shape:
        fits = apply(reducer("logical_and", tuple(range(len(fits.shape))), False), fits)
    subject = called("power", (a, b))
    return apply(POWER, a, apply(Ensured(NO_NEGATIVE_POWERS, subject), b, fits))


POWER.decompose = _whole_power  # here, because checks are made of arithmetic
