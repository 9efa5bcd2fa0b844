"""Result types of a user's operation without ``infer``: it is run on examples."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Dim, is_static
from agnesi.core.ir.extents import Extent, UnknownSizeError
from agnesi.core.op import title_of
from agnesi.core.support.config import switched
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.signal_errors import ignored, raise_if_from_signal

#: What stands for unknown sizes while a result's shape is found out, in two tries.
_PROBES = ((3, 5, 7, 11, 13, 17, 19, 23), (8, 12, 14, 16, 18, 20, 22, 24))
#: So many ways are tried in which some of them may be equal.
_MAX_GROUPINGS = 52
#: Elements of operands in further runs, again and again, by kinds of dtypes, others' last: do they
#: decide sizes?
_ELEMENTS: tuple[dict[str, Any], ...] = (
    {"b": (False, True), "i": (0, 2, 1), "u": (0, 2, 1), "": (0.0, 2.5, -1.5, 0.5)},
    {"b": (True, False), "i": (7, -3, 50), "u": (7, 3, 50), "": (100.0, -100.0, 10.0)})
#: Further runs end behind so many seconds, and as many times what the first one took.
_MIN_SECONDS, _MOST_TIMES_LONGER = 0.1, 3


def probed(op: Any, xs: tuple[Any, ...]) -> Any:
    """Types of the results, found out by running the operation on ones, and on other numbers.

    Unknown sizes are tried with two numbers each: what is that number both times is that size.
    Where the operation refuses them, some are tried as equal.  A size that follows from values, or
    in a way that is not clear, is None.
    """
    sizes: list[Dim] = list(dict.fromkeys(n for x in xs for n in x.shape if not is_static((n,))))
    try:
        found = _for_groups(op, xs, sizes)
    except Exception as error:
        raise_if_from_signal(error)
        if not any(isinstance(n, Extent) for n in sizes):
            raise
        raise _unknown(op) from error
    if any(isinstance(n, Extent) for n in sizes) and not has_unknown(op, found):
        raise _unknown(op)
    return found


def _unknown(op: Any) -> UnknownSizeError:
    return UnknownSizeError(at(f"{title_of(op)} has no infer, so that its sizes must be known"))


def has_unknown(op: Any, found: Any) -> bool:
    """Return whether a size of a result is known only once the operation has run."""
    return any(n is None for shape, _ in (found if op.outputs > 1 else (found,)) for n in shape)


def _for_groups(op: Any, xs: tuple[Any, ...], sizes: list[Dim]) -> Any:
    """Types of the results for the first way of taking some sizes as equal that goes."""
    if len(sizes) > len(_PROBES[0]):
        raise ShapeError(
            f"{len(sizes)} unknown sizes are too many to guess; give {title_of(op)} infer")
    first: Exception | None = None
    for groups in _groupings(len(sizes)):
        try:
            return _tried(op, xs, sizes, groups)
        except (ValueError, IndexError, AssertionError) as error:  # sizes that do not fit
            first = first or error
    raise first or ShapeError(f"give {title_of(op)} infer")


def _groupings(n: int) -> Iterator[tuple[int, ...]]:
    """Which of so many sizes are equal, by numbers of groups: none, then some of them."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(n):
        found = [(*g, i) for g in found for i in range(max(g, default=-1) + 1, -1, -1)]
        found = found[:_MAX_GROUPINGS]
    yield from sorted(found, key=lambda g: -len(set(g)))


def _tried(op: Any, xs: tuple[Any, ...], sizes: list[Dim], groups: tuple[int, ...]) -> Any:
    """Types of the results where sizes of one group are equal."""
    found = []
    for numbers in _PROBES if sizes else _PROBES[:1]:
        known = {d: numbers[g] for d, g in zip(sizes, groups, strict=True)}
        shapes = [[known.get(n, n) for n in x.shape] for x in xs]
        begin = perf_counter()
        ones = _run(op, [np.ones(s, x.dtype) for s, x in zip(shapes, xs, strict=True)])
        seconds = _MIN_SECONDS + _MOST_TIMES_LONGER * (perf_counter() - begin)
        common = [y.shape for y in ones]
        for elements in _ELEMENTS:
            with ignored(Exception, _EndlessError), _for_at_most(seconds):  # made for other values
                others = _run(op, [_varied(elements, s, x.dtype)
                                   for s, x in zip(shapes, xs, strict=True)])
                common = [_common(s, y.shape) for s, y in zip(common, others, strict=True)]
        found.append([(s, y.dtype, known) for s, y in zip(common, ones, strict=True)])
    types = tuple(
        (_generalised(op, [r[0] for r in tries], [r[2] for r in tries]), tries[0][1])
        for tries in zip(*found, strict=True)
    )
    return types if op.outputs > 1 else types[0]


class _EndlessError(BaseException):
    """What ends a run that takes too long."""


@contextmanager
def _for_at_most(seconds: float) -> Iterator[None]:
    """A block whose Python code ends with an error behind so many seconds: an iteration need not
    come to an end for numbers that it is not made for."""
    before, end = sys.gettrace(), perf_counter() + seconds

    def look(frame: Any, event: str, value: Any) -> Any:
        if perf_counter() > end:
            raise _EndlessError
        return look

    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)


def _run(op: Any, arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    with switched(symbolic=None, trace=None, reads=None, examples=None, recording=False):
        results = silently(op.perform, *arrays)
    return results if op.outputs > 1 else (results,)


def _varied(elements: dict[str, Any], shape: list[int], dtype: np.dtype) -> np.ndarray:
    return np.resize(np.array(elements.get(dtype.kind, elements[""])).astype(dtype), shape)


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> Any:
    """The sizes that two runs gave, None where they differ."""
    if len(a) != len(b):
        return a
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def _generalised(op: Any, shapes: list[Any], known: list[dict[Any, int]]) -> tuple[Any, ...]:
    """The sizes that these are for known sizes of the operands, None where that is not clear."""
    if len({len(s) for s in shapes}) > 1:
        raise ShapeError(f"the number of axes depends on sizes; give {title_of(op)} infer")
    sizes: list[Any] = []
    for tries in zip(*shapes, strict=True):
        same = [n for n in known[0] if all(k[n] == t for k, t in zip(known, tries, strict=True))]
        sizes.append(tries[0] if len(set(tries)) == 1 else same[0] if same else None)
    return tuple(sizes)
