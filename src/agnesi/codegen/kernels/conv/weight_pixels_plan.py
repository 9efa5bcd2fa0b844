"""Plans of gradients to few filters, with lanes along pixels: tiles, blocks and units."""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.codegen.kernels.conv.dense import Dense
from agnesi.codegen.kernels.conv.rows_plan import PackedPlan
from agnesi.codegen.kernels.conv.source import Layout
from agnesi.codegen.kernels.conv.tile_plan import split_evenly
from agnesi.codegen.kernels.conv.weight_plan import elements
from agnesi.codegen.kernels.machine import Machine, unit_cycles
from agnesi.codegen.kernels.tile_search import (
    COPY_CYCLES,
    PACK_CYCLES,
    fewest_blocks,
    heights,
    tally,
    unevenness,
)
from agnesi.codegen.kernels.tiling import Panel, Rows
from agnesi.core.ir.dims import Size
from agnesi.core.support.record import record, replace
from agnesi.core.target import SET_STRIDE_BYTES

#: Bytes of the sums of a unit, at most.
_MAX_SUM_BYTES = 1 << 18


@record
class WeightPixelsPlan(PackedPlan):
    """A gradient to filters and how it is cut.

    ``dense`` is the forward convolution with the cotangent instead of the filters.  Tiles are
    a run of taps of a line by some filters; every sum has lanes along pixels, added up at the end.
    Unit ``u`` is a group or a part of the blocks; block (image, plane, line block).
    """

    emitter = "weight_pixels:WeightPixels"

    runs: Rows
    outs: Rows
    line_blocks: int
    packed_a: bool
    packed_b: bool
    cycles: float

    @property
    def units(self) -> int:
        return self.dense.groups * self.dense.parts

    @property
    def blocks(self) -> Size:
        return self.dense.blocks(self.line_blocks)

    @property
    def tallest(self) -> int:
        return -(-self.dense.spans[1].count // self.line_blocks)

    @property
    def tap_lines(self) -> int:
        """Lines of taps, of all channels."""
        return self.dense.channels * self.dense.spans[0].taps * self.dense.spans[1].taps

    @property
    def tap_runs(self) -> list[range]:
        """The taps of a line that each tile has."""
        return split_evenly(self.runs)

    @property
    def layout(self) -> Layout:
        """The layout of the image: packed, or as the memory has it."""
        if self.packed_a:
            return Layout(self.plane, self.line, 1, self.channel)
        _, c, plane, line, pixel = self.dense.source.strides
        return Layout(plane * self.dense.spans[0].step, line, pixel, c)

    @property
    def cotangent(self) -> tuple[int, int]:
        """Elements from one plane and line of the cotangent to the next."""
        if not self.packed_b:
            _, o, _, line, _ = self.dense.filters.strides
            return o, line
        line = -(-self.dense.spans[2].count // self.lanes) * self.lanes
        plane = self.tallest * line
        return plane + (self.lanes if plane * self.itemsize % 1024 == 0 else 0), line

    @property
    def areas(self) -> tuple[int, ...]:
        """Bytes for the sums, the packed image, and the packed cotangent."""
        image = self.dense.channels * self.channel
        cotangent = self.dense.outputs * self.cotangent[0]
        return (self.dense.depth * self.dense.outputs * self.lanes * self.itemsize,
                self.lines_for(image) if self.packed_a else 0,
                self.lines_for(cotangent) if self.packed_b else 0)


def plan_weight_pixels(dense: Dense, type_: str, machine: Machine) -> WeightPixelsPlan | None:
    """The cheapest cut for this machine, where sums fit."""
    sums = dense.depth * dense.outputs * machine.lanes * machine.itemsize
    if machine.lanes < 4 or sums > _MAX_SUM_BYTES:
        return None
    cost, runs, outs = min(_cuts(dense, machine), key=lambda cut: cut[0])
    _, h, w = dense.spans
    inside = all(s.inside for s in dense.spans)
    packed_a = not inside or w.stride > 1 or dense.source.strides[4] != 1
    _, o, _, _, pixel = dense.filters.strides
    packed_b = pixel != 1 or o * machine.itemsize % SET_STRIDE_BYTES == 0
    image, cotangent = elements(dense)
    cost += packed_a * image * (COPY_CYCLES if abs(dense.source.strides[4]) == 1 else PACK_CYCLES)
    cost += packed_b * cotangent * (COPY_CYCLES if pixel == 1 else PACK_CYCLES)
    plan = WeightPixelsPlan(
        dense, dense, type_, machine.lanes, machine.itemsize, runs, outs, 1, packed_a, packed_b,
        cost * dense.groups * unevenness(dense.groups * dense.parts))
    line_blocks = fewest_blocks(
        lambda n: _block_bytes(replace(plan, line_blocks=n)) <= machine.l1 * 3 // 4, 1, h.count)
    plan = replace(plan, line_blocks=line_blocks)
    return plan if plan.scratch <= machine.l2 else None


def _block_bytes(plan: WeightPixelsPlan) -> int:
    """Return the bytes that the tiles of some filters read of a block."""
    _, h, w = plan.dense.spans
    line = w.count * plan.itemsize
    image = ((plan.tallest - 1) * h.stride + h.reach) * line * w.stride
    return image + plan.outs.largest * plan.tallest * line


def _cuts(dense: Dense, machine: Machine) -> Iterator[tuple[float, Rows, Rows]]:
    w = dense.spans[2]
    for runs in heights(w.taps, w.taps):
        for outs in heights(dense.outputs, (machine.registers - 1) // (runs.largest + 1)):
            yield _cost(dense, machine, runs, outs), runs, outs


def _cost(dense: Dense, machine: Machine, runs: Rows, outs: Rows) -> float:
    d, h, w = dense.spans
    iterations = -(-w.count // machine.lanes)
    unit = unit_cycles(machine.lanes, machine.itemsize)

    def tile(_: Panel, size: int, wide: int) -> tuple[float, int]:
        loads = 2 * unit * (wide + size)  # most of them are across two lines of the cache
        cycles = max(unit * wide * size, loads, 5.0) + 0.1 * loads
        return iterations * cycles + 8, wide * size

    total, code = tally((Panel(0, 1, (), Rows(1, 1)),), outs, runs, tile)
    lines = dense.batch * d.count * h.count
    return total * lines * dense.depth / w.taps * (1 + machine.code * code)
