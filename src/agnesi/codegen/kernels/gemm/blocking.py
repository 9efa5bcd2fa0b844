"""How register tiles go over a product: their size, the block of k, and what is packed."""

from __future__ import annotations

from agnesi.codegen.kernels.gemm.costs import (
    TALL_TILE_ROWS,
    Cut,
    best_tiles,
    lines_apart,
    open_tiles,
    tiles_of_runs,
)
from agnesi.codegen.kernels.gemm.gemm_plan import WHOLE_BLOCK
from agnesi.codegen.kernels.gemm.prefetched import (
    PREFETCH_LINES,
    capacity_beside,
    clashes,
    near_lines,
)
from agnesi.codegen.kernels.gemm.spec import GemmSpec
from agnesi.codegen.kernels.machine import Machine
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.extents import most
from agnesi.core.support.record import record, replace

_READ_TILES = 12  # tiles of rows, at most, that read B without packing
#: Rows of B processed together (twice as many if B is read only once): more would exceed the
#: streams that the hardware prefetches.
_RUN_LINES = 16
#: Rows of A, at most.
_MAX_RUN_ROWS = 80
#: Lines of B to prefetch where it comes from memory.
_RUN_PREFETCH_LINES = 4
_MIN_STRIP_K = 1024  # k from which A in whole lines goes in strips, although B would do
#: The longest block of k of a large A of dynamic sizes in the second-level cache.
_LARGE_K = 448


@record
class Blocks:
    """Register tiles, the block size along k, and which operands are packed.

    ``runs``: B is read in a few long lines at a time; ``beside``: tiles prefetch the next panel of
    B; ``width``: the widest panel first considered.
    """

    cut: Cut
    k_block: int
    pack_a: bool
    pack_b: bool
    width: int
    runs: bool = False
    beside: bool = False


def blocks_for(spec: GemmSpec, machine: Machine, beside: bool, large: bool) -> Blocks | None:
    """Return how register tiles go over a product; None where A is better cut in strips."""
    static, static_k = is_static(spec.sizes[1:3]), is_static(spec.sizes[3:])
    pack_a = not spec.a_direct
    cut = _cut(spec, machine, same_rows=pack_a or not static)
    width = max(p.width for p in cut.panels)
    several = row_tiles(cut) > 1
    if beside:  # as wide a block as fits into the cache beside the panel in use
        capacity = capacity_beside(machine) // (width * spec.itemsize)
        found = Blocks(cut, cut_k(spec, capacity) if several else spec.k, pack_a, False, width,
                        beside=True)
    else:
        k_block = _k_block(spec, machine, width) if several else spec.k
        if static and static_k and _is_long(spec, machine, k_block):
            return None
        found = Blocks(cut, k_block, pack_a, _packs_b(spec, machine, cut), width)
        if _in_runs(spec, machine, cut):
            found = _in_long_lines(spec, machine, found)
        elif large:
            block = -(-spec.k // -(-spec.k // _LARGE_K)) if static_k else _LARGE_K
            found = replace(found, k_block=block, pack_a=True, pack_b=True)
    if not static_k:
        packs = found.pack_a or found.pack_b
        found = replace(found, k_block=_open_block(spec, found.k_block, machine, width, packs))
    if found.k_block < spec.k and not (found.runs and static):
        again = _cut(replace(spec, a_direct=not found.pack_a), machine, same_rows=True)
        found = replace(found, cut=again)
    return found


def _in_long_lines(spec: GemmSpec, machine: Machine, found: Blocks) -> Blocks:
    """Return blocks that read as many rows of B at a time as the hardware prefetcher follows, each
    as one long stream from memory.
    """
    static = is_static(spec.sizes[1:3])
    cut = tiles_of_runs(spec, machine) if static else found.cut
    once = static and row_tiles(cut) == 1
    pack_a = static and lines_apart(spec, spec.a_strides) < cut.panels[0].rows.largest
    return replace(found, cut=cut, k_block=min(_RUN_LINES * (2 if once else 1), spec.k),
                   pack_a=pack_a, pack_b=clashes(spec) and not once, runs=True)


def prefetched_lines(spec: GemmSpec, machine: Machine, blocks: Blocks, pack_from: int) -> int:
    """Return how many lines of B ahead are prefetched."""
    if blocks.runs:
        return _RUN_PREFETCH_LINES
    few = pack_from > 0 or row_tiles(blocks.cut) <= 4
    if not blocks.beside and few and spec.n * spec.k * spec.itemsize > machine.l2:
        return PREFETCH_LINES
    return near_lines(blocks.k_block, blocks.width, spec, machine)


def _cut(spec: GemmSpec, machine: Machine, same_rows: bool) -> Cut:
    """The best register tiles of those that the sizes admit."""
    if not is_static(spec.sizes[2:3]):
        return open_tiles(spec, machine)
    return best_tiles(spec, machine, same_rows)


def row_tiles(cut: Cut) -> int:
    """Return the most tiles that the rows of a panel are divided into."""
    return max(p.rows.tiles for p in cut.panels)


def _packs_b(spec: GemmSpec, machine: Machine, cut: Cut) -> bool:
    """Return whether to pack panels of B: where it is contiguous along k, or several row tiles
    would read it with cache misses.
    """
    if spec.b_strides[0] == 1 != spec.b_strides[1]:
        return True
    if row_tiles(cut) == 1:
        return False
    return not (spec.b_direct and spec.b_strides[1] == 1 and _reads_well(spec, machine, cut))


def _reads_well(spec: GemmSpec, machine: Machine, cut: Cut) -> bool:
    """Return whether every row tile can read a panel of B in place."""
    if clashes(spec):
        return False
    size = spec.k * spec.b_strides[0] * spec.itemsize
    return row_tiles(cut) <= _READ_TILES or size <= machine.l2 // 2


def _in_runs(spec: GemmSpec, machine: Machine, cut: Cut) -> bool:
    """Return whether B is in memory and used little: it is read a few long lines at a time then.

    A third cache does not count: the rest of the program and other programs use it too.
    """
    large = spec.n * spec.k * spec.itemsize > 2 * machine.l2
    plain = spec.b_direct and spec.a_direct and spec.b_strides[1] == 1
    little = spec.m <= _MAX_RUN_ROWS if is_static(spec.sizes[1:2]) else row_tiles(cut) <= 8
    return large and plain and little and spec.n >= 8 * machine.lanes


def _is_long(spec: GemmSpec, machine: Machine, k_block: int) -> bool:
    """Return whether A is large and contiguous along k, whole tiles of it stay cached if it is cut,
    and so long that it pays.
    """
    if spec.k <= min(k_block, _MIN_STRIP_K):
        return False
    apart = lines_apart(spec, spec.a_strides) >= TALL_TILE_ROWS
    far = is_far(spec, machine, 4 * machine.l2)
    return far and spec.a_strides[1] == 1 and apart and spec.b_direct


def _open_block(spec: GemmSpec, k_block: int, machine: Machine, width: int, packs: bool) -> int:
    """Return the block of a k that is a run-time value: the workspace must do for all its values.
    """
    if k_block < spec.k:
        return k_block
    if not packs:
        return WHOLE_BLOCK
    limit, top = _k_block(replace(spec, k=WHOLE_BLOCK), machine, width), most(spec.sizes[3])
    return limit if top is None or top > limit else -(-top // 16) * 16


def _k_block(spec: GemmSpec, machine: Machine, width: int) -> int:
    """Cut k where a panel of B would fill half of the second-level cache."""
    limit = max(256, machine.l2 // 2 // (width * spec.itemsize))
    if spec.k <= limit:
        return spec.k
    if spec.k == WHOLE_BLOCK:
        return limit // 16 * 16
    return _even_block(spec.k, limit)


def _even_block(k: int, limit: int) -> int:
    """Return a block size that divides k about evenly, a multiple of 16."""
    return -(-k // -(-k // limit) // 16) * 16


def cut_k(spec: GemmSpec, limit: int) -> int:
    """The block of k: at most so long."""
    if is_static(spec.sizes[3:]):
        return min(spec.k, _even_block(spec.k, max(1, limit)))
    return max(16, limit // 16 * 16)


def is_far(spec: GemmSpec, machine: Machine, size: int) -> bool:
    """Return whether A in memory has ``size`` bytes, so that panels would read it from beyond a
    cache.
    """
    least = 4 * machine.lanes
    large = spec.m * spec.k * spec.itemsize >= size
    return large and spec.a_direct and spec.m >= least and spec.n >= least


def pack_from_rows(spec: GemmSpec, cut: Cut) -> int:
    """Return the number of rows from which panels of B are packed; 0 where that does not depend on
    a number that is known at run time only.
    """
    if is_static(spec.sizes[1:2]) or not (spec.b_direct and spec.b_strides[1] == 1):
        return 0
    tiles = 1 if clashes(spec) else _READ_TILES
    return tiles * cut.panels[0].rows.largest + 1
