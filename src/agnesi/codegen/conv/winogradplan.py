"""Whether a convolution goes through the other basis of :mod:`winograd`, and how it is cut."""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.codegen.conv.dense import Dense, Span
from agnesi.codegen.conv.plan import ROOM, panels_of, sizes_of, unevenness, whole_lines
from agnesi.codegen.conv.source import Layout, image_blocks, packed_layout
from agnesi.codegen.gemm.costs import Machine
from agnesi.codegen.gemm.tiling import Panel, Paneled, Rows
from agnesi.core.dims import Size
from agnesi.core.record import record, replace

SIDE = 2  # of a square of the result
ALPHA = SIDE + 2  # of the square of the source that it needs
_UNITS = 16
_VECTORS = 2  # in a panel
_SOURCE, _RESULT, _FILTER = 100, 90, 90  # cycles to transform one vector of squares
_NEAR, _FAR = 64, 16  # bytes a cycle that operands cost from the second cache, and from beyond


@record
class WinogradPlan(Paneled):
    """A dense convolution of 3 x 3 taps and how it is cut.

    Unit ``u`` is (group, panel group, chunk of blocks), the last fastest; block (image block, line
    block), of so many images and lines of squares.
    """

    dense: Dense
    type: str
    lanes: int
    itemsize: int
    panels: tuple[Panel, ...]
    rows: int  # squares in a register tile
    image_blocks: int
    line_blocks: int
    panel_groups: int
    chunks: int

    @property
    def down(self) -> int:
        """Lines of squares of an image."""
        return -(-self.dense.spans[1].count // SIDE)

    @property
    def across(self) -> int:
        """Squares of a line."""
        return -(-self.dense.spans[2].count // SIDE)

    @property
    def units(self) -> int:
        return self.dense.groups * self.panel_groups * self.chunks

    @property
    def blocks(self) -> Size:
        """Blocks of the batch as the code has it."""
        return image_blocks(self.dense, self.image_blocks) * self.line_blocks

    @property
    def channel_pitch(self) -> int:
        """Elements of one square's channels: whole vectors, and not in step with the caches."""
        pitch = -(-self.dense.channels // self.lanes) * self.lanes
        return pitch + (self.lanes if pitch * self.itemsize % 1024 == 0 else 0)

    @property
    def tiles(self) -> int:
        """Squares of the largest block."""
        images = -(-self.dense.batch // self.image_blocks)
        return images * -(-self.down // self.line_blocks) * self.across

    @property
    def panel_elements(self) -> int:
        """Elements of the transformed filters of a panel."""
        return ALPHA * ALPHA * self.dense.channels * self.width

    @property
    def padded(self) -> Dense:
        """The convolution as if it had whole squares."""
        d, h, w = self.dense.spans
        return replace(self.dense, spans=(d, replace(h, count=self.down * SIDE),
                                          replace(w, count=self.across * SIDE)))

    @property
    def layout(self) -> Layout:
        """How the packed lines of one image of a block lie."""
        lines = -(-self.down // self.line_blocks) * SIDE
        return packed_layout(self.dense, lines, self.across * SIDE, self.itemsize)

    @property
    def areas(self) -> tuple[int, int, int, int]:
        """Bytes of scratch: filters, source and sums in the other basis, and packed lines."""
        panels = -(-self.panel_count // self.panel_groups)
        squares = ALPHA * ALPHA * self.tiles
        taps = 9 * self.dense.channels * self.width  # of a panel, before there is a source
        sizes = (panels * self.panel_elements, max(taps, squares * self.channel_pitch),
                 squares * self.width, max(self.layout.plane, SIDE * SIDE * self.width))
        a, b, c, d = (whole_lines((n + 2 * self.lanes) * self.itemsize) for n in sizes)
        return a, b, c, d

    @property
    def scratch(self) -> int:
        return sum(self.areas)

    def cycles(self, l2: int) -> float:
        """Estimated cycles with a second cache of so many bytes."""
        dense, lanes = self.dense, self.lanes
        squares = dense.batch * dense.groups * self.down * self.across
        scale = self.itemsize / 4
        vectors, channels = -(-dense.outputs // lanes), -(-dense.channels // lanes)
        each = sum(_row_cycles(n, self.vectors) for n in self.sizes(self.tiles)) / self.tiles
        total = squares * ALPHA * ALPHA * dense.channels * each * vectors / self.vectors
        total += squares * channels * _SOURCE * self.panel_groups * scale
        total += squares * vectors * _RESULT * scale
        total += dense.groups * dense.channels * vectors * _FILTER * scale
        filters, source, sums, _ = self.areas
        near = filters + source + sums <= l2
        passes = dense.groups * self.panel_groups * self.image_blocks * self.line_blocks
        read = passes * (filters + source * self.panel_count / self.panel_groups)
        return total + read / (_NEAR if near else _FAR)

    @property
    def vectors(self) -> int:
        """Vectors of a panel."""
        return len(self.panels[0].pieces)

    def sizes(self, count: int) -> list[int]:
        """Heights of the register tiles for so many squares: the tallest, then halves."""
        found = []
        for size in self.heights:
            found += [size] * (count // size)
            count %= size
        return found

    @property
    def heights(self) -> tuple[int, ...]:
        """Heights of register tiles, the tallest first."""
        found = [self.rows]
        while found[-1] > 1:
            found.append(found[-1] // 2)
        return tuple(found)


def _row_cycles(rows: int, vectors: int) -> float:
    """Cycles of one turn of a register tile."""
    return max(5.0, rows * vectors * 1.04, (rows + vectors) * 0.6)


@record
class WinogradWeightPlan(WinogradPlan):
    """The gradient to the filters: ``rows`` are channels of the image, and units have all blocks.

    The cotangent stands in the place of the filters.
    """

    @property
    def channels(self) -> Rows:
        """The channels of the image in register tiles."""
        return Rows.at_most(self.dense.channels, self.rows)

    @property
    def pitch(self) -> int:
        """Columns of a unit, padded."""
        return -(-self.panel_count // self.panel_groups) * self.width

    @property
    def cotangent(self) -> Dense:
        """The cotangent as the source of a convolution of one tap, zero behind its end."""
        d, h, w = self.dense.spans
        view = self.dense.filters
        spans = (Span(1, d.count, 1, 0, 1, 1), Span(self.down * SIDE, h.count, 1, 0, 1, 1),
                 Span(self.across * SIDE, w.count, 1, 0, 1, 1))
        return replace(self.dense, channels=self.dense.outputs, spans=spans, source=view)

    @property
    def cotangent_layout(self) -> Layout:
        """How packed lines of it lie."""
        lines = -(-self.down // self.line_blocks) * SIDE
        return packed_layout(self.cotangent, lines, self.across * SIDE, self.itemsize)

    @property
    def areas(self) -> tuple[int, int, int, int]:
        """Bytes of scratch: sums, image and cotangent in the other basis, and packed lines."""
        squares = ALPHA * ALPHA * self.tiles
        sizes = (ALPHA * ALPHA * self.dense.channels * self.pitch, squares * self.channel_pitch,
                 squares * self.pitch, max(self.layout.plane, self.cotangent_layout.plane))
        a, b, c, d = (whole_lines((n + 2 * self.lanes) * self.itemsize) for n in sizes)
        return a, b, c, d

    def cycles(self, l2: int) -> float:
        """Estimated cycles with a second cache of so many bytes."""
        dense, lanes = self.dense, self.lanes
        squares = dense.batch * dense.groups * self.down * self.across
        scale = self.itemsize / 4
        vectors, channels = -(-dense.outputs // lanes), -(-dense.channels // lanes)
        each = sum(
            n * _row_cycles(size, self.vectors) for size, n in sizes_of(self.channels)
        ) / dense.channels
        pairs = ALPHA * ALPHA * dense.channels * vectors
        total = squares * pairs * each / self.vectors
        total += squares * channels * _SOURCE * self.panel_groups * scale
        total += squares * vectors * _RESULT * scale * 1.5
        sums, source, other, _ = self.areas
        near = sums + source + other <= l2
        blocks = dense.groups * self.image_blocks * self.line_blocks
        total += blocks * pairs * (3.0 if near else 6.0) * scale
        read = blocks * self.panel_count * source
        total += read / (_NEAR if near else _FAR) + dense.groups * pairs * 4
        return total * unevenness(dense.groups * self.panel_groups)


def plan_winograd_weight(dense: Dense, type_: str,
                         machine: Machine) -> WinogradWeightPlan | None:
    """A plan, where there is one; it takes the sums of blocks in the order of images."""
    plan = plan_winograd(dense, type_, machine, WinogradWeightPlan)
    return plan if isinstance(plan, WinogradWeightPlan) else None


def plan_winograd(dense: Dense, type_: str, machine: Machine,
                  kind: type[WinogradPlan] = WinogradPlan) -> WinogradPlan | None:
    """A plan, where there are 3 x 3 taps side by side and channels enough for vectors."""
    d, h, w = dense.spans
    plane = d.taps == d.count == 1 and d.inside
    taps = all(s.taps == 3 and s.stride == s.step == 1 for s in (h, w))
    if not (plane and taps) or min(dense.channels, dense.outputs) < machine.lanes:
        return None
    if min(h.count, w.count) < SIDE or machine.lanes < 4:
        return None
    vectors = min(_VECTORS, -(-dense.outputs // machine.lanes))
    panels = panels_of(dense.outputs, vectors * machine.lanes, machine.lanes)
    most = min(14, (machine.registers - 1 - vectors) // vectors)
    plan = kind(dense, type_, machine.lanes, machine.itemsize, panels, most, 1, 1, 1, 1)
    plan = min(_cuts(plan, most), key=lambda p: (-(-p.scratch // ROOM), p.cycles(machine.l2)))
    if plan.scratch > 2 * ROOM:
        return None
    if kind is WinogradWeightPlan:
        return plan
    wanted = -(-_UNITS // (dense.groups * plan.panel_groups)) if dense.work >= 1 << 19 else 1
    return replace(plan, chunks=min(wanted, plan.image_blocks * plan.line_blocks))


def _cuts(plan: WinogradPlan, most: int) -> Iterator[WinogradPlan]:
    """Shares of panels, blocks and heights of tiles to choose from."""
    blocks, images, lines = [(1, 1)], 1, 1
    while images < plan.dense.batch or lines < plan.down:
        if images < plan.dense.batch:
            images = min(plan.dense.batch, images + max(1, images // 3))
        else:
            lines = min(plan.down, lines + max(1, lines // 3))
        blocks.append((images, lines))
    groups, shares = 1, [1]
    while groups < plan.panel_count:
        groups = min(plan.panel_count, groups + max(1, groups // 3))
        shares.append(groups)
    for groups in shares:
        for images, lines in blocks:
            cut = replace(plan, panel_groups=groups, image_blocks=images, line_blocks=lines)
            for rows in range(most, most // 2, -1) if cut.tiles < 4 * most else (most,):
                yield replace(cut, rows=rows)
