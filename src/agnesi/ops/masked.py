"""Elements under a mask whose number nobody knows yet: ``x[mask] += v`` where a graph is written.

They are computed on the whole tensor, with ones where the mask does not hold, so that nothing that
comes from there is infinite or not a number, and gradients are right.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Never

from agnesi.core import dtypes
from agnesi.core.config import LENT
from agnesi.core.dims import is_settled, product
from agnesi.core.dispatch import apply, graph_node
from agnesi.core.errors import ShapeError, TraceError, Where, at, user_where
from agnesi.core.graph import constant_value
from agnesi.core.node import Node
from agnesi.core.op import called
from agnesi.core.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.tracing import is_known
from agnesi.ops import arith
from agnesi.ops.compare import equal
from agnesi.ops.convert import as_tensor, cast
from agnesi.ops.ensure import Ensure
from agnesi.ops.expand import broadcast_to
from agnesi.ops.keys import UNKNOWN, complete, entries_of, is_mask
from agnesi.ops.movement import reshape
from agnesi.ops.reduce import reducer
from agnesi.ops.select import maximum, where


@record
class Part:
    """The place of ``x[key]``: a view of ``x`` and a mask of it, which stands for some axes.

    ``mask`` is the user's, ``lying`` in the view's axes; ``before`` and ``after`` count the axes
    around it.  ``simple`` says that no other entry of the key is an index.
    """

    view: Tensor
    mask: Tensor
    lying: Tensor
    before: int
    after: int
    simple: bool

    def filled(self, value: Any) -> Tensor:
        """The view with a value under the mask."""
        if isinstance(value, Selection):
            new = value.whole_for(self)
        else:
            new = self.fitted(as_tensor(value))
        return where(self.lying, cast(new, self.view.dtype), self.view)

    def fitted(self, value: Tensor) -> Tensor:
        """A value for ``x[key]``, in axes that broadcast to the view's."""
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
        """Rows of a value, one after the other, at the places where the mask holds."""
        count = product(self.mask.shape)
        held = cast(reshape(self.mask, (count,)), dtypes.int64).cumsum(0)
        n, total = value.shape[0], apply(reducer("maximum", (0,), False), held)
        fits = equal(total, as_tensor(n))
        text = f"the value has {n} rows, but the mask does not hold at as many places"
        value = apply(Ensure(text, "setitem"), value, LENT.behind_effects(fits))
        return reshape(value.take(maximum(held - 1, 0), 0), (*self.mask.shape, *rest))


def part_of(x: Tensor, key: Any) -> Part | None:
    """The place of ``x[key]``, if a mask that has no value yet decides its size."""
    if is_known(x) and not _has_symbol(key):
        return None
    entries = [e for e in complete(x, entries_of(key)) if e is not Ellipsis]
    masks = [i for i, e in enumerate(entries) if is_mask(e)]
    if len(masks) != 1 or not all(
        e is None or type(e) in (int, slice) for i, e in enumerate(entries) if i not in masks
    ):
        return None
    place, mask = masks[0], entries[masks[0]]
    if not isinstance(mask, Tensor) or is_known(mask) or mask.ndim == 0:
        return None
    others = [*entries[:place], *(slice(None),) * mask.ndim, *entries[place + 1:]]
    view = x if all(e == slice(None) for e in others) else x[tuple(others)]
    before = sum(type(e) is not int for e in entries[:place])
    after = view.ndim - before - mask.ndim
    axes = view.shape[before:before + mask.ndim]
    if is_settled((*axes, *mask.shape)) and axes != mask.shape:
        raise IndexError(f"the mask has shape {mask.shape}, the axes it stands for {axes}")
    lying = reshape(mask, ((1,) * before + mask.shape + (1,) * after))
    return Part(view, mask, lying, before, after, all(type(e) is not int for e in entries))


def _refusal(text: str, where: Where) -> TraceError:
    """An error that nobody adds the operands' types to: these have none."""
    error: Any = TraceError(at(text, where))
    error.located = True
    found: TraceError = error
    return found


def _has_symbol(key: Any) -> bool:
    entries = key if isinstance(key, tuple) else (key,)
    return any(isinstance(e, Tensor) and e.data is None for e in entries)


def _alike(a: Node, b: Node) -> bool:
    """Whether two nodes are the same computation on the same values."""
    if a is b:
        return True
    if a.op is None or b.op is None:
        first, second = constant_value(a), constant_value(b)
        return (first is not None and second is not None and a.shape == b.shape == ()
                and a.dtype == b.dtype and bool(first == second))
    return (a.op == b.op and len(a.inputs) == len(b.inputs)
            and all(map(_alike, a.inputs, b.inputs)))


class Selection(Tensor):
    """``x[mask]`` with a mask that has no value yet; it has no shape and goes where it came from.

    Operators with numbers, with other elements under the same mask, and with as many values as
    there are elements give another one, as do elementwise methods; ``sum``, ``mean``, ``prod``,
    ``any`` and ``all`` of everything give numbers.
    """

    __slots__ = ("part", "whole", "written")

    part: Part
    written: Where
    whole: Tensor

    @property
    def node(self) -> Never:  # type: ignore[override]
        """Nothing else can be done with it."""
        operands = called("getitem", (self.part.view, self.part.mask))
        raise _refusal(f"{operands}: {UNKNOWN}", self.written)

    def whole_for(self, part: Part) -> Tensor:
        """The values for another place, which must be under the same mask."""
        same = part.mask is self.part.mask or _alike(graph_node(part.mask),
                                                     graph_node(self.part.mask))
        if not same or part.view.shape != self.part.view.shape:
            raise _refusal("the elements were selected by another mask, so how many there are "
                           "on either side is not known when the graph is written", self.written)
        return self.whole

    def with_whole(self, whole: Tensor) -> Selection:
        """Other values at the same place."""
        found = selection(self.part, whole)
        found.written = self.written
        return found

    def other(self, value: Any) -> Any:
        """An operand beside it."""
        if isinstance(value, Selection):
            return value.whole_for(self.part)
        return value if isinstance(value, (int, float, complex)) else self.part.fitted(
            as_tensor(value))

    def all_of(self, neutral: Any) -> Tensor:
        """The whole with something else where the mask does not hold."""
        return where(self.part.lying, self.whole, as_tensor(neutral, self.whole.dtype))


def selection(part: Part, whole: Tensor | None = None) -> Selection:
    """``x[key]``, or other values at its place."""
    t = Selection.__new__(Selection)
    t.data = None
    t.requires_grad = False
    t._grad = t._view = t._version = t._name = None
    t.part = part
    t.written = user_where(2)
    ones = as_tensor(1, part.view.dtype)
    t.whole = where(part.lying, part.view, ones) if whole is None else whole
    return t


# -- operators and methods ----------------------------------------------------------------------
def _binary(f: Callable[[Any, Any], Any], turned: bool = False) -> Callable[..., Any]:
    def method(self: Selection, value: Any) -> Any:
        value = self.other(value)
        return self.with_whole(f(value, self.whole) if turned else f(self.whole, value))

    return method


def _in_place(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The same, for an operator that keeps the dtype or complains."""
    def method(self: Selection, value: Any) -> Any:
        return self.with_whole(f(symbol(graph_node(self.whole)), self.other(value)))

    return method


def _elementwise(name: str) -> Callable[..., Any]:
    def method(self: Selection, *args: Any) -> Any:
        return self.with_whole(getattr(self.whole, name)(*map(self.other, args)))

    return method


def _reduction(name: str, neutral: Any) -> Callable[..., Any]:
    def method(self: Selection, *args: Any, **keywords: Any) -> Any:
        if args or keywords:  # along an axis, which has no size
            return self.node
        return getattr(self.all_of(neutral), name)()

    return method


def _mean(self: Selection, *args: Any, **keywords: Any) -> Any:
    total = self.sum(*args, **keywords)
    count = cast(broadcast_to(self.part.lying, self.whole.shape), dtypes.int64).sum()
    return arith.divide(total, cast(count, dtypes.floating(total.dtype)))


_OPERATORS = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
_METHODS = """
__neg__ __pos__ __abs__ __invert__ abs exp log log1p expm1 sqrt square sin cos tanh sigmoid relu
clip floor ceil round sign reciprocal
""".split()
for _name in _OPERATORS:
    _plain = getattr(operator, f"__{_name}__")
    setattr(Selection, f"__{_name}__", _binary(_plain))
    setattr(Selection, f"__r{_name}__", _binary(_plain, turned=True))
    setattr(Selection, f"__i{_name}__", _in_place(getattr(operator, f"__i{_name}__")))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Selection, f"__{_name}__", _binary(getattr(operator, f"__{_name}__")))
for _name in _METHODS:
    setattr(Selection, _name, _elementwise(_name))
setattr(Selection, "mean", _mean)  # noqa: B010 (Tensor's has more parameters)
for _name, _neutral in (("sum", 0), ("prod", 1), ("any", False), ("all", True)):
    setattr(Selection, _name, _reduction(_name, _neutral))
