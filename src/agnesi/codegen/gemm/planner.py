"""Choose how a product is computed: tile sizes, packing, blocking, work units."""

from __future__ import annotations

from dataclasses import dataclass

from agnesi.codegen.gemm.spec import GemmSpec
from agnesi.codegen.gemm.tiling import Panel, Piece, Rows, pieces_of

_SPILL_FROM = 48  # k from which a tile is written to scratch and finished by one small loop
_LINE = 64


@dataclass(frozen=True)
class Machine:
    """What the planner knows of the processor."""

    lanes: int
    registers: int
    l1: int
    l2: int
    l3: int


@dataclass(frozen=True)
class GemmPlan:
    """A product and how it is cut; ``units`` may be shared out among threads at will.

    Unit ``u`` is (batch member, row chunk, column group), the last fastest.  ``scratch`` is the
    number of bytes that each thread must provide, aligned to 64.
    """

    spec: GemmSpec
    swapped: bool
    lanes: int
    panels: tuple[Panel, ...]
    row_chunks: int
    column_groups: int
    k_block: int
    pack_a: bool
    pack_b: bool
    spill: bool

    @property
    def units(self) -> int:
        return self.spec.batch * self.row_chunks * self.column_groups

    @property
    def panel_count(self) -> int:
        return sum(p.count for p in self.panels)

    @property
    def blocked(self) -> bool:
        """Whether k is cut, so that partial sums live in scratch."""
        return self.k_block < self.spec.k

    @property
    def chunk_rows(self) -> int:
        """Rows of the largest row chunk."""
        return max(-(-p.rows.tiles // self.row_chunks) * p.rows.largest for p in self.panels)

    @property
    def group_panels(self) -> int:
        """Panels of the largest column group."""
        return -(-self.panel_count // self.column_groups)

    @property
    def panel_columns(self) -> int:
        """Columns from one panel to the next."""
        return self.panels[0].width if len(self.panels) > 1 or self.panels[0].count > 1 else 0

    @property
    def panel_elements(self) -> int:
        """Elements of scratch that hold the partial sums of one panel."""
        return _lines(self.chunk_rows * self.width * self.spec.itemsize) // self.spec.itemsize

    def chains(self, panel: Panel, rows: int) -> int:
        """Independent sums per accumulator, so that latency does not bind a small tile."""
        return max(1, min(4, 4 // (rows * len(panel.pieces)))) if self.spec.k >= 16 else 1

    @property
    def width(self) -> int:
        return max(p.width for p in self.panels)

    @property
    def a_bytes(self) -> int:
        return _lines(self.chunk_rows * self.k_block * self.spec.itemsize) if self.pack_a else 0

    @property
    def b_bytes(self) -> int:
        return _lines(self.k_block * self.width * self.spec.itemsize) if self.pack_b else 0

    @property
    def c_bytes(self) -> int:
        if self.blocked:
            return self.panel_elements * self.group_panels * self.spec.itemsize
        tile = max(p.rows.largest * p.width for p in self.panels)
        return _lines(tile * self.spec.itemsize) if self.spill else 0

    @property
    def scratch(self) -> int:
        return self.a_bytes + self.b_bytes + self.c_bytes


def _lines(size: int) -> int:
    return -(-size // _LINE) * _LINE


def plan(
    spec: GemmSpec,
    *,
    vector_bits: int,
    l1: int = 32 << 10,
    l2: int = 512 << 10,
    l3: int = 8 << 20,
    registers: int | None = None,
) -> GemmPlan:
    """Plan a product for a machine with these vectors, cache sizes and vector registers."""
    swapped = _better_transposed(spec)
    if swapped:
        spec = spec.transposed()
    if registers is None:
        registers = 32 if vector_bits == 512 else 16
    machine = Machine(max(1, vector_bits // (8 * spec.itemsize)), registers, l1, l2, l3)
    return _tile_plan(spec, swapped, machine)


def _better_transposed(spec: GemmSpec) -> bool:
    """Whether lanes should run along m: C is contiguous that way, or has one column."""
    if spec.n == 1 and spec.m > 1:
        return spec.c_strides[0] == 1
    return spec.c_strides[0] == 1 and spec.c_strides[1] != 1 and spec.m > 1


def _tile_plan(spec: GemmSpec, swapped: bool, machine: Machine) -> GemmPlan:
    pack_a = not spec.a_direct
    panels = _choose_panels(spec, machine, same_rows=pack_a)
    tiles = max(p.rows.tiles for p in panels)
    many = tiles > 1
    contiguous = spec.b_strides[1] == 1
    pack_b = (
        many and not (spec.b_direct and contiguous and _reads_well(spec, machine, panels))
    ) or (spec.b_direct and not contiguous and spec.b_strides[0] == 1)
    width = max(p.width for p in panels)
    k_block = _k_block(spec, machine, width) if many else spec.k
    if k_block < spec.k:
        panels = _choose_panels(spec, machine, same_rows=True)
    count = sum(p.count for p in panels)
    tiles = max(p.rows.tiles for p in panels)
    chunks, groups = _units(spec, machine, tiles, count, pack_a, pack_b)
    return GemmPlan(
        spec,
        swapped,
        machine.lanes,
        panels,
        chunks,
        groups,
        k_block,
        pack_a,
        pack_b,
        spill=spec.k >= _SPILL_FROM,
    )


def _reads_well(spec: GemmSpec, machine: Machine, panels: tuple[Panel, ...]) -> bool:
    """Whether a panel of B can be read in place by every row tile."""
    pitch = spec.b_strides[0] * spec.itemsize
    tiles = panels[0].rows.tiles
    if pitch % 1024 == 0 and spec.k > 16:  # rows would fall into the same few cache sets
        return False
    return tiles <= 8 or spec.k * pitch <= machine.l2 // 2


def _k_block(spec: GemmSpec, machine: Machine, width: int) -> int:
    limit = max(256, machine.l2 // 2 // (width * spec.itemsize))
    if spec.k <= limit:
        return spec.k
    return -(-spec.k // -(-spec.k // limit))


def _units(
    spec: GemmSpec, machine: Machine, tiles: int, panels: int, pack_a: bool, pack_b: bool
) -> tuple[int, int]:
    """Row chunks and column groups: enough for even shares, without packing anything twice."""
    work = spec.m * spec.n * spec.k * spec.batch
    if work < 1 << 15:
        return 1, 1
    wanted = max(1, -(-32 // spec.batch))
    if pack_a:
        return min(tiles, wanted), 1
    groups = min(panels, wanted)
    if pack_b and spec.m < 256:
        return 1, groups
    return min(tiles, max(1, -(-wanted // groups))), groups


def _choose_panels(spec: GemmSpec, machine: Machine, same_rows: bool) -> tuple[Panel, ...]:
    best: tuple[float, tuple[Panel, ...]] | None = None
    for vectors in range(1, 9):
        limit = (machine.registers - 1 - vectors) // vectors
        if spec.k < 4:
            limit = min(limit, 4)
        if limit < 1:
            break
        cost, panels = _cut(spec, machine, vectors, limit, same_rows)
        if best is None or cost < best[0]:
            best = cost, panels
    assert best is not None
    return best[1]


def _cut(
    spec: GemmSpec, machine: Machine, vectors: int, limit: int, same_rows: bool
) -> tuple[float, tuple[Panel, ...]]:
    """Panels of ``vectors`` vectors and what they cost; the last panel takes what is left."""
    width = vectors * machine.lanes
    full, rest = divmod(spec.n, width)
    panels = []
    if full:
        rows = Rows.at_most(spec.m, limit)
        panels.append(Panel(0, full, pieces_of(width, machine.lanes), rows))
    if rest:
        pieces = pieces_of(rest, machine.lanes)
        room = limit
        if not (same_rows and full):
            room = max(limit, (machine.registers - 1 - len(pieces)) // len(pieces))
        panels.append(Panel(full, 1, pieces, Rows.at_most(spec.m, room)))
    return sum(p.count * _panel_cost(p, spec.k, machine) for p in panels), tuple(panels)


def _panel_cost(panel: Panel, k: int, machine: Machine) -> float:
    rows = panel.rows
    big = _tile_cost(rows.small_size + 1, panel.pieces, k, machine) if rows.big else 0.0
    small = _tile_cost(rows.small_size, panel.pieces, k, machine)
    return rows.big * big + (rows.tiles - rows.big) * small


def _tile_cost(rows: int, pieces: tuple[Piece, ...], k: int, machine: Machine) -> float:
    """Cycles of one register tile: multiply-adds, loads, or latency, whichever binds."""
    wide = machine.lanes * 4 >= 64 or machine.registers == 32
    unit = 1.0 if wide else 0.5
    weights = [unit if p.lanes == machine.lanes else 0.5 for p in pieces]
    arithmetic = rows * sum(weights)
    loads = 0.5 * rows + sum(weights)
    return k * (max(arithmetic, loads, 4.0) + 0.3) + 12 + 2.0 * rows * len(pieces)
