"""Plans of products that skip zero elements of A: where that pays, panels and blocks."""

from __future__ import annotations

from agnesi.codegen.kernels.gemm.gemm_plan import GemmPlan
from agnesi.codegen.kernels.gemm.spec import GemmSpec
from agnesi.codegen.kernels.machine import Machine
from agnesi.codegen.kernels.tiling import Panel, Rows, pieces_of
from agnesi.core.ir.dims import is_static

#: Share of zeros from which fewer products outweigh a load for each of them.
MIN_ZERO_SHARE = 0.2
#: By how much more, divided by the rows: for few rows blocks of B are copied.
_COPY_ZERO_SHARE_ROWS = 6
#: Vectors of a panel.
_PANEL_VECTORS = 8
#: Lines of B in a block, at most: the bits of a mask.
_MAX_BLOCK_LINES = 64
#: Lines transposed at a time; only the last block has a remainder.
_TRANSPOSED_LINES = 4
#: Share of the first-level cache for a block of B.
_L1_SHARE = 0.8
#: Share of the second-level cache for a panel's sums.
_L2_SHARE = 0.6
_LEAST_ROWS, _LEAST_K, _LEAST_WORK = 64, 128, 1 << 24
#: Bytes of A that are packed along k at once, at most.
_MAX_TRANSPOSED_BYTES = 2 << 20


def skipping(spec: GemmSpec, machine: Machine) -> GemmPlan | None:
    """The plan for an operand with many zeros as A, where it pays."""
    swapped = spec.zeros[1] > spec.zeros[0]
    if swapped:
        spec = spec.transposed()
    if not _fits(spec, machine):
        return None
    columns = _PANEL_VECTORS * machine.lanes
    line = columns * spec.itemsize
    capacity = int(machine.l2 * _L2_SHARE) // line
    if spec.a_strides[1] != 1:
        capacity = min(capacity, _MAX_TRANSPOSED_BYTES // (spec.k * spec.itemsize))
    chunks = _chunks(spec.m, max(1, capacity))
    if not chunks:
        return None
    limit = min(_MAX_BLOCK_LINES, int(machine.l1 * _L1_SHARE) // line)
    rows, (full, rest) = Rows(spec.m, chunks), divmod(spec.n, columns)
    panels = [Panel(0, full, pieces_of(columns, machine.lanes), rows)]
    if rest:
        panels.append(Panel(full, 1, pieces_of(rest, machine.lanes), rows))
    return GemmPlan(
        spec,
        swapped,
        "skip",
        machine.lanes,
        tuple(panels),
        chunks,
        full + bool(rest),
        _block(spec.k, limit),
        pack_a=spec.a_strides[1] != 1,
        pack_b=True,
        spill=False,
        abreast=2 if machine.registers > 3 * _PANEL_VECTORS else 1,
    )


def _fits(spec: GemmSpec, machine: Machine) -> bool:
    """Return whether an operand is large, in memory, and has a layout whose zeros can be skipped.
    """
    sizes = (*spec.sizes, *spec.a_steps, *spec.b_steps)
    large = (
        spec.m >= _LEAST_ROWS and spec.k >= _LEAST_K and spec.n >= _PANEL_VECTORS * machine.lanes
    )
    in_memory = spec.a_direct and spec.b_direct and spec.dtype in ("float32", "float64")
    if not (large and in_memory and is_static(sizes) and machine.lanes >= 4):
        return False
    many = spec.zeros[0] >= MIN_ZERO_SHARE + _COPY_ZERO_SHARE_ROWS / spec.m
    contiguous = all(1 in strides for strides in (spec.a_strides, spec.b_strides, spec.c_strides))
    return many and contiguous and spec.m * spec.n * spec.k >= _LEAST_WORK


def _chunks(rows: int, capacity: int) -> int:
    """Return the number of equal chunks of at most ``capacity`` rows, whose sums stay in the cache;
    0 if there is none.
    """
    least = -(-rows // capacity)
    return next((c for c in range(least, 2 * least + 1) if rows % c == 0), 0)


def _block(k: int, limit: int) -> int:
    """Return a block size along k that divides k evenly, if there is one within 3/4 of the limit;
    else the limit, rounded down to a multiple of 16.
    """
    most = limit // _TRANSPOSED_LINES * _TRANSPOSED_LINES
    even = (size for size in range(most, limit * 3 // 4, -_TRANSPOSED_LINES) if k % size == 0)
    return next(even, limit // 16 * 16)
