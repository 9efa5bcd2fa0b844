"""Dynamic sizes: those that change from call to call become run-time values of one specialization.

At first only the sizes of leading axes do, because strides do not depend on them; other sizes
follow when they keep changing, and at once where a single size changes, such as the length of
sequences.  A size that was always the same multiple of another one stays so.  A condition that does
not hold for all sizes restricts the version to those for which it holds: a version that slices a
table of 256 rows takes up to 256.  Where that does not help, and all sizes seen were even, or
multiples of 3 and so on, a version takes the multiples, as of images that are halved and doubled
again.

Sizes that data decides are others in every call, so they are run-time values from the first one on,
each of its own and down to 0; where that cannot be, they are sizes like all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np

from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import Shape, Size
from agnesi.core.ir.extents import Extent, SmallSizeError, UnknownSizeError, guess
from agnesi.core.ir.node import Node
from agnesi.core.substitution import inferred
from agnesi.core.support.config import config
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.tensor import Tensor

V = TypeVar("V")
_NONE: Mapping[int, int] = MappingProxyType({})
Shapes = Sequence[tuple[int, ...]]
#: The sizes of all axes of all arguments.
Sizes = tuple[int, ...]
#: Of sizes that data decides, by their numbers among all, the most that they may be now.
Births = Mapping[int, int]
#: The same, with some that are run-time values.
Pattern = tuple[Size, ...]
#: The least and the most that a size may be.
Span = tuple[int, int]
#: Sizes from which run-time sizes begin: 0 and 1 have meanings of their own, and so have some
#: more where an axis gets shorter, as by windows and steps of a network's layers.
_LEAST = (2, 3, *(1 << n for n in range(3, 13)))
#: A version serves sizes up to so many times the one that it was made for: it has the cut of
#: products, and all else that depends on sizes, from there.
_MAX_SIZE_RATIO = 8
#: So many sets of sizes of other axes, where several differ, get versions of their own.
_MAX_STATIC_PATTERNS = 2
_MAX_PATTERNS = 8
#: How often a specialization may take fewer sizes, for the sake of what could not be decided.
_MAX_NARROWINGS = 4
#: How many sizes it must still take.
_MIN_SIZES_SERVED = 4
#: How far beyond their least values sizes are for a trial.
_SAMPLES = ((11, 13, 17, 19, 23, 29, 31, 37), (101, 103, 107, 109, 113, 127, 131, 137))


def shapes_of(values: Sequence[Any]) -> list[tuple[int, ...]]:
    """The shapes of arguments; those without sizes have none."""
    return [v.shape if isinstance(v, (Tensor, np.ndarray)) else () for v in values]


def sizes_of(shapes: Sequence[Sequence[Size]]) -> Pattern:
    """All sizes in a row."""
    return tuple(n for shape in shapes for n in shape)


def births(shapes: Shapes, most: Sequence[int | None]) -> dict[int, int]:
    """Return the positions of data-dependent sizes in the row of all sizes, with their upper
    bounds.

    Each of the last arguments carries one size of ``most``; None there marks one without a bound.
    """
    last = len(sizes_of(shapes)) - 2 * len(most)
    return {last + 2 * i: n for i, n in enumerate(most) if n is not None}


def in_shapes(sizes: Pattern, shapes: Shapes) -> list[Shape]:
    """Split a row of sizes into shapes of the same ranks as ``shapes``."""
    left = iter(sizes)
    return [tuple(next(left) for _ in shape) for shape in shapes]


class Growing(Generic[V]):
    """The specializations of a function for arguments that differ in some sizes only.

    :ivar refused: Why there is no specialization for all sizes; empty if none was tried yet, or
        there are some.
    :ivar made: The specializations with dynamic sizes, each with the pattern of sizes that it
        takes.
    """

    def __init__(self) -> None:
        self.refused = ""
        self._least, self._coarse = list(_LEAST), 1
        #: From where on sizes that data decides are run-time values of their own, if they are.
        self._born: list[int | None] = [0, None]
        self._seen: list[Sizes] = []
        self.made: list[tuple[Pattern, V]] = []
        self._error: Exception | None = None
        self._sure = False

    def find(self, sizes: Sizes, valid: Callable[[V], bool]) -> V | None:
        """A version that takes these sizes: the one made for the smallest, if there are several."""
        found = [(p, v) for p, v in self.made if fits(p, sizes) and valid(v)]
        return min(found, key=lambda m: sum(map(guess, m[0])))[1] if found else None

    def grow(self, sizes: Sizes, make: Callable[[Pattern], V], births: Births = _NONE
             ) -> tuple[Pattern, V] | None:
        """Return a new specialization that takes these sizes and others, with its pattern; None if
        there can be none.
        """
        self._error = None
        if births and not self.refused and config.compiles:
            found = self._grown_apart(sizes, make, births)
            if found is not None or self._born[0] is not None:
                return found
        spans: dict[str, Span] = {}
        left = _MAX_NARROWINGS
        while not self.refused and config.compiles:
            pattern, self._sure = self._pattern(sizes, spans)
            if pattern is None:
                if self._coarsened(sizes):
                    spans, left = {}, _MAX_NARROWINGS
                    continue
                return None
            made, error = self._attempt(sizes, make, pattern)
            if error is None:
                return pattern, made
            if left and (narrower := _narrowed(pattern, sizes)):
                left -= 1
                spans.update(narrower)
                continue
            if isinstance(error, SmallSizeError) and len(self._least) > 1:
                del self._least[0]
            elif not self._coarsened(sizes):
                return None
            spans, left = {}, _MAX_NARROWINGS
        return None

    def _grown_apart(self, sizes: Sizes, make: Callable[[Pattern], V], births: Births
                     ) -> tuple[Pattern, V] | None:
        """A version with data-dependent sizes as run-time values; None if none fits."""
        while (least := self._born[0]) is not None:
            if any(sizes[i] < least for i in births):
                return None  # there are few of those
            rest = tuple(n for i, n in enumerate(sizes) if i not in births)
            seen = [tuple(n for i, n in enumerate(s) if i not in births) for s in self._seen]
            others = iter(self._varied(seen, rest, {}) or rest)
            pattern = tuple(_born(i, n, least, births[i]) if i in births else next(others)
                            for i, n in enumerate(sizes))
            made, error = self._attempt(sizes, make, pattern)
            if error is None:
                return pattern, made
            del self._born[0]
        return None

    def _attempt(self, sizes: Sizes, make: Callable[[Pattern], V], pattern: Pattern
                 ) -> tuple[Any, Exception | None]:
        """A version of a pattern, which is added; or None and the error of the attempt.

        A version for the present sizes alone shows whether the function itself is wrong.
        """
        try:
            made = make(pattern)
        except AssertionError:  # the compiler's own mistake
            raise
        except Exception as error:
            raise_if_from_signal(error)
            self._error = error
            return None, error
        self._error = None
        self.add(pattern, made)
        self.learn(sizes)
        return made, None

    def add(self, pattern: Pattern, made: V) -> V:
        """Add a specialization; the oldest is dropped if there are too many."""
        self.made = [*self.made[1 - _MAX_PATTERNS :], (pattern, made)]
        return made

    def learn(self, sizes: Sizes) -> str:
        """Record a specialization for these sizes; return why it does not cover other sizes."""
        if sizes not in self._seen:
            self._seen = [*self._seen[1 - _MAX_PATTERNS :], sizes]
        if self._error is None:
            return self.refused
        text = " ".join(map(str.strip, str(self._error).splitlines()[:2]))
        text = text or type(self._error).__name__
        if self._sure:
            self.refused = text
        return text

    def is_one(self, sizes: Sizes) -> bool:
        """Return whether these sizes differ from those seen so far in exactly one named size."""
        pattern, _ = self._pattern(sizes, {})
        return pattern is not None and len(named_in(pattern, sizes)) == 1

    def _pattern(self, sizes: Sizes, spans: dict[str, Span]) -> tuple[Pattern | None, bool]:
        """Return the pattern of sizes that are to be dynamic, judged by the sizes seen so far, and
        whether it is reliable.

        Sizes of 0 and 1 say little about others, so only calls with the same tiny sizes count,
        unless there are none.
        """
        alike = [s for s in self._seen if list(map(_is_tiny, s)) == list(map(_is_tiny, sizes))]
        pattern = self._varied(alike, sizes, spans)
        return pattern or self._varied(self._seen, sizes, spans), pattern is not None

    def _coarsened(self, sizes: Sizes) -> bool:
        """Require dynamic sizes to be multiples of a larger number from now on, if those seen are;
        return whether there is such a number.
        """
        columns = [c for c in zip(*self._seen, sizes, strict=True) if len(set(c)) > 1]
        common = [math.gcd(*c) for c in columns]
        larger = range(self._coarse + 1, max(common, default=0) + 1)
        by = next((k for k in larger if any(n % k == 0 for n in common)), None)
        if by is None:
            return False
        self._coarse, self._least = by, list(_LEAST)
        return True

    def _varied(self, seen: Sequence[Sizes], sizes: Sizes, spans: dict[str, Span]
                ) -> Pattern | None:
        columns = list(zip(*seen, sizes, strict=True))
        known: dict[tuple[int, ...], Any] = {}
        named: list[tuple[tuple[int, ...], Extent]] = []
        for column in sorted(set(columns), key=lambda c: c[-1]):
            if len(set(column)) == 1:
                known[column] = column[-1]
                continue
            times = next((n * k for c, n in named if (k := _multiple(column, c))), None)
            if times is None:
                by = math.gcd(self._coarse, *column)
                of = tuple(n // by for n in column)
                if of[-1] < self._least[0]:
                    return None
                new = _extent(f"n{len(named)}", self._least[0], of[-1], spans)
                named.append((of, new))
                times = new * by
            known[column] = times
        pattern = tuple(known[c] for c in columns)
        return pattern if any(isinstance(n, Extent) for n in pattern) else None


class Family(Generic[V]):
    """The versions of a function for arguments that differ in sizes only.

    Those that agree in all but leading sizes have versions of their own, and there are versions
    for all.
    """

    def __init__(self) -> None:
        self._near: dict[Any, Growing[V]] = {}
        self._far: Growing[V] = Growing()

    @property
    def made(self) -> list[tuple[Pattern, V]]:
        """The versions for more than one size, with what sizes they take."""
        return [m for g in (*self._near.values(), self._far) for m in g.made]

    def find(self, shapes: Shapes, valid: Callable[[V], bool] = lambda _: True) -> V | None:
        """A version that takes these shapes."""
        sizes: Any = sizes_of(shapes)
        near = self._near.get(_trailing(shapes))
        found = near.find(sizes, valid) if near is not None else None
        return found if found is not None else self._far.find(sizes, valid)

    def grow(self, shapes: Shapes, make: Callable[[Pattern], V], births: Births = _NONE
             ) -> tuple[Pattern, V] | None:
        """A version made now that takes these shapes and others; None where that cannot be."""
        new, sizes = _trailing(shapes) not in self._near, sizes_of(shapes)
        if sum(bool(g.refused) for g in self._near.values()) >= _MAX_STATIC_PATTERNS:
            return None  # it will not go with yet other sizes either
        grown = self._of(shapes).grow(sizes, make, births)  # type: ignore[arg-type]
        patience = 1 if self._far.is_one(sizes) else _MAX_STATIC_PATTERNS  # type: ignore[arg-type]
        if grown is None and new and len(self._near) > patience:
            grown = self._far.grow(sizes, make, births)  # type: ignore[arg-type]
        return grown

    def add(self, pattern: Pattern, made: V) -> V:
        """Add a specialization."""
        return self._far.add(pattern, made)

    def learn(self, shapes: Shapes) -> str:
        """Record a specialization for these shapes; return why it does not cover other shapes."""
        sizes: Any = sizes_of(shapes)
        near, far = self._of(shapes).learn(sizes), self._far.learn(sizes)
        return near or far

    def _of(self, shapes: Shapes) -> Growing[V]:
        return self._near.setdefault(_trailing(shapes), Growing())


def _trailing(shapes: Shapes) -> Any:
    return tuple(s[1:] for s in shapes)


def _is_tiny(size: int) -> bool:
    return size < _LEAST[0]


def _multiple(column: tuple[int, ...], of: tuple[int, ...]) -> int:
    """Return the constant factor between two columns of sizes seen so far; 0 if there is none."""
    times = column[-1] // of[-1]
    return times if all(a == times * b for a, b in zip(column, of, strict=True)) else 0


def _extent(name: str, least: int, size: int, spans: dict[str, Span]) -> Extent:
    typical = max(16, 1 << (size - 1).bit_length())
    low, high = spans.get(name, (least, _MAX_SIZE_RATIO * typical))
    return Extent.named(name, max(least, low), high, min(typical, high))


def _born(number: int, size: int, least: int, most: int) -> Extent:
    """A size that data decides."""
    typical = max(16, 1 << (max(size, most // 2) - 1).bit_length())
    return Extent.named(f"k{number}", least, max(most, _MAX_SIZE_RATIO * typical), typical)


def _narrowed(pattern: Pattern, sizes: Sizes) -> dict[str, Span]:
    """Return narrower ranges of the dynamic sizes, around the present ones, in which comparisons
    with thresholds that tracing met have one result.
    """
    found = {}
    for wanted, size in named_in(pattern, sizes).items():
        if wanted.thresholds:
            low = max([wanted.least or 0, *(t + 1 for t in wanted.thresholds if t < size)])
            high = min([wanted.most or size, *(t for t in wanted.thresholds if t >= size)])
            if (low, high) != (wanted.least, wanted.most) and high - low >= _MIN_SIZES_SERVED:
                found[wanted.args[0]] = low, high
    return found


def named_in(pattern: Pattern, sizes: Pattern) -> dict[Extent, int]:
    """Return the values of the named sizes of a pattern, read from sizes that match it."""
    found: dict[Extent, int] = {}
    for wanted, size in zip(pattern, sizes, strict=True):
        if isinstance(wanted, Extent):
            (((name,), times),) = wanted.terms  # a name, or a multiple of it
            found.setdefault(name, size // times)
    return found


def fits(pattern: Pattern, sizes: Pattern) -> bool:
    """Return whether sizes are of a pattern."""
    known: dict[Any, Any] = named_in(pattern, sizes)
    if any(not (n.least or 0) <= size <= (n.most or size) for n, size in known.items()):
        return False
    return all(
        (n.value(known) if isinstance(n, Extent) else n) == size
        for n, size in zip(pattern, sizes, strict=True)
    )


def describe_pattern(pattern: Pattern) -> str:
    """For people: what a version takes."""
    names = dict.fromkeys(a for n in pattern if isinstance(n, Extent) for a in n.names())
    return " and ".join(f"{n} is any size from {n.least} to {n.most}" for n in names)


def check(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph; raise UnknownSizeError if shape inference on sample sizes contradicts its
    shapes.
    """
    names = graph.extents
    for sample in _SAMPLES:
        known: dict[Any, Any] = {n: (n.least or 0) + s for n, s in zip(names, sample, strict=False)}
        done: dict[Node, Node] = {}
        for node in graph.nodes:
            done[node] = new = _sampled(node, done, known)
            if new.shape != _valued(node.shape, known):
                raise UnknownSizeError(
                    f"{node.op.name} makes {new.shape} of {known}, not {node.shape}"
                )
    return graph


def _sampled(node: Node, done: dict[Node, Node], known: dict[Any, Any]) -> Node:
    if node.op is not None:
        inputs = tuple([done[n] for n in node.inputs])
        return inferred(node, inputs, lambda size: _valued((size,), known)[0])
    shape: Any = _valued(node.shape, known)
    return Node(None, (), shape, node.dtype, value=node.value, handle=node.handle)


def _valued(shape: Shape, known: dict[Any, Any]) -> Shape:
    return tuple(n.value(known) if isinstance(n, Extent) else n for n in shape)
