"""Plans of Winograd convolutions: whether one pays, and its tiles, blocks and units."""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.codegen.kernels.conv.dense import Dense
from agnesi.codegen.kernels.conv.layouts import TRANSPOSED_STORE_CYCLES
from agnesi.codegen.kernels.conv.source import Layout, Way, image_blocks, packed_layout, packing
from agnesi.codegen.kernels.conv.tile_plan import TilePlan
from agnesi.codegen.kernels.conv.winograd.tiles import (
    FILTER_TAPS,
    RESULT_TILE,
    SOURCE_TILE,
    Grid,
    Squared,
)
from agnesi.codegen.kernels.machine import Machine
from agnesi.codegen.kernels.tile_search import (
    MAX_WORKSPACE_BYTES,
    panels_of,
    sizes_of,
    unevenness,
    wanted_units,
)
from agnesi.codegen.kernels.tiling import Panel, Paneled, Piece, Rows, pieces_of
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.record import record, replace

#: Vectors of a panel.
_PANEL_VECTORS = 2
#: Channels of a gradient to filters that are transformed back at once.
CHANNELS_PER_INVERSE = 8
#: Cycles to transform one vector of tiles of the source.
_SOURCE_TRANSFORM_CYCLES = 100
#: Cycles to transform one vector of tiles of the result back.
_RESULT_TRANSFORM_CYCLES = 90
#: Cycles to transform one vector of filters.
_FILTER_TRANSFORM_CYCLES = 90
#: Cycles of each iteration of a tile on top, where there are few heights.
_ITERATION_CYCLES = 1
#: Bytes per cycle that operands cost from the second-level cache.
_L2_BYTES_PER_CYCLE = 64
#: Bytes per cycle that operands cost from beyond it.
_MEMORY_BYTES_PER_CYCLE = 16


@record
class Shape:
    """The key of a plan's code, without sizes: plans of one shape may share it."""

    type: str
    lanes: int
    pieces: tuple[tuple[Piece, ...], ...]  # of each kind of panels; none where code is shared
    heights: tuple[int, ...]  # of register tiles; none where code is shared
    joined: bool  # where code is shared, by run-time parameters
    source: Way
    cotangent: Way | None
    varying: bool  # whether the batch is a run-time value
    shared: bool


@record
class WinogradPlan(Paneled, TilePlan):
    """A dense convolution by Winograd's algorithm, divided into work units.

    Unit ``u`` is (group, panel group, chunk of blocks), the last fastest; a block is (image block,
    plane block, line block).
    """

    emitter = "winograd.convolution:Winograd"
    along = 2  # the axis of the epilogue that rows of sums run along

    squared: Squared
    panels: tuple[Panel, ...]
    rows: int  # squares in a register tile
    image_blocks: int
    plane_blocks: int
    line_blocks: int
    panel_groups: int
    chunks: int
    shared: bool  # whether the code is shared, with numbers from a table

    @property
    def shape(self) -> Shape:
        """The key of the code, without sizes."""
        dense = self.dense
        return Shape(
            self.type, self.lanes, () if self.shared else tuple(p.pieces for p in self.panels),
            () if self.shared else self.heights, self.joined and not self.shared,
            packing(self.squared.plane, self.layout, self.lanes, self.shared), None,
            isinstance(dense.images, Extent), self.shared)

    @property
    def transposes(self) -> bool:
        """Whether neighbours of the result in memory are pixels of a line, not channels."""
        terms, axes = self.dense.body[0].offset.terms, self.dense.axes
        beside = terms.get(axes[2]) != 1 and terms.get(axes[5]) == 1
        return beside and self.wide.step == 1 and not self.shared

    @property
    def high(self) -> Grid:
        return self.squared.high

    @property
    def wide(self) -> Grid:
        return self.squared.wide

    @property
    def joined(self) -> bool:
        """Whether the squares of a whole block are one run, for the source and the result."""
        return self.squared.joined

    @property
    def single(self) -> int:
        """``joined`` as 0 or 1."""
        return int(self.joined)

    @property
    def parts(self) -> int:
        """Runs of taps of a filter."""
        return self.squared.parts

    @property
    def bands(self) -> int:
        """Bands of lines of the largest block."""
        return -(-self.high.bands // self.line_blocks)

    @property
    def planes(self) -> int:
        """Planes of results of the largest block."""
        return -(-self.dense.spans[0].count // self.plane_blocks)

    @property
    def source_planes(self) -> int:
        """Planes that the largest block reads."""
        d = self.dense.spans[0]
        return min(d.size, (self.planes - 1) * d.stride + d.reach)

    @property
    def images(self) -> int:
        """Images of the largest block."""
        return -(-self.dense.batch // self.image_blocks)

    @property
    def units(self) -> int:
        return self.dense.groups * self.panel_groups * self.chunks

    @property
    def blocks(self) -> Size:
        """Blocks of the batch as the code has it."""
        return image_blocks(self.dense, self.image_blocks) * (self.plane_blocks * self.line_blocks)

    @cached_property
    def channel_pitch(self) -> int:
        """Elements of one square's channels: whole vectors, and not in step with the caches."""
        pitch = self.source_columns
        return pitch + (self.lanes if pitch * self.itemsize % 1024 == 0 else 0)

    @cached_property
    def source_tiles(self) -> int:
        """Squares of the source that scratch memory holds: those that the largest block reads."""
        lines, line = self.high.read(self.bands), self.wide.read(self.wide.bands)
        return self._apart(self.images * self.source_planes * lines * line, self.channel_pitch)

    @cached_property
    def sheet(self) -> int:
        """Squares of results of a plane of the largest block."""
        return self.bands * self.high.step * self.wide.squares

    @cached_property
    def results(self) -> int:
        """Squares of results of the largest block, or of a plane."""
        return self.sheet * self.images * self.planes if self.joined else self.sheet

    @cached_property
    def tiles(self) -> int:
        """Squares of results that scratch memory can hold."""
        return self._apart(self.results, self.width)

    def _apart(self, squares: int, pitch: int) -> int:
        """Return the space for squares, padded so that their elements do not fall into few sets of
        the cache.
        """
        return squares + (squares * pitch * self.itemsize % 1024 == 0)

    @property
    def run(self) -> int:
        """Squares that are adjacent both in the source and the result."""
        return self.results if self.wide.parts == 1 else self.wide.squares

    @property
    def source_columns(self) -> int:
        """Channels of the source in whole vectors."""
        return -(-self.dense.channels // self.lanes) * self.lanes

    @property
    def part_elements(self) -> int:
        """Elements of one part of the transformed filters of a panel."""
        return self.dense.channels * self.width

    @property
    def panel_elements(self) -> int:
        """Elements of the transformed filters of a panel."""
        return SOURCE_TILE * SOURCE_TILE * self.parts * self.part_elements

    @cached_property
    def layout(self) -> Layout:
        """The layout of the packed lines of one plane of a block."""
        lines = self.bands * RESULT_TILE * self.high.step
        return packed_layout(
            self.squared.plane, lines, self.wide.squares * RESULT_TILE, self.itemsize
        )

    @cached_property
    def areas(self) -> tuple[int, int, int, int]:
        """Bytes of scratch: filters, source and sums in the other basis, and packed lines."""
        panels = -(-self.panel_count // self.panel_groups)
        squares = SOURCE_TILE * SOURCE_TILE * self.source_tiles
        # The taps of a panel, before there is a source.
        taps = self.dense.spans[0].taps * self.high.padded.taps * self.wide.padded.taps
        beyond = self.rows * self.shared  # squares of whole tiles, with nothing lower for the rest
        sizes = (panels * self.panel_elements,
                 max(taps * self.part_elements, (squares + beyond) * self.channel_pitch),
                 (SOURCE_TILE * SOURCE_TILE * self.tiles + beyond) * self.width,
                 max(self.layout.plane, self.workspace + self.transposes * self.lanes * self.width))
        a, b, c, d = (self.lines_for(n + self.lanes) for n in sizes)
        return a, b, c, d

    @property
    def workspace(self) -> int:
        """Elements of a line of squares of results."""
        return RESULT_TILE * RESULT_TILE * self.wide.squares * self.width

    @property
    def passes(self) -> int:
        """Blocks of all groups."""
        return self.dense.groups * self.image_blocks * self.plane_blocks * self.line_blocks

    def cycles(self, l2: int) -> float:
        """Estimated cycles with a second-level cache of so many bytes."""
        dense, lanes = self.dense, self.lanes
        scale = self.itemsize / 4
        vectors, channels = -(-dense.outputs // lanes), -(-dense.channels // lanes)
        each = self._run_cycles()
        sums = self.squared.squares * dense.channels * vectors
        total = sums * self.squared.pairs * each / self.vectors
        passes = self.passes * self.panel_groups
        total += passes * self.source_tiles * channels * _SOURCE_TRANSFORM_CYCLES * scale
        total += self.squared.squares * vectors * _RESULT_TRANSFORM_CYCLES * scale
        total += (
            dense.groups * self.parts * dense.channels * vectors * _FILTER_TRANSFORM_CYCLES * scale
        )
        total += dense.results * TRANSPOSED_STORE_CYCLES * self.transposes
        filters, source, results, _ = self.areas
        near = filters + source + results <= l2
        read = passes * (filters + source * self.panel_count / self.panel_groups)
        return total + read / (_L2_BYTES_PER_CYCLE if near else _MEMORY_BYTES_PER_CYCLE)

    def _run_cycles(self) -> float:
        """Cycles of one iteration of the register tiles for a square."""
        if not self.shared:
            return _run_cycles(self.run, self.rows, self.vectors) / self.run
        sizes = [(self.wide.squares, 1)]
        if self.wide.parts == 1:  # whole tiles count, of small blocks too
            sizes = _shared(self.high.bands, self.line_blocks)
            sizes = [(n * self.high.step * self.wide.squares, k) for n, k in sizes]
        for total, blocks in (
            (self.dense.spans[0].count, self.plane_blocks), (self.dense.batch, self.image_blocks),
        ) if self.joined else ():
            sizes = [(n * m, k * c) for n, k in sizes for m, c in _shared(total, blocks)]
        cycles = sum(k * -(-n // self.rows) for n, k in sizes) * _row_cycles(
            self.rows, self.vectors)
        return cycles / sum(n * k for n, k in sizes)

    @property
    def vectors(self) -> int:
        """Vectors of a panel."""
        return len(self.panels[0].pieces)

    @property
    def heights(self) -> tuple[int, ...]:
        """Heights of register tiles, the tallest first."""
        return (self.rows,) if self.shared else _heights(self.rows)


def _shared(total: int, parts: int) -> list[tuple[int, int]]:
    """Return the sizes that ``parts`` even shares of ``total`` have, and how many have each."""
    return [(n, k) for n, k in sizes_of(Rows(total, parts)) if n and k]


def _heights(rows: int) -> tuple[int, ...]:
    found = [rows]
    while found[-1] > 1:
        found.append(found[-1] // 2)
    return tuple(found)


def _run_cycles(count: int, rows: int, vectors: int) -> float:
    """Cycles of one iteration of the register tiles for so many squares: tallest first, then
    halves."""
    total = 0.0
    for size in _heights(rows):
        total += count // size * _row_cycles(size, vectors)
        count %= size
    return total


def _row_cycles(rows: int, vectors: int) -> float:
    """Cycles of one iteration of a register tile."""
    return max(5.0, rows * vectors * 1.04, (rows + vectors) * 0.6)


@record
class WinogradWeightPlan(WinogradPlan):
    """The gradient to the filters: ``rows`` are channels of the image, and units have all blocks.

    The cotangent is used instead of the filters.
    """

    emitter = "winograd.filter_gradient:WinogradWeight"
    along = 1
    transposes = False

    @property
    def channels(self) -> Rows:
        """The channels of the image in register tiles."""
        return Rows.at_most(self.dense.channels, self.rows)

    @property
    def heights(self) -> tuple[int, ...]:
        return (self.rows,) if self.shared else self.channels.sizes

    @property
    def shape(self) -> Shape:
        way = packing(self.squared.cotangent, self.cotangent_layout, self.lanes, self.shared)
        return replace(super().shape, cotangent=way)

    @property
    def sum_elements(self) -> int:
        """Elements of one part of the sums: where code is shared, tiles of channels are whole."""
        channels = self.dense.channels
        return (channels + -channels % self.rows * self.shared) * self.pitch

    @property
    def pitch(self) -> int:
        """Columns of a unit, padded."""
        return -(-self.panel_count // self.panel_groups) * self.width

    @cached_property
    def cotangent_layout(self) -> Layout:
        """The layout of packed lines of the cotangent."""
        lines = self.bands * RESULT_TILE * self.high.step
        return packed_layout(
            self.squared.cotangent, lines, self.wide.squares * RESULT_TILE, self.itemsize
        )

    @cached_property
    def tiles(self) -> int:
        """Squares of the cotangent that scratch memory can hold: those of the largest block."""
        return self._apart(self.sheet * self.images * self.planes, self.pitch)

    @cached_property
    def areas(self) -> tuple[int, int, int, int]:
        """Bytes of scratch: sums, image and cotangent in the other basis, and packed lines."""
        square = SOURCE_TILE * SOURCE_TILE
        sizes = (square * self.parts * self.sum_elements,
                 square * self.source_tiles * self.channel_pitch,
                 square * self.tiles * self.pitch,
                 max(self.layout.plane, self.cotangent_layout.plane,
                     CHANNELS_PER_INVERSE * FILTER_TAPS * FILTER_TAPS * self.width))
        a, b, c, d = (self.lines_for(n + self.lanes) for n in sizes)
        return a, b, c, d

    def cycles(self, l2: int) -> float:
        """Estimated cycles with a second-level cache of so many bytes."""
        dense, lanes = self.dense, self.lanes
        scale = self.itemsize / 4
        vectors, channels = -(-dense.outputs // lanes), -(-dense.channels // lanes)
        each = sum(
            n * _row_cycles(size, self.vectors) for size, n in sizes_of(self.channels)
        ) / dense.channels
        pairs = self.squared.pairs * dense.channels * vectors
        total = self.squared.squares * pairs * each / self.vectors
        read = self.passes * self.source_tiles
        total += read * channels * _SOURCE_TRANSFORM_CYCLES * self.panel_groups * scale
        total += self.squared.squares * vectors * _RESULT_TRANSFORM_CYCLES * scale * 1.5
        sums, source, other, _ = self.areas
        near = sums + source + other <= l2
        total += self.passes * pairs * (3.0 if near else 6.0) * scale
        read = self.passes * self.panel_count * source
        total += (
            read / (_L2_BYTES_PER_CYCLE if near else _MEMORY_BYTES_PER_CYCLE)
            + dense.groups * pairs * 4
        )
        return total * unevenness(dense.groups * self.panel_groups)


def plan_winograd_weight(dense: Dense, type_: str, machine: Machine) -> WinogradWeightPlan | None:
    """A plan, where there is one; it takes the sums of blocks in the order of images."""
    plan = plan_winograd(dense, type_, machine, WinogradWeightPlan)
    return plan if isinstance(plan, WinogradWeightPlan) else None


def plan_winograd(dense: Dense, type_: str, machine: Machine,
                  kind: type[WinogradPlan] = WinogradPlan) -> WinogradPlan | None:
    """A plan, where there are some taps both ways and channels enough for vectors."""
    d, h, w = dense.spans
    if not dense.squared(machine.lanes) or min(h.count, w.count) < RESULT_TILE:
        return None
    vectors = min(_PANEL_VECTORS, -(-dense.outputs // machine.lanes))
    panels = panels_of(dense.outputs, vectors * machine.lanes, machine.lanes)
    if machine.shared:  # one kind, the last one of which may be partly empty
        pieces = pieces_of(vectors * machine.lanes, machine.lanes)
        panels = (Panel(0, sum(p.count for p in panels), pieces, Rows(1, 1)),)
    most = min(14, (machine.registers - 1 - vectors) // vectors)
    squared = Squared(dense)
    if squared.pairs >= d.taps * h.taps * w.taps * RESULT_TILE * RESULT_TILE:
        return None
    plan = kind(dense, dense, type_, machine.lanes, machine.itemsize, squared, panels, most, 1, 1,
                1, 1, 1, machine.shared)
    cuts = list(_cuts(plan, most))
    scratch = [-(-cut.scratch // MAX_WORKSPACE_BYTES) for cut in cuts]
    small = [cut for cut, size in zip(cuts, scratch, strict=True) if size == min(scratch)]
    plan = min(small, key=lambda cut: cut.cycles(machine.l2))
    if plan.scratch > 2 * MAX_WORKSPACE_BYTES:
        return None
    if kind is WinogradWeightPlan:
        return plan
    wanted = wanted_units(dense.work, dense.groups * plan.panel_groups)
    return replace(plan, chunks=min(wanted, plan.passes // dense.groups))


def _cuts(plan: WinogradPlan, most: int) -> Iterator[WinogradPlan]:
    """Shares of panels and blocks to choose from."""
    blocks = [(n, 1, 1) for n in _shares(plan.dense.batch, plan.shared)]
    lines = _shares(plan.high.bands, plan.shared)
    blocks += [(plan.dense.batch, d, h) for h in lines
               for d in _shares(plan.dense.spans[0].count, plan.shared)]
    cuts = [_best_rows(replace(plan, image_blocks=images, plane_blocks=planes, line_blocks=down),
                       most) for images, planes, down in dict.fromkeys(blocks)]
    for groups in _shares(plan.panel_count, plan.shared):
        for cut in cuts:
            yield replace(cut, panel_groups=groups)


def _best_rows(plan: WinogradPlan, most: int) -> WinogradPlan:
    """Return the plan with the height of tiles that leaves the fewest rows over, where a run has
    few tiles.
    """
    if plan.shared:  # of few heights, so that code is shared
        run = plan.dense.channels if isinstance(plan, WinogradWeightPlan) else plan.run
        few = most, most // 2, max(1, most // 4)
        best = min(
            few, key=lambda n: -(-run // n) * (_row_cycles(n, plan.vectors) + _ITERATION_CYCLES)
        )
        return plan if best == plan.rows else replace(plan, rows=best)
    if isinstance(plan, WinogradWeightPlan) or plan.run >= 4 * most:
        return plan
    heights = range(most, most // 2, -1)
    best = min(heights, key=lambda rows: _run_cycles(plan.run, rows, plan.vectors))
    return plan if best == plan.rows else replace(plan, rows=best)


def _shares(most: int, shared: bool) -> list[int]:
    """Return numbers of shares to try: 1, 2, 3, 4, 6, 9 ... and ``most``; where code is shared,
    powers of two and ``most``.
    """
    found = [1]
    while found[-1] < most:
        found.append(min(most, found[-1] + max(1, found[-1] // (1 if shared else 2))))
    return found
