"""Plans of convolutions with lanes along image rows: tiles, blocks and units."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agnesi.codegen.kernels.conv.dense import Dense, Span
from agnesi.codegen.kernels.conv.tile_plan import TilePlan
from agnesi.codegen.kernels.machine import Machine, unit_cycles
from agnesi.codegen.kernels.tile_search import (
    MIN_SPILLED_DEPTH,
    fewest_blocks,
    heights,
    panels_of,
    tally,
    wanted_units,
    whole_lines,
)
from agnesi.codegen.kernels.tiling import Panel, Rows, pieces_of
from agnesi.core.support.record import record, replace

#: Cycles for each of several lines that a tile stores with a large stride.
_LINE_CYCLES = 8.0
#: Cycles to begin one of the loops over the taps of a line.
_LOOP_CYCLES = 5.0
#: Bytes of filters per cycle from the second-level cache.
_L2_BYTES_PER_CYCLE = 32
#: Bytes of filters per cycle from beyond it.
_MEMORY_BYTES_PER_CYCLE = 5
#: Sums from which they go through workspace to the epilogue.
_MIN_WORKSPACE_SUMS = 12
#: Products of vectors that are written out.
_MOST_WRITTEN_OUT = 300
#: Tiles whose taps are counted at once: many lines take little memory, and few little time.
_AT_ONCE = 1 << 16


class PackedPlan(TilePlan):
    """A plan whose source is packed line by line, for lanes along them."""

    line_blocks: int

    @property
    def tallest(self) -> int:
        """Lines of pixels of the largest block."""
        raise NotImplementedError

    @property
    def part(self) -> int:
        """Elements of a packed line that have the same remainder after the stride."""
        w = self.dense.spans[2]
        whole = -(-w.count // self.lanes) * self.lanes
        return whole + (w.reach - 1) // w.stride

    @property
    def line(self) -> int:
        return self.part * self.dense.spans[2].stride

    @property
    def plane(self) -> int:
        h = self.dense.spans[1]
        return ((self.tallest - 1) * h.stride + h.reach) * self.line

    @property
    def channel(self) -> int:
        return self.dense.spans[0].taps * self.plane + self.lanes


@record
class RowsPlan(PackedPlan):
    """A dense convolution and how it is cut.

    Tiles are some outputs by some lines by a panel of a line's pixels.  Unit ``u`` is (group,
    chunk of blocks), the last fastest; block (image, plane, line block).
    """

    emitter = "rows:RowLanes"

    outs: Rows
    lines: Rows
    xs: tuple[Panel, ...]
    line_blocks: int
    chunks: int
    spill: bool
    cycles: float

    @property
    def units(self) -> int:
        return self.dense.groups * self.chunks

    @property
    def blocks(self) -> int:
        return self.dense.batch * self.dense.spans[0].count * self.line_blocks

    @property
    def taps(self) -> int:
        """Taps of a filter in one channel."""
        return self.dense.depth // self.dense.channels

    @property
    def written_out(self) -> bool:
        """Whether all taps of a tile are written out."""
        return _written_out(self.dense, self.lines, self.xs)

    @property
    def pitch(self) -> int:
        """Elements of a packed tap and channel of the filters."""
        last = pieces_of(self.dense.outputs, self.lanes)[-1]
        return last.offset + last.lanes

    @property
    def tallest(self) -> int:
        lines = -(-self.lines.tiles // self.line_blocks) * self.lines.largest
        return min(lines, self.dense.spans[1].count)

    @property
    def areas(self) -> tuple[int, ...]:
        """Bytes for packed filters, packed source, and the sums of a tile."""
        sums = self.outs.largest * self.lines.largest * len(self.xs[0].pieces) * self.lanes
        return (self.lines_for(self.dense.depth * self.pitch),
                self.lines_for(self.dense.channels * self.channel),
                whole_lines(sums * self.itemsize))


def plan_rows(dense: Dense, type_: str, machine: Machine, long_epilogue: bool) -> RowsPlan:
    """The cheapest cut for this machine."""
    cost, outs, lines, xs = min(_cuts(dense, machine), key=lambda cut: cut[0])
    sums = outs.largest * lines.largest * len(xs[0].pieces)
    planes = dense.batch * dense.groups * dense.spans[0].count
    spill = long_epilogue or (sums > _MIN_WORKSPACE_SUMS and dense.depth >= MIN_SPILLED_DEPTH)
    plan = RowsPlan(dense, dense, type_, machine.lanes, machine.itemsize, outs, lines, xs, 1, 1,
                    spill, cost * planes)
    wanted = wanted_units(dense.work, dense.groups)
    shares = -(-wanted // (2 * plan.blocks))  # of the lines of few images
    line_blocks = fewest_blocks(
        lambda n: replace(plan, line_blocks=n).areas[1] <= machine.l2 // 4,
        min(shares, lines.tiles), lines.tiles)
    plan = replace(plan, line_blocks=line_blocks)
    return replace(plan, chunks=min(plan.blocks, wanted))


def _cuts(dense: Dense, machine: Machine) -> Iterator[tuple[float, Rows, Rows, tuple[Panel, ...]]]:
    _, h, w = dense.spans
    most = machine.registers - 2
    whole = -(-w.count // machine.lanes)
    cuts = [(lines, _tap_share(h, lines)) for lines in heights(h.count, min(h.count, 6))]
    for vectors in range(1, min(4, whole) + 1):
        xs = panels_of(w.count, vectors * machine.lanes, machine.lanes)
        for lines, share in cuts:
            for outs in heights(dense.outputs, most // (vectors * lines.largest)):
                yield share * _cost(dense, machine, outs, lines, xs), outs, lines, xs


def _tap_share(span: Span, rows: Rows) -> float:
    """Return the share of taps along an axis that tiles of ``rows`` compute: from their first tap
    inside of the source to the last.
    """
    total = 0
    for begin in range(0, rows.tiles if span.taps else 0, _AT_ONCE):
        tile = np.arange(begin, min(begin + _AT_ONCE, rows.tiles))
        start = span.origin + span.stride * (tile * rows.small_size + np.minimum(tile, rows.big))
        last = start + span.stride * (rows.small_size + (tile < rows.big) - 1)
        taps = span.step * np.arange(span.taps)[:, None]
        share = (last + taps >= 0) & (start + taps < span.size)
        between = span.taps - share.argmax(0) - share[::-1].argmax(0)
        total += int(between[share.any(0)].sum())
    return total / max(1, span.taps * rows.tiles)


def _written_out(dense: Dense, lines: Rows, xs: tuple[Panel, ...]) -> bool:
    """Whether all taps of a tile are written out: of one filter of one channel, where several lines
    of results then share what is read.
    """
    alone = dense.outputs == dense.channels == dense.spans[0].taps == 1
    return alone and 1 < lines.largest * len(xs[0].pieces) * dense.depth <= _MOST_WRITTEN_OUT


def _lines_read(dense: Dense, tall: int) -> int:
    """How many lines of the source ``tall`` lines of results read."""
    h = dense.spans[1]
    return len({i * h.stride + y * h.step for i in range(tall) for y in range(h.taps)})


def _cost(dense: Dense, machine: Machine, outs: Rows, lines: Rows, xs: tuple[Panel, ...]) -> float:
    plane = dense.outputs * lines.total * dense.spans[2].count * machine.itemsize
    far = dense.batch * dense.groups * dense.spans[0].count * plane > machine.l2
    w = dense.spans[2]
    overhead = _LOOP_CYCLES * min(w.period, w.taps) / max(1, w.taps)
    shared = _written_out(dense, lines, xs)

    def tile(panel: Panel, tall: int, wide: int) -> tuple[float, int]:
        units = sum(machine.part(p.lanes) for p in panel.pieces)
        sums = wide * tall * len(panel.pieces)
        read = sum(unit_cycles(p.lanes, machine.itemsize) for p in panel.pieces)
        after = 2 * sums + 2 + far * _LINE_CYCLES * wide * (tall - 1)
        if shared:
            loads = 2 * read * _lines_read(dense, tall) * w.taps
            return max(dense.depth * tall * units, loads) + 0.1 * loads + after, sums
        loads = 2 * read * tall + 0.5 * sums
        cycles = max(wide * tall * units, loads, 5.0) + 0.1 * loads + overhead
        return dense.depth * cycles + after, sums

    total, code = tally(xs, lines, outs, tile)
    filters = dense.depth * dense.outputs * machine.itemsize
    if filters > machine.l1:
        sweeps = lines.tiles * sum(p.count for p in xs)
        speed = _L2_BYTES_PER_CYCLE if filters <= machine.l2 else _MEMORY_BYTES_PER_CYCLE
        total += sweeps * filters / speed
    return total * (1 + machine.code * code)
