"""Plans of filter gradients: tiles, blocks of pixels and units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense, flat
from agnesi.codegen.kernels.conv.source import Layout, image_blocks, packed_layout
from agnesi.codegen.kernels.conv.tile_plan import TilePlan, blocks_for, scattered
from agnesi.codegen.kernels.machine import Machine
from agnesi.codegen.kernels.tile_search import (
    PACK_CYCLES,
    TARGET_UNITS,
    blocks_within,
    register_tiles,
    step_cycles,
    tally,
    uneven,
    unevenness,
)
from agnesi.codegen.kernels.tiling import Panel, Paneled, Rows
from agnesi.core.ir.dims import Size
from agnesi.core.support.record import record

#: Cycles per iteration that each row of a tile costs on top.
_ROW_CYCLES = 0.25
#: Bytes per cycle from beyond the second-level cache.
_MEMORY_BYTES_PER_CYCLE = 4
#: The same where they are prefetched during products.
_PREFETCHED_BYTES_PER_CYCLE = 16
#: Rows of sums up to which packing a cached cotangent costs more than it gains.
_MAX_UNPACKED_ROWS = 192
#: Bytes of the sums of a unit, at most.
_MAX_SUM_BYTES = 1 << 20
#: Channels of images that are read in place, at least.
_MIN_DIRECT_CHANNELS = 12
#: Second-level caches that operands fill which are read in place, a block ahead.
_MIN_STREAMED_L2 = 4


@record
class WeightPlan(Paneled, TilePlan):
    """A gradient to filters and how it is cut.

    ``dense`` is the forward convolution with the cotangent instead of the filters.  Rows of
    sums are taps and channels: tiles have some tap ``lines`` and a part of the ``runs`` of
    channels, or of channels of neighbouring taps where these are adjacent.  Unit ``u`` is
    (group or part of the blocks, panel group, row group), the last fastest.
    """

    emitter = "weight:Weight"

    panels: tuple[Panel, ...]
    lines: Rows
    runs: Rows
    image_blocks: int
    line_blocks: int
    row_blocks: int
    panel_groups: int
    row_groups: int
    packed_a: bool
    packed_b: bool
    merged: int  # units in a row that one thread does as one
    far: bool  # whether operands that are read in place are prefetched a block ahead
    cycles: float

    @property
    def units(self) -> int:
        return self.dense.groups * self.dense.parts * self.panel_groups * self.row_groups

    @property
    def beside(self) -> int:
        """Taps of a line that are rows of their own."""
        return self.dense.depth // self._lines // self.runs.total

    @property
    def _lines(self) -> int:
        return self.dense.spans[0].taps * self.lines.total

    @property
    def tiles(self) -> int:
        """Tiles of one panel."""
        return self.dense.spans[0].taps * self.beside * self.lines.tiles * self.runs.tiles

    @property
    def blocks(self) -> Size:
        """Blocks of the batch as the code has it."""
        planes = image_blocks(self.dense, self.image_blocks) * self.real.spans[0].count
        return planes * (self.down * self.across)

    @property
    def down(self) -> Any:
        """Line blocks, as the code has them."""
        return blocks_for(self.real.spans[1].count, self.pixel_lines, self.line_blocks)

    @property
    def across(self) -> Any:
        """Row blocks, as the code has them."""
        return blocks_for(self.real.spans[2].count, self.line_pixels, self.row_blocks)

    @property
    def pitch(self) -> int:
        """Elements of a row of sums."""
        return self.unit_panels * self.width

    @property
    def unit_panels(self) -> int:
        """Return the panels of the largest unit, or of units that a thread runs as one."""
        groups = self.panel_groups if self.merged == 1 or self.row_groups > 1 else 1
        return -(-self.panel_count // groups)

    @property
    def unit_tiles(self) -> int:
        """Tiles of a panel in the largest unit, or in those that are done as one."""
        return -(-self.tiles // (self.row_groups if self.merged == 1 else 1))

    @property
    def ahead(self) -> tuple[int, int]:
        """Elements between the reads of consecutive blocks, as the distance to prefetch; 0 if they
        are near."""
        if not self.far:
            return 0, 0
        _, h, w = self.dense.spans
        n, _, _, *source = self.dense.source.strides
        m, _, _, *cotangent = self.dense.filters.strides
        if self.row_blocks > 1:
            steps = self.line_pixels * w.stride * source[1], self.line_pixels * cotangent[1]
        elif self.line_blocks > 1:
            steps = self.pixel_lines * h.stride * source[0], self.pixel_lines * cotangent[0]
        else:
            steps = self.images * n, self.images * m
        return steps[0] * (not self.packed_a), steps[1] * (not self.packed_b)

    @property
    def pixel_lines(self) -> int:
        """Lines of pixels of one image in the largest block."""
        return -(-self.dense.spans[1].count // self.line_blocks)

    @property
    def line_pixels(self) -> int:
        """Pixels of a line in the largest block."""
        return -(-self.dense.spans[2].count // self.row_blocks)

    @property
    def line_pitch(self) -> int:
        """Elements of a packed line of a panel of the cotangent."""
        return self.line_pixels * self.width

    @property
    def panel_pitch(self) -> int:
        """Elements of a packed panel of the cotangent."""
        return self.images * self.pixel_lines * self.line_pitch

    @property
    def layout(self) -> Layout:
        """The layout of the image: packed, or as the memory has it."""
        if not self.packed_a:
            _, c, plane, line, pixel = self.real.source.strides
            return Layout(plane * self.dense.spans[0].step, line, pixel, c)
        return packed_layout(self.dense, self.pixel_lines, self.line_pixels, self.itemsize)

    @property
    def image_pitch(self) -> int:
        """Elements of a packed image."""
        return self.dense.spans[0].taps * self.layout.plane

    @property
    def image_step(self) -> Any:
        """Elements from one image in memory to the next."""
        return self.real.source.strides[0]

    @property
    def images(self) -> int:
        """Images of the largest block."""
        return -(-self.dense.batch // self.image_blocks)

    @property
    def tile_elements(self) -> int:
        """Elements of the sums of one tile for all panels of a unit; whole vectors."""
        return self.lines.largest * self.runs.largest * self.pitch

    @property
    def areas(self) -> tuple[int, ...]:
        """Bytes for the sums, the packed image, and the packed cotangent."""
        image, cotangent = self.images * self.image_pitch, self.unit_panels * self.panel_pitch
        return (self.lines_for(self.unit_tiles * self.tile_elements),
                self.lines_for(image) if self.packed_a else 0,
                self.lines_for(cotangent) if self.packed_b else 0)


def plan_weight(dense: Dense, type_: str, machine: Machine) -> WeightPlan:
    """The cheapest cut for this machine."""
    real, dense = dense, dense.typical
    whole = streams(dense, machine) and not real.open
    if whole:
        real = dense = flat(dense)
    packed_a = dense.source.strides[1] != 1 or dense.channels < _MIN_DIRECT_CHANNELS
    packed_a = packed_a or (scattered(dense, machine) and not whole)
    cuts = _cuts(dense, machine, packed_a)
    cost, panels, lines, runs = min(cuts, key=lambda cut: cut[0])
    packed_b = dense.outputs > 1 and not (whole or in_place(dense))
    groups, row_groups, merged = _shares(dense, machine, panels, lines, runs, packed_a, packed_b)
    count = sum(p.count for p in panels)
    pitch = -(-count // (groups if merged == 1 else 1)) * max(p.width for p in panels)
    blocks = _blocks(dense, machine, pitch, packed_a)
    image, cotangent = elements(dense)
    cost *= dense.depth / (lines.total * runs.total) / 256
    cost *= dense.batch * math.prod(s.count for s in dense.spans)
    cost += PACK_CYCLES * (
        packed_a * image * groups * row_groups + packed_b * cotangent * row_groups
    )
    cost *= dense.groups * unevenness(dense.groups * dense.parts * groups * row_groups)
    return WeightPlan(dense, real, type_, machine.lanes, machine.itemsize, panels, lines, runs,
                      *blocks, groups, row_groups, packed_a, packed_b, merged,
                      _far(dense, machine, 1), cost)


def in_place(dense: Dense) -> bool:
    """Return whether a cotangent with contiguous channels is read in place, by few rows."""
    few = dense.depth <= _MAX_UNPACKED_ROWS
    return few and dense.groups == 1 and dense.filters.strides[1] == 1


def streams(dense: Dense, machine: Machine) -> bool:
    """Return whether both operands of a gradient to filters of one tap are read from memory, in
    place.
    """
    beside = dense.source.strides[1] == dense.filters.strides[1] == 1
    alone = (
        dense.groups == dense.parts == 1 and dense.depth == dense.channels >= _MIN_DIRECT_CHANNELS
    )
    return beside and alone and _far(dense, machine, _MIN_STREAMED_L2)


def _far(dense: Dense, machine: Machine, caches: int) -> bool:
    """Return whether operands fill more than ``caches`` second-level caches."""
    return sum(elements(dense)) * machine.itemsize > caches * machine.l2


def elements(dense: Dense) -> tuple[int, int]:
    """Elements of one group of the image and of the cotangent."""
    image = dense.channels * math.prod(s.size for s in dense.spans)
    cotangent = dense.outputs * math.prod(s.count for s in dense.spans)
    return dense.batch * image, dense.batch * cotangent


def _run(dense: Dense) -> int:
    """Rows that are adjacent in a packed line."""
    w = dense.spans[2]
    return w.taps * dense.channels if w.step == 1 else dense.channels


def _cuts(dense: Dense, machine: Machine,
          packed: bool) -> Iterator[tuple[float, tuple[Panel, ...], Rows, Rows]]:
    h, total = dense.spans[1], _run(dense) if packed else dense.channels
    for panels, lines, runs in register_tiles(
            machine, dense.outputs, h.taps, total, deep=packed):
        yield _cost(machine, panels, lines, runs), panels, lines, runs


def _cost(machine: Machine, panels: tuple[Panel, ...], lines: Rows, runs: Rows) -> float:
    def tile(panel: Panel, tall: int, wide: int) -> tuple[float, int]:
        sums = tall * wide * len(panel.pieces)
        cycles = step_cycles(tall * wide, panel.pieces, machine, True)
        cycles += _ROW_CYCLES * tall * wide
        return 256 * cycles + 3 * sums + 40, sums

    total, code = tally(panels, lines, runs, tile)
    return total * (1 + machine.code * code)


def _shares(dense: Dense, machine: Machine, panels: tuple[Panel, ...], lines: Rows, runs: Rows,
            packed_a: bool, packed_b: bool) -> tuple[int, int, int]:
    """Panel groups and row groups: as little packing and reading as leaves even shares.

    The third is how many units a thread may do as one, so that what they share is packed once.
    """
    count, item = sum(p.count for p in panels), machine.itemsize
    tiles = dense.depth // (lines.total * runs.total) * lines.tiles * runs.tiles
    image, cotangent = elements(dense)
    lead, tall = dense.groups * dense.parts, lines.largest * runs.largest
    width = max(p.width for p in panels) * item
    far = item if _far(dense, machine, 1) else 0
    reads = [
        far / (_MEMORY_BYTES_PER_CYCLE if packed else _PREFETCHED_BYTES_PER_CYCLE)
        for packed in (packed_a, packed_b)
    ]
    most = max(1, TARGET_UNITS // lead)
    near = lead == 1 and tiles * tall * count * width <= _MAX_SUM_BYTES
    options = []
    for groups in range(1, count + 1):
        chunk = -(-count // groups) * width
        for row_groups in range(1, tiles + 1):
            units = groups * row_groups
            sums = -(-tiles // row_groups) * tall * chunk
            if units > most and sums <= _MAX_SUM_BYTES:
                break
            merged = units if near and 1 in (groups, row_groups) else 1
            passes, again = (min(n, 2) if merged > 1 else n for n in (groups, row_groups))
            even = unevenness(units * lead)
            if units == groups * lead:
                even = max(even, uneven(_columns(panels, groups)))
            cycles = dense.work / dense.groups / machine.lanes * even
            cycles += (packed_a * PACK_CYCLES + reads[0]) * image * passes
            if packed_a:
                cycles += PACK_CYCLES * image * passes * (again - 1)
            cycles += (packed_b * PACK_CYCLES + reads[1] * (1 + 64 / chunk)) * cotangent * again
            cycles *= 1 + max(0, sums - _MAX_SUM_BYTES)
            options.append((cycles, groups, row_groups, merged))
            if units > most:
                break
    return min(options)[1:]


def _columns(panels: tuple[Panel, ...], groups: int) -> list[int]:
    """Return the number of columns in each of ``groups`` about equal groups of panels."""
    widths = [p.columns for p in panels for _ in range(p.count)]
    ends = [len(widths) * n // groups for n in range(groups + 1)]
    return [sum(widths[low:high]) for low, high in pairwise(ends)]


def _blocks(dense: Dense, machine: Machine, pitch: int, packed_a: bool) -> tuple[int, int, int]:
    """Image, line and row blocks, so that what a block reads stays in the second-level cache."""
    d, h, w = dense.spans
    limit = machine.l2 // (2 if packed_a else 3)

    def size(images: int, lines: int, rows: int) -> int:
        tall, wide = -(-h.count // lines), -(-w.count // rows)
        image = tall * wide * dense.channels
        if packed_a or dense.depth > dense.channels:
            image = d.taps * packed_layout(dense, tall, wide, machine.itemsize).plane
        return -(-dense.batch // images) * (image + tall * wide * pitch) * machine.itemsize

    images = min(dense.batch, dense.parts)
    counts = images, min(h.count, -(-dense.parts // images)), 1
    most = dense.batch, h.count, w.count // 16
    images, lines, rows = blocks_within(size, counts, most, (limit,) * 3)
    return images, lines, rows
