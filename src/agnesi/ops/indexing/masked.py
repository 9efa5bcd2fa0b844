"""Elements under a mask whose number is not known yet: ``x[mask]`` where a graph is written.

They are computed on the whole tensor as long as that goes, with ones where the mask does not hold,
so that nothing that comes from there is infinite or not a number, and gradients are right: what is
changed, put back, or summed up has no need for a size.  All else gets the elements themselves, side
by side, as many as the run finds (``ops/base/chosen.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from agnesi.core import shapes
from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import alike
from agnesi.core.ir.dims import product
from agnesi.core.ir.node import Node
from agnesi.core.op import Op, called
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError, TraceError, Where, at, user_where
from agnesi.core.support.record import record
from agnesi.core.support.tracing import around, current_trace, is_known
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.value_sizes import refusal, refuse, size_of
from agnesi.ops.base import arith
from agnesi.ops.base.chosen import positions_of
from agnesi.ops.base.compare import equal, less
from agnesi.ops.base.convert import as_tensor, cast, written
from agnesi.ops.base.creation import filled
from agnesi.ops.base.ensure import Ensure
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.gather.elements import Picked
from agnesi.ops.base.literals import of_python
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import NEUTRAL, Reduce, beaten, reducer
from agnesi.ops.base.select import maximum, where
from agnesi.ops.indexing.index_parsing import complete, entries_of, fitted_mask, is_mask
from agnesi.ops.indexing.ranges import arange

#: What the size of a selection is called in errors.
_NAME = "how many elements a mask selects"


@record
class Part:
    """What ``x[key]`` names: a view of its source ``x`` and a mask of it, which stands for some
    axes.

    ``mask`` is the user's, ``lying`` in the view's axes; ``before`` and ``after`` count the axes
    around it.  ``at`` is the axis of the elements in the result; ``simple`` says that no other
    entry of the key is an index, so that it is where the mask was.  ``first`` is how many of the
    first rows it holds at, ``weights`` how often each element counts, if not once.  ``placed``: the
    view is read from the source at indices, the first one where the mask does not hold.  Elements
    that no key took from a tensor have no source.
    """

    source: Tensor | None
    view: Tensor
    mask: Tensor
    lying: Tensor
    before: int
    after: int
    at: int
    simple: bool
    first: Tensor | None = None
    weights: Tensor | None = None
    placed: bool = False

    def beside_view(self, x: Tensor) -> Tensor:
        """Return a value of the mask's shape in the view's axes."""
        return reshape(x, ((1,) * self.before + self.mask.shape + (1,) * self.after))

    @property
    def total(self) -> Tensor:
        """Return how many elements are present, an int64 scalar."""
        return cast(self.mask if self.weights is None else self.weights, dtypes.int64).sum()

    def is_like(self, other: Part) -> bool:
        """Return whether it names the same of another view."""
        return self.view.shape == other.view.shape and _same(self.mask, other.mask) and (
            _same(self.weights, other.weights))

    @property
    def ndim(self) -> int:
        """Axes of the elements side by side."""
        return self.before + 1 + self.after

    def filled(self, value: Any) -> Tensor:
        """The view with a value under the mask."""
        return where(self.lying, written(self._beside(value), self.view.dtype), self.view)

    def added(self, value: Any) -> Tensor:
        """The view with a value added under the mask."""
        new = arith.add(self.view, written(self._beside(value), self.view.dtype))
        return where(self.lying, new, self.view)

    def values(self, value: Any, dtype: Any) -> Tensor:
        """A value of the view's shape under the mask, as often as each element counts."""
        nothing = filled(self.view.shape, 0, dtype)
        new = where(self.lying, written(self._beside(value), dtype), nothing)
        return new if self.weights is None else new * cast(self.beside_view(self.weights), dtype)

    def _beside(self, value: Any) -> Tensor:
        whole = value.whole_for(self) if isinstance(value, Selection) else None
        kind = self.view.dtype if of_python(value) else None
        return self.fitted(as_tensor(value, kind)) if whole is None else whole

    def fitted(self, value: Tensor) -> Tensor:
        """A value for ``x[key]``, in axes that broadcast to the view's, without leading ones."""
        extra = value.ndim - self.ndim
        if extra > 0 and value.shape[:extra] == (1,) * extra:
            value = reshape(value, value.shape[extra:])
        if value.ndim == 0 or (self.simple and value.ndim <= self.after):
            return value
        rest = self.view.shape[self.before + self.mask.ndim:]
        if not (self.simple and self.before == 0 and value.ndim == self.after + 1):
            raise ShapeError(f"the value has shape {value.shape}, the indexed region "
                             f"{self.view.shape[:self.before]}, as many as the mask holds, {rest}")
        n = value.shape[0]
        if n == 1:
            return reshape(value, value.shape[1:])
        return self._spread(broadcast_to(value, (n, *rest)), rest)

    def _spread(self, value: Tensor, rest: Any) -> Tensor:
        """Rows of a value, one after the other, at the indices where the mask holds."""
        count = product(self.mask.shape)
        ones = cast(reshape(self.mask, (count,)), dtypes.int64)
        held, n, total = ones.cumsum(0), value.shape[0], apply(reducer("add", (0,), False), ones)
        fits = equal(total, as_tensor(n))
        text = f"the value has {n} rows, but the mask does not hold at as many places"
        value = filled((1, *rest), 0, value.dtype) if n == 0 else value  # a row to read
        value = apply(Ensure(text, "setitem"), value, HOOKS.behind_effects(fits))
        return reshape(value.take(maximum(held - 1, 0), 0), (*self.mask.shape, *rest))


def part_of(x: Tensor, key: Any) -> Part | None:
    """What ``x[key]`` names, if a mask that has no value yet decides its size."""
    if is_known(x) and not _has_symbol(key):
        return None
    entries = [e for e in complete(x, entries_of(key)) if e is not Ellipsis]
    masks = [i for i, e in enumerate(entries) if is_mask(e)]
    if len(masks) != 1 or not all(
        e is None or type(e) in (int, slice) for i, e in enumerate(entries) if i not in masks
    ):
        return None
    axis, mask = masks[0], entries[masks[0]]
    if not isinstance(mask, Tensor) or is_known(mask) or mask.ndim == 0:
        return None
    view, mask = _not_too_deep(x, mask)
    others = [*entries[:axis], *(slice(None),) * mask.ndim, *entries[axis + 1:]]
    view = view if all(e == slice(None) for e in others) else view[tuple(others)]
    before = sum(type(e) is not int for e in entries[:axis])
    indices = [i for i, e in enumerate(entries) if type(e) is int or i == axis]
    side = indices[-1] - indices[0] == len(indices) - 1
    after = view.ndim - before - mask.ndim
    axes = view.shape[before:before + mask.ndim]
    mask = fitted_mask(mask, axes)
    if 0 in mask.shape and axes != mask.shape:
        return None
    lying = reshape(mask, ((1,) * before + mask.shape + (1,) * after))
    return Part(x, view, mask, lying, before, after, before if side else 0, len(indices) == 1)


def _not_too_deep(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Elements of elements and a mask of them, side by side where a third mask takes some.

    Each operation on elements is two on what they were taken from, so that a loop that leaves some
    out at each step would write 2**n of them.
    """
    if not isinstance(x, Selection) or not x._lazy or not x.part.view._lazy:
        return x, mask
    if any(isinstance(t, Selection) and t.is_unsized for t in (x, mask)):  # in bodies, say
        return x, mask
    return symbol(graph_node(x)), symbol(graph_node(mask)) if mask._lazy else mask


def _refusal(text: str, where: Where, kind: type[TraceError] = TraceError) -> TraceError:
    """An error to which the operands' types are not added: these have none."""
    error: Any = kind(at(text, where))
    error.located = True
    found: TraceError = error
    return found


def _has_symbol(key: Any) -> bool:
    entries = key if isinstance(key, tuple) else (key,)
    return any(isinstance(e, Tensor) and e.array is None for e in entries)


def alike_masks(a: Part, b: Part) -> bool:
    """Return whether the same elements are selected."""
    return _same(a.mask, b.mask)


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    return a is b or (a is not None and b is not None and alike(graph_node(a), graph_node(b)))


#: How operations that look at elements one by one go on in the whole, where sizes cannot be known:
#: ``rule(op, xs)``, which gives None where it has to see the elements side by side.
RULES: dict[type[Op], Callable[[Any, Sequence[Tensor]], Tensor | None]] = {}


class Selection(Tensor):
    """``x[mask]`` with a mask that has no value yet.

    Elementwise operations with numbers, with other elements under the same mask, and with what has
    one element for all of them give another one, which goes where it came from; sums, products and
    tests of all of them give numbers.  Whatever else looks at it gets the elements themselves.
    """

    __slots__ = ("is_region", "part", "taken", "trace", "whole", "written")

    #: Whether it is what a key took from a tensor, and not other values instead of that.
    is_region: bool
    part: Part
    taken: Node | None
    #: Where it was written: its elements are put side by side there, not in the body of a loop or
    #: branch that is the first to look at them.
    trace: Any
    whole: Any
    written: Where

    @property
    def _lazy(self) -> bool:  # type: ignore[override]
        """Whether the selected elements are not gathered yet: only the whole and the mask are
        kept."""
        return self.whole is not None

    @property
    def dtype(self) -> Any:
        return self.whole.dtype if self._lazy else self.node.dtype

    @property
    def ndim(self) -> int:
        return self.part.ndim if self._lazy else len(self.node.shape)

    @property
    def weak(self) -> bool:
        return False

    @property
    def node(self) -> Any:
        """The elements side by side."""
        if self.taken is None:
            try:
                with around(self.trace):
                    self.taken = graph_node(self._side_by_side())
            except TraceError as error:
                part = self.part
                operands = called("getitem", (part.view, part.mask)) if part.first is None else (
                    f"the rows of {called('scan', (part.view,))} before until() held")
                raise _refusal(f"{operands}: {str(error).partition(chr(10))[0]}",
                               self.written, type(error)) from None
        return self.taken

    @node.setter
    def node(self, node: Any) -> None:
        self.taken, self.whole = node, None  # it was changed in place

    def __getitem__(self, key: Any) -> Any:
        row = self._row(key) if type(key) is int and self._lazy else None
        if row is None and self.is_unsized:
            row = HOOKS.unsized_item(self, key)
        return Tensor.__getitem__(self, key) if row is None else row

    def _row(self, k: int) -> Tensor | None:
        """A row of the first so many, of which there is at least one; None for others."""
        part = self.part
        if part.first is None or part.before:
            return None
        if k == 0 or (k == -1 and self.whole is part.view):  # rows behind it are like the last
            return self.whole[k]
        return self.whole.take(part.first - 1, 0) if k == -1 else None

    def _side_by_side(self) -> Tensor:
        part, shape = self.part, self.whole.shape
        if part.first is None:
            refuse(part.total, _NAME)
        if part.first is not None and part.before == 0:
            FirstRows = import_module("agnesi.ops.control.loop").FirstRows

            return apply(FirstRows(size_of(part.first)), self.whole)
        last = part.before + part.mask.ndim
        flat = reshape(self.whole, (*shape[: part.before], product(part.mask.shape), *shape[last:]))
        return apply(Picked((part.before,), part.at), flat, positions_of(part.mask))

    def whole_for(self, part: Part) -> Tensor | None:
        """The values for another target; None unless it is under the same mask."""
        return self.whole if self._lazy and part.is_like(self.part) else None

    def with_whole(self, whole: Tensor, part: Part | None = None) -> Selection:
        """Other values at the same target, or at one that is like it."""
        found = selection(self.part if part is None else part, whole)
        found.written = self.written
        return found

    def beside(self, x: Tensor) -> Tensor | None:
        """The operand broadcast to the unselected whole; None if it has one value for each selected
        element."""
        if x._lazy:
            return x.whole_for(self.part)  # type: ignore[attr-defined]
        behind, part = x.ndim - self.part.after - 1, self.part
        if x.ndim == 0 or (part.simple and behind < 0):
            return x
        if not part.simple or x.ndim > part.ndim:
            return None
        if type(x.shape[behind]) is not int or x.shape[behind] != 1:
            return None
        return reshape(x, (*x.shape[:behind], *(1,) * part.mask.ndim, *x.shape[behind + 1:]))

    def all_of(self, neutral: Any) -> Tensor:
        """The whole with something else where the mask does not hold."""
        return where(self.part.lying, self.whole, as_tensor(neutral, self.whole.dtype))

    def count(self, axes: Sequence[int]) -> Tensor:
        """How many elements there are along axes."""
        part, rest = self.part, self._rest()
        held = part.total if part.at in axes else as_tensor(1)
        return held * as_tensor(product([rest[a] for a in axes if a != part.at]))

    def _rest(self) -> list[Any]:
        """Sizes of the axes, with 1 for that of the elements."""
        part, shape = self.part, self.whole.shape
        sizes = [*shape[: part.before], *shape[part.before + part.mask.ndim:]]
        return [*sizes[: part.at], 1, *sizes[part.at:]]

    @property
    def is_unsized(self) -> bool:
        """Whether it cannot be known here how many elements there are."""
        with around(self.trace):
            return self._lazy and refusal(self.part.total) is not None

    def through(self, op: Op, xs: Sequence[Tensor]) -> Tensor | None:
        """Return an operation applied to the whole; None where it has to see the elements."""
        if op.pointwise or "conversion" in op.traits:
            operands = [self.beside(x) for x in xs]
            if any(x is None for x in operands):
                return None
            shape, dtype = op.infer(*operands)
            if not shapes.fits(shape, self.whole.shape):  # other axes get longer
                return None
            new = apply(op, *operands)  # type: ignore[arg-type]
            return self.with_whole(where(self.part.lying, new, as_tensor(1, dtype)))
        if isinstance(op, Reduce) and self.part.simple:
            return self._reduced(op)
        rule = RULES.get(type(op))
        return None if rule is None else rule(op, xs)

    def inside(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Axes of the elements side by side as those of the whole."""
        part, width = self.part, self.part.mask.ndim
        found: list[int] = []
        for a in axes:
            found += [a] if a < part.before else [a + width - 1] if a > part.before else range(
                part.before, part.before + width)
        return tuple(found)

    def kept(self, found: Tensor, op: Any) -> Tensor:
        """The result of a reduction over the elements, with its axes where they are kept."""
        shape = shapes.reduced(tuple(self._rest()), op.axes, True)
        return reshape(found, shape) if op.keepdims else found

    def _reduced(self, op: Reduce) -> Tensor | None:
        """A reduction; elements of which each stands for several remain a selection."""
        part, width, inside = self.part, self.part.mask.ndim, self.inside(op.axes)
        if part.before in op.axes:
            found = self._across(op, inside)
            return None if found is None else self.kept(found, op)
        whole = apply(reducer(op.kind, inside, op.keepdims), self.whole)
        gone = 0 if op.keepdims else sum(a < part.before for a in op.axes)
        before = part.before - gone
        after = whole.ndim - before - width
        lying = reshape(part.mask, ((1,) * before + part.mask.shape + (1,) * after))
        return self.with_whole(where(lying, whole, as_tensor(1, whole.dtype)), Part(
            None, whole, part.mask, lying, before, after, before, True, part.first,
            part.weights))

    def _across(self, op: Reduce, inside: tuple[int, ...]) -> Tensor | None:
        """A reduction over the elements; None where it has to see them."""
        part, extreme = self.part, op.kind in ("maximum", "minimum")
        if op.kind in NEUTRAL:
            return apply(reducer(op.kind, inside, False), self._weighed(op.kind))
        if part.first is not None and not part.before:  # there is one, which changes nothing
            whole = where(part.lying, self.whole, self.whole[:1])
            return apply(reducer(op.kind, inside, False), whole)
        if not extreme or self.whole.dtype.kind not in "iufV" or not self.is_unsized:
            return None
        whole = self.all_of(beaten(op.kind, self.whole.dtype))
        found = apply(reducer(op.kind, inside, False, combined=True), whole)
        if op.combined:  # with initial=, which wins where there are none
            return found
        axes = tuple(range(part.mask.ndim))
        some = apply(reducer("logical_or", axes, False), part.mask)
        return apply(Ensure(f"there are no elements, so there is no {op.name}", op.name), found,
                     HOOKS.behind_effects(some))

    def _weighed(self, kind: str) -> Tensor:
        """The whole for a reduction that takes each element as often as it counts."""
        whole, weights = self.all_of(NEUTRAL[kind]), self.part.weights
        if weights is None or kind.startswith("logical"):
            return whole
        times = self.part.beside_view(weights)
        if kind == "multiply":
            return cast(arith.power(whole, times), whole.dtype)
        return arith.multiply(whole, cast(times, whole.dtype))


def selection(part: Part, whole: Tensor | None = None) -> Selection:
    """``x[key]``, or other values there."""
    t = Selection.__new__(Selection)
    t.array = t.taken = None
    t._grad = t._view = t._version = t._name = None
    t.part, t.trace = part, current_trace()
    t.written = user_where(2)
    ones = as_tensor(1, part.view.dtype)
    t.whole = where(part.lying, part.view, ones) if whole is None else whole
    t.is_region = whole is None and part.source is not None
    t._requires_grad = t.whole.requires_grad
    return t


def first_rows(y: Tensor, count: Tensor) -> Selection:
    """The first so many rows, at least one, of a result with an unknown number of rows.

    :param y: All rows; those behind the last that counts are like it.
    :param count: How many count.
    :returns: Elementwise operations and sums need no size; so it may be used in bodies of loops.
    """
    n = y.shape[0]
    mask = less(arange(n), count)
    lying = reshape(mask, (n, *(1,) * (y.ndim - 1)))
    return selection(Part(None, y, mask, lying, 0, y.ndim - 1, 0, True, count), y)


# -- in place -----------------------------------------------------------------------------------
def _in_place(name: str) -> Callable[..., Any]:
    """An operator that keeps the dtype or complains; all names of the tensor see what it does."""
    f, written = getattr(operator, name), getattr(Tensor, name)

    def method(self: Selection, value: Any) -> Any:
        if not self._lazy or self.taken is not None or self.trace is not current_trace():
            return written(self, value)
        other = value if isinstance(value, (int, float, complex)) else _beside(self, value)
        self.whole = f(symbol(graph_node(self.whole)), other)
        self.is_region, self._requires_grad = False, self.whole.requires_grad
        return self

    return method


def _beside(x: Selection, value: Any) -> Tensor:
    value = as_tensor(value)
    found = x.beside(value)
    return x.part.fitted(value) if found is None else found


for _name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split():
    setattr(Selection, f"__i{_name}__", _in_place(f"__i{_name}__"))
