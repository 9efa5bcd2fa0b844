"""What tiles prefetch of a B that is read in place, and plans of those that stream it once."""

from __future__ import annotations

from agnesi.codegen.kernels.gemm.gemm_plan import GemmPlan
from agnesi.codegen.kernels.gemm.spec import GemmSpec
from agnesi.codegen.kernels.machine import Machine
from agnesi.codegen.kernels.tiling import Panel, Rows, pieces_of

#: Lines of B to prefetch, by ordinary tiles, and from the second-level cache.
PREFETCH_LINES, _NEAR_PREFETCH_LINES = 12, 8
#: Share of the second-level cache for A and two panels of a B that is prefetched panel by panel,
#: and for a block of one panel.
_BESIDE_SHARE, _BESIDE_BLOCK_SHARE = 0.55, 1 / 16
#: Rows from which prefetches cost little beside the products.
_MIN_BESIDE_ROWS = 8
#: Work units to aim for, so that shares among threads are even.
PRODUCT_UNITS = 32


def clashes(spec: GemmSpec) -> bool:
    """Return whether lines of B fall into the same few sets of the first-level cache."""
    return spec.b_strides[0] * spec.itemsize % 1024 == 0 and spec.k > 16


def fits_beside(spec: GemmSpec, machine: Machine, transposed: bool) -> bool:
    """Return whether tiles prefetch the next panel of B: the third-level cache is far, A and
    two panels fit in the second-level one, a large A (``transposed``) in a quarter of it.
    """
    size = (spec.m + 4 * machine.lanes) * spec.k * spec.itemsize
    direct = spec.a_direct and spec.b_direct and spec.b_strides[1] == 1 and not clashes(spec)
    far = spec.n * spec.k * spec.itemsize > machine.l2 // 4
    enough = spec.m >= _MIN_BESIDE_ROWS
    if transposed and spec.m * spec.k * spec.itemsize > machine.l2 // 4:
        return False
    return machine.far_l3 and enough and direct and far and size <= machine.l2 * _BESIDE_SHARE


def capacity_beside(machine: Machine) -> int:
    """Bytes of a block of one panel of B that is prefetched panel by panel."""
    return int(machine.l2 * _BESIDE_BLOCK_SHARE)


def near_lines(k_block: int, width: int, spec: GemmSpec, machine: Machine) -> int:
    """Return how many lines of a panel of B to prefetch from the second-level cache, on processors
    whose own prefetchers are late.
    """
    near = k_block * min(width, spec.n) * spec.itemsize <= machine.l1 * 3 // 4
    return 0 if near or not machine.far_l3 else _NEAR_PREFETCH_LINES


def streams(spec: GemmSpec, machine: Machine) -> bool:
    """Return whether B, used a few times only, is too large for caches and contiguous along n."""
    large = spec.n * spec.k * spec.itemsize > max(4 * machine.l2, machine.l3 // 4)
    return spec.m <= 4 and large and spec.b_strides[1] == 1 and spec.n >= 4 * machine.lanes


def stream_plan(spec: GemmSpec, swapped: bool, machine: Machine) -> GemmPlan:
    """The plan where lines of B are read once."""
    rows, full = Rows(spec.m, 1), spec.n // machine.lanes
    panels = [Panel(0, full, pieces_of(machine.lanes, machine.lanes), rows)]
    if spec.n % machine.lanes:
        panels.append(Panel(full, 1, pieces_of(spec.n % machine.lanes, machine.lanes), rows))
    groups = min(PRODUCT_UNITS, sum(p.count for p in panels))
    return GemmPlan(
        spec,
        swapped,
        "stream",
        machine.lanes,
        tuple(panels),
        1,
        groups,
        spec.k,
        False,
        False,
        False,
    )
