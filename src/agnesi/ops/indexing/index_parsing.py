"""Keys of indexing taken apart: a basic slice, then tensors of indices on some axes."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from agnesi.core.calls.modules import says_torch, users_frame
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim, Shape, is_settled
from agnesi.core.ir.extents import Extent
from agnesi.core.op import typed
from agnesi.core.support import dtypes
from agnesi.core.support.errors import TraceError
from agnesi.core.support.record import record
from agnesi.core.support.tracing import current_trace, is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.base.chosen import along_axes, positions_of
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import Reshape
from agnesi.ops.base.slices import FULL, Key, Slice

_INT64 = np.dtype("int64")
#: Indices in a list or tensor up to which NumPy takes them at once.
_FEW_INDICES = 1024
_NUMBERS = (int, type(None))


@record
class Keys:
    """A key taken apart: a basic slice, a shape with new axes, and tensors of indices.

    ``basic`` None means that the slice takes everything; ``shape`` None that no axis is new.
    ``unique`` says that the indices come from a mask, so no element is named twice.
    """

    basic: Slice | None
    shape: Shape | None
    axes: tuple[int, ...] = ()
    at: int = 0
    indices: tuple[Tensor, ...] = ()
    unique: bool = False


def entries_of(key: Any) -> list[Any]:
    """Entries of a key: int, size, slice, None, Ellipsis, a Tensor of indices, or a mask.

    A mask is an array of bools where the program wrote it as one, else a Tensor.
    """
    return [_entry(e) for e in (key if isinstance(key, tuple) else (key,))]


def _entry(e: Any) -> Any:
    if e is None or e is Ellipsis or isinstance(e, slice) or type(e) is int:
        return e
    if isinstance(e, Dim):
        return e if isinstance(e, Extent) else as_tensor(e)
    if isinstance(e, (bool, np.bool_)):
        return np.asarray(e)
    if isinstance(e, range):
        e = np.arange(e.start, e.stop, e.step)
    elif isinstance(e, tuple):
        e = list(e)
    if isinstance(e, (list, np.ndarray, Tensor)):
        t = as_tensor(np.asarray(e, _INT64) if isinstance(e, list) and not e else e)
        if t.dtype.kind == "b" and not isinstance(e, Tensor):
            return t.array
        if t.dtype.kind not in "biu":
            raise IndexError(f"indices must be integers or bools, not {typed(t)}: convert them "
                             "with .astype('int64')")
        return mask_or_indices(t)  # also without axes: what it picks is a copy, as NumPy's
    try:
        return operator.index(e)
    except TypeError:
        raise IndexError(
            f"{e!r} is not an index: use integers, slices, None, ..., tensors of integers or bools"
        ) from None


def mask_or_indices(key: Tensor) -> Tensor:
    """A tensor among indices: of uint8 a mask in modules that say ``import agnesi as torch``, as
    in PyTorch, which had no bool once."""
    return key != 0 if key.dtype is dtypes.uint8 and _is_of_torch() else key


def _is_of_torch() -> bool:
    """Return whether a key is PyTorch's, which its module says; what follows from that is kept in
    no plan, as other modules have the same keys."""
    if getattr(current_trace(), "plans", False):
        raise TraceError("the module decides what the key means")
    return says_torch(users_frame())


def is_mask(e: Any) -> bool:
    """Return whether an entry of a key is a mask."""
    return isinstance(e, (Tensor, np.ndarray)) and e.dtype.kind == "b"


def fitted_mask(mask: Any, axes: Shape) -> Any:
    """A mask for axes, not of other sizes; as in NumPy, one without elements chooses nothing of
    axes of any size."""
    text = f"the mask has shape {mask.shape}, the axes it stands for {axes}"
    if any(n not in (size, 0) for n, size in zip(mask.shape, axes, strict=True)
           if isinstance(n, int) and isinstance(size, int)):
        raise IndexError(text)
    if is_settled((*mask.shape, *axes)):
        return mask
    return ensured_sizes("", as_tensor(mask), mask.shape, axes, text, error="IndexError")


def _chosen(mask: Any) -> list[Tensor]:
    """Tensors of indices instead of a mask."""
    if isinstance(mask, Tensor) and not is_known(mask):
        return list(along_axes(positions_of(mask), mask.shape or (1,)))
    mask = mask.array if isinstance(mask, Tensor) else mask
    return [as_tensor(i) for i in np.atleast_1d(mask).nonzero()]


def complete(x: Tensor, entries: list[Any]) -> list[Any]:
    """The entries with the ellipsis written out, masks still in one piece.

    One that stands for no axis stays: it still parts the indices on either side.
    """
    used = sum(e.ndim if is_mask(e) else 1 for e in entries if e is not None and e is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"{used} indices for {x.ndim} dimensions")
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexError("a key has one ellipsis (...) at most")
    where = dots[0] if dots else len(entries)
    fill: list[Any] = [slice(None)] * (x.ndim - used) or [...] * len(dots)
    return [*entries[:where], *fill, *entries[where + len(dots):]]


class _Single:
    """The one bool of a mask without axes: indices on a new axis of size 1."""

    def __init__(self, index: Tensor) -> None:
        self.index = index


def _expand_masks(x: Tensor, entries: list[Any]) -> list[Any]:
    """The entries with tensors of indices instead of masks."""
    axis = 0
    result: list[Any] = []
    for e in entries:
        if is_mask(e):
            e = fitted_mask(e, x.shape[axis: axis + e.ndim])
            result.extend(_chosen(e) if e.ndim else map(_Single, _chosen(e)))
            axis += e.ndim
        else:
            result.append(e)
            axis += e is not None and e is not Ellipsis
    return result


def _bound(v: Any) -> Any:
    if v is None or isinstance(v, (int, Dim)):
        return v
    if isinstance(v, Tensor) and not is_known(v):
        if v.node is not None and "shape" in v.node.traits:
            return v.node.op.size
        raise TraceError(
            "the bounds of a slice decide its size, so they must be numbers or sizes "
            "(x.shape[0] - 1), not symbolic tensors; for a moving window of fixed size use "
            "ag.take(x, start + ag.arange(size))"
        )
    return operator.index(v)


def _slice(e: slice) -> tuple[Any, Any, int]:
    for bound in (e.start, e.stop, e.step):
        if not (bound is None or hasattr(type(bound), "__index__")):
            raise TypeError(f"a slice goes from integer to integer, not {typed(bound)}")
    step = 1 if e.step is None else operator.index(e.step)
    if step == 0:
        raise ValueError("the step of a slice must not be zero")
    return _bound(e.start), _bound(e.stop), step


def _one(index: Extent, n: Any, axis: int) -> Any:
    """The slice of one element that a size names."""
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range for axis {axis} of size {n}")
    start = index + n if index < 0 else index
    return start, start + 1, 1


def parse(x: Tensor, key: Any) -> Keys:
    """A key for ``x``, taken apart."""
    full = complete(x, entries_of(key))
    if any(isinstance(e, (Tensor, np.ndarray)) for e in full):
        full = [as_tensor(e) if isinstance(e, Extent) else e for e in full]
    entries = _expand_masks(x, full)
    basic: list[Any] = []
    indices: list[Tensor] = []
    axes: list[int] = []
    advanced: list[int] = []
    axis, new = 0, False
    #: Of each axis whether it is new; None where it goes.
    layout: list[bool | None] = []
    for position, e in enumerate(entries):
        if isinstance(e, (_Single, Tensor)):
            indices.append(e.index if isinstance(e, _Single) else e)
            axes.append(axis)
        if isinstance(e, (int, _Single, Tensor)):
            advanced.append(position)
        if isinstance(e, int):
            basic.append(e)
        if isinstance(e, int) or e is Ellipsis:
            continue
        axis += 1
        if isinstance(e, Extent):  # a view like any other, of one element
            basic.append(_one(e, x.shape[len(basic)], len(basic)))
            layout.append(None)
            new = True
            continue
        fresh = e is None or isinstance(e, _Single)
        layout.append(fresh)
        if fresh:
            new = True
        else:
            basic.append(_slice(e) if isinstance(e, slice) else FULL)
    slicing = Slice(tuple(basic)) if any(e != FULL for e in basic) else None
    shape = None
    if new:
        kept = iter(x.shape if slicing is None else slicing.infer(x)[0])
        sizes = [(fresh, 1 if fresh else next(kept)) for fresh in layout]
        shape = tuple(n for fresh, n in sizes if fresh is not None)
    at = _position_of_indices(entries, advanced) if indices else 0
    unique = sum(isinstance(e, (Tensor, np.ndarray)) for e in full) == sum(map(is_mask, full)) == 1
    return Keys(slicing, shape, tuple(axes), at, tuple(indices), unique)


def _position_of_indices(entries: list[Any], advanced: list[int]) -> int:
    """Where the axes of tensors of indices go: in their place where they stand side by side, else
    in front.  A number stands among them in NumPy, while PyTorch takes it off first."""
    if any(map(_is_number, entries)) and _is_of_torch():
        entries = [e for e in entries if not _is_number(e)]
        advanced = [i for i, e in enumerate(entries) if isinstance(e, (_Single, Tensor))]
    if not advanced or advanced != list(range(advanced[0], advanced[-1] + 1)):
        return 0
    return sum(not isinstance(e, int) and e is not Ellipsis for e in entries[: advanced[0]])


def _is_number(e: Any) -> bool:
    return isinstance(e, int) or (isinstance(e, Tensor) and not e.shape)


def plain(key: Any, ndim: int) -> Key | None:
    """The key of a slice where nothing but numbers and slices of numbers index: the short way."""
    result: list[Any] = []
    dots = None
    for e in key if isinstance(key, tuple) else (key,):
        if type(e) is int:
            result.append(e)
        elif type(e) is slice and type(e.start) in _NUMBERS and type(e.stop) in _NUMBERS:
            if e.step is not None and (type(e.step) is not int or not e.step):
                return None
            result.append((e.start, e.stop, 1 if e.step is None else e.step))
        elif e is Ellipsis and dots is None:
            dots = len(result)
        else:
            return None
    missing = ndim - len(result)
    if missing < 0:
        return None
    if missing:
        position = len(result) if dots is None else dots
        result[position:position] = (FULL,) * missing
    return tuple(result)


def at_indices(key: Any) -> Any:
    """A tuple of numbers, slices, None, ``...``, and short lists and tensors of integers, as NumPy
    takes it; None of all other keys, and where nothing but numbers and slices index."""
    found: list[Any] = []
    chosen = counted = False
    for e in key:
        kind = type(e)
        counted = counted or kind is int
        if kind is Tensor:
            if (e := e.array) is None or e.dtype.kind != "i" or not 0 < e.size <= _FEW_INDICES or (
                    not e.ndim):
                return None
            e, chosen = np.asarray(e, order="C"), True  # written in this order
        elif kind is list:
            if not 0 < len(e) <= _FEW_INDICES or set(map(type, e)) != {int}:
                return None
            chosen = True
        elif kind is slice:
            if not {type(e.start), type(e.stop), type(e.step)}.issubset(_NUMBERS):
                return None
        elif kind is not int and e is not None and e is not Ellipsis:
            return None
        found.append(e)
    if chosen and counted and _is_of_torch():
        return None  # where a number means something else beside lists
    return tuple(found) if chosen else None


def new_axes(x: Tensor, key: Any) -> Tensor | None:
    """Return what a key with None for new axes selects; None for all other keys."""
    entries = key if isinstance(key, tuple) else (key,)
    rest = tuple([e for e in entries if e is not None])
    count = x.ndim
    if len(rest) == len(entries) or (simple := plain(rest, count)) is None:
        return None
    y = x if all([e == FULL for e in simple]) else apply(Slice(simple, True), x)
    kept, shape = iter(y.shape), list[Any]()
    for e in entries:
        if e is None:
            shape.append(1)
        elif e is Ellipsis:
            shape += itertools.islice(kept, count - len(rest) + 1)
        elif type(e) is slice:
            shape.append(next(kept))
    return apply(Reshape((*shape, *kept)), y)


def view_of(x: Tensor, keys: Keys) -> Tensor:
    """The basic part of a key: a view."""
    more = bool(keys.indices)
    if keys.basic is not None:
        half = more or keys.shape is not None
        x = apply(Slice(keys.basic.key, True) if half else keys.basic, x)
    return x if keys.shape is None else apply(Reshape(keys.shape, more), x)
