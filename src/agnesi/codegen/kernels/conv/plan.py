"""How a dense convolution with lanes along channels is cut into tiles, blocks and units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense, Span
from agnesi.codegen.kernels.conv.source import Layout, packed_layout
from agnesi.codegen.kernels.conv.tiles import Column, step_cycles, unit_cycles
from agnesi.codegen.kernels.gemm.costs import Machine
from agnesi.codegen.kernels.gemm.tiling import OpenRows, Panel, Paneled, Rows, pieces_of
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.support.record import record

#: Work units to aim for, so that shares among threads are even.
_TARGET_UNITS = 16
SPILL_FROM = 100  # products in a sum from which the detour through scratch costs nothing
#: Bytes after which addresses share a set of the first-level cache.
_SET_STRIDE_BYTES = 4096
#: Bytes of workspace that a thread keeps without trouble.
MAX_WORKSPACE_BYTES = 2 << 20
#: Weight of the time that threads wait for each other.
_IDLE_WEIGHT = 0.15
#: A block of the source takes at most this part of the second-level cache.
_L2_DIVISOR = 4
#: Share of taps outside of the image from which it pays to leave them out.
_MIN_CLIPPED_SHARE = 0.02
#: Cycles to store an element whose neighbours are stored at another time.
_STRIDED_STORE_CYCLES = 0.8
#: Cycles to pack an element.
_PACK_CYCLES = 0.4


@record
class Cut:
    """Register tiles with their estimated cycles."""

    cost: float
    panels: tuple[Panel, ...]
    lines: Rows
    rows: Rows
    clipped: bool


@record
class WidePlan(Paneled):
    """A dense convolution and how it is cut.

    Unit ``u`` is (group, panel group, chunk of blocks), the last fastest; block (image, plane,
    line block, row block).  ``lines`` and ``rows`` cut the places of a plane into tiles.  ``real``
    is the convolution as the code has it, ``dense`` of typical sizes.
    """

    emitter = "wide:Wide"

    dense: Dense
    real: Dense
    type: str
    lanes: int
    itemsize: int
    panels: tuple[Panel, ...]
    lines: Rows
    rows: Rows
    packed: bool
    line_blocks: int
    row_blocks: int
    panel_groups: int
    chunks: int
    spill: bool
    clipped: bool  # tiles have known places, and taps outside of the source are left out
    cycles: float

    @property
    def places(self) -> list[range]:
        """The places of each tile of a line."""
        big, small, end = self.rows.big, self.rows.small_size, self.rows.total
        starts = [t * small + min(t, big) for t in range(self.rows.tiles)]
        return [range(start, stop) for start, stop in pairwise([*starts, end])]

    @property
    def units(self) -> int:
        return self.dense.groups * self.panel_groups * self.chunks

    @property
    def down(self) -> Any:
        """Line blocks, as the code has them."""
        return blocks_of(self.lines, self.line_blocks)

    @property
    def across(self) -> Any:
        """Row blocks, as the code has them."""
        return blocks_of(self.rows, self.row_blocks)

    @property
    def layout(self) -> Layout:
        """How a tile's source lies: packed, or as the memory has it."""
        if not self.packed:
            _, c, plane, line, pixel = self.dense.source.strides
            return Layout(plane * self.dense.spans[0].step, line, pixel, c)
        places = _places(self.lines, self.line_blocks), _places(self.rows, self.row_blocks)
        return packed_layout(self.dense, *places, self.itemsize)

    @property
    def a_bytes(self) -> int:
        if not self.packed:
            return 0
        size = self.dense.spans[0].taps * self.layout.plane + self.lanes
        return whole_lines(size * self.itemsize)

    @property
    def b_bytes(self) -> int:
        panels = -(-self.panel_count // self.panel_groups)
        size = panels * self.dense.depth * self.width + self.lanes
        return whole_lines(size * self.itemsize)

    @property
    def scratch(self) -> int:
        tile = self.lines.largest * self.rows.largest * self.width if self.spill else 0
        return self.a_bytes + self.b_bytes + whole_lines(tile * self.itemsize)


def blocks_of(rows: Rows, blocks: int) -> Any:
    """Blocks of the tiles that there are, none larger than if there were so many."""
    return blocks_for(rows.count, -(-rows.tiles // blocks), blocks)


def blocks_for(count: Any, each: Any, blocks: int) -> Any:
    """Blocks of ``each`` at most, of which there are ``blocks`` if sizes are known."""
    varies = isinstance(count, Extent) or isinstance(each, Extent)
    return (count + (each - 1)) // each if varies else blocks


def unevenness(units: int) -> float:
    """Return the relative time that equal units cost on top by idle threads, averaged over 1, 2 and
    4 threads.
    """
    waits = sum(-(-units // threads) * threads / units - 1 for threads in (2, 4))
    return 1 + _IDLE_WEIGHT * waits


def uneven(sizes: Sequence[int]) -> float:
    """The same for units of these sizes."""
    waits = 0.0
    for threads in (2, 4):
        ends = [len(sizes) * n // threads for n in range(threads + 1)]
        longest = max(sum(sizes[low:high]) for low, high in pairwise(ends))
        waits += longest * threads / sum(sizes) - 1
    return 1 + _IDLE_WEIGHT * waits


def whole_lines(size: int) -> int:
    """Bytes, rounded up to lines of the caches."""
    return -(-size // 64) * 64


def _places(rows: Rows, blocks: int) -> int:
    """Places of the largest block."""
    most = -(-rows.tiles // blocks) * rows.largest
    return most if isinstance(rows, OpenRows) else min(most, rows.total)


def plan_wide(dense: Dense, type_: str, machine: Machine, long_epilogue: bool) -> WidePlan:
    """The cheapest cut for this machine."""
    real, dense = dense, dense.typical
    cut = min(_cuts(dense, machine, real), key=lambda cut: cut.cost)
    readable = _readable(dense, cut.clipped) and not scattered(dense, machine)
    packed = bool(dense.depth) and (real.open or not readable)
    line_blocks, row_blocks = _blocks(dense, machine, cut) if packed else _units(dense, cut)
    if cut.clipped:
        row_blocks = 1
    blocks = dense.batch * dense.spans[0].count * line_blocks * row_blocks
    groups, chunks = _shares(dense, machine, cut, blocks, packed)
    _, h, w = real.spans
    lines, rows = opened(cut.lines, h.count), opened(cut.rows, w.count)
    return WidePlan(
        dense, real, type_, machine.lanes, machine.itemsize, cut.panels, lines, rows, packed,
        line_blocks, row_blocks, groups, chunks, long_epilogue or dense.depth >= SPILL_FROM,
        cut.clipped, cut.cost * dense.batch * dense.groups * dense.spans[0].count,
    )


def opened(rows: Rows, count: Size) -> Rows:
    """Tiles of the same height for a number of rows that may be known at run time only."""
    return OpenRows(rows.total, rows.tiles, count) if isinstance(count, Extent) else rows


def fewest_cycles(dense: Dense, machine: Machine) -> float:
    """Return a lower bound of the cycles of all tiles, with all taps outside of the source left
    out.
    """
    _, h, w = dense.spans
    inside = (1 - _outside(h)) * (1 - _outside(w))
    return dense.work / machine.lanes * unit_cycles(machine.lanes, machine.itemsize) * inside


def _readable(dense: Dense, clipped: bool) -> bool:
    """Return whether tiles can read the source in place: no borders, channels contiguous."""
    channels = dense.source.strides[1] == 1 or dense.channels == 1
    return channels and (clipped or all(s.inside for s in dense.spans))


def scattered(dense: Dense, machine: Machine) -> bool:
    """Return whether the pixels of a source for one tap fall on different pages of memory."""
    step = abs(dense.source.strides[4]) * machine.itemsize
    return dense.depth == dense.channels and step >= _SET_STRIDE_BYTES // 2


def _outside(span: Span) -> float:
    """The share of an axis's taps that are outside of the source."""
    found = sum(
        0 <= span.origin + p * span.stride + t * span.step < span.size
        for p in range(span.count) for t in range(span.taps)
    )
    return 1 - found / max(1, span.count * span.taps)


def _cuts(dense: Dense, machine: Machine, real: Dense) -> Iterator[Cut]:
    _, h, w = dense.spans
    above = _outside(h) if dense.depth else 0.0
    beside = _outside(w) if dense.depth and dense.channels >= 8 else 0.0
    for vectors in range(1, 9):
        most = max((machine.registers - 1 - vectors) // vectors, dense.depth == 0)
        if (
            vectors > 1
            and dense.depth * vectors * machine.lanes * machine.itemsize > MAX_WORKSPACE_BYTES
        ):
            break
        wider = vectors < 8 and vectors * machine.lanes < dense.outputs
        if most < 1 or (vectors > 1 and (vectors - 1) * machine.lanes >= dense.outputs):
            break
        if not dense.depth and wider:
            continue  # nothing but stores: in long runs
        panels = panels_of(dense.outputs, vectors * machine.lanes, machine.lanes)
        for size in range(1, most + 1):
            rows = Rows.at_most(w.count, size)
            if size > 1 and rows.largest < size:
                continue  # these were there
            deep = most // rows.largest if rows.tiles == 1 and not real.open else 1
            for tall in range(1, min(deep, h.count) + 1):
                lines = Rows.at_most(h.count, tall)
                if tall > 1 and lines.largest < tall:
                    continue
                cost = _cost(dense, machine, panels, lines, rows)
                cost *= 1 - above if lines.largest == 1 else 1
                yield Cut(cost, panels, lines, rows, False)
                if (beside > _MIN_CLIPPED_SHARE and rows.tiles <= 2 and lines.largest == 1
                        and not real.open):
                    yield Cut(cost * (1 - beside + 0.01), panels, lines, rows, True)


def panels_of(columns: int, width: int, lanes: int) -> tuple[Panel, ...]:
    """Columns in panels of ``width``, the last one of what is left."""
    full, rest = divmod(columns, width)
    none = Rows(1, 1)
    panels = [Panel(0, full, pieces_of(width, lanes), none)] if full else []
    if rest:
        panels.append(Panel(full, 1, pieces_of(rest, lanes), none))
    return tuple(panels)


def sizes_of(rows: Rows) -> list[tuple[int, int]]:
    """Sizes of tiles and how many there are of each."""
    found = [(rows.small_size, rows.tiles - rows.big)]
    return [(rows.small_size + 1, rows.big), *found] if rows.big else found


def _cost(dense: Dense, machine: Machine, panels: tuple[Panel, ...], lines: Rows,
          rows: Rows) -> float:
    total, code = 0.0, 0
    for panel in panels:
        columns = [Column(*p) for p in panel.pieces]
        far = dense.depth * panel.width * machine.itemsize > machine.l1 // 2
        for tall, downs in sizes_of(lines):
            for wide, acrosses in sizes_of(rows):
                sums = tall * wide * len(columns)
                cycles = step_cycles(tall * wide, columns, machine.itemsize, far)
                cycles = dense.depth * cycles + 4 * sums + 40
                total += panel.count * downs * acrosses * cycles
                code += sums
    total *= 1 + machine.code * code
    plane = dense.outputs * lines.total * rows.total
    far = dense.batch * dense.spans[0].count * plane * machine.itemsize > machine.l2
    if far and sum(p.count for p in panels) > 1:
        total += _STRIDED_STORE_CYCLES * plane
    return total


def _blocks(dense: Dense, machine: Machine, cut: Cut) -> tuple[int, int]:
    """Line and row blocks, so that what a block reads stays in the second-level cache."""
    limit = machine.l2 // _L2_DIVISOR

    def size(line_blocks: int, row_blocks: int) -> int:
        places = _places(cut.lines, line_blocks), _places(cut.rows, row_blocks)
        layout = packed_layout(dense, *places, machine.itemsize)
        return dense.spans[0].taps * layout.plane * machine.itemsize

    row_blocks = 1
    line_blocks = min(cut.lines.tiles, -(-_wanted(dense) // (2 * _planes(dense, cut.panels))))
    while size(line_blocks, row_blocks) > limit:
        if line_blocks < cut.lines.tiles:
            line_blocks = min(cut.lines.tiles, _more(line_blocks))
        elif row_blocks < cut.rows.tiles and size(line_blocks, row_blocks) > 2 * limit:
            row_blocks = min(cut.rows.tiles, _more(row_blocks))
        else:
            break
    return line_blocks, row_blocks


def _more(count: int) -> int:
    return count + max(1, count // 3)


def _units(dense: Dense, cut: Cut) -> tuple[int, int]:
    """Blocks where nothing is packed: enough of them to be shared out."""
    return min(cut.lines.tiles, max(1, _TARGET_UNITS // _planes(dense, ()))), 1


def _planes(dense: Dense, panels: tuple[Panel, ...]) -> int:
    """Work units if planes of results, and panels, are not cut."""
    return dense.batch * dense.spans[0].count * max(1, sum(p.count for p in panels))


def _wanted(dense: Dense) -> int:
    """Work units of a group to aim for."""
    return -(-_TARGET_UNITS // dense.groups) if dense.work >= 1 << 19 else 1


def _shares(dense: Dense, machine: Machine, cut: Cut, blocks: int,
            packed: bool) -> tuple[int, int]:
    """Panel groups and chunks of blocks: as little packing as leaves even shares."""
    panels = sum(p.count for p in cut.panels)
    wanted = _wanted(dense)
    width = max(p.width for p in cut.panels)
    panel_bytes = max(1, dense.depth * width * machine.itemsize)
    source = dense.batch * dense.channels * math.prod(s.size for s in dense.spans) * packed
    filters = dense.outputs * dense.depth
    options = []
    for groups in range(1, panels + 1):
        size = -(-panels // groups) * panel_bytes
        if size > machine.l2 and groups < panels:
            continue
        chunks = min(blocks, -(-wanted // groups))
        again = min(chunks, -(-8 // groups))
        cost = _PACK_CYCLES * (source * groups + 1.5 * filters * again)
        units = groups * chunks
        if units < wanted:
            cost *= 1 + (wanted - units) / wanted
        options.append((cost, groups, chunks))
    _, groups, chunks = min(options)
    return groups, chunks
