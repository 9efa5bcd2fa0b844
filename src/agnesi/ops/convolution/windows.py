"""Windows over the spatial axes of images: parameters, NumPy views, and the loop language."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.integers import is_integer
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Dim, Shape
from agnesi.core.ir.extents import Extent, surely
from agnesi.core.ir.loops import Affine, At, Expr
from agnesi.core.storage.strided import looking_into
from agnesi.core.support.errors import ShapeError, shown
from agnesi.core.support.record import record

Ints = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]

#: Windows of at most so many elements are written out, larger ones are loops.
MAX_UNROLLED_ELEMENTS = 32


@record
class Windows:
    """Windows on the spatial axes: the steps between them, the border, the steps inside them."""

    stride: Ints
    padding: Pads
    dilation: Ints

    def sizes(self, sizes: Shape, kernel: Ints) -> Shape:
        """How many windows there are on each axis."""
        result = []
        for n, k, s, (low, high), d in zip(
            sizes, kernel, self.stride, self.padding, self.dilation, strict=True
        ):
            reach = n + (low + high - d * (k - 1) - 1)
            if isinstance(reach, int | Extent) and reach < 0:
                raise ShapeError(
                    f"a window of {d * (k - 1) + 1} does not fit an axis of {n}"
                    f" with borders {low} and {high}"
                )
            result.append(reach // s + 1)
        return tuple(result)

    # -- as views ---------------------------------------------------------------------------
    def padded(self, x: np.ndarray, value: Any = 0) -> np.ndarray:
        """``x`` with its border."""
        if not any(low or high for low, high in self.padding):
            return x
        sizes = [n + low + high for n, (low, high) in zip(x.shape[2:], self.padding, strict=True)]
        result = np.full((*x.shape[:2], *sizes), value, x.dtype)
        self.inner(result)[...] = x
        return result

    def inner(self, x: np.ndarray) -> np.ndarray:
        """``x`` without its border."""
        cut = (
            slice(low, n - high)
            for (low, high), n in zip(self.padding, x.shape[2:], strict=True)
        )
        return x[(slice(None), slice(None), *cut)]

    def view(self, padded: np.ndarray, kernel: Ints) -> np.ndarray:
        """All windows: shape (batch, channels, *pixels, *kernel)."""
        front, own = padded.strides[:2], padded.strides[2:]
        each = [s * b for s, b in zip(self.stride, own, strict=True)]
        inside = [d * b for d, b in zip(self.dilation, own, strict=True)]
        pixels = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(
            padded.shape[2:], kernel, self.stride, self.dilation, strict=True)]
        return looking_into(padded, (*padded.shape[:2], *pixels, *kernel), (*front, *each, *inside))

    def taps(self, kernel: Ints, output: Ints) -> Iterator[tuple[Ints, tuple[slice, ...]]]:
        """Each position in the kernel, and where the windows have it in the padded image."""
        for tap in itertools.product(*map(range, kernel)):
            cut = tuple(
                slice(t * d, t * d + s * (n - 1) + 1, s)
                for t, d, s, n in zip(tap, self.dilation, self.stride, output, strict=True)
            )
            yield tap, (slice(None), slice(None), *cut)

    # -- in the loop language -----------------------------------------------------------------
    def reads(self, at: At, kernel: Ints, sizes: Shape) -> list[Run]:
        """Return the elements of the window at ``at``, axis by axis; ``at`` and ``sizes`` are
        spatial.
        """
        return [
            Run(k, _tap(i * s + -low, n, d))
            for i, k, n, s, (low, _), d in zip(
                at, kernel, sizes, self.stride, self.padding, self.dilation, strict=True
            )
        ]

    def covers(self, at: At, kernel: Ints, sizes: Shape, output: Shape) -> list[Run]:
        """Which windows hold the element at ``at`` of an image, axis by axis."""
        runs = []
        for i, k, n, p, s, (low, _), d in zip(
            at, kernel, sizes, output, self.stride, self.padding, self.dilation, strict=True
        ):
            if d == 1:
                find = _window(i + low, (low, n - 1 + low), p, k, s)
                runs.append(Run(-(-k // s), find))
            else:
                runs.append(Run(k, _spread(i + low, p, s, d)))
        return runs


class Pixel(NamedTuple):
    """A position on one axis, safe to read; whether it is meant; and the tap that it belongs to."""

    at: Affine
    inside: Expr | None
    tap: Affine


class Run(NamedTuple):
    """Positions on one axis: how many, and each by its number."""

    length: int
    pixel: Callable[[Affine], Pixel]


def number(i: Affine) -> Expr:
    """A position as a number to compute with."""
    return loops.const(i.const, "int64") if not i.terms else loops.index(i)


def _within(i: Affine, least: int, most: int, n: int) -> tuple[Affine, Expr | None]:
    """A position known to be in [least, most], moved into [0, n); and whether it was there.

    Where that is not sure for all run-time sizes, it is tested.
    """
    value, tests = number(i), []
    below, beyond = (not surely(ok) for ok in (lambda: least >= 0, lambda: most < n))
    if below:
        tests.append(value >= 0)
    if beyond:
        tests.append(value < n)
    if not tests:
        return i, None
    if below:
        value = loops.call("maximum", value, 0)
    if beyond:
        value = loops.call("minimum", value, n - 1)
    return loops.atom_of(value), all_of(tests)


def all_of(tests: list[Expr] | list[Expr | None]) -> Expr | None:
    """Return whether all tests hold; None where there is none."""
    result: Expr | None = None
    for test in tests:
        if test is not None:
            result = test if result is None else result & test
    return result


def inside_or(beyond: Any, value: Expr, pixels: Sequence[Pixel]) -> Expr:
    """The value read at these positions; ``beyond`` where one of them is outside."""
    inside = all_of([p.inside for p in pixels])
    return value if inside is None else loops.where(inside, value, beyond)


def _span(i: Affine) -> tuple[int, int]:
    bounds = i.bounds()
    return bounds if bounds is not None else (-(1 << 62), 1 << 62)


def _tap(start: Affine, n: int, d: int) -> Callable[[Affine], Pixel]:
    """Elements of the window that begins at ``start``."""

    def find(t: Affine) -> Pixel:
        pixel = start + t * d
        at, inside = _within(pixel, *_span(pixel), n)
        return Pixel(at, inside, t)

    return find


def _window(i: Affine, span: tuple[int, int], count: int, k: int,
            s: int) -> Callable[[Affine], Pixel]:
    """Return a function from ``j`` to the ``j``-th window over position ``i`` of the bordered
    image, the last one first: its index, whether there is one, and which tap of it ``i`` is."""
    quotient, rest = i.divmod(s)
    least, most = span[0] // s, span[1] // s

    def find(j: Affine) -> Pixel:
        first, last = _span(j)
        tap = rest + j * s
        at, inside = _within(quotient + j * -1, least - last, most - first, count)
        if (last + 1) * s > k:
            in_kernel = number(tap) < k
            inside = all_of([inside, in_kernel])
        return Pixel(at, inside, tap)

    return find


def _spread(i: Affine, count: int, s: int, d: int) -> Callable[[Affine], Pixel]:
    """Windows over position ``i`` with steps inside: each tap fits one or none."""

    def find(t: Affine) -> Pixel:
        quotient, rest = (i + t * -d).divmod(s)
        at, inside = _within(quotient, -(1 << 62), 1 << 62, count)
        fits = None
        if rest.terms or rest.const:
            fits = number(rest).eq(0)
        return Pixel(at, all_of([inside, fits]), t)

    return find


def number_of(taps: Any, kernel: Ints) -> Affine:
    """The number of an element of a window, in row-major order."""
    return loops.ravel(tuple(taps), kernel)


def every(runs: list[Run]) -> Iterator[tuple[Pixel, ...]]:
    """All combinations of positions, written out."""
    lists = [[run.pixel(Affine(j)) for j in range(run.length)] for run in runs]
    return itertools.product(*lists)


def count(runs: list[Run]) -> int:
    """How many combinations there are."""
    total = 1
    for run in runs:
        total *= run.length
    return total


def fold(kind: str, runs: list[Run], at: At, term: Callable[[tuple[Pixel, ...]], Expr]) -> Expr:
    """Combine a term for every combination of positions: written out if few, else in loops."""
    if 0 < count(runs) <= MAX_UNROLLED_ELEMENTS:
        terms = [term(pixels) for pixels in every(runs)]
        result = terms[0]
        for value in terms[1:]:
            result = loops.call(kind, result, value)
        return result
    avoid = frozenset().union(*(i.free for i in at))

    def body(*js: Affine) -> Expr:
        return term(tuple(run.pixel(j) for run, j in zip(runs, js, strict=True)))

    return loops.reduce_(kind, [r.length for r in runs], body, avoid,
                         [32 + i for i in range(len(runs))])


def within_kernel(tap: Affine, size: int) -> Affine:
    """A tap that may be outside of the kernel, moved to where it can be read."""
    if not tap.terms:
        return Affine(min(tap.const, size - 1))
    return loops.atom_of(loops.call("minimum", loops.index(tap), size - 1))


# -- parameters -------------------------------------------------------------------------------
def listed(value: Any) -> Any:
    """Numbers for axes as Python's, where they are an array of NumPy's."""
    return value.tolist() if isinstance(value, (np.ndarray, np.integer)) else value


#: Positions are computed from these numbers, with products of two of them.
_MOST_STEPS = 2**31 - 1


def per_axis(value: Any, rank: int, what: str, least: int = 1) -> Ints:
    """Normalize a parameter to one integer for each spatial axis."""
    value = listed(value)
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * rank if len(values) == 1 else values
    if len(values) != rank:
        raise ValueError(
            f"{what} {shown(value)} must be one number, or one for each of {rank} axes")
    if not all(is_integer(v) for v in values):
        raise TypeError(f"{what} {shown(value)} must be an integer, or one for each of {rank} axes")
    numbers = tuple(operator.index(v) for v in values)
    if any(v < least for v in numbers):
        raise ValueError(f"{what} {value} must be at least {least}")
    if any(v > _MOST_STEPS for v in numbers):
        raise ValueError(f"{what} {value} must be at most {_MOST_STEPS}")
    return numbers


def borders(padding: Any, kernel: Ints, dilation: Ints, stride: Ints) -> Pads:
    """Border before and behind each axis: a number, one or a pair for each axis, or a word."""
    rank, padding = len(kernel), listed(padding)
    if padding == "valid":
        return ((0, 0),) * rank
    if padding in ("full", "same") and any(isinstance(k, Dim) for k in kernel):
        raise ShapeError(f"padding {padding!r} needs to know the sizes {kernel} of the filters")
    spans = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if padding == "full":
        return tuple((n, n) for n in spans)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ValueError(f"padding 'same' goes with stride 1, not {stride}")
        return tuple((n // 2, n - n // 2) for n in spans)
    if isinstance(padding, str):
        raise ValueError(f"padding {padding!r} is none of 'valid', 'same', 'full', or numbers")
    if isinstance(padding, (tuple, list)) and any(isinstance(p, (tuple, list)) for p in padding):
        pairs = tuple(per_axis(p, 2, "padding", 0) for p in padding)
        if len(pairs) != rank:
            raise ValueError(f"padding {padding} must have a pair for each of {rank} axes")
        return tuple((a, b) for a, b in pairs)
    return tuple((p, p) for p in per_axis(padding, rank, "padding", 0))
