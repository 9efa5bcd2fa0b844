"""Memory orders with which a convolution is fast, and estimated cycles of the others."""

from __future__ import annotations

import math
from collections.abc import Callable

from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.core.ir.extents import guess
from agnesi.core.support.record import record, replace
from agnesi.core.target import SET_STRIDE_BYTES, Target

#: Cycles to bring one element into the order that the tiles read.
_PACK_CYCLES = 0.3
#: Time of a multiplication in Winograd's transformed space, relative to a direct one.
_WINOGRAD_MULTIPLY_TIME = 1.35
#: Cycles to store one element away from its neighbours.
_STRIDED_STORE_CYCLES = 1.5
#: The same where all of them fall into one set of the first-level cache.
_CONFLICTING_STORE_CYCLES = 8.0
#: The same where squares of sums are transposed first.
TRANSPOSED_STORE_CYCLES = 0.5
#: Time of a multiplication along image rows, relative to one along channels.
ROW_MULTIPLY_TIME = 1.05
#: Cycles for each sum of a filter with one channel, beside its multiplications.
_DEPTHWISE_SUM_CYCLES = 0.4
#: The same for each element where two operands have different memory orders.
_MIXED_ORDER_CYCLES = 1.2


#: ``cycles(first, other)``: of a kernel, by whether operand and result (or operands) have
#: channels last.
Cycles = Callable[[bool, bool], float]


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


def preferred(kind: str, sizes: ConvSizes, *, target: Target,
              itemsize: int = 4) -> tuple[Layouts, ...]:
    """The combinations worth considering, the fastest first.

    ``kind`` is that of :class:`agnesi.core.ir.kernels.Convolution`.  Orders that are not listed
    work too; they cost about as much as the slowest that is.
    """
    lanes = target.lanes(itemsize)
    if open_ := sizes.open:
        sizes = replace(sizes, image=tuple(map(guess, sizes.image)),
                        output=tuple(map(guess, sizes.output)))
    rank = len(sizes.kernel)
    space, plain = tuple(range(2, 2 + rank)), tuple(range(2 + rank))
    last, filters = (0, *space, 1), (*space, 1, 0)
    taken = filters if kind == "forward" else (*space, 0, 1)
    cost = _in_place if sizes.channels == sizes.filters == 1 else _packed
    cycles = cost(kind, sizes, lanes, itemsize, open_)
    found = [
        Layouts(first, other, filters, cycles(first == last, other == last)) if kind == "weight"
        else Layouts(first, taken, other, cycles(first == last, other == last))
        for first in (last, plain) for other in (last, plain)
    ]
    return tuple(sorted(found, key=lambda option: option.cycles))


def _packed(kind: str, sizes: ConvSizes, lanes: int, itemsize: int, open_: bool) -> Cycles:
    """Return estimated cycles of kernels that pack their operands first."""
    first_elements, second_elements, results = _elements(kind, sizes)
    channels = _by_channels(kind, sizes, lanes)
    rows = (
        math.inf if open_ or kind == "weight" else ROW_MULTIPLY_TIME * _by_rows(kind, sizes, lanes)
    )
    far, wide = _steps(kind, sizes, itemsize)
    if _squared(sizes, lanes):
        far = TRANSPOSED_STORE_CYCLES

    def cycles(first: bool, other: bool) -> float:
        packed = first_elements * (not first)
        if kind == "weight":
            return channels + (packed + second_elements * (not other)) * _PACK_CYCLES
        found = channels + packed * _PACK_CYCLES + results * far * (not other)
        return min(found, rows + first_elements * first * _PACK_CYCLES + results * wide * other)

    return cycles


def _in_place(kind: str, sizes: ConvSizes, lanes: int, itemsize: int, open_: bool) -> Cycles:
    """Return estimated cycles of depthwise convolutions, whose kernels read operands in place."""
    first_elements, _, results = _elements(kind, sizes)
    each = _DEPTHWISE_SUM_CYCLES * guess(sizes.work) / math.prod(sizes.kernel)
    vectors = -(-sizes.groups // lanes)
    channels = 0.8 * guess(sizes.work) / sizes.groups * vectors + each
    rows = math.inf if open_ else _by_rows(kind, sizes, lanes) + each
    far, wide = _steps(kind, sizes, itemsize)

    def cycles(first: bool, other: bool) -> float:
        if kind == "weight" and first != other:
            return rows + _MIXED_ORDER_CYCLES * first_elements
        if kind == "weight":
            return channels if first else rows
        return channels + results * far * (not other) if first else rows + results * wide * other

    return cycles


def _steps(kind: str, sizes: ConvSizes, itemsize: int) -> tuple[float, float]:
    """Return estimated cycles to store a result that is not contiguous along its channels, or its
    pixels.
    """
    made = sizes.image if kind == "input" else sizes.output
    wide = sizes.groups * (sizes.channels if kind == "input" else sizes.filters)
    return store_cycles(guess(math.prod(made)), itemsize), store_cycles(wide, itemsize)


def _by_channels(kind: str, sizes: ConvSizes, lanes: int) -> float:
    """Return estimated cycles with lanes along the channels of the result."""
    cycles = guess(sizes.work) / (lanes * _filled(kind, sizes, lanes))
    if _squared(sizes, lanes):
        cycles *= min(
            1.0,
            _WINOGRAD_MULTIPLY_TIME * math.prod(_in_squares(taps) for taps in sizes.kernel[-2:]),
        )
    return cycles


def _squared(sizes: ConvSizes, lanes: int) -> bool:
    """Return whether tiles of results may be computed in Winograd's transformed space."""
    taps = len(sizes.kernel) > 1 and min(sizes.kernel[-2:]) > 1
    channels = min(sizes.channels, sizes.filters) >= lanes
    return taps and channels and set(sizes.stride[-2:]) == {1}


def store_cycles(step: int, itemsize: int) -> float:
    """Cycles to store an element whose neighbours come with it and are so many elements away."""
    if step == 1:
        return 0.0
    return (
        _CONFLICTING_STORE_CYCLES
        if step * itemsize % SET_STRIDE_BYTES == 0
        else _STRIDED_STORE_CYCLES
    )


def _in_squares(taps: int) -> float:
    """Return the share of multiplications that Winograd's algorithm leaves for a number of taps
    (see ``tiles.Grid``).
    """
    return (1 + 3 * (taps // 2) - (taps % 2 == 0)) / (2 * taps) if taps > 1 else 1.0


def _by_rows(kind: str, sizes: ConvSizes, lanes: int) -> float:
    """Return estimated cycles with lanes along the rows of images."""
    row = sizes.image[-1] if kind == "input" else sizes.output[-1]
    return guess(sizes.work) / row * -(-row // lanes)


def _filled(kind: str, sizes: ConvSizes, lanes: int) -> float:
    """Return the share of the lanes that the channels of the result fill, at most 1."""
    wide = sizes.channels if kind == "input" else sizes.filters
    rest = wide % lanes
    used = wide - rest + (1 << (rest - 1).bit_length() if rest else 0)
    return wide / max(used, lanes // 4)


def _elements(kind: str, sizes: ConvSizes) -> tuple[int, int, int]:
    """Return the numbers of elements of both operands and of the result."""
    image = guess(sizes.batch) * sizes.groups * sizes.channels * math.prod(sizes.image)
    cotangent = guess(sizes.batch) * sizes.groups * sizes.filters * math.prod(sizes.output)
    filters = sizes.groups * sizes.filters * sizes.channels * math.prod(sizes.kernel)
    return {"forward": (image, filters, cotangent), "input": (cotangent, filters, image),
            "weight": (image, cotangent, filters)}[kind]
