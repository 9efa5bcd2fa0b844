"""Which memory orders a convolution is fast with, and roughly what the others cost."""

from __future__ import annotations

import math

from agnesi.core.convsizes import ConvSizes
from agnesi.core.extents import guess
from agnesi.core.record import record, replace

_COPIED = 0.3  # cycles to bring one element into the order that the tiles read
_SQUARES = 1.35  # time of a multiplication in another basis
_SCATTERED, _ALIKE = 1.5, 8.0  # cycles to store one element away from its neighbours
TURNED = 0.5  # the same where squares of sums are turned first
_PAGE = 4096  # bytes after which places share a line of the first cache


@record
class Layouts:
    """Axes from the outermost to the innermost, of both operands and the result.

    Axes are those of the tensors as the user has them: (0, 2, 3, 1) is channels last.  ``cycles``
    are those of the kernel, without what it costs others to make or use such operands.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    result: tuple[int, ...]
    cycles: float


def preferred(kind: str, sizes: ConvSizes, *, vector_bits: int,
              itemsize: int = 4) -> tuple[Layouts, ...]:
    """The combinations worth considering, the fastest first.

    ``kind`` is that of :class:`agnesi.core.kernels.Convolution`.  Orders that are not listed work
    too; they cost about as much as the slowest that is.
    """
    lanes = max(1, vector_bits // (8 * itemsize))
    if open_ := sizes.open:
        sizes = replace(sizes, image=tuple(map(guess, sizes.image)),
                        places=tuple(map(guess, sizes.places)))
    rank = len(sizes.kernel)
    space, plain = tuple(range(2, 2 + rank)), tuple(range(2 + rank))
    last, filters = (0, *space, 1), (*space, 1, 0)
    first_elements, second_elements, results = _elements(kind, sizes)
    channels = _by_channels(kind, sizes, lanes)
    rows = None if open_ else _by_rows(kind, sizes, lanes)
    made = sizes.image if kind == "input" else sizes.places
    wide = sizes.groups * (sizes.channels if kind == "input" else sizes.filters)
    apart = store_cycles(guess(math.prod(made)), itemsize)
    if _squared(sizes, lanes):
        apart = TURNED
    found = []
    for first in (last, plain):
        for other in (last, plain):
            turned = first_elements * (first == plain)
            if kind == "weight":
                turned += second_elements * (other == plain)
                found.append(Layouts(first, other, filters, channels + turned * _COPIED))
                continue
            stored = results * apart * (other == plain)
            cycles = channels + turned * _COPIED + stored
            if rows is not None:
                turned = first_elements - turned
                stored = results * store_cycles(wide, itemsize) * (other == last)
                cycles = min(cycles, rows + turned * _COPIED + stored)
            taken = filters if kind == "forward" else (*space, 0, 1)
            found.append(Layouts(first, taken, other, cycles))
    return tuple(sorted(found, key=lambda option: option.cycles))


def _by_channels(kind: str, sizes: ConvSizes, lanes: int) -> float:
    """Cycles with lanes along the channels of the result."""
    if sizes.channels == sizes.filters == 1:
        return 1.5 * guess(sizes.work) / lanes
    cycles = guess(sizes.work) / (lanes * _filled(kind, sizes, lanes))
    if _squared(sizes, lanes):
        cycles *= min(1.0, _SQUARES * math.prod(_in_squares(taps) for taps in sizes.kernel[-2:]))
    return cycles


def _squared(sizes: ConvSizes, lanes: int) -> bool:
    """Whether squares of results may be computed in another basis."""
    taps = len(sizes.kernel) > 1 and min(sizes.kernel[-2:]) > 1
    channels = min(sizes.channels, sizes.filters) >= lanes
    return taps and channels and set(sizes.stride[-2:]) == {1}


def store_cycles(step: int, itemsize: int) -> float:
    """Cycles to store an element whose neighbours come with it and lie so many elements away."""
    if step == 1:
        return 0.0
    return _ALIKE if step * itemsize % _PAGE == 0 else _SCATTERED


def _in_squares(taps: int) -> float:
    """The share of multiplications that is left of so many taps (see squares.Grid)."""
    return (1 + 3 * (taps // 2) - (taps % 2 == 0)) / (2 * taps) if taps > 1 else 1.0


def _by_rows(kind: str, sizes: ConvSizes, lanes: int) -> float | None:
    """Cycles with lanes along the rows of images, where that is a way."""
    if kind == "weight":
        return None
    row = sizes.image[-1] if kind == "input" else sizes.places[-1]
    vectors = guess(sizes.work) / row * -(-row // lanes)
    return (1.05 + (sizes.channels == sizes.filters == 1)) * vectors


def _filled(kind: str, sizes: ConvSizes, lanes: int) -> float:
    """Share of the lanes that the channels of the result fill."""
    wide = sizes.channels if kind == "input" else sizes.filters
    rest = wide % lanes
    used = wide - rest + (1 << (rest - 1).bit_length() if rest else 0)
    return wide / max(used, lanes // 4)


def _elements(kind: str, sizes: ConvSizes) -> tuple[int, int, int]:
    """Elements of both operands and the result."""
    image = guess(sizes.batch) * sizes.groups * sizes.channels * math.prod(sizes.image)
    cotangent = guess(sizes.batch) * sizes.groups * sizes.filters * math.prod(sizes.places)
    filters = sizes.groups * sizes.filters * sizes.channels * math.prod(sizes.kernel)
    return {"forward": (image, filters, cotangent), "input": (cotangent, filters, image),
            "weight": (image, cotangent, filters)}[kind]
