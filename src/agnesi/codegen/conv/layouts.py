"""Which memory orders a convolution is fast with, and roughly what the others cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from agnesi.core.extents import guess
from agnesi.core.kernels import ConvSizes

_COPIED = 0.3  # cycles to bring one element into the order that the tiles read
_SCATTERED = 1.5  # cycles to store one element away from its neighbours


@dataclass(frozen=True)
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
    found = [_last(kind, sizes, lanes), _first(kind, sizes, lanes)]
    return tuple(sorted(found, key=lambda option: option.cycles))


def work(sizes: ConvSizes) -> int:
    """Multiply-adds of any of the three kinds."""
    pairs = sizes.groups * sizes.channels * sizes.filters
    return guess(sizes.batch) * pairs * math.prod(sizes.places) * math.prod(sizes.kernel)


def narrow(kind: str, sizes: ConvSizes, lanes: int) -> bool:
    """Whether lanes run along the rows of images, because there are few channels to fill them."""
    wide = sizes.channels if kind == "input" else sizes.filters
    return wide < lanes // 2 or (wide < lanes and sizes.places[-1] >= 2 * lanes)


def _last(kind: str, sizes: ConvSizes, lanes: int) -> Layouts:
    """Channels last, filters as [kernel][c][o]: lanes along the channels of the result."""
    rank = len(sizes.kernel)
    space = tuple(range(2, 2 + rank))
    image, filters = (0, *space, 1), (*space, 1, 0)
    if kind == "input":
        filters = (*space, 0, 1)
    cycles = work(sizes) / (lanes * _filled(kind, sizes, lanes))
    if narrow(kind, sizes, lanes):  # transposed on the way in and out
        cycles = work(sizes) / lanes + _results(kind, sizes) * _SCATTERED
        cycles += _elements(kind, sizes) * _COPIED
    orders = {"forward": (image, filters, image), "input": (image, filters, image),
              "weight": (image, image, (*space, 1, 0))}[kind]
    return Layouts(*orders, cycles)


def _first(kind: str, sizes: ConvSizes, lanes: int) -> Layouts:
    """Channels first: rows of images side by side in memory."""
    plain = tuple(range(2 + len(sizes.kernel)))
    if narrow(kind, sizes, lanes):
        row = sizes.image[-1] if kind == "input" else sizes.places[-1]
        cycles = work(sizes) / row * -(-row // lanes)
    else:
        cycles = work(sizes) / (lanes * _filled(kind, sizes, lanes))
        cycles += _elements(kind, sizes) * _COPIED + _results(kind, sizes) * _SCATTERED
    return Layouts(plain, plain, plain, cycles)


def _filled(kind: str, sizes: ConvSizes, lanes: int) -> float:
    """Share of the lanes that the channels of the result fill."""
    wide = sizes.channels if kind == "input" else sizes.filters
    rest = wide % lanes
    used = wide - rest + (1 << (rest - 1).bit_length() if rest else 0)
    return wide / max(used, lanes // 4)


def _elements(kind: str, sizes: ConvSizes) -> int:
    image = guess(sizes.batch) * sizes.groups * sizes.channels * math.prod(sizes.image)
    cotangent = guess(sizes.batch) * sizes.groups * sizes.filters * math.prod(sizes.places)
    return {"forward": image, "input": cotangent, "weight": image + cotangent}[kind]


def _results(kind: str, sizes: ConvSizes) -> int:
    if kind == "weight":
        return sizes.groups * sizes.filters * sizes.channels * math.prod(sizes.kernel)
    return _elements("input" if kind == "forward" else "forward", sizes)
