"""Power series of expressions in one value, with 60 digits.

They show where the leading terms of a sum cancel, and what is left then (Brent and Kung, Fast
Algorithms for Manipulating Formal Power Series, 1978; here with products of n^2 steps).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

from agnesi.core.ir.node import Node
from agnesi.rewrite.algebra.scales import is_scale
from agnesi.rewrite.pattern import scalar

#: Decimal digits of the coefficients' arithmetic.
DIGITS = 60
_NOTHING = Decimal(10) ** -48
_ZERO, _ONE, _HALF = Decimal(0), Decimal(1), Decimal("0.5")


class NoSeriesError(Exception):
    """An expression that has no power series here, or none that is known."""


class Series:
    """``x**order * (c[0] + c[1] * x + ...) + logs * log(x)``, where c[0] is not 0.

    Logarithms, odd roots and the like are taken of series in an x that is greater than 0 only,
    which those with ``positive`` are.
    """

    __slots__ = ("c", "logs", "order", "positive")

    def __init__(self, order: int, c: list[Decimal], logs: Decimal = _ZERO,
                 positive: bool = False) -> None:
        skipped = 0
        while skipped < len(c) and not c[skipped]:
            skipped += 1
        self.order, self.c = order + skipped, c[skipped:]
        self.logs, self.positive = logs, positive

    def __add__(self, other: Series) -> Series:
        low = min(self.order, other.order)
        n = min(s.order + len(s.c) for s in (self, other)) - low
        pairs = zip(self.from_order(low, n), other.from_order(low, n), strict=True)
        return Series(low, [_sum(a, b) for a, b in pairs], _sum(self.logs, other.logs),
                      self.positive or other.positive)

    def __sub__(self, other: Series) -> Series:
        return self + other.times(-_ONE)

    def __mul__(self, other: Series) -> Series:
        for x, y in ((self, other), (other, self)):
            if x.logs:
                return x.times(y.number())
        a, b = self.c, other.c
        n = min(len(a), len(b))
        c = [sum((a[i] * b[k - i] for i in range(k + 1) if a[i]), _ZERO) for k in range(n)]
        return Series(self.order + other.order, c, positive=self.positive or other.positive)

    def __truediv__(self, other: Series) -> Series:
        a, b, c = self.c, other.c, list[Decimal]()
        if not b or other.logs:
            raise NoSeriesError
        if self.logs:
            return self.times(_ONE / other.number())
        for k in range(min(len(a), len(b))):
            c.append((a[k] - sum((c[i] * b[k - i] for i in range(k)), _ZERO)) / b[0])
        return Series(self.order - other.order, c, positive=self.positive or other.positive)

    def number(self) -> Decimal:
        """The number that a constant series is."""
        if self.order or not self.c or any(self.c[1:]) or self.logs:
            raise NoSeriesError
        return self.c[0]

    def times(self, factor: Decimal) -> Series:
        """The series times a number."""
        return Series(self.order, [x * factor for x in self.c], self.logs * factor, self.positive)

    def from_order(self, low: int, n: int) -> list[Decimal]:
        """``n`` coefficients from that of x**low on; this one begins there or later."""
        return ([_ZERO] * (self.order - low) + self.c)[:n]

    def regular(self) -> list[Decimal]:
        """The coefficients from that of x**0 on, if there are none before."""
        if self.order < 0 or self.logs:
            raise NoSeriesError
        return self.from_order(0, self.order + len(self.c))

    def integral(self) -> Series:
        """The antiderivative that is 0 at 0."""
        return Series(1, [x / (k + 1) for k, x in enumerate(self.regular())],
                      positive=self.positive)

    def derivative(self) -> Series:
        """The derivative."""
        return Series(self.order - 1, [x * (self.order + k) for k, x in enumerate(self.c)],
                      positive=self.positive)

    def power(self, exponent: Decimal) -> Series:
        """The series to a number; a root needs a positive first coefficient and an even order."""
        order = exponent * self.order
        if not self.c or self.logs or order != int(order) or (exponent != int(exponent) and (
                self.c[0] < 0 or (self.order and not self.positive))):
            raise NoSeriesError
        a, c = self.c, [self.c[0] ** exponent]
        for k in range(1, len(a)):
            c.append(sum(((exponent * i - (k - i)) * a[i] * c[k - i] for i in range(1, k + 1)),
                         _ZERO) / (k * a[0]))
        return Series(int(order), c, positive=self.positive)

    def last(self, n: int) -> list[tuple[int, Decimal]]:
        """Return the last ``n`` known terms as pairs of power and coefficient."""
        first = self.order + len(self.c)
        return [(first - k, self.c[-k]) for k in range(1, min(n, len(self.c)) + 1)]

    def at(self, x: float) -> float:
        """Return the value of the known terms at ``x``."""
        found = x ** self.order * math.fsum(float(c) * x ** k for k, c in enumerate(self.c))
        return found + float(self.logs) * math.log(x) if self.logs else found


def _sum(a: Decimal, b: Decimal) -> Decimal:
    """Return a + b; 0 if what is left is of the size of the rounding error."""
    total = a + b
    return _ZERO if abs(total) < _NOTHING * max(abs(a), abs(b)) else total


def constant(value: Decimal, terms: int) -> Series:
    """A number as a series.

    :raises NoSeriesError: If it is NaN or infinite.
    """
    if not value.is_finite():
        raise NoSeriesError
    return Series(0, [value] + [_ZERO] * (terms - 1)) if value else Series(terms, [])


def _one(u: Series) -> Series:
    return constant(_ONE, u.order + len(u.c))


def _exp(u: Series) -> Series:
    if u.logs:
        if u.logs != int(u.logs):
            raise NoSeriesError
        rest = _exp(Series(u.order, u.c, positive=True))
        return Series(rest.order + int(u.logs), rest.c, positive=True)
    a = u.regular()
    c = [a[0].exp()] if a else []
    for k in range(1, len(a)):
        c.append(sum((i * a[i] * c[k - i] for i in range(1, k + 1)), _ZERO) / k)
    return Series(0, c, positive=u.positive)


def _log(u: Series) -> Series:
    if not u.c or u.c[0] <= 0 or u.logs or (u.order and not u.positive):
        raise NoSeriesError
    logs, u = Decimal(u.order), Series(0, u.c, positive=u.positive)
    rest = (u.derivative() / u).integral()
    first = u.c[0].ln()
    found = rest if not first else rest + constant(first, len(u.c))
    return Series(found.order, found.c, logs, u.positive)


def _at_zero(u: Series) -> Series:
    if (u.order <= 0 and u.c) or u.logs:
        raise NoSeriesError
    return u


def _asinh(u: Series) -> Series:
    if u.order < 0 and u.positive and not u.logs:
        size = u if u.c[0] > 0 else u.times(-_ONE)
        return _log(size + (size * size + _one(size * size)).power(_HALF)).times(u.c[0] / size.c[0])
    return _grown(u, lambda u: _root(u, 1))


def _acosh(u: Series) -> Series:
    if u.order >= 0:
        raise NoSeriesError
    return _log(u + (u * u - _one(u * u)).power(_HALF))


def _atan(u: Series, node: Node) -> Series:
    if u.order < 0 and not u.logs and u.positive:
        rest = _grown(_one(u) / u, lambda u: _unit(u, 1))
        quarter = Decimal(float(node.dtype.type(math.pi / 2)))
        return constant(quarter if u.c[0] > 0 else -quarter, len(u.c)) - rest
    return _grown(u, lambda u: _unit(u, 1))


def _sin_cos(u: Series) -> tuple[Series, Series]:
    a = _at_zero(u).regular()
    s, c = [_ZERO], [_ONE]
    for k in range(1, len(a)):
        s.append(sum((i * a[i] * c[k - i] for i in range(1, k + 1)), _ZERO) / k)
        c.append(-sum((i * a[i] * s[k - i] for i in range(1, k + 1)), _ZERO) / k)
    return Series(0, s), Series(0, c)


def _tanh(u: Series) -> Series:
    e = _exp(u.times(Decimal(2)))
    return (e - _one(e)) / (e + _one(e))


def _grown(u: Series, slope: Callable[[Series], Series]) -> Series:
    """Return the series of a function that is 0 at 0, given the function of its derivative."""
    return (slope(_at_zero(u)) * u.derivative()).integral()


def _root(u: Series, sign: int) -> Series:
    """1 / sqrt(1 + sign * u * u)."""
    square = (u * u).times(Decimal(sign))
    return (_one(square) + square).power(Decimal("-0.5"))


def _erf(u: Series, node: Node) -> Series:
    scale = Decimal(float(node.dtype.type(2 / math.sqrt(math.pi))))
    return _grown(u, lambda u: _exp((u * u).times(-_ONE))).times(scale)


def _unit(u: Series, sign: int) -> Series:
    square = (u * u).times(Decimal(sign))
    return _one(square) / (_one(square) + square)


#: Functions of one operand, with the node for those that need its dtype.
FUNCTIONS: dict[str, Callable[[Series, Node], Series]] = {
    "exp": lambda u, n: _exp(u),
    "expm1": lambda u, n: _exp(u) - _one(u),
    "log": lambda u, n: _log(u),
    "log1p": lambda u, n: _log(u + _one(u)),
    "sin": lambda u, n: _sin_cos(u)[0],
    "cos": lambda u, n: _sin_cos(u)[1],
    "tan": lambda u, n: _sin_cos(u)[0] / _sin_cos(u)[1],
    "sinh": lambda u, n: (_exp(u) - _exp(u.times(-_ONE))).times(_HALF),
    "cosh": lambda u, n: (_exp(u) + _exp(u.times(-_ONE))).times(_HALF),
    "tanh": lambda u, n: _tanh(u),
    "sigmoid": lambda u, n: _one(u) / (_one(u) + _exp(u.times(-_ONE))),
    "softplus": lambda u, n: _log(_one(u) + _exp(u)),
    "asin": lambda u, n: _grown(u, lambda u: _root(u, -1)),
    "asinh": lambda u, n: _asinh(u),
    "acosh": lambda u, n: _acosh(u),
    "atan": _atan,
    "atanh": lambda u, n: _grown(u, lambda u: _unit(u, -1)),
    "erf": _erf,
    "erfc": lambda u, n: _one(u) - _erf(u, n),
    "ndtr": lambda u, n: (_one(u) + _erf(u.times(Decimal(math.sqrt(0.5))), n)).times(_HALF),
}
#: Arithmetic.
OPERATIONS: dict[str, Callable[..., Series]] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b, "safe_multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "safe_divide": lambda a, b: a / b,
    "negative": lambda a: a.times(-_ONE), "square": lambda a: a * a,
    "reciprocal": lambda a: constant(_ONE, len(a.c)) / a, "sqrt": lambda a: a.power(_HALF),
    "hypot": lambda a, b: (a * a + b * b).power(_HALF),
}
_KNOWN = frozenset((*OPERATIONS, *FUNCTIONS))


def expandable(node: Node) -> bool:
    """Return whether a node is of an operation that is known here."""
    name = node.op_name
    return name in _KNOWN or (name == "where" and (is_scale(node) or mended(node) is not None))


def mended(node: Node) -> tuple[str, Node, Node] | None:
    """Return the operation and the operands a and b of a sum that a rule has replaced near 0 by
    ``where(close, polynomial, a + where(close, 0, b))``; None for other nodes.
    """
    if node.op_name != "where":
        return None
    close, _, total = node.inputs
    if total.op_name not in ("add", "subtract"):
        return None
    for a, b in (total.inputs, total.inputs[::-1]):
        if b.op_name == "where" and b.inputs[0] is close and (
                scalar(b.inputs[1]) == 0 and (b is total.inputs[1] or total.op_name == "add")):
            return total.op_name, a, b.inputs[2]
    return None


def operands(node: Node) -> tuple[Node, ...]:
    """The parts from which the series of a node is computed."""
    if node.op_name != "where":
        return node.inputs
    if is_scale(node):
        return ()
    found = mended(node)
    return node.inputs if found is None else found[1:]


def series(node: Node, known: dict[Node, Series], terms: int) -> Series:
    """The power series of a node.

    :param known: Those of the value it is a function of, and of what has been met; more are added.
    :raises NoSeriesError: If there is none.
    """
    found = known.get(node)
    if found is None:
        value: Any = scalar(node)
        if value is not None:
            found = constant(Decimal(float(value)), terms)
        elif not expandable(node):
            raise NoSeriesError
        elif is_scale(node):
            found = constant(_ONE, terms)
        else:
            parts = [series(n, known, terms) for n in operands(node)]
            name = (mended(node) or (node.op_name,))[0]
            made = OPERATIONS.get(name)
            found = made(*parts) if made else FUNCTIONS[name](parts[0], node)
        known[node] = found
    return found


def digits() -> Any:
    """Return a context of decimal arithmetic with enough digits for series."""
    return localcontext(prec=DIGITS, Emax=10 ** 6, Emin=-10 ** 6)
