"""Estimate the cycles of each way to cut a product, and pick the cheapest cut of each kind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agnesi.codegen.kernels.gemm.spec import GemmSpec
from agnesi.codegen.kernels.gemm.tiling import Panel, Piece, Rows, pieces_of
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import record
from agnesi.core.target import Target

_TRANSPOSE_CYCLES = 0.45  # cycles to pack one element that lies the other way
_TURNED_FAR = 0.75  # one that comes from memory
_COPY_CYCLES = 0.15
_GATHER_CYCLES = 2.0
_SETS_SPAN = 4096  # bytes after which the sets of a first-level cache come round
#: Cache lines in one set that may be counted on.
_USABLE_WAYS = 6
_ALL_ROWS = 1 << 20
#: Cycles to read a byte from beyond the first-level cache.
_L2_CYCLES_PER_BYTE = 1 / 16
#: Rows of a tile that is one vector wide: a cache line of a transposed A.
TALL_TILE_ROWS = 16


@record
class Machine:
    """What the planner knows of the processor, and what code may cost.

    ``code`` is the share of the run time as which each accumulator counts, ``shared`` says that
    convolutions share functions.
    """

    lanes: int
    itemsize: int
    registers: int
    l1: int
    l2: int
    l3: int
    code: float = FAST_RUN.code_weight
    shared: bool = False

    @property
    def unit(self) -> float:
        """Cycles of one full vector instruction: two 256-bit ones start in each cycle."""
        return 1.0 if self.registers == 32 else 0.5

    @property
    def wide_tiles(self) -> bool:
        """Whether there are too few registers for high tiles that are one vector wide."""
        return self.registers < 32


def machine_for(target: Target, itemsize: int, policy: CompilePolicy) -> Machine:
    """A target, for elements of so many bytes."""
    return Machine(target.lanes(itemsize), itemsize, target.registers, target.l1, target.l2,
                   target.l3, policy.code_weight, policy.shared_kernels)


@record
class Cut:
    """Panels with the estimated cycles of one batch member."""

    cost: float
    panels: tuple[Panel, ...]


def best_tiles(spec: GemmSpec, machine: Machine, same_rows: bool) -> Cut:
    """The best register tiles; ``same_rows`` asks for one cut of the rows for all panels."""
    cuts = [
        _tile_cut(spec, machine, vectors, size, same_rows)
        for vectors in range(1, 9)
        for size in _heights(spec, machine, vectors)
    ]
    return min(cuts, key=lambda cut: cut.cost)


def open_tiles(spec: GemmSpec, machine: Machine) -> Cut:
    """Tiles for columns whose number is a run-time value: one vector wide, so that few columns
    are left over, and high for that."""
    size = min(TALL_TILE_ROWS, max(_heights(spec, machine, 1), default=1))
    piece = Piece(0, machine.lanes, machine.lanes)
    panels = [Panel(0, -(-spec.n // machine.lanes), (piece,), Rows.at_most(spec.m, size))]
    return Cut(_weigh(spec, machine, panels), tuple(panels))


def tall_tiles(spec: GemmSpec, machine: Machine) -> Cut:
    """Tiles for strips of A, which is near: narrow and high ones read least of B."""
    if machine.wide_tiles:
        return best_tiles(spec, machine, same_rows=True)
    return _tile_cut(spec, machine, 1, TALL_TILE_ROWS, True)


def tiles_of_runs(spec: GemmSpec, machine: Machine) -> Cut:
    """The widest tiles of all rows, or high ones, so that B is read once, or seldom."""
    vectors = min((machine.registers - 1) // (spec.m + 1), 4)
    if vectors:
        return _tile_cut(spec, machine, vectors, spec.m, True)
    return tall_tiles(spec, machine)


def _heights(spec: GemmSpec, machine: Machine, vectors: int) -> Iterator[int]:
    """Tile heights to try: the tallest that registers hold, and a tall one that divides m."""
    limit = (machine.registers - 1 - vectors) // vectors
    if spec.k < 4:  # few products to a sum: writing C is the work, so keep to few lines of it
        limit = min(limit, 4)
    if spec.a_direct:
        limit = min(limit, lines_apart(spec, spec.a_strides))
    if limit < min(spec.m, 3):  # B would be read too often
        return
    yield limit
    for size in range(limit - 1, limit // 2, -1):
        if spec.m % size == 0:
            yield size
            return


def lines_apart(spec: GemmSpec, strides: tuple[int, ...]) -> int:
    """How many lines of an operand may be read at once before they push each other out.

    Lines whose distance is a multiple of a large power of two share a few sets of the cache.
    """
    if strides[0] <= strides[1] or spec.k < 32:
        return _ALL_ROWS
    return _USABLE_WAYS * _SETS_SPAN // math.gcd(strides[0] * spec.itemsize, _SETS_SPAN)


def _tile_cut(spec: GemmSpec, machine: Machine, vectors: int, size: int, same_rows: bool) -> Cut:
    """Panels of ``vectors`` vectors; the last panel takes what is left."""
    columns = vectors * machine.lanes
    full, rest = divmod(spec.n, columns)
    panels = []
    if full:
        pieces = pieces_of(columns, machine.lanes)
        panels.append(Panel(0, full, pieces, Rows.at_most(spec.m, size)))
    if rest:
        pieces = pieces_of(rest, machine.lanes)
        sizes = {size} if same_rows else {size, *_heights(spec, machine, len(pieces))}
        last = (Panel(full, 1, pieces, Rows.at_most(spec.m, s)) for s in sorted(sizes))
        panels.append(min(last, key=lambda p: _weigh(spec, machine, [p])))
    return Cut(_weigh(spec, machine, panels), tuple(panels))


def _weigh(spec: GemmSpec, machine: Machine, panels: list[Panel]) -> float:
    """Cycles, with a share on top for the amount of code."""
    cost = sum(p.count * _panel_cost(p, spec.k, machine) for p in panels)
    code = sum(rows * len(p.pieces) for p in panels for rows in p.rows.sizes)
    return cost * (1 + machine.code * code)


def _panel_cost(panel: Panel, k: int, machine: Machine) -> float:
    rows = panel.rows
    big = _tile_cost(rows.small_size + 1, panel.pieces, k, machine) if rows.big else 0.0
    small = _tile_cost(rows.small_size, panel.pieces, k, machine)
    return rows.big * big + (rows.tiles - rows.big) * small


def _tile_cost(rows: int, pieces: tuple[Piece, ...], k: int, machine: Machine) -> float:
    """Cycles of one register tile: multiply-adds, loads, or latency, whichever binds."""
    weights = [machine.unit if p.lanes == machine.lanes else 0.5 for p in pieces]
    arithmetic, line = rows * sum(weights), sum(weights)
    columns = sum(p.lanes for p in pieces)
    if k * columns * machine.itemsize > machine.l1 * 3 // 4:
        line = max(line, columns * machine.itemsize * _L2_CYCLES_PER_BYTE)
    loads = 0.5 * rows + line
    return k * (max(arithmetic, loads, 4.0) + 0.08 * loads + 0.3) + 12 + 2.0 * rows * len(pieces)


def pack_cost(spec: GemmSpec, machine: Machine) -> float:
    """Cycles to pack all of B for register tiles."""
    if spec.b_strides[1] == 1:
        return _COPY_CYCLES * spec.k * spec.n
    far = spec.k * spec.n * spec.itemsize > machine.l2 // 2
    turned = _TURNED_FAR if far else _TRANSPOSE_CYCLES
    return (turned if spec.b_strides[0] == 1 else _GATHER_CYCLES) * spec.k * spec.n


def best_dots(spec: GemmSpec, machine: Machine, pack_a: bool, pack_b: bool) -> Cut:
    """The best tiles of vectors along k."""
    cuts = []
    rows = 8 if pack_a else min(8, lines_apart(spec, spec.a_strides))
    most = 8 if pack_b else min(8, lines_apart(spec, spec.b_strides[::-1]))
    for columns in range(1, min(spec.n, machine.lanes, most) + 1):
        limit = min(rows, (machine.registers - 1 - columns) // (columns + 1))
        if limit > 0:
            cuts.append(_dot_cut(spec, machine, limit, columns))
    return min(cuts, key=lambda cut: cut.cost)


def _dot_cut(spec: GemmSpec, machine: Machine, limit: int, columns: int) -> Cut:
    full, rest = divmod(spec.n, columns)
    rows = Rows.at_most(spec.m, limit)
    panels = []
    for first, count, size in ((0, full, columns), (full, 1, rest)):
        if count and size:
            piece = Piece(0, 1 << (size - 1).bit_length(), size)
            panels.append(Panel(first, count, (piece,), rows))
    turns = -(-spec.k // machine.lanes)
    # Every panel reads all lines of A again: narrow panels are expensive if A is not cached.
    near = spec.m * spec.k * machine.itemsize <= machine.l1 * 3 // 4
    cost = 0.0
    heights = (rows.small_size + 1, rows.big), (rows.small_size, rows.tiles - rows.big)
    for panel in panels:
        size = panel.pieces[0].active
        for height, count in heights:
            products = height * size * machine.unit
            loads = (height * (1 if near else 2) + size) * machine.unit
            turn = max(products, loads, 4.0) + 0.15 * loads + 0.5
            cost += panel.count * count * (turns * turn + 10 + 1.5 * height * size)
    code = sum(r * p.pieces[0].active for p in panels for r in rows.sizes)
    return Cut(cost * (1 + machine.code * code), tuple(panels))


def line_cost(size: int, strides: tuple[int, ...]) -> float:
    """Cycles to lay a whole operand of ``size`` elements out along k."""
    if strides[1] == 1:
        return _COPY_CYCLES * size
    return (_TRANSPOSE_CYCLES if strides[0] == 1 else _GATHER_CYCLES) * size
