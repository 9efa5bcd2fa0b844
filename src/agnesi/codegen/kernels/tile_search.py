"""One search and one cost model for the plans of products and convolutions.

A plan cuts sums into register tiles, tiles into blocks whose operands stay in a cache, and blocks
into units of work that threads share.  Here are the register tiles that exist
(:func:`register_tiles`, :func:`heights`), the cycles of all tiles of a cut (:func:`tally`, given
those of one tile), the blocks that fit a cache (:func:`blocks_within`), and the loss by uneven
work among threads (:func:`unevenness`).  A family of plans adds what one of its tiles costs.
Cycles are those of a core at full speed; the constants were fitted to measured kernels.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from agnesi.codegen.kernels.machine import Machine, unit_cycles
from agnesi.codegen.kernels.tiling import Panel, Piece, Rows, pieces_of
from agnesi.core.target import LINE_BYTES

#: Work units to aim for, so that shares among threads are even.
TARGET_UNITS = 16
#: Multiply-adds from which a convolution is cut into units.
_MIN_SHARED_WORK = 1 << 19
#: Vectors of a panel, at most.
_MAX_PANEL_VECTORS = 8
#: Cycles to pack an element, and where neighbours stay neighbours.
PACK_CYCLES, COPY_CYCLES = 0.4, 0.15
#: Bytes of workspace that a thread keeps without trouble.
MAX_WORKSPACE_BYTES = 2 << 20
#: Products in a sum from which the detour through workspace to the epilogue costs nothing.
MIN_SPILLED_DEPTH = 100
#: Weight of the time that threads wait for each other.
_IDLE_WEIGHT = 0.15
#: ``cycles, code(panel, tall, wide)`` of a register tile of so many lines and rows; code is counted
#: in accumulators.
TileCost = Callable[[Panel, int, int], tuple[float, int]]


def sizes_of(rows: Rows) -> list[tuple[int, int]]:
    """Return the sizes of tiles, and how many there are of each."""
    found = [(rows.small_size, rows.tiles - rows.big)]
    return [(rows.small_size + 1, rows.big), *found] if rows.big else found


def panels_of(columns: int, width: int, lanes: int) -> tuple[Panel, ...]:
    """Return columns in panels of ``width``, the last one of what is left."""
    full, rest = divmod(columns, width)
    none = Rows(1, 1)
    panels = [Panel(0, full, pieces_of(width, lanes), none)] if full else []
    if rest:
        panels.append(Panel(full, 1, pieces_of(rest, lanes), none))
    return tuple(panels)


def heights(total: int, most: int) -> Iterator[Rows]:
    """Yield the even cuts of so many rows into tiles of 1 to ``most`` rows, each once."""
    for size in range(1, most + 1):
        rows = Rows.at_most(total, size)
        if rows.largest == size:
            yield rows


def register_tiles(machine: Machine, columns: int, lines: int, rows: int, *, deep: bool = True,
                   vectors: Iterable[int] = range(1, _MAX_PANEL_VECTORS + 1), least: int = 0
                   ) -> Iterator[tuple[tuple[Panel, ...], Rows, Rows]]:
    """Yield panels of columns, and cuts of lines and of their rows, whose sums fit the registers.

    Tiles of several lines have whole ones, and only where ``deep`` allows it.  With ``least`` there
    are tiles of so many rows in any case.
    """
    for width in vectors:
        most = max((machine.registers - 1 - width) // width, least)
        if most < 1 or (width > 1 and (width - 1) * machine.lanes >= columns):
            break
        panels = panels_of(columns, width * machine.lanes, machine.lanes)
        for wide in heights(rows, most):
            stacked = most // wide.largest if wide.tiles == 1 and deep else 1
            for tall in heights(lines, min(stacked, lines)):
                yield panels, tall, wide


def tally(panels: Iterable[Panel], lines: Rows, rows: Rows, tile: TileCost) -> tuple[float, int]:
    """Return the cycles of all tiles of a cut, and the code of one tile of each kind."""
    total, code = 0.0, 0
    for panel in panels:
        for tall, downs in sizes_of(lines):
            for wide, acrosses in sizes_of(rows):
                cycles, size = tile(panel, tall, wide)
                total += panel.count * downs * acrosses * cycles
                code += size
    return total, code


def step_cycles(rows: int, pieces: Sequence[Piece], machine: Machine, far: bool) -> float:
    """Return the cycles of one iteration of a tile: multiply-adds, loads, latency, decoding or the
    second-level cache, from which ``far`` columns come, whichever binds; the more of the others it
    is, the less of it they hide.
    """
    units = sum(machine.part(p.lanes) for p in pieces)
    loads = 0.5 * rows + sum(unit_cycles(p.lanes, machine.itemsize) for p in pieces)
    chain = 5.0
    instructions = (rows * len(pieces) + rows * (len(pieces) > 1) + len(pieces) + 3) / 5
    read = sum(p.lanes for p in pieces) * machine.itemsize / 32 if far else 0.0
    shown = 0.3 * read * read / (rows * units)
    return max(rows * units, loads, chain, instructions, read) + shown + 0.08 * rows


def blocks_within(size: Callable[..., int], counts: Sequence[int], most: Sequence[int],
                  limits: Sequence[int]) -> tuple[int, ...]:
    """Return in how many blocks to cut each axis, so that what a block reads fits.

    Axis after axis goes from ``counts`` to ``most`` blocks, until ``size(*counts)`` is at most the
    axis's limit.
    """
    found = list(counts)
    for axis, limit in enumerate(limits):
        while found[axis] < most[axis] and size(*found) > limit:
            found[axis] = min(most[axis], found[axis] + max(1, found[axis] // 3))
    return tuple(found)


def fewest_blocks(fits: Callable[[int], bool], least: int, most: int) -> int:
    """Return the least number of blocks with which one block fits; ``most`` if none does.

    ``fits`` must be monotonic: blocks get smaller as their number grows.
    """
    return least + bisect_left(range(least, most), True, key=fits)


def wanted_units(work: int, groups: int) -> int:
    """Return the work units of a group to aim for."""
    return -(-TARGET_UNITS // groups) if work >= _MIN_SHARED_WORK else 1


def unevenness(units: int) -> float:
    """Return the relative time lost to idle threads with equal units, averaged over 1, 2 and 4
    threads.
    """
    waits = sum(-(-units // threads) * threads / units - 1 for threads in (2, 4))
    return 1 + _IDLE_WEIGHT * waits


def uneven(sizes: Sequence[int]) -> float:
    """Return the same for units of these sizes."""
    waits = 0.0
    for threads in (2, 4):
        ends = [len(sizes) * n // threads for n in range(threads + 1)]
        longest = max(sum(sizes[low:high]) for low, high in pairwise(ends))
        waits += longest * threads / sum(sizes) - 1
    return 1 + _IDLE_WEIGHT * waits


def whole_lines(size: int) -> int:
    """Return the bytes, rounded up to lines of the caches."""
    return -(-size // LINE_BYTES) * LINE_BYTES
