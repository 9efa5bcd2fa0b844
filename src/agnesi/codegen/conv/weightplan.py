"""How a gradient to filters is cut into tiles, blocks of places and units."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agnesi.codegen.conv.dense import Dense
from agnesi.codegen.conv.plan import (
    panels_of,
    scattered,
    sizes_of,
    unevenness,
    whole_lines,
)
from agnesi.codegen.conv.source import Layout, image_blocks, packed_layout
from agnesi.codegen.conv.tiles import Column, step_cycles
from agnesi.codegen.gemm.costs import Machine
from agnesi.codegen.gemm.tiling import Panel, Paneled, Rows
from agnesi.core.dims import Size
from agnesi.core.record import record

_UNITS = 16  # work units to aim for
_CODE = 0.001  # each sum in the code counts as this share of the run time
_PACKED = 0.4  # cycles to pack an element
_FAR = 4  # bytes that come in a cycle from beyond the second cache
_ROWS = 192  # rows of sums up to which packing the cotangent costs more than it gains
_ROOM = 1 << 20  # bytes of sums of a unit at most


@record
class WeightPlan(Paneled):
    """A gradient to filters and how it is cut.

    ``dense`` is the forward convolution with the cotangent in the place of the filters.  Rows of
    sums are taps and channels: tiles have some tap ``lines`` and a part of the ``runs`` of
    channels, or of channels of neighbouring taps where these lie side by side.  Unit ``u`` is
    (group or part of the blocks, panel group, row group), the last fastest.
    """

    dense: Dense
    type: str
    lanes: int
    itemsize: int
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
        planes = image_blocks(self.dense, self.image_blocks) * self.dense.spans[0].count
        return planes * (self.line_blocks * self.row_blocks)

    @property
    def pitch(self) -> int:
        """Elements of a row of sums."""
        return -(-self.panel_count // self.panel_groups) * self.width

    @property
    def place_lines(self) -> int:
        """Lines of places of one image in the largest block."""
        return -(-self.dense.spans[1].count // self.line_blocks)

    @property
    def line_pitch(self) -> int:
        """Elements of a packed line of a panel of the cotangent."""
        return -(-self.dense.spans[2].count // self.row_blocks) * self.width

    @property
    def panel_pitch(self) -> int:
        """Elements of a packed panel of the cotangent."""
        return self.images * self.place_lines * self.line_pitch

    @property
    def layout(self) -> Layout:
        """How the image lies: packed, or as the memory has it."""
        if not self.packed_a:
            _, c, plane, line, pixel = self.dense.source.strides
            return Layout(plane * self.dense.spans[0].step, line, pixel, c)
        places = -(-self.dense.spans[2].count // self.row_blocks)
        return packed_layout(self.dense, self.place_lines, places, self.itemsize)

    @property
    def image_pitch(self) -> int:
        """Elements of a packed image."""
        return self.dense.spans[0].taps * self.layout.plane

    @property
    def image_step(self) -> int:
        """Elements from one image in memory to the next."""
        return self.dense.source.strides[0]

    @property
    def images(self) -> int:
        """Images of the largest block."""
        return -(-self.dense.batch // self.image_blocks)

    @property
    def a_bytes(self) -> int:
        size = self.images * self.image_pitch + self.lanes
        return whole_lines(size * self.itemsize) if self.packed_a else 0

    @property
    def b_bytes(self) -> int:
        size = -(-self.panel_count // self.panel_groups) * self.panel_pitch + self.lanes
        return whole_lines(size * self.itemsize) if self.packed_b else 0

    @property
    def tile_elements(self) -> int:
        """Elements of the sums of one tile for all panels of a unit; whole vectors."""
        return self.lines.largest * self.runs.largest * self.pitch

    @property
    def c_bytes(self) -> int:
        tiles = -(-self.tiles // self.row_groups)
        return whole_lines((tiles * self.tile_elements + self.lanes) * self.itemsize)

    @property
    def scratch(self) -> int:
        return self.a_bytes + self.b_bytes + self.c_bytes


def plan_weight(dense: Dense, type_: str, machine: Machine) -> WeightPlan:
    """The cheapest cut for this machine."""
    packed_a = dense.source.strides[1] != 1 or dense.channels < 12
    packed_a = packed_a or scattered(dense, machine)
    cuts = _cuts(dense, machine, packed_a)
    cost, panels, lines, runs = min(cuts, key=lambda cut: cut[0])
    packed_b = dense.outputs > 1 and not in_place(dense)
    groups, row_groups = _shares(dense, machine, panels, lines, runs, packed_a, packed_b)
    count = sum(p.count for p in panels)
    pitch = -(-count // groups) * max(p.width for p in panels)
    blocks = _blocks(dense, machine, pitch)
    image, cotangent = elements(dense)
    cost *= dense.depth / (lines.total * runs.total) / 256
    cost *= dense.batch * math.prod(s.count for s in dense.spans)
    cost += _PACKED * (packed_a * image * groups * row_groups + packed_b * cotangent * row_groups)
    cost *= dense.groups * unevenness(dense.groups * dense.parts * groups * row_groups)
    return WeightPlan(dense, type_, machine.lanes, machine.itemsize, panels, lines, runs, *blocks,
                      groups, row_groups, packed_a, packed_b, cost)


def in_place(dense: Dense) -> bool:
    """Whether few rows read a cotangent with channels side by side where it lies."""
    return dense.depth <= _ROWS and dense.groups == 1 and dense.filters.strides[1] == 1


def elements(dense: Dense) -> tuple[int, int]:
    """Elements of one group of the image and of the cotangent."""
    image = dense.channels * math.prod(s.size for s in dense.spans)
    cotangent = dense.outputs * math.prod(s.count for s in dense.spans)
    return dense.batch * image, dense.batch * cotangent


def _run(dense: Dense) -> int:
    """Rows that lie side by side in a packed line."""
    w = dense.spans[2]
    return w.taps * dense.channels if w.step == 1 else dense.channels


def _cuts(dense: Dense, machine: Machine,
          packed: bool) -> Iterator[tuple[float, tuple[Panel, ...], Rows, Rows]]:
    h, total = dense.spans[1], _run(dense) if packed else dense.channels
    for vectors in range(1, 9):
        most = (machine.registers - 1 - vectors) // vectors
        if most < 1 or (vectors > 1 and (vectors - 1) * machine.lanes >= dense.outputs):
            break
        panels = panels_of(dense.outputs, vectors * machine.lanes, machine.lanes)
        for size in range(1, most + 1):
            runs = Rows.at_most(total, size)
            deep = most // runs.largest if runs.tiles == 1 and packed else 1
            for tall in range(1, min(deep, h.taps) + 1):
                lines = Rows.at_most(h.taps, tall)
                yield _cost(dense, machine, panels, lines, runs), panels, lines, runs


def _cost(dense: Dense, machine: Machine, panels: tuple[Panel, ...], lines: Rows,
          runs: Rows) -> float:
    total, code = 0.0, 0
    for panel in panels:
        columns = [Column(*p) for p in panel.pieces]
        for tall, downs in sizes_of(lines):
            for wide, acrosses in sizes_of(runs):
                sums = tall * wide * len(columns)
                cycles = step_cycles(tall * wide, columns, machine.itemsize, True)
                cycles += 0.3 * (tall * wide * machine.itemsize / 32 + 2)
                total += panel.count * downs * acrosses * (256 * cycles + 3 * sums + 40)
                code += sums
    return total * (1 + _CODE * code)


def _shares(dense: Dense, machine: Machine, panels: tuple[Panel, ...], lines: Rows, runs: Rows,
            packed_a: bool, packed_b: bool) -> tuple[int, int]:
    """Panel groups and row groups: as little packing and reading as leaves even shares."""
    count, item = sum(p.count for p in panels), machine.itemsize
    tiles = dense.depth // (lines.total * runs.total) * lines.tiles * runs.tiles
    image, cotangent = elements(dense)
    far = 1 / _FAR if (image + cotangent) * item > machine.l2 else 0
    lead = dense.groups * dense.parts
    most = max(1, _UNITS // lead)
    options = []
    for groups in range(1, count + 1):
        chunk = -(-count // groups) * max(p.width for p in panels) * item
        for row_groups in range(1, tiles + 1):
            units = groups * row_groups
            room = -(-tiles // row_groups) * lines.largest * runs.largest * chunk
            if units > most and room <= _ROOM:
                break
            cycles = dense.work / dense.groups / machine.lanes * unevenness(units * lead)
            cycles += (packed_a * _PACKED + far * item) * image * groups
            if packed_a:
                cycles += _PACKED * image * groups * (row_groups - 1)
            cycles += (packed_b * _PACKED + far * item * (1 + 64 / chunk)) * cotangent * row_groups
            cycles *= 1 + max(0, room - _ROOM)
            options.append((cycles, groups, row_groups))
            if units > most:
                break
    _, groups, row_groups = min(options)
    return groups, row_groups


def _blocks(dense: Dense, machine: Machine, pitch: int) -> tuple[int, int, int]:
    """Image, line and row blocks, so that what a block reads stays in the second cache."""
    d, h, w = dense.spans
    limit = machine.l2 // 2

    def size(images: int, lines: int, rows: int) -> int:
        tall, wide = -(-h.count // lines), -(-w.count // rows)
        image = d.taps * packed_layout(dense, tall, wide, machine.itemsize).plane
        return -(-dense.batch // images) * (image + tall * wide * pitch) * machine.itemsize

    images = min(dense.batch, dense.parts)
    lines, rows = min(h.count, -(-dense.parts // images)), 1
    while size(images, lines, rows) > limit:
        if images < dense.batch:
            images = min(dense.batch, images + max(1, images // 3))
        elif lines < h.count:
            lines = min(h.count, lines + max(1, lines // 3))
        elif rows < w.count // 16:
            rows += max(1, rows // 3)
        else:
            break
    return images, lines, rows
