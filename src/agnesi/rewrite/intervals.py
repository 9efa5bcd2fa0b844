"""Interval analysis: bounds of values that hold for all finite inputs, in exact arithmetic.

Rules whose replacement has a number where the original has none prove here whether there is such a
case (R. E. Moore, Interval Analysis, 1966).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from agnesi.core.ir.node import Node, answer
from agnesi.rewrite.pattern import scalar

#: Levels of operations that are looked at, and under which name their number ended a look.
_MAX_DEPTH, _CUT = 12, "cut"
_INF = math.inf


class Interval(NamedTuple):
    """Bounds of a value; ``zero`` says whether it may be zero."""

    low: float = -_INF
    high: float = _INF
    zero: bool = True

    @property
    def positive(self) -> bool:
        """Whether it is greater than zero."""
        return self.low >= 0 and not self.zero


_ANY = Interval()
_POSITIVE, _NOT_NEGATIVE = Interval(0.0, _INF, False), Interval(0.0, _INF)
_KNOWN = {
    "exp": _POSITIVE, "exp2": _POSITIVE, "cosh": Interval(1.0, _INF, False),
    "sigmoid": Interval(0.0, 1.0, False), "softplus": _POSITIVE, "erfc": Interval(0.0, 2.0, False),
    "softmax": Interval(0.0, 1.0, False), "ndtr": Interval(0.0, 1.0, False),
    "sin": Interval(-1.0, 1.0), "cos": Interval(-1.0, 1.0), "tanh": Interval(-1.0, 1.0),
    "erf": Interval(-1.0, 1.0), "erfcx": _POSITIVE, "size": _NOT_NEGATIVE,
}
#: Those of which the result is zero where the operand is, and has no sign.
_SIZES = frozenset(("abs", "square", "sqrt"))

#: Those that are never -0.0.
_UNSIGNED = frozenset("exp exp2 sigmoid softplus softmax erfc ndtr abs square".split())
#: Those that are -0.0 where their operand is.
_ODD = frozenset("log1p expm1 sinh asinh tanh atanh sin asin tan atan erf".split())
_ARITHMETIC = frozenset(
    "add subtract negative multiply divide reciprocal maximum minimum where safe_multiply "
    "safe_divide".split()
)


#: Comparisons by an order: whether the first operand is the greater one.
_ORDERS = {"greater": True, "greater_equal": True, "less": False, "less_equal": False}
#: Bounds of nodes that rules have requested.
_FOUND: weakref.WeakKeyDictionary[Node, Interval] = weakref.WeakKeyDictionary()


def interval(node: Node) -> Interval:
    """Bounds of the real values of a node."""
    found = _FOUND.get(node)
    if found is None:
        found = _FOUND[node] = _bounds(node, _MAX_DEPTH, {})
    return found


def _operand(node: Node, depth: int, known: dict[Any, Any]) -> Interval:
    """Bounds of an operand; ``known`` has those of nodes at a depth, where one of the nodes below
    was not looked at any more, and how often that was so (of ``_CUT``)."""
    found = _FOUND.get(node)
    if found is not None:
        return found
    found = known.get((node, depth))
    before = known.get(_CUT, 0)
    if found is None:
        found = _bounds(node, depth, known)
        if known.get(_CUT, 0) == before:
            _FOUND[node] = found
            return found
        known[node, depth] = found
    known[_CUT] = before + 1
    return found


def _bounds(node: Node, depth: int, known: dict[Any, Any]) -> Interval:
    value = scalar(node)
    if value is not None:
        if value.dtype.kind == "c" or value != value:
            return _ANY
        number = float(value)
        return Interval(number, number, number == 0)
    if node.dtype.kind == "c":
        return _ANY
    if node.op is None or not depth:
        known[_CUT] = known.get(_CUT, 0) + (node.op is not None)
        return _NOT_NEGATIVE if node.dtype.kind in "bu" else _ANY
    name = node.op_name
    if name in _KNOWN:
        return _KNOWN[name]
    same = "movement" in node.op.traits or name in ("max", "min", "mean")
    cast = "conversion" in node.op.traits
    if not (same or cast or name == "sum" or name in _SIZES or name in _ARITHMETIC):
        return _NOT_NEGATIVE if node.dtype.kind in "bu" else _ANY
    xs = [_operand(n, depth - 1, known) for n in node.inputs] if len(node.inputs) <= 3 else []
    if cast:
        return _cast(node, xs[0])
    if same:
        return xs[0] if xs else _ANY
    if name == "sum":
        x = xs[0] if 0 not in node.inputs[0].shape else Interval(0.0, 0.0)
        return Interval(0.0 if x.low >= 0 else -_INF, 0.0 if x.high <= 0 else _INF,
                        x.zero or not (x.low >= 0 or x.high <= 0))
    if name in _SIZES:
        low = min(abs(xs[0].low), abs(xs[0].high)) if not xs[0].zero and math.isfinite(
            xs[0].low + xs[0].high) else 0.0
        return Interval(0.0 if name != "abs" else low, _INF, xs[0].zero)
    return _combined(name, node, xs)


def _cast(node: Node, x: Interval) -> Interval:
    """Bounds of another dtype's value: integers wrap, and floats become zero in them."""
    source = node.inputs[0].dtype.kind
    if source == "b":
        return Interval(0.0, 1.0)
    if node.dtype.kind not in "fV" or source not in "iufV":
        return _NOT_NEGATIVE if node.dtype.kind in "bu" else _ANY
    return _NOT_NEGATIVE if source == "u" else Interval(x.low, x.high, x.zero)


def _combined(name: str, node: Node, xs: list[Interval]) -> Interval:
    """Return the bounds of an arithmetic operation, given those of its operands."""
    if name == "where":
        a, b = _selected(node, 1, xs[1]), _selected(node, 2, xs[2])
        return Interval(min(a.low, b.low), max(a.high, b.high), a.zero or b.zero)
    a = xs[0]
    if name == "negative":
        return Interval(-a.high, -a.low, a.zero)
    if name in ("reciprocal", "safe_divide", "safe_multiply"):
        name = name.removeprefix("safe_")
    if name == "reciprocal":
        return _POSITIVE if a.positive else Interval(zero=False)
    b = xs[1]
    if name == "subtract":
        b, name = Interval(-b.high, -b.low, b.zero), "add"
    if name == "add":
        low, high = a.low + b.low, a.high + b.high
        same = (a.low >= 0 and b.low >= 0) or (a.high <= 0 and b.high <= 0)
        return Interval(low, high, not (low > 0 or high < 0 or (same and not (a.zero and b.zero))))
    if name == "maximum":
        low = max(a.low, b.low)
        return Interval(low, max(a.high, b.high), not (low > 0 or a.positive or b.positive))
    if name == "minimum":
        return Interval(min(a.low, b.low), min(a.high, b.high), a.zero or b.zero)
    zero = (a.zero or b.zero) if name == "multiply" else a.zero
    if node.inputs[0] is node.inputs[1] or (a.low >= 0 and b.low >= 0):
        return Interval(0.0, _INF, zero)
    return Interval(zero=zero)


def _selected(node: Node, position: int, found: Interval) -> Interval:
    """Return the bounds of an operand of ``where`` in the elements in which it is selected: those
    of the operand, and the number that the condition compares it with.
    """
    condition, operand = node.inputs[0], node.inputs[position]
    if condition.op_name not in _ORDERS or operand not in condition.inputs:
        return found
    side = condition.inputs.index(operand)
    bound = scalar(condition.inputs[1 - side])
    if bound is None or bound != bound:
        return found
    if _ORDERS[condition.op_name] == (side == position - 1):  # it is the greater one
        return Interval(max(found.low, float(bound)), found.high, found.zero)
    return Interval(found.low, min(found.high, float(bound)), found.zero)


def at_least(node: Node, bound: float) -> bool:
    """Return whether a value is a number not less than a bound, whatever the inputs are."""
    return interval(node).low >= bound


def never_zero(node: Node) -> bool:
    """Return whether a value is never zero."""
    found = interval(node)
    return not found.zero or found.low > 0 or found.high < 0


def far_from_zero(node: Node) -> bool:
    """Return whether a value is not zero as computed either: what is positive may vanish."""
    found = interval(node)
    return found.low > 0 or found.high < 0


def keeps_sign_of_zero(node: Node) -> bool:
    """Return whether a value is never -0.0, so that adding 0 to it does nothing."""
    return answer(node, _keeps_sign, False)


def _keeps_sign(node: Node, keeps: Callable[[Node], bool]) -> bool:
    if node.dtype.kind not in "fcV" or far_from_zero(node):
        return True
    if node.op is None:
        value = scalar(node)
        return value is not None and not str(value).startswith("-")
    name = node.op_name
    if name in _UNSIGNED:
        return True
    if name == "add":
        return any(keeps(n) for n in node.inputs)
    if name == "sqrt" or name in _ODD or "movement" in node.op.traits:
        return keeps(node.inputs[0])
    if name == "multiply":
        return all(keeps(n) and at_least(n, 0.0) for n in node.inputs)
    return False


def sources(node: Node) -> set[Node]:
    """Return nodes such that the value is NaN wherever one of them is: itself, and the operands of
    its arithmetic down to the leaves.
    """
    found = {node}
    stack, left = [node], 64
    while stack and left:
        left -= 1
        n = stack.pop()
        found.add(n)
        if n.op is not None and ("movement" in n.op.traits or (
            n.op.pointwise and n.op_name not in ("where", "maximum", "minimum", "fmax", "fmin")
            and n.dtype.kind != "b"
        )):
            stack += n.inputs
    return found


def needs(node: Node) -> set[Node]:
    """The leaves by which a value may be NaN or infinite; itself where that is not known."""
    found: set[Node] = set()
    stack, left, seen = [node], 64, set[Node]()
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        left -= 1
        moved = n.op is not None and ("movement" in n.op.traits or (n.op.pointwise and left > 0))
        if moved:
            stack += n.inputs
        elif scalar(n) is None and n.dtype.kind in "fcV":
            found.add(n)
    return found
