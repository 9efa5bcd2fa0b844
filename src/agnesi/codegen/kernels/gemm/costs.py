"""Estimate the cycles of each way to cut a product, and pick the cheapest cut of each kind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agnesi.codegen.kernels.gemm.spec import GemmSpec
from agnesi.codegen.kernels.machine import Machine, unit_cycles
from agnesi.codegen.kernels.tile_search import COPY_CYCLES, tally
from agnesi.codegen.kernels.tiling import Panel, Piece, Rows, pieces_of
from agnesi.core.support.record import record
from agnesi.core.target import SET_STRIDE_BYTES

_TRANSPOSE_CYCLES = 0.45  # cycles to pack one transposed element
_FAR_TRANSPOSE_CYCLES = 0.75  # one that comes from memory
_GATHER_CYCLES = 2.0  # to gather one element
#: Ways of a cache set that operands may fill.
_USABLE_WAYS = 6
_ALL_ROWS = 1 << 20
#: Cycles to read a byte from beyond the first-level cache.
_L2_CYCLES_PER_BYTE = 1 / 16
#: Rows of a tile that is one vector wide: a cache line of a transposed A.
TALL_TILE_ROWS = 16


@record
class Cut:
    """Panels with the estimated cycles of one batch member."""

    cost: float
    panels: tuple[Panel, ...]


def best_tiles(spec: GemmSpec, machine: Machine, same_rows: bool) -> Cut:
    """Return the register tiles of lowest cost; ``same_rows`` requests one division of the rows for
    all panels.
    """
    cuts = [
        _tile_cut(spec, machine, vectors, size, same_rows)
        for vectors in range(1, 9)
        for size in _heights(spec, machine, vectors)
    ]
    return min(cuts, key=lambda cut: cut.cost)


def open_tiles(spec: GemmSpec, machine: Machine) -> Cut:
    """Tiles for columns whose number is a run-time value: one vector wide, so that few columns
    are left over, and tall to compensate."""
    size = min(TALL_TILE_ROWS, max(_heights(spec, machine, 1), default=1))
    piece = Piece(0, machine.lanes, machine.lanes)
    panels = [Panel(0, -(-spec.n // machine.lanes), (piece,), Rows.at_most(spec.m, size))]
    return Cut(_weigh(spec, machine, panels), tuple(panels))


def tall_tiles(spec: GemmSpec, machine: Machine) -> Cut:
    """Tiles for strips of A that are in a cache: narrow, tall tiles read B least often.  Where the
    third-level cache is as slow as memory, two vectors by as many rows as fit in registers.
    """
    if machine.wide_tiles:
        return best_tiles(spec, machine, same_rows=True)
    if machine.far_l3:
        return _tile_cut(spec, machine, 2, (machine.registers - 3) // 2, True)
    return _tile_cut(spec, machine, 1, TALL_TILE_ROWS, True)


def tiles_of_runs(spec: GemmSpec, machine: Machine) -> Cut:
    """The widest tiles that span all rows, so that B is read once; tall ones where registers do not
    suffice."""
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
    """Return how many lines of an operand may be read at once before they evict each other.

    Lines whose distance is a multiple of a large power of two share a few sets of the cache.
    """
    if strides[0] <= strides[1] or spec.k < 32:
        return _ALL_ROWS
    return _USABLE_WAYS * SET_STRIDE_BYTES // math.gcd(strides[0] * spec.itemsize, SET_STRIDE_BYTES)


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
    """Return the cycles of all panels, with a penalty for code size."""
    def tile(panel: Panel, _: int, rows: int) -> tuple[float, int]:
        return _tile_cost(rows, panel.pieces, spec.k, machine), rows * len(panel.pieces)

    found = [tally((panel,), Rows(1, 1), panel.rows, tile) for panel in panels]
    return sum(cost for cost, _ in found) * (1 + machine.code * sum(code for _, code in found))


def _tile_cost(rows: int, pieces: tuple[Piece, ...], k: int, machine: Machine) -> float:
    """Cycles of one register tile: multiply-adds, loads, or latency, whichever binds."""
    line = sum(unit_cycles(p.lanes, machine.itemsize) for p in pieces)
    units = sum(machine.product(p.lanes) for p in pieces)
    columns = sum(p.lanes for p in pieces)
    pace = machine.unit / machine.product(machine.lanes)
    if k * columns * machine.itemsize > machine.l1 * 3 // 4:
        line = max(line, columns * machine.itemsize / pace * _L2_CYCLES_PER_BYTE)
    loads = 0.5 * rows + line
    step = max(rows * units, loads, 4.0) + 0.08 * pace * loads + 0.3
    return k * step + 12 + 2.0 * rows * len(pieces)


def pack_cost(spec: GemmSpec, machine: Machine) -> float:
    """Cycles to pack all of B for register tiles."""
    if spec.b_strides[1] == 1:
        return COPY_CYCLES * spec.k * spec.n
    far = spec.k * spec.n * spec.itemsize > machine.l2 // 2 and not machine.far_l3
    transposed = _FAR_TRANSPOSE_CYCLES if far else _TRANSPOSE_CYCLES
    return (transposed if spec.b_strides[0] == 1 else _GATHER_CYCLES) * spec.k * spec.n


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
    iterations = -(-spec.k // machine.lanes)
    # Every panel reads all lines of A again: narrow panels are expensive if A is not cached.
    near = spec.m * spec.k * machine.itemsize <= machine.l1 * 3 // 4

    def tile(panel: Panel, _: int, height: int) -> tuple[float, int]:
        size = panel.pieces[0].active
        loads = (height * (1 if near else 2) + size) * machine.unit
        step = max(height * size * machine.product(machine.lanes), loads, 4.0) + 0.15 * loads + 0.5
        return iterations * step + 10 + 1.5 * height * size, height * size

    cost, code = tally(panels, Rows(1, 1), rows, tile)
    return Cut(cost * (1 + machine.code * code), tuple(panels))


def line_cost(size: int, strides: tuple[int, ...]) -> float:
    """Cycles to pack a whole operand of ``size`` elements along k."""
    if strides[1] == 1:
        return COPY_CYCLES * size
    return (_TRANSPOSE_CYCLES if strides[0] == 1 else _GATHER_CYCLES) * size
