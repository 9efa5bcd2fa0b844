"""Values with derivatives along a parameter, in formulas: truncated Taylor polynomials.

Products, quotients and sums of jets follow from those of polynomials, so that a series or continued
fraction written in them gives its derivatives too, to the digits of its value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: Below this part of what is summed up a change is none.
_RELATIVE_CHANGE = 4e-16


class Jet:
    """The coefficients of a polynomial in a small change of the parameter, the value first."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[Any]) -> None:
        self.terms = tuple(terms)

    def __add__(self, other: Jet) -> Jet:
        return Jet([x + y for x, y in zip(self.terms, other.terms, strict=True)])

    def plus(self, number: Any) -> Jet:
        """The sum with a value that does not change."""
        return Jet([self.terms[0] + number, *self.terms[1:]])

    def times(self, number: Any) -> Jet:
        """The product with a value that does not change."""
        return Jet([x * number for x in self.terms])

    def __mul__(self, other: Jet) -> Jet:
        def term(k: int) -> Any:
            parts = [self.terms[i] * other.terms[k - i] for i in range(k + 1)]
            return sum(parts[1:], start=parts[0])

        return Jet([term(k) for k in range(len(self.terms))])

    def inverse(self) -> Jet:
        """One divided by it."""
        first, *rest = self.terms
        one = 1.0 / first
        found = [one]
        for k in range(1, len(self.terms)):
            parts = [rest[i] * found[k - 1 - i] for i in range(k)]
            found.append(-one * sum(parts[1:], start=parts[0]))
        return Jet(found)

    def exp(self, first: Any) -> Jet:
        """Its exponential, whose value is known: ``first``."""
        found = [first]
        for k in range(1, len(self.terms)):
            parts = [self.terms[i + 1] * found[k - 1 - i] * (i + 1.0) for i in range(k)]
            found.append(sum(parts[1:], start=parts[0]) * (1 / k))
        return Jet(found)


def constant(value: Any, order: int) -> Jet:
    """A value that does not change."""
    return Jet([value, *[value * 0.0] * order])


def changed(m: Any, new: Jet, change: Jet, about: Jet) -> Any:
    """Return whether some coefficient of a sum is still moved by a change; ``about`` has their
    sizes."""
    found = None
    for term, last, size in zip(new.terms, change.terms, about.terms, strict=True):
        moved = m.abs(last) > (m.abs(term) + m.abs(size)) * _RELATIVE_CHANGE
        found = moved if found is None else m.logical_or(found, moved)
    return found


def summed(m: Any, most: int, wanted: Any, operands: Sequence[Any], order: int, ratio: Any,
           read: Callable[..., Any]) -> Any:
    """``read`` of the sum ``1 + ratio(1) * (1 + ratio(2) * ...)``, jets of ``ratio(n, *operands)``.

    ``read(sum, *operands)`` gives the value that is wanted.
    """
    one = constant(operands[0] * 0.0 + 1.0, order)

    def step(n: Any, values: Sequence[Any], *xs: Any) -> Any:
        term, total = _jets(values[1:], order)
        term = term * ratio(n + 1.0, *xs)
        new = total + term
        more = changed(m, new, term, constant(term.terms[0] * 0.0, order))
        return [read(new, *xs), *term.terms, *new.terms], more

    starts = [read(one, *operands), *one.terms, *one.terms]
    return m.steps(most, wanted, operands, starts, step)


def fraction(m: Any, most: int, wanted: Any, operands: Sequence[Any], order: int,
             parts: Callable[..., tuple[Jet, Jet]], first: Jet, read: Callable[..., Any]) -> Any:
    """``read`` of the continued fraction ``first + a(1) / (b(1) + a(2) / (b(2) + ...))``.

    ``parts(n, *operands)`` are the jets a(n) and b(n); see :func:`summed`.  Algorithm: Lentz (Press
    et al., Numerical Recipes, 5.2).
    """
    nothing = constant(operands[0] * 0.0, order)

    def step(n: Any, values: Sequence[Any], *xs: Any) -> Any:
        f, c, d = _jets(values[1:], order)
        above, below = parts(n + 1.0, *xs)
        d = _apart(m, below + above * d).inverse()
        c = _apart(m, below + above * c.inverse())
        factor = c * d
        new = f * factor
        last = new + f.times(-1.0)
        about = Jet([new.terms[0] * 0.0, *(c.terms[k] * d.terms[0] * new.terms[0]
                                           for k in range(1, order + 1))])
        return [read(new, *xs), *new.terms, *c.terms, *d.terms], changed(m, new, last, about)

    starts = [read(first, *operands), *first.terms, *first.terms, *nothing.terms]
    return m.steps(most, wanted, operands, starts, step)


def _apart(m: Any, x: Jet) -> Jet:
    """A jet whose value is not zero."""
    first = m.where(m.equal(x.terms[0], 0.0), 1e-290, x.terms[0])
    return Jet([first, *x.terms[1:]])


def _jets(values: Sequence[Any], order: int) -> list[Jet]:
    each = order + 1
    return [Jet(values[i: i + each]) for i in range(0, len(values), each)]
