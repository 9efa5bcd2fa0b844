"""Choose how a product is computed: form, tile sizes, packing, blocking, work units."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.kernels.gemm.blocking import (
    blocks_for,
    cut_k,
    is_far,
    pack_from_rows,
    prefetched_lines,
    row_tiles,
)
from agnesi.codegen.kernels.gemm.costs import (
    TALL_TILE_ROWS,
    Cut,
    best_dots,
    best_tiles,
    line_cost,
    pack_cost,
    tall_tiles,
)
from agnesi.codegen.kernels.gemm.gemm_plan import GemmPlan
from agnesi.codegen.kernels.gemm.prefetched import (
    PRODUCT_UNITS,
    fits_beside,
    near_lines,
    stream_plan,
    streams,
)
from agnesi.codegen.kernels.gemm.spec import GemmSpec
from agnesi.codegen.kernels.gemm.zero_row_plan import MIN_ZERO_SHARE, skipping
from agnesi.codegen.kernels.machine import Machine, machine_for
from agnesi.codegen.kernels.tiling import (
    OpenPanel,
    OpenRows,
    Panel,
    Piece,
)
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.extents import Extent, least
from agnesi.core.support.policy import FAST_COMPILE, FAST_RUN, CompilePolicy
from agnesi.core.support.record import replace
from agnesi.core.target import Target

_SPILL_FROM = 256  # k from which passing a tile through scratch memory costs next to nothing
_CALLS_FROM = 64  # the smallest k at which a tile is bound by computation
#: The longest block of k of strips whose A is not packed, where the third-level cache is far.
_MAX_STRIP_K = 1024
#: Where B comes from memory: bytes of a line of B in one work unit.
_RUN_BYTES = 8192
#: Rows of a large A in the second-level cache, and columns of C that share them.
_LARGE_ROWS, _LARGE_COLUMNS = 512, 1024
#: Panels: share of the first-level cache for a tile of A.
_L1_SHARE = 0.8125
#: Share of the second-level cache for B.
_L2_SHARE = 0.45
#: The same where the third-level cache is far.
_FAR_L2_SHARE = 0.5
#: The same where a panel of B is in the first-level cache, and tiles of A in the second-level one.
_L1_PANEL_SHARE, _L2_TILES_SHARE = 0.5, 0.4
#: The shortest block of k for which B in whole lines is cached.
_MIN_CACHED_K = 128
#: Rows of a work unit, or of several at once.
_STRIP_ROWS = 512
#: Size of a result, in second-level caches, from which one row of tiles is finished at a time (one
#: such cache where the third-level cache is as far as memory).
_MIN_FLAT_L2 = 8
#: Vectors of a line of such results.
_MIN_FLAT_VECTORS = 8
#: Size of a transposed A, in first-level caches, from which it is packed (where the third-level
#: cache is as far as memory).
_MIN_PACKED_L1 = 6
_MAX_FEW_ROWS = 40  # rows, or columns, of a run-time number that have a plan of their own
_MIN_UNITS = 4  # work units of a large product
#: Rows of a work unit, at least; and where a thread merges its units into one.
_LEAST_ROWS, _FEW_ROWS = 128, 2 * TALL_TILE_ROWS
#: The piece for the remaining columns of the last panel, and the number that they exceed.
Rest = tuple[Piece, int]


def plan(spec: GemmSpec, target: Target, *, long_epilogue: bool = False,
         policy: CompilePolicy = FAST_RUN) -> GemmPlan:
    """Plan a product for the vectors, cache sizes and vector registers of a target.

    ``long_epilogue`` says that the epilogue is much code (an ``exp``, say), so that it should be
    written out once for each panel and not once for each accumulator; a ``policy`` may request
    that in any case.

    >>> from agnesi.codegen.kernels.gemm import GemmSpec, plan
    >>> from agnesi.core.target import Target
    >>> chosen = plan(GemmSpec(60, 500, 784), Target(512))
    >>> chosen.form, chosen.pack_a, chosen.pack_b
    ('tile', False, False)
    """
    machine = machine_for(target, spec.itemsize, policy)
    if max(spec.zeros) >= MIN_ZERO_SHARE and (found := skipping(spec, machine)) is not None:
        return found
    swapped = _better_transposed(spec)
    if swapped:
        spec = spec.transposed()
    if is_static(spec.sizes[1:]) and is_static(spec.b_steps) and streams(spec, machine):
        return stream_plan(spec, swapped, machine)
    if _transposes_rows(spec, machine):
        spec, swapped = spec.transposed(), not swapped  # sums are stored one by one
    cost, tiles = _tile_plan(spec, swapped, machine, long_epilogue or policy.short_epilogues)
    dots = _dot_plan(spec, swapped, machine)
    chosen = dots[1] if dots is not None and dots[0] < cost else tiles
    few = _few_plan(chosen, machine) if policy.few_rows else None
    return replace(chosen, few=few) if few else chosen


def _few_plan(chosen: GemmPlan, machine: Machine) -> GemmPlan | None:
    """Return a plan with vectors along k for a small dynamic number of rows or columns, where tiles
    would pack all of B for few rows, or fill few lanes.
    """
    spec, swapped = chosen.spec, chosen.swapped
    open_rows, open_columns = (not is_static((n,)) for n in spec.sizes[1:3])
    transposed_b = chosen.pack_b and spec.b_strides[0] == 1 != spec.b_strides[1]
    if chosen.form != "tile" or open_rows == open_columns or not is_static(spec.sizes[3:]):
        return None
    first = chosen.panels[0]
    if open_rows and transposed_b:
        others = chosen.column_groups
        unit = first.rows.largest * chosen.chunk_tiles if chosen.cuts_rows else _MAX_FEW_ROWS
    elif open_columns:
        spec, swapped = spec.transposed(), not swapped
        others = chosen.row_chunks
        unit = first.columns * chosen.group_panels if chosen.cuts_columns else _MAX_FEW_ROWS
    else:
        return None
    most = min(_MAX_FEW_ROWS, unit)
    if 4 * (least(spec.sizes[1]) or 0) > most:
        return None  # there are hardly ever so few
    small = replace(machine, code=FAST_COMPILE.code_weight)
    found = _dot_plan(replace(spec, m=most), swapped, small, few=True)
    return found and replace(found[1], row_chunks=1, column_groups=others)


def _better_transposed(spec: GemmSpec) -> bool:
    """Return whether lanes should run along m: C is contiguous that way, or has one column."""
    if not is_static(spec.sizes[1:2]) and is_static(spec.sizes[2:3]):
        return False
    return spec.m > 1 and spec.c_strides[0] == 1 and (spec.n == 1 or spec.c_strides[1] != 1)


def _transposes_rows(spec: GemmSpec, machine: Machine) -> bool:
    """Return whether lanes run along rows, whose number is known, because columns are not
    contiguous.
    """
    open_columns = is_static(spec.sizes[1:2]) and not is_static(spec.sizes[2:3])
    if not open_columns or spec.b_strides[1] == 1 == spec.c_strides[1]:
        return False
    return _dot_plan(spec, False, machine) is None


def _tile_plan(
    spec: GemmSpec, swapped: bool, machine: Machine, long_epilogue: bool
) -> tuple[float, GemmPlan]:
    """Plan a product with lanes along columns, in register tiles or strips of rows; return its cost
    in cycles and the plan.
    """
    fixed = is_static(spec.sizes[1:])
    if fixed and _is_flat(spec, machine):
        return _flat_plan(spec, swapped, machine, long_epilogue)
    large = _is_large(spec, machine)
    beside = fixed and fits_beside(spec, machine, large)
    large = large and not beside
    far_b = fixed and not beside and _is_far_b(spec, machine)
    if far_b or (large and is_static(spec.sizes[1:3])):
        return _strip_plan(spec, swapped, machine, tall_tiles(spec, machine), large=True)
    if fixed and _is_tall(spec, machine):
        cost, chosen = _strip_plan(spec, swapped, machine, tall_tiles(spec, machine))
        return cost, replace(chosen, early=chosen.calls)
    blocks = blocks_for(spec, machine, beside, large)
    if blocks is None:
        return _strip_plan(spec, swapped, machine, tall_tiles(spec, machine), large=True)
    cut, k_block, pack_b = blocks.cut, blocks.k_block, blocks.pack_b
    chunks, groups = _units(spec, cut, blocks.pack_a, pack_b)
    if blocks.runs:
        chunks, groups = 1, max(2, min(8, _power(spec.n * spec.itemsize // _RUN_BYTES)))
    elif large:
        groups = -(-spec.n // _LARGE_COLUMNS)
        chunks = _chunks(spec, groups, _LARGE_ROWS, _LEAST_ROWS)
    pack_from = pack_from_rows(spec, cut) if pack_b and not large else 0
    chosen = GemmPlan(
        spec, swapped, "tile", machine.lanes,
        _opened(cut.panels, spec, [(cut.panels[0].pieces[-1], 0)]),
        chunks, groups, k_block, blocks.pack_a, pack_b,
        spill=spec.k >= _SPILL_FROM or long_epilogue,
        ahead=prefetched_lines(spec, machine, blocks, pack_from), beside=beside,
        calls=spec.m * spec.n * spec.itemsize >= machine.l2 and min(k_block, spec.k) >= _CALLS_FROM,
        pack_from=pack_from,
    )
    return cut.cost + (pack_cost(spec, machine) if pack_b else 0.0), chosen


def _strip_plan(
    spec: GemmSpec, swapped: bool, machine: Machine, cut: Cut, *, large: bool = False
) -> tuple[float, GemmPlan]:
    """Plan a product of a large A in strips of rows, along panels of B that stay in a cache.

    ``large``: panels over all of k do not fit into one.
    """
    by_panels = large and machine.wide_tiles and spec.a_strides[1] != 1  # A is packed anyway
    cuts = _cut_for_panels if by_panels else _cut_for_tiles
    k_block, groups, block_tiles = cuts(spec, machine, cut)
    whole = groups == 1 and spec.sizes[0] == 1
    rows = _STRIP_ROWS * (2 if machine.far_l3 else 1)
    chunks = _chunks(spec, groups, rows, _FEW_ROWS if whole else _LEAST_ROWS)
    merged = max(1, rows * chunks // spec.m) if whole else 1
    chosen = GemmPlan(
        spec,
        swapped,
        "strip",
        machine.lanes,
        cut.panels,
        chunks,
        groups,
        k_block,
        pack_a=spec.a_strides[1] != 1,
        pack_b=True,
        spill=True,
        ahead=near_lines(k_block, cut.panels[0].width, spec, machine),
        block_tiles=block_tiles,
        merged=merged,
        calls=spec.m * spec.n * spec.itemsize >= machine.l2,
    )
    return cut.cost + pack_cost(spec, machine), chosen


def _cut_for_tiles(spec: GemmSpec, machine: Machine, cut: Cut) -> tuple[int, int, int]:
    """Block of k, column groups and row tiles of a block where a tile of A is in the first-level
    cache, and all panels of B that pass by are in the second-level one.
    """
    panels, width = sum(p.count for p in cut.panels), max(p.width for p in cut.panels)
    longest = int(machine.l1 * _L1_SHARE) // (cut.panels[0].rows.largest * spec.itemsize)
    capacity = int(machine.l2 * _L2_SHARE) // (width * spec.itemsize)  # lines of panels in cache
    if machine.far_l3:  # where sums of blocks are, too
        capacity = int(machine.l2 * _FAR_L2_SHARE) // (width * spec.itemsize)
        k_block = cut_k(spec, longest if spec.a_strides[1] != 1 else _MAX_STRIP_K)
        return k_block, -(-panels // max(1, capacity // k_block)), 1
    one = capacity // panels // 16 * 16  # for which all panels stay near
    k_block = cut_k(spec, min(longest, one) if one >= _MIN_CACHED_K else longest)
    return k_block, -(-panels // max(1, capacity // k_block)), 1


def _cut_for_panels(spec: GemmSpec, machine: Machine, cut: Cut) -> tuple[int, int, int]:
    """Block of k, column groups and row tiles of a block where a panel of B is in the first-level
    cache, and the tiles of A that pass by are in the second-level one (Goto and van de Geijn,
    Anatomy of High-Performance Matrix Multiplication, 2008): a tile that is wider than high reads
    more of B than of A.
    """
    panels, width = sum(p.count for p in cut.panels), max(p.width for p in cut.panels)
    k_block = cut_k(spec, int(machine.l1 * _L1_PANEL_SHARE) // (width * spec.itemsize))
    tile_bytes = cut.panels[0].rows.largest * k_block * spec.itemsize
    groups = -(-spec.n // _LARGE_COLUMNS)
    if groups == 1 and 2 * spec.n > spec.m and panels > _MIN_UNITS:
        groups = 2  # A is packed once for a group, B once for a chunk of rows
    return k_block, groups, max(1, int(machine.l2 * _L2_TILES_SHARE) // tile_bytes)


def _flat_plan(
    spec: GemmSpec, swapped: bool, machine: Machine, long_epilogue: bool
) -> tuple[float, GemmPlan]:
    """Sums so short that most of the work is to read and write the result, line by line."""
    cut = best_tiles(replace(spec, a_direct=False), machine, same_rows=True)
    cost, chosen = _strip_plan(spec, swapped, machine, cut)
    return cost, replace(chosen, spill=long_epilogue, calls=True, early=True)


def _chunks(spec: GemmSpec, groups: int, rows: int, least: int) -> int:
    """Return the number of row chunks of about ``rows`` rows; more for want of work units, but with
    at least ``least`` rows each.
    """
    return max(-(-spec.m // rows), min(-(-_MIN_UNITS // groups), max(1, spec.m // least)))


def _opened(panels: tuple[Panel, ...], spec: GemmSpec, rests: Sequence[Rest]) -> tuple[Panel, ...]:
    """Panels whose rows and columns are as many as there are at run time."""
    m, n = spec.sizes[1:3]
    if isinstance(m, Extent):
        panels = tuple(replace(p, rows=OpenRows(p.rows.total, p.rows.tiles, m)) for p in panels)
    if not isinstance(n, Extent):
        return panels
    first = panels[0]
    full = OpenPanel(first.first, first.count, first.pieces, first.rows, n, first.columns)
    return full, *(replace(full, pieces=(piece,), rest=piece.active, above=above)
                   for piece, above in rests)


def _is_large(spec: GemmSpec, machine: Machine) -> bool:
    """Return whether A is large and contiguous along m: then every step along k is another cache
    line, or page, and A is packed tile by tile rather than read again for every panel.
    """
    if spec.a_strides[1] == 1:
        return False
    if machine.far_l3:
        return is_far(spec, machine, _MIN_PACKED_L1 * machine.l1)
    # Lines of A fall into the same few sets of the first-level cache.
    clash = spec.a_strides[1] * spec.itemsize % 1024 == 0
    return is_far(spec, machine, (2 if clash else 4) * machine.l2)


def _is_flat(spec: GemmSpec, machine: Machine) -> bool:
    """Return whether the result is large and k small, so that storing the result takes most of the
    time.
    """
    caches = 1 if machine.far_l3 else _MIN_FLAT_L2
    far = spec.m * spec.n * spec.itemsize >= caches * machine.l2
    wide = spec.n >= _MIN_FLAT_VECTORS * machine.lanes
    return far and wide and 0 < spec.k < _CALLS_FROM and spec.a_direct and spec.b_direct


def _is_tall(spec: GemmSpec, machine: Machine) -> bool:
    """Return whether whole rows of A are adjacent, so that tiles of them are prefetched one by one,
    and either there are many along a cached B, or the result is in memory.
    """
    depth = int(machine.l1 * _L1_SHARE) // (TALL_TILE_ROWS * spec.itemsize)  # of a tile in L1
    if not _CALLS_FROM <= spec.k == spec.a_strides[0] <= depth:
        return False
    columns = -(-spec.n // machine.lanes) * machine.lanes
    near = columns * spec.k * spec.itemsize <= machine.l2 * _L2_SHARE
    many = near and is_far(spec, machine, 4 * machine.l2)
    direct = spec.a_strides[1] == 1 and spec.a_direct and spec.b_direct
    large = min(spec.m, spec.n) >= 4 * machine.lanes
    return direct and (many or (large and spec.m * spec.n * spec.itemsize >= 4 * machine.l2))


def _is_far_b(spec: GemmSpec, machine: Machine) -> bool:
    """Return whether B comes from a third-level cache that is as far as memory: it is packed line
    by line, so that it is prefetched.
    """
    large = spec.n * spec.k * spec.itemsize >= machine.l2
    enough = min(spec.m, spec.n) >= 4 * machine.lanes
    direct = spec.a_direct and spec.b_direct and spec.b_strides[1] == 1
    return machine.far_l3 and large and enough and direct


def _power(value: int) -> int:
    """The largest power of two that is not larger."""
    return 1 << max(0, value.bit_length() - 1)


def _units(spec: GemmSpec, cut: Cut, pack_a: bool, pack_b: bool) -> tuple[int, int]:
    """Row chunks and column groups: enough for even shares, without packing anything twice."""
    if spec.m * spec.n * spec.k * spec.batch < 1 << 15:
        return 1, 1
    tiles, panels = row_tiles(cut), sum(p.count for p in cut.panels)
    wanted = max(1, -(-PRODUCT_UNITS // spec.batch))
    if pack_a:
        return min(tiles, max(1, spec.m // 128) if pack_b else wanted), 1
    groups = min(panels, wanted)
    if pack_b:  # by every chunk again, so let it have many rows
        wanted = min(wanted, groups * max(1, spec.m // 256))
    return _even(tiles, -(-wanted // groups)), groups


def _even(tiles: int, chunks: int) -> int:
    """About so many row chunks, and equal ones where a tile more or less would be felt."""
    if chunks >= tiles or tiles >= 8 * chunks:
        return min(tiles, chunks)
    return next(size for size in range(chunks, tiles + 1) if tiles % size == 0)


def _dot_plan(spec: GemmSpec, swapped: bool, machine: Machine, few: bool = False
              ) -> tuple[float, GemmPlan] | None:
    """Plan a product with vectors along k, and return its cost in cycles and the plan.

    None where vectors along k do not fit, or every panel would read an A that no cache holds.
    With ``few`` there are never more rows than ``spec.m``.
    """
    packed = _dot_packing(spec, machine, few)
    if packed is None:
        return None
    pack_a, pack_b = packed
    cut = best_dots(spec, machine, pack_a, pack_b)
    far = spec.m * spec.k * spec.itemsize > machine.l2 * 3 // 4
    if far and sum(p.count for p in cut.panels) > 1:
        return None  # every panel reads all of A again
    cost = cut.cost
    if pack_a:
        cost += line_cost(spec.m * spec.k, spec.a_strides)
    if pack_b:
        cost += line_cost(spec.n * spec.k, spec.b_strides[::-1])
    chunks, groups = _units(spec, cut, False, False)
    columns = range(1, cut.panels[0].columns)
    rests = [(Piece(0, 1 << (n - 1).bit_length(), n), n - 1) for n in columns]
    from_memory = not pack_b and spec.n * spec.k * spec.itemsize > machine.l2 // 4
    return cost, GemmPlan(
        spec, swapped, "dot", machine.lanes, _opened(cut.panels, spec, rests), chunks, groups,
        spec.k, pack_a, pack_b, False, ahead=int(from_memory),
    )


def _dot_packing(spec: GemmSpec, machine: Machine, few: bool) -> tuple[bool, bool] | None:
    """Return whether A and whether B is packed, so that vectors along k are contiguous in both.

    None where vectors are longer than k, both would have to be packed, or one that is too large
    for its part of the second-level cache, or whose size is only known at run time.
    """
    pack_a = not (spec.a_direct and spec.a_strides[1] == 1)
    pack_b = not (spec.b_direct and spec.b_strides[0] == 1)
    if machine.lanes < 4 or spec.k < machine.lanes or (pack_a and pack_b):
        return None
    static_m, static_n, static_k = (is_static((n,)) for n in spec.sizes[1:])
    cached = machine.l2 // 2 // spec.itemsize  # elements in half of the second-level cache
    if not pack_b and not pack_a:
        small = static_m and static_k and spec.m * spec.k <= cached
        # Many rows of A fall into the same few sets of the first-level cache.
        clash = spec.m >= 4 and spec.a_strides[0] * spec.itemsize % 1024 == 0
        return small and clash, False
    if pack_b:
        return (False, True) if static_n and static_k and spec.n * spec.k <= cached // 2 else None
    known = (static_m or few) and static_k
    rows_contiguous = spec.a_strides[1] == 1
    fits = spec.m * spec.k <= (cached if rows_contiguous else cached // 2)
    return (True, False) if known and fits else None
