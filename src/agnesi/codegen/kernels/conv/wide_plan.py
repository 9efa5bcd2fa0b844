"""Plans of dense convolutions with lanes along channels: tiles, blocks and units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense, Span
from agnesi.codegen.kernels.conv.source import Layout, packed_layout
from agnesi.codegen.kernels.conv.tile_plan import (
    TilePlan,
    blocks_for,
    opened,
    scattered,
    split_evenly,
)
from agnesi.codegen.kernels.machine import Machine, unit_cycles
from agnesi.codegen.kernels.tile_search import (
    MAX_WORKSPACE_BYTES,
    MIN_SPILLED_DEPTH,
    PACK_CYCLES,
    TARGET_UNITS,
    blocks_within,
    register_tiles,
    step_cycles,
    tally,
    wanted_units,
    whole_lines,
)
from agnesi.codegen.kernels.tiling import OpenRows, Panel, Paneled, Rows
from agnesi.core.support.record import record

#: A block of the source takes at most this part of the second-level cache.
_L2_DIVISOR = 4
#: Share of taps outside of the image from which it pays to leave them out.
_MIN_CLIPPED_SHARE = 0.02
#: Cycles to store an element whose neighbours are stored at another time.
_STRIDED_STORE_CYCLES = 0.8


@record
class Cut:
    """Register tiles with their estimated cycles."""

    cost: float
    panels: tuple[Panel, ...]
    lines: Rows
    rows: Rows
    clipped: bool


@record
class WidePlan(Paneled, TilePlan):
    """A dense convolution and how it is cut.

    Unit ``u`` is (group, panel group, chunk of blocks), the last fastest; block (image, plane,
    line block, row block).  ``lines`` and ``rows`` cut the pixels of a plane into tiles.
    """

    emitter = "wide:Wide"

    panels: tuple[Panel, ...]
    lines: Rows
    rows: Rows
    packed: bool
    line_blocks: int
    row_blocks: int
    panel_groups: int
    chunks: int
    spill: bool
    clipped: bool  # tiles have known pixels, and taps outside of the source are left out
    transposes: bool  # the sums of whole lines, which are stored along their pixels
    cycles: float

    @property
    def pixels(self) -> list[range]:
        """The pixels of each tile of a line."""
        return split_evenly(self.rows)

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
        """The layout of a tile's source: packed, or as the memory has it."""
        if not self.packed:
            _, c, plane, line, pixel = self.dense.source.strides
            return Layout(plane * self.dense.spans[0].step, line, pixel, c)
        pixels = _pixels(self.lines, self.line_blocks), _pixels(self.rows, self.row_blocks)
        return packed_layout(self.dense, *pixels, self.itemsize)

    @property
    def areas(self) -> tuple[int, ...]:
        """Bytes for packed filters, packed source, and the sums of a tile."""
        panels = -(-self.panel_count // self.panel_groups)
        filters = self.lines_for(panels * self.dense.depth * self.width)
        source = self.lines_for(self.dense.spans[0].taps * self.layout.plane) if self.packed else 0
        if self.transposes:  # whole squares of a line, and one that is transposed
            line = -(-self.rows.total // self.lanes) * self.lanes * self.width
            return filters, source, self.lines_for(line), self.lines_for(self.lanes**2)
        tile = self.lines.largest * self.rows.largest * self.width if self.spill else 0
        return filters, source, whole_lines(tile * self.itemsize)


def blocks_of(rows: Rows, blocks: int) -> Any:
    """Cut the tiles that there are into blocks, none larger than with exactly ``blocks`` of them.
    """
    return blocks_for(rows.count, -(-rows.tiles // blocks), blocks)


def _pixels(rows: Rows, blocks: int) -> int:
    """Pixels of the largest block."""
    most = -(-rows.tiles // blocks) * rows.largest
    return most if isinstance(rows, OpenRows) else min(most, rows.total)


def plan_wide(dense: Dense, type_: str, machine: Machine, long_epilogue: bool,
              along_pixels: bool = False) -> WidePlan:
    """The cheapest cut for this machine.

    Results may be ``along_pixels`` of a line, rather than along channels.
    """
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
    transposes = along_pixels and not real.open and row_blocks == 1 == lines.largest and (
        dense.depth > 0 and 1 < machine.lanes <= rows.total
        and rows.total * max(p.width for p in cut.panels) * machine.itemsize
        <= machine.l2 // _L2_DIVISOR)
    return WidePlan(
        dense, real, type_, machine.lanes, machine.itemsize, cut.panels, lines, rows, packed,
        line_blocks, row_blocks, groups, chunks, long_epilogue or dense.depth >= MIN_SPILLED_DEPTH,
        cut.clipped, transposes, cut.cost * dense.batch * dense.groups * dense.spans[0].count,
    )


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


def _outside(span: Span) -> float:
    """Return the share of the products along an axis whose tap is outside of the source."""
    found = sum(
        0 <= span.origin + p * span.stride + t * span.step < span.size
        for p in range(span.count) for t in range(span.taps)
    )
    return 1 - found / max(1, span.count * span.taps)


def _cuts(dense: Dense, machine: Machine, real: Dense) -> Iterator[Cut]:
    _, h, w = dense.spans
    above = _outside(h) if dense.depth else 0.0
    beside = _outside(w) if dense.depth and dense.channels >= 8 else 0.0
    for panels, lines, rows in register_tiles(
            machine, dense.outputs, h.count, w.count, deep=not real.open,
            vectors=_panel_vectors(dense, machine), least=dense.depth == 0):
        cost = _cost(dense, machine, panels, lines, rows)
        cost *= 1 - above if lines.largest == 1 else 1
        yield Cut(cost, panels, lines, rows, False)
        if (beside > _MIN_CLIPPED_SHARE and rows.tiles <= 2 and lines.largest == 1
                and not real.open):
            yield Cut(cost * (1 - beside + 0.01), panels, lines, rows, True)


def _panel_vectors(dense: Dense, machine: Machine) -> range:
    """Return the widths of a panel to try, in vectors, up to 8 and what the workspace holds.

    Without a sum (no channels) only the widest, since long runs are stored fastest.
    """
    if not dense.depth:
        most = min(8, -(-dense.outputs // machine.lanes))
        return range(most, most + 1)
    vector_bytes = dense.depth * machine.lanes * machine.itemsize
    return range(1, 1 + min(8, max(1, MAX_WORKSPACE_BYTES // vector_bytes)))


def _cost(dense: Dense, machine: Machine, panels: tuple[Panel, ...], lines: Rows,
          rows: Rows) -> float:
    def tile(panel: Panel, tall: int, wide: int) -> tuple[float, int]:
        sums = tall * wide * len(panel.pieces)
        far = dense.depth * panel.width * machine.itemsize > machine.l1 // 2
        cycles = step_cycles(tall * wide, panel.pieces, machine, far)
        return dense.depth * cycles + 4 * sums + 40, sums

    total, code = tally(panels, lines, rows, tile)
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
        pixels = _pixels(cut.lines, line_blocks), _pixels(cut.rows, row_blocks)
        layout = packed_layout(dense, *pixels, machine.itemsize)
        return dense.spans[0].taps * layout.plane * machine.itemsize

    down = -(-wanted_units(dense.work, dense.groups) // (2 * _planes(dense, cut.panels)))
    most = cut.lines.tiles, cut.rows.tiles
    line_blocks, row_blocks = blocks_within(size, (min(most[0], down), 1), most, (limit, 2 * limit))
    return line_blocks, row_blocks


def _units(dense: Dense, cut: Cut) -> tuple[int, int]:
    """Return the blocks of lines and of columns where nothing is packed: enough units of work for
    all threads.
    """
    return min(cut.lines.tiles, max(1, TARGET_UNITS // _planes(dense, ()))), 1


def _planes(dense: Dense, panels: tuple[Panel, ...]) -> int:
    """Return the number of work units if planes of results and panels of columns are not cut."""
    return dense.batch * dense.spans[0].count * max(1, sum(p.count for p in panels))


def _shares(dense: Dense, machine: Machine, cut: Cut, blocks: int, packed: bool) -> tuple[int, int]:
    """Return the panel groups and chunks of blocks: the cut with the least packing whose work units
    are of about equal size.
    """
    panels = sum(p.count for p in cut.panels)
    wanted = wanted_units(dense.work, dense.groups)
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
        cost = PACK_CYCLES * (source * groups + 1.5 * filters * again)
        units = groups * chunks
        if units < wanted:
            cost *= 1 + (wanted - units) / wanted
        options.append((cost, groups, chunks))
    _, groups, chunks = min(options)
    return groups, chunks
