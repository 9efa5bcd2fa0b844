"""Results whose size each step of a loop, or each example of ``vmap``, decides again.

Such sizes cannot be known where a body is written.  So elements stay among all that there may be,
under a mask (:class:`~agnesi.ops.indexing.masked.Selection`), until they are reduced: indices are
chosen of all indices, and what is repeated counts as often as it stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import greater
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import filled
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.gather.elements import Index, Picked, Window
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.select import where
from agnesi.ops.indexing.index import getitem
from agnesi.ops.indexing.join import Concat
from agnesi.ops.indexing.masked import RULES, Part, Selection, selection
from agnesi.ops.indexing.ranges import arange


def _positions(mask: Tensor) -> Tensor:
    """Indices where a vector of bools is true."""
    return getitem(arange(mask.shape[0]), mask)


def _repeated(x: Tensor, counts: Any, axis: int) -> Tensor:
    """Elements along an axis, each as often as a vector says, or one scalar for all."""
    n = x.shape[axis]
    weights = broadcast_to(cast(as_tensor(counts), dtypes.int64), (n,))
    mask = greater(weights, 0)
    after = x.ndim - axis - 1
    lying = reshape(mask, ((1,) * axis + mask.shape + (1,) * after))
    return selection(Part(None, x, mask, lying, axis, after, axis, True, None, weights))


def _elements(op: Index, xs: Sequence[Tensor]) -> Tensor | None:
    """Elements at indices of which there are as many as a step finds."""
    x, *rest = xs
    indices: list[Any] = rest
    lazy: list[Any] = [i for i in indices if i._lazy]
    part = lazy[0].part if lazy else None
    if x._lazy or part is None or part.before or part.after or not lazy[0].is_unsized or any(
            i.whole_for(part) is None for i in lazy) or any(
            i.ndim for i in indices if not i._lazy):
        return None
    wholes: list[Any] = [where(part.mask, i.whole, as_tensor(0)) if i._lazy else i for i in indices]
    whole = apply(Index(op.axes, op.at), x, *wholes)
    before, width = op.at, part.mask.ndim
    after = whole.ndim - before - width
    lying = reshape(part.mask, ((1,) * before + part.mask.shape + (1,) * after))
    return _made_of(lazy[0], Part(x, whole, part.mask, lying, before, after, before, True,
                                  None, part.weights, True))


def _joined(op: Concat, xs: Sequence[Tensor]) -> Tensor | None:
    """Selections and tensors one behind the other along the axis of the elements."""
    lazy: list[Any] = [x for x in xs if x._lazy]
    if not any(x.is_unsized for x in lazy) or any(
            not x.part.simple or x.part.at != op.axis for x in lazy):
        return None
    parts = [_flat(x, op.axis) for x in xs]
    whole = apply(Concat(op.axis), *(p[0] for p in parts))
    mask = apply(Concat(0), *(p[1] for p in parts))
    weights = None
    if any(p[2] is not None for p in parts):
        every: list[Any] = [cast(m, dtypes.int64) if w is None else w for _, m, w in parts]
        weights = apply(Concat(0), *every)
    after = whole.ndim - op.axis - 1
    lying = reshape(mask, ((1,) * op.axis + mask.shape + (1,) * after))
    return _made_of(lazy[0], Part(None, whole, mask, lying, op.axis, after, op.axis, True, None,
                                  weights))


def _made_of(x: Selection, part: Part) -> Selection:
    """A selection over ``part`` whose errors name the user's line of ``x``."""
    found = selection(part)
    found.written = x.written
    return found


def _flat(x: Any, axis: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return an operand of a concatenation as all elements along one axis, the mask of those that
    are present, and their weights."""
    if not x._lazy:
        return x, filled((x.shape[axis],), True, dtypes.bool_), None
    part, shape = x.part, x.whole.shape
    n = product(part.mask.shape)
    whole = reshape(x.whole, (*shape[:axis], n, *shape[axis + part.mask.ndim:]))
    weights = None if part.weights is None else reshape(part.weights, (n,))
    return whole, reshape(part.mask, (n,)), weights


RULES.update({Index: _elements, Picked: _elements, Window: _elements, Concat: _joined})
HOOKS.positions, HOOKS.repeated = _positions, _repeated
