"""Products, transposes, running sums, shares and single rows of elements whose number each step of
a loop decides.

A sum over the elements is one over all that there may be, with zeros in the place of those that
are none; what is computed for each element stays among all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.config import LENT
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import less
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.ensure import Ensure
from agnesi.ops.base.movement import Permute, reshape
from agnesi.ops.base.scans import CumProd, CumSum
from agnesi.ops.base.select import where
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.indexing.masked import RULES, Part, Selection, alike_masks, selection
from agnesi.ops.neural.softmax import LogSoftmax, Softmax


def _axis(x: Tensor) -> int | None:
    """The axis of elements that stand once for each place of a vector's mask; None for others."""
    fits = isinstance(x, Selection) and x.is_unsized and (
        x.part.simple and x.part.mask.ndim == 1 and x.part.weights is None)
    return x.part.before if fits else None  # type: ignore[attr-defined]


def _placed(x: Selection, whole: Tensor, axis: int) -> Selection:
    """Values for the same elements, along an axis."""
    mask, after = x.part.mask, whole.ndim - axis - 1
    lying = reshape(mask, ((1,) * axis + mask.shape + (1,) * after))
    kept = where(lying, whole, as_tensor(1, whole.dtype))
    found = selection(Part(whole, whole, mask, lying, axis, after, axis, True), kept)
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
        return _placed(a, matmul(a.whole, b), 0)
    if isinstance(b, Selection) and k != summed[1]:
        whole = matmul(a, b.whole)
        return _placed(b, whole, whole.ndim - 1)
    return None


def _permuted(op: Permute, xs: Sequence[Tensor]) -> Tensor | None:
    x, = xs
    axis = _axis(x)
    if axis is None or not isinstance(x, Selection):
        return None
    return _placed(x, apply(op, x.whole), op.axes.index(axis))


def _row(x: Selection, k: int) -> Tensor | None:
    """The element at a place among those that there are."""
    if _axis(x) != 0:
        return None
    held = cast(x.part.mask, dtypes.int64).cumsum(0)
    total = held[-1]
    place = as_tensor(k + 1) if k >= 0 else total + (k + 1)
    there = apply(Ensure(f"index {k} is out of range", "getitem"), place, LENT.behind_effects(
        less(0, place) & less(place, total + 1)))
    return x.whole.take(cast(less(held, there), dtypes.int64).sum(), 0)


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
    return _placed(x, apply(op, x.all_of(_NEUTRAL[type(op)]) if axis in axes else x.whole), axis)


RULES[Permute] = _permuted
RULES.update(dict.fromkeys(_NEUTRAL, _along))
LENT.unsized_product, LENT.unsized_row = _product, _row
