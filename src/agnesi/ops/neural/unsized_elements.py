"""Products, transposes, running sums, shares and slices of elements whose number each step decides.

A sum over the elements is one over all that there may be, with zeros instead of those that
are none; what is computed for each element stays among all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import less
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.movement import Permute, reshape
from agnesi.ops.base.reduce import beaten
from agnesi.ops.base.scans import CumProd, CumSum
from agnesi.ops.base.select import where
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.indexing.index_parsing import entries_of
from agnesi.ops.indexing.masked import RULES, Part, Selection, alike_masks, selection
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.neural.softmax import LogSoftmax, Softmax
from agnesi.ops.sorting.sort import Sort


def _complete(ndim: int, entries: Sequence[Any]) -> Sequence[Any]:
    """Return the entries of a key, filled up with full slices to one for each of ``ndim`` axes."""
    taken = sum(e is not None and e is not Ellipsis for e in entries)
    rest = (slice(None),) * (ndim - taken)
    at = next((i for i, e in enumerate(entries) if e is Ellipsis), len(entries))
    return (*entries[:at], *rest, *entries[at + 1:])


def _axis(x: Tensor) -> int | None:
    """The axis of elements, one for each position of a vector's mask; None for others."""
    fits = isinstance(x, Selection) and x.is_unsized and (
        x.part.simple and x.part.mask.ndim == 1 and x.part.weights is None)
    return x.part.before if fits else None  # type: ignore[attr-defined]


def _selected(x: Selection, whole: Tensor, axis: int, mask: Tensor | None = None) -> Selection:
    """Values for the same elements, or those under another mask, along an axis."""
    after = whole.ndim - axis - 1
    mask = x.part.mask if mask is None else mask
    lying = reshape(mask, ((1,) * axis + mask.shape + (1,) * after))
    kept = where(lying, whole, as_tensor(1, whole.dtype))
    found = selection(Part(None, whole, mask, lying, axis, after, axis, True), kept)
    found.written = x.written
    return found


def _product(a: Tensor, b: Tensor) -> Tensor | None:
    """The product of vectors and matrices; None where it has to see the elements."""
    i, k = _axis(a), _axis(b)
    if (i is None and k is None) or a.ndim > 2 or b.ndim > 2:
        return None
    summed = a.ndim - 1, max(b.ndim - 2, 0)
    if isinstance(a, Selection) and isinstance(b, Selection):
        if (i, k) != summed or not alike_masks(a.part, b.part):
            return None
        return matmul(a.all_of(0), b.all_of(0))
    if isinstance(a, Selection) and i != summed[0]:
        return _selected(a, matmul(a.whole, b), 0)
    if isinstance(b, Selection) and k != summed[1]:
        whole = matmul(a, b.whole)
        return _selected(b, whole, whole.ndim - 1)
    return None


def _permuted(op: Permute, xs: Sequence[Tensor]) -> Tensor | None:
    x, = xs
    axis = _axis(x)
    if axis is None or not isinstance(x, Selection):
        return None
    return _selected(x, apply(op, x.whole), op.axes.index(axis))


def _row(x: Selection, k: int) -> Tensor:
    """The element at a position among those that there are; there is none behind all positions."""
    held = cast(x.part.mask, dtypes.int64).cumsum(0)
    nth = as_tensor(k + 1) if k >= 0 else held[-1] + (k + 1)
    there = less(0, nth) & less(nth, held[-1] + 1)
    position = cast(less(held, nth), dtypes.int64).sum()
    found: Tensor = x.whole[where(there, position, as_tensor(held.shape[0]))]
    return found


def _within(mask: Tensor, key: slice) -> Tensor:
    """The mask of a slice, one by one, of the elements under a mask."""
    held = cast(mask, dtypes.int64).cumsum(0)  # the first element's is 1
    for bound, is_start in ((key.start, True), (key.stop, False)):
        if bound is not None:
            end = as_tensor(bound) if bound >= 0 else held[-1] + bound
            mask = mask & (less(end, held) if is_start else less(held, end + 1))
    return mask


def _indexed(x: Selection, key: Any) -> Tensor | None:
    """Elements among those that there are, of which other axes may be indexed or new; None for what
    has to see them side by side."""
    axis = _axis(x)
    if axis is None:
        return None
    if type(key) is int and axis == 0:
        return _row(x, key)
    if isinstance(key, Selection) and key.dtype == dtypes.bool_ and key.ndim == 1 and axis == 0:
        if key._lazy and alike_masks(x.part, key.part):  # a mask of the same elements
            return _selected(x, x.whole, 0, x.part.mask & key.whole)
        return None
    entries = entries_of(key)
    if not all(e is None or e is Ellipsis or type(e) is int or (type(e) is slice and all(
            b is None or type(b) is int for b in (e.start, e.stop, e.step))) for e in entries):
        return None
    entries = list(_complete(x.ndim, entries))
    position = next(i for i in range(len(entries)) if entries[i] is not None and sum(
        e is not None for e in entries[:i]) == axis)
    own, mask = entries[position], x.part.mask
    if type(own) is not slice or own.step not in (None, 1, -1):
        return None
    if own.step == -1 and (own.start, own.stop) != (None, None):
        return None
    rest = slice(None, None, own.step)
    whole = x.whole[(*entries[:position], rest, *entries[position + 1:])]
    mask = mask[::-1] if own.step == -1 else _within(mask, own)
    return _selected(x, whole, sum(type(e) is not int for e in entries[:position]), mask)


#: What changes nothing for the elements beside it, by operations along axes.
_NEUTRAL: dict[type[Op], float] = {
    CumSum: 0, CumProd: 1, Softmax: float("-inf"), LogSoftmax: float("-inf")}


def _along(op: Any, xs: Sequence[Tensor]) -> Tensor | None:
    """Running sums and shares: each element is what it is among those that there are."""
    x, = xs
    axis = _axis(x)
    if axis is None or not isinstance(x, Selection):
        return None
    axes = op.axes if hasattr(op, "axes") else (op.axis,)
    return _selected(x, apply(op, x.all_of(_NEUTRAL[type(op)]) if axis in axes else x.whole), axis)


def _sorted(op: Sort, xs: Sequence[Tensor]) -> Tensor | None:
    """Sort the selected elements; those not selected become the greatest value and go last."""
    x, = xs
    axis = _axis(x)
    if axis is None or not isinstance(x, Selection) or op.descending or x.dtype.kind not in "iuf":
        return None
    if op.axis % x.ndim != axis:
        return _selected(x, apply(op, x.whole), axis)
    last = float("nan") if x.dtype.kind == "f" else beaten("minimum", x.dtype)
    mask = less(arange(x.part.mask.shape[0]), x.part.total)
    return _selected(x, apply(op, x.all_of(last)), axis, mask)


RULES[Permute], RULES[Sort] = _permuted, _sorted
RULES.update(dict.fromkeys(_NEUTRAL, _along))
HOOKS.unsized_product, HOOKS.unsized_item = _product, _indexed
