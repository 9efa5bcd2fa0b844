"""How a convolution with lanes along rows is cut into tiles, blocks and units."""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.codegen.kernels.conv.dense import Dense, Span
from agnesi.codegen.kernels.conv.plan import SPILL_FROM, panels_of, sizes_of, whole_lines
from agnesi.codegen.kernels.conv.tiles import unit_cycles
from agnesi.codegen.kernels.gemm.costs import Machine
from agnesi.codegen.kernels.gemm.tiling import Panel, Rows, pieces_of
from agnesi.core.support.record import record, replace

#: Work units to aim for.
_TARGET_UNITS = 16
#: Cycles for each of several lines that a tile stores with a large stride.
_LINE_CYCLES = 8.0
#: Bytes of filters per cycle from the second-level cache.
_L2_BYTES_PER_CYCLE = 32
#: Bytes of filters per cycle from beyond it.
_MEMORY_BYTES_PER_CYCLE = 5
#: Sums from which they go through workspace to the epilogue.
_MIN_WORKSPACE_SUMS = 12


class PackedPlan:
    """A plan whose source is packed line by line, for lanes along them."""

    dense: Dense
    type: str
    lanes: int
    line_blocks: int

    @property
    def tallest(self) -> int:
        """Lines of places of the largest block."""
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

    Tiles are some outputs by some lines by a panel of a line's places.  Unit ``u`` is (group,
    chunk of blocks), the last fastest; block (image, plane, line block).
    """

    emitter = "rows:RowLanes"

    dense: Dense
    type: str
    lanes: int
    itemsize: int
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
    def pitch(self) -> int:
        """Elements of a packed tap and channel of the filters."""
        last = pieces_of(self.dense.outputs, self.lanes)[-1]
        return last.offset + last.lanes

    @property
    def tallest(self) -> int:
        places = -(-self.lines.tiles // self.line_blocks) * self.lines.largest
        return min(places, self.dense.spans[1].count)

    @property
    def a_bytes(self) -> int:
        return whole_lines((self.dense.channels * self.channel + self.lanes) * self.itemsize)

    @property
    def b_bytes(self) -> int:
        return whole_lines((self.dense.depth * self.pitch + self.lanes) * self.itemsize)

    @property
    def scratch(self) -> int:
        sums = self.outs.largest * self.lines.largest * len(self.xs[0].pieces) * self.lanes
        return self.a_bytes + self.b_bytes + whole_lines(sums * self.itemsize)


def plan_rows(dense: Dense, type_: str, machine: Machine, long_epilogue: bool) -> RowsPlan:
    """The cheapest cut for this machine."""
    cost, outs, lines, xs = min(_cuts(dense, machine), key=lambda cut: cut[0])
    sums = outs.largest * lines.largest * len(xs[0].pieces)
    planes = dense.batch * dense.groups * dense.spans[0].count
    spill = long_epilogue or (sums > _MIN_WORKSPACE_SUMS and dense.depth >= SPILL_FROM)
    plan = RowsPlan(dense, type_, machine.lanes, machine.itemsize, outs, lines, xs, 1, 1, spill,
                    cost * planes)
    wanted = -(-_TARGET_UNITS // dense.groups) if dense.work >= 1 << 19 else 1
    shares = -(-wanted // (2 * plan.blocks))  # of the lines of few images
    plan = replace(plan, line_blocks=min(shares, lines.tiles))
    while plan.a_bytes > machine.l2 // 4 and plan.line_blocks < lines.tiles:
        plan = replace(plan, line_blocks=plan.line_blocks + 1)
    return replace(plan, chunks=min(plan.blocks, wanted))


def _cuts(dense: Dense,
          machine: Machine) -> Iterator[tuple[float, Rows, Rows, tuple[Panel, ...]]]:
    _, h, w = dense.spans
    most = machine.registers - 2
    whole = -(-w.count // machine.lanes)
    heights = [Rows.at_most(h.count, tall) for tall in range(1, min(h.count, 6) + 1)]
    shares = [_met(h, lines) for lines in heights]
    for vectors in range(1, min(4, whole) + 1):
        xs = panels_of(w.count, vectors * machine.lanes, machine.lanes)
        for tall, (lines, met) in enumerate(zip(heights, shares, strict=True), 1):
            for size in range(1, most // (vectors * tall) + 1):
                outs = Rows.at_most(dense.outputs, size)
                if outs.largest == size:
                    yield met * _cost(dense, machine, outs, lines, xs), outs, lines, xs


def _met(span: Span, rows: Rows) -> float:
    """The share of taps that meet the source, where tiles go from their first such to the last."""
    total, start = 0, 0
    for tile in range(rows.tiles):
        stop = start + rows.small_size + (tile < rows.big)
        first, last = span.taps, 0
        for t in range(span.taps):
            low, high = (span.origin + p * span.stride + t * span.step for p in (start, stop - 1))
            if high >= 0 and low < span.size:
                first, last = min(first, t), t + 1
        total += max(0, last - first)
        start = stop
    return total / max(1, span.taps * rows.tiles)


def _cost(dense: Dense, machine: Machine, outs: Rows, lines: Rows,
          xs: tuple[Panel, ...]) -> float:
    plane = dense.outputs * lines.total * dense.spans[2].count * machine.itemsize
    far = dense.batch * dense.groups * dense.spans[0].count * plane > machine.l2
    total, code = 0.0, 0
    for panel in xs:
        units = sum(unit_cycles(p.lanes, machine.itemsize) for p in panel.pieces)
        for tall, downs in sizes_of(lines):
            for wide, times in sizes_of(outs):
                sums = wide * tall * len(panel.pieces)
                loads = 2 * units * tall + 0.5 * wide * tall * len(panel.pieces)
                cycles = max(wide * tall * units, loads, 5.0) + 0.1 * loads
                cycles = (
                    dense.depth * cycles + 2 * sums + 2 + far * _LINE_CYCLES * wide * (tall - 1)
                )
                total += panel.count * downs * times * cycles
                code += sums
    filters = dense.depth * dense.outputs * machine.itemsize
    if filters > machine.l1:
        sweeps = lines.tiles * sum(p.count for p in xs)
        total += (
            sweeps
            * filters
            / (_L2_BYTES_PER_CYCLE if filters <= machine.l2 else _MEMORY_BYTES_PER_CYCLE)
        )
    return total * (1 + machine.code * code)
