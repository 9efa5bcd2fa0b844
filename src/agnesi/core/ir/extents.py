"""Sizes that are run-time values of compiled code: polynomials over named sizes.

An :class:`Extent` stands where a number would.  What is true for all its values is decided; what
is not raises :class:`UnknownSizeError`, and the compiler, which tried all sizes, compiles for the
present one instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from agnesi.core.ir.dims import EVALUATE, Dim, Size, from_user_code, sampled
from agnesi.core.ir.interning import INTERNED
from agnesi.core.support.errors import TraceError, at
from agnesi.core.support.tracing import current_reads, present

Monomial = tuple["Extent", ...]
Terms = tuple[tuple[Monomial, int], ...]
Span = tuple[int | None, int | None]
#: Elements assumed along an axis whose size is not known, for cost estimates.
_TYPICAL = 64


class UnknownSizeError(TraceError):
    """The result depends on a size that is known only at run time."""


class SmallSizeError(UnknownSizeError):
    """The answer depends on a run-time size, but only where that is very small."""


class Extent(Dim):
    """A size that every call brings along.

    :ivar guess: A typical value, for decisions that only matter for speed.
    :ivar terms: The polynomial: pairs of a monomial (a sorted tuple of indivisible extents) and its
        factor.
    :ivar thresholds: Of a size of its own: the values up to which something undecided had one
        answer.
    """

    __slots__ = ("ends", "guess", "hashed", "terms", "text", "thresholds")
    algebra: ClassVar[Callable[..., Any] | None]

    guess: int
    ends: Span
    terms: Terms
    thresholds: list[int]
    hashed: int
    text: str

    @classmethod
    def named(cls, name: str, least: int, most: int | None, guess: int) -> Extent:
        """A size of its own."""
        new = cls._atom("", (name,), least, most, guess)
        new.key = ("", name, least, most, guess)
        new.thresholds = []
        return new

    @classmethod
    def _atom(cls, op: str, args: tuple[Any, ...], least: int | None, most: int | None,
              guess: int) -> Extent:
        key = ("part", op, *[id(a) if isinstance(a, Extent) else (a,) for a in args])
        if op and key in INTERNED:
            found: Extent = INTERNED[key]
            return found
        new = object.__new__(cls)
        new.op, new.args = op, args
        # Keys hold no sizes, as comparing a size with a number would add a guard.
        new.key = (op, *[a.key if isinstance(a, Extent) else a for a in args])
        new.ends, new.guess = (least, most), guess
        new.terms = (((new,), 1),)
        return INTERNED.setdefault(key, new) if op else new

    @classmethod
    def _of(cls, terms: Mapping[Monomial, int]) -> Size:
        """The size with these terms."""
        left = tuple(sorted(((m, c) for m, c in terms.items() if c), key=lambda t: repr(t[0])))
        if not left or (len(left) == 1 and not left[0][0]):
            return left[0][1] if left else 0
        if len(left) == 1 and left[0][1] == 1 and len(left[0][0]) == 1:
            return left[0][0][0]
        # Searching for bounds creates the same sizes many times: they are interned.
        key = ("sum", *[(c, *map(id, m)) for m, c in left])
        if key in INTERNED:
            return INTERNED[key]
        new = object.__new__(cls)
        new.op, new.args = "sum", left
        new.key = ("sum", *left)
        new.terms = left
        new.guess = sum(c * math.prod(a.guess for a in m) for m, c in left)
        return INTERNED.setdefault(key, new)

    @property
    def span(self) -> Span:
        """Both bounds; those of a sum are computed when they are first read."""
        try:
            return self.ends
        except AttributeError:
            self.ends = _bounds(self.terms)
            return self.ends

    @property
    def least(self) -> int | None:
        """A lower bound of its values; None where there is none."""
        return self.span[0]

    @property
    def most(self) -> int | None:
        """An upper bound of its values."""
        return self.span[1]

    #: ``int`` for the traced function, where a size is one.
    __class__ = property(
        lambda _: int if current_reads() is not None and from_user_code() else Extent)

    def __hash__(self) -> int:
        if current_reads() is not None and from_user_code():  # it looks up what depends on it
            raise _unknown("the hash of a size")
        try:
            return self.hashed
        except AttributeError:
            self.hashed = hash(self.key)
            return self.hashed

    __ne__ = object.__ne__

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Extent):
            if self.key == other.key:
                return True
            if not from_user_code():
                return False
        elif not isinstance(other, int):
            return False
        difference = _minus(self, other)
        low, high = _span(difference)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        by_user = from_user_code()
        if not by_user and (other not in (0, 1) or self._may_vanish()):
            return False  # the library looks for equal shapes, and goes the general way if not
        _note(difference)
        _note(_minus(other, self))
        raise _unknown(f"{self} == {other}", UnknownSizeError if by_user else SmallSizeError)

    def __repr__(self) -> str:
        if from_user_code() and current_reads() is not None:
            raise _unknown("text of a size")
        try:
            return self.text
        except AttributeError:
            self.text = _text(self.terms) if self.op == "sum" else super().__repr__()
            return self.text

    def __reduce__(self) -> Any:
        blank, kind, (_, state) = super().__reduce__()
        # Hashes of str differ between processes.
        return blank, kind, (None, {k: v for k, v in state.items() if k != "hashed"})

    def __lt__(self, other: Any) -> bool:
        return _is_negative(_minus(self, other), self, other)

    def __gt__(self, other: Any) -> bool:
        return _is_negative(_minus(other, self), other, self)

    def __ge__(self, other: Any) -> bool:
        return not _is_negative(_minus(self, other), self, other)

    def __le__(self, other: Any) -> bool:
        return not _is_negative(_minus(other, self), other, self)

    def __bool__(self) -> bool:
        low, high = _span(self)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return True
        if self._may_vanish() and not from_user_code():
            return True
        raise _unknown(f"bool({self})", SmallSizeError)

    def _may_vanish(self) -> bool:
        """Return whether the size may be 0, because it depends on data.

        The general code is right for 0 as well; other dynamic sizes are at least 2. Code that needs
        an element calls ``need_elements``.
        """
        return any(name.least == 0 for name in self.names())

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def _no_number(self, use: str) -> Any:
        raise _unknown(f"{use} of {self}")

    def value(self, known: Mapping[Extent, Any]) -> Any:
        """The size with some of the named sizes replaced."""
        if not self.op:
            return known.get(self, self)
        if self.op != "sum":
            a, b = (n.value(known) if isinstance(n, Extent) else n for n in self.args)
            return combined(self.op, a, b)
        total: Any = 0
        for monomial, factor in self.terms:
            part: Any = factor
            for atom in monomial:
                part = part * atom.value(known)
            total = total + part
        return total

    def parts(self) -> list[Extent]:
        """The extents that it is made of."""
        if self.op == "sum":
            return [a for m, _ in self.terms for a in m]
        return [a for a in self.args if isinstance(a, Extent)]

    def names(self) -> frozenset[Extent]:
        """The named sizes that it depends on."""
        if not self.op:
            return frozenset((self,))
        return named_in(self.parts())


def named_in(sizes: Iterable[Size]) -> frozenset[Extent]:
    """The named sizes that sizes depend on."""
    return frozenset().union(*(n.names() for n in sizes if isinstance(n, Extent)))


def guess(size: Size) -> int:
    """A size as a number, for decisions that only matter for speed."""
    if type(size) is int:
        return size
    if isinstance(size, Extent):
        return size.guess
    size = present(size)
    return sampled(size, _TYPICAL) if isinstance(size, Dim) else size


def surely(test: Callable[[], bool]) -> bool:
    """Return whether ``test`` holds for all values of the dynamic sizes."""
    try:
        return test()
    except UnknownSizeError:
        return False


def need_elements(size: Size) -> None:
    """Refuse to do for all values of a size what needs an element, if it may be 0."""
    if isinstance(size, Extent) and (size.least or 0) < 1:
        raise _unknown(f"whether {size} is 0", SmallSizeError)


def least(size: Size) -> int | None:
    """A lower bound of a size."""
    return size.least if isinstance(size, Extent) else size  # type: ignore[return-value]


def is_some(size: Size) -> bool:
    """Return whether a size is never 0."""
    return (least(size) or 0) > 0


def most(size: Size) -> int | None:
    """An upper bound of a size."""
    return size.most if isinstance(size, Extent) else size  # type: ignore[return-value]


# -- arithmetic -----------------------------------------------------------------------------
def combined(op: str, a: Any, b: Any) -> Any:
    """Return ``a op b`` for sizes, at least one of which is dynamic."""
    if isinstance(a, int) and isinstance(b, int):
        return EVALUATE[op](a, b)
    if any(isinstance(n, Dim) and not isinstance(n, Extent) for n in (a, b)):
        raise UnknownSizeError(at(f"{a} {op} {b} mixes declared and run-time sizes"))
    if op == "+":
        return _plus(a, b)
    if op == "-":
        return _minus(a, b)
    if op == "*":
        return _times(a, b)
    if op == "max":
        return _maximum(a, b)
    if op == "broadcast":
        return _broadcast(a, b)
    return _divided(op, a, b)


def _terms(n: Size) -> dict[Monomial, int]:
    return dict(n.terms) if isinstance(n, Extent) else {(): n}  # type: ignore[dict-item]


def _plus(a: Any, b: Any, sign: int = 1) -> Any:
    terms = _terms(a)
    for monomial, factor in _terms(b).items():
        terms[monomial] = terms.get(monomial, 0) + sign * factor
    return Extent._of(terms)


def _minus(a: Any, b: Any) -> Any:
    return _plus(a, b, -1)


def _times(a: Any, b: Any) -> Any:
    terms: dict[Monomial, int] = {}
    for m, x in _terms(a).items():
        for n, y in _terms(b).items():
            both = tuple(sorted((*m, *n), key=repr))
            terms[both] = terms.get(both, 0) + x * y
    return Extent._of(terms)


def _maximum(a: Any, b: Any) -> Any:
    difference = _minus(a, b)
    low, high = _span(difference)
    if low is not None and low >= 0:
        return a
    if high is not None and high <= 0:
        return b
    _note(difference)
    lows = [n for n in (least(a), least(b)) if n is not None]
    highs: list[Any] = [n.most if isinstance(n, Extent) else n for n in (a, b)]
    most = None if None in highs else max(highs)
    return Extent._atom("max", (a, b), max(lows, default=None), most, max(guess(a), guess(b)))


def _broadcast(a: Any, b: Any) -> Any:
    if _minus(a, b) == 0 or b == 1:
        return a
    if a == 1:
        return b
    raise _unknown(f"whether {a} and {b} broadcast")


def _divided(op: str, a: Any, b: Any) -> Any:
    """Quotient or remainder: term by term where the divisor goes into a term, else as it stands."""
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    ((by, factor), *more) = _terms(b).items()
    for monomial, c in _terms(a).items():
        quotient = None if more else _without(monomial, by)
        if quotient is None or c % factor:
            rest[monomial] = c
        else:
            whole[quotient] = c // factor
    left: Any = Extent._of(rest)
    low, high = _span(left)
    below = _span(_minus(left, b))[1]
    if low is not None and low >= 0 and below is not None and below < 0:
        return Extent._of(whole) if op == "//" else left
    if isinstance(left, int) and isinstance(b, int):
        part: Any = EVALUATE[op](left, b)
    else:
        part = _opaque(op, left, b, low, high)
    return part if op == "%" else _plus(Extent._of(whole), part)


def _opaque(op: str, a: Any, b: Any, low: int | None, high: int | None) -> Extent:
    typical = EVALUATE[op](guess(a), guess(b)) if guess(b) else 0
    positive = (least(b) or 0) > 0
    if op == "%":
        top = b - 1 if isinstance(b, int) else None
        return Extent._atom(op, (a, b), 0 if positive else None, top, typical)
    if isinstance(b, int) and b > 0:
        down = None if low is None else low // b
        up = None if high is None else high // b
    else:
        down, up = (0, high) if positive and low is not None and low >= 0 else (None, None)
    return Extent._atom(op, (a, b), down, up, typical)


def _without(monomial: Monomial, by: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in by:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


# -- bounds ---------------------------------------------------------------------------------
def _bounds(terms: Terms) -> Span:
    """Bounds of a polynomial; None where there is no bound."""
    for monomial, factor in terms:
        if len(monomial) == 1 and monomial[0].op == "max":
            return _either(terms, monomial[0], factor)
    low, high = _meet(_beyond(terms), _without_remainders(terms))
    times, exact = _without_quotients(terms)
    if times:
        under, over = _span(exact)
        under, over = under and -(-under // times), over and over // times
        low, high = _meet((low, high), (under, over))
    number = dict(terms).get((), 0)
    grows = [(m, c) for m, c in terms if m]
    common = list(grows[0][0]) if len(grows) > 1 else []
    for monomial, _ in grows[1:]:
        common = [a for a in dict.fromkeys(common) if a in monomial]
    if not common or any(a.least is None or a.least < 0 for a in common):
        return low, high
    # A common factor leaves the sign to the rest: n - n*m is not positive.
    rest = Extent._of({_without(m, tuple(common)): c for m, c in grows})  # type: ignore[misc]
    under, over = _span(rest)
    times = math.prod(a.least for a in common)  # type: ignore[misc]
    return _meet((low, high), (
        number + under * times if under is not None and under >= 0 else None,
        number + over * times if over is not None and over <= 0 else None,
    ))


def _meet(a: Span, b: Span) -> Span:
    """Return the intersection of two intervals."""
    lows, highs = ([n for n in ends if n is not None] for ends in zip(a, b, strict=True))
    return max(lows, default=None), min(highs, default=None)


def _without_quotients(terms: Terms) -> tuple[int, Size]:
    """A multiple, with ``n - n % 2`` for ``2 * (n // 2)``, and how many times; 0 if none is."""
    divided = [math.prod(a.args[1] for a in m if _is_part(a)) for m, _ in terms]
    if math.prod(divided) == 1:
        return 0, 0
    times = math.lcm(*(by // math.gcd(by, c) for by, (_, c) in zip(divided, terms, strict=True)))
    total: Any = 0
    for by, (monomial, factor) in zip(divided, terms, strict=True):
        part: Any = factor * times // by
        for a in monomial:
            part = _times(part, _minus(a.args[0], combined("%", *a.args)) if _is_part(a) else a)
        total = _plus(total, part)
    return times, total


def _without_remainders(terms: Terms) -> Span:
    """Bounds of a polynomial, by those where each remainder is the smallest or largest."""
    rests = [tuple([a for a in m if a.op != "%"]) for m, _ in terms]
    tops = [[a.most for a in m if a.op == "%"] for m, _ in terms]
    if not any(tops) or any(None in t for t in tops) or any(
            a.least is None or a.least < 0 for m, _ in terms for a in m):
        return None, None
    under: dict[Monomial, int] = {}
    over: dict[Monomial, int] = {}
    for rest, top, (_, factor) in zip(rests, tops, terms, strict=True):
        for end, counts in (under, factor < 0), (over, factor > 0):
            if counts or not top:
                end[rest] = end.get(rest, 0) + factor * math.prod(top)  # type: ignore[arg-type]
    return _span(Extent._of(under))[0], _span(Extent._of(over))[1]


def _is_part(n: Extent) -> bool:
    """Return whether a size is the quotient of another one by a known integer."""
    return n.op == "//" and isinstance(n.args[1], int) and n.args[1] > 1


def _either(terms: Terms, larger: Extent, factor: int) -> Span:
    """Bounds of a polynomial in which the larger of two sizes stands, or the smaller one."""
    rest = Extent._of({m: c for m, c in terms if m != (larger,)})
    spans = [_span(_plus(rest, _times(n, factor))) for n in larger.args]
    pick = max if factor > 0 else min
    lows, highs = ([n for n in ends if n is not None] for ends in zip(*spans, strict=True))
    # max(a, b) has the lower bounds of either operand, min(a, b) only those of both.
    sure_low = lows if factor > 0 or len(lows) == 2 else []
    sure_high = highs if factor < 0 or len(highs) == 2 else []
    return pick(sure_low, default=None), pick(sure_high, default=None)


def _beyond(terms: Terms) -> Span:
    """Bounds of a polynomial in how much sizes are beyond their lower bounds, term by term."""
    if any(a.least is None or a.least < 0 for m, _ in terms for a in m):
        return None, None
    moved: dict[Monomial, int] = {}
    for monomial, factor in terms:
        parts: dict[Monomial, int] = {(): factor}
        for atom in monomial:
            old, parts = parts, {}
            for m, c in old.items():
                parts[m] = parts.get(m, 0) + c * atom.least  # type: ignore[operator]
                parts[*m, atom] = parts.get((*m, atom), 0) + c
        for m, c in parts.items():
            moved[m] = moved.get(m, 0) + c
    low: int | None = moved.pop((), 0)
    high = low
    for m, c in moved.items():
        reach: int | None = 1
        for atom in m:
            ends: Any = atom.least, atom.most
            reach = None if reach is None or ends[1] is None else reach * (ends[1] - ends[0])
        if c < 0:
            low = None if low is None or reach is None else low + c * reach
        elif c > 0:
            high = None if high is None or reach is None else high + c * reach
    return low, high


def _span(n: Size) -> Span:
    if isinstance(n, Extent):
        return n.span
    return n, n  # type: ignore[return-value]


def _note(difference: Any) -> None:
    """Record up to which value of its only dynamic size the sign of a difference stays the same."""
    terms = _terms(difference)
    rest = terms.pop((), 0)
    if len(terms) != 1:
        return
    ((monomial, factor),) = terms.items()
    if len(monomial) == 1:
        _record_threshold(monomial[0], rest // -factor if factor < 0 else -(rest // factor) - 1)


def _record_threshold(size: Extent, value: int) -> None:
    """Note that something stays the same where a size is greater than a value."""
    if not size.op:
        size.thresholds.append(value)
    elif size.op == "//" and isinstance(size.args[1], int) and size.args[1] > 0:
        _note(_minus(size.args[0], (value + 1) * size.args[1]))


def _is_negative(difference: Size, a: Any, b: Any) -> bool:
    """Return whether ``a < b``; decisions that only matter for speed request a ``guess``
    instead."""
    low, high = _span(difference)
    if high is not None and high < 0:
        return True
    if low is not None and low >= 0:
        return False
    _note(difference)
    raise _unknown(f"{a} < {b}", SmallSizeError)


# -- text and errors ------------------------------------------------------------------------
def _text(terms: Terms) -> str:
    parts = []
    for monomial, factor in sorted(terms, key=lambda t: (not t[0], -len(t[0]), repr(t[0]))):
        names = [f"({a})" if a.op in ("//", "%") else repr(a) for a in monomial]
        number = [] if monomial and abs(factor) == 1 else [str(abs(factor))]
        sign = "-" if factor < 0 else "+"
        parts.append(f"{sign} {'*'.join([*number, *names])}")
    return " ".join(parts).removeprefix("+ ")


def _unknown(what: str, kind: type[UnknownSizeError] = UnknownSizeError) -> UnknownSizeError:
    return kind(at(f"{what} depends on a size that changes from call to call"))


Extent.algebra = staticmethod(combined)
