"""Plans of depthwise convolutions: tiles of lines and pixels, with lanes along the channels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from agnesi.codegen.kernels.conv.dense import Dense, Span
from agnesi.codegen.kernels.conv.tile_plan import TilePlan, opened
from agnesi.codegen.kernels.conv.tiles import TileLoop
from agnesi.codegen.kernels.machine import Machine, unit_cycles
from agnesi.codegen.kernels.tile_search import (
    MAX_WORKSPACE_BYTES,
    TARGET_UNITS,
    heights,
    tally,
    whole_lines,
)
from agnesi.codegen.kernels.tiling import OpenRows, Panel, Piece, Rows, pieces_of
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.record import record, replace
from agnesi.core.target import SET_STRIDE_BYTES

_WRITTEN_OUT = 16  # taps up to which they are all written out in a tile
#: Each instruction of a tile counts as this share of the run time.
_INSTRUCTION_TIME_SHARE = 0.0001
#: Cycles to find where a position of a window is.
_EDGE_CYCLES = 0.4
#: Cycles around each tile.
_TILE_CYCLES = 25.0
#: Cache lines in one set that may be counted on.
_USABLE_WAYS = 3
#: Cache lines that cause no conflicts in any cache.
_UNCONTENDED_LINES = 20
#: Bytes of an entry of a table of addresses.
_ADDRESS_BYTES = 8


class Steps(NamedTuple):
    """Elements from one plane, line or pixel of a window to the next."""

    plane: Any
    line: Any
    pixel: Any


@record
class Window:
    """The part of the image that a tile of ``lines`` x ``columns`` results reads: planes of
    lines of pixels.

    Only lines and pixels that some tap may meet are counted; ``down`` and ``right`` are the
    positions of the source from one to the next.
    """

    dense: Dense
    lines: int
    columns: int

    @property
    def down(self) -> int:
        return _unit(self.dense.spans[1], self.lines)

    @property
    def right(self) -> int:
        return _unit(self.dense.spans[2], self.columns)

    @property
    def rows(self) -> int:
        return _reach(self.dense.spans[1], self.lines) // self.down + 1

    @property
    def pixels(self) -> int:
        return _reach(self.dense.spans[2], self.columns) // self.right + 1

    @property
    def pitch(self) -> int:
        """Entries of a line in a table of the window's positions: a vector of them."""
        return 1 << (self.pixels - 1).bit_length()

    @property
    def table(self) -> Steps:
        """Entries from one position to the next in such a table."""
        return Steps(self.rows * self.pitch, self.pitch, 1)

    @property
    def table_bytes(self) -> int:
        return self.dense.spans[0].taps * self.table.plane * _ADDRESS_BYTES

    @property
    def source(self) -> Steps:
        """Elements from one position to the next in the source."""
        plane, line, pixel = self.dense.source.strides[2:]
        return Steps(plane * self.dense.spans[0].step, line * self.down, pixel * self.right)


def _unit(span: Span, count: int) -> int:
    """Return the distance between the positions that ``count`` adjacent results read."""
    return span.step if count == 1 else math.gcd(span.stride, span.step)


def _reach(span: Span, count: int) -> int:
    return (count - 1) * span.stride + (span.taps - 1) * span.step


@record
class DepthwisePlan(TilePlan):
    """A depthwise convolution, or with ``weight`` its gradient to the filters, and how it is cut.

    ``dense`` has one group whose channels are the groups of the original.  A unit is a chunk of
    (image, plane, tile of lines), or with ``weight`` a run of vectors of channels.
    """

    registers: int
    weight: bool
    lines: Rows
    columns: Rows
    chunks: int
    spill: bool  # sums go through scratch to the epilogue
    ahead: bool  # lines are called into the second-level cache before they are read

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the channels: whole vectors, then the remainder."""
        return pieces_of(self.dense.groups, self.lanes)

    @property
    def emitter(self) -> str:
        return "depthwise:DepthwiseWeight" if self.weight else "depthwise:Depthwise"

    @property
    def units(self) -> int:
        return self.chunks

    @property
    def vectors(self) -> int:
        """Vectors of channels that are whole."""
        return self.dense.groups // self.lanes

    @property
    def pitch(self) -> int:
        """Elements of a packed tap."""
        return self.pieces[-1].offset + self.pieces[-1].lanes

    @property
    def taps(self) -> tuple[int, int]:
        """Lines and taps beside each other that are written out in a tile."""
        return written_out(self.dense)

    @property
    def outer(self) -> int:
        """Iterations of the loops over taps, each of which does the taps that are written out."""
        return self.dense.depth // math.prod(self.taps)

    @property
    def planes(self) -> int:
        """Planes of tiles of lines of an image."""
        return self.dense.spans[0].count * self.lines.tiles

    def windows(self) -> Iterator[Window]:
        """Yield the windows of all tile sizes."""
        for tall in self.heights:
            for wide in self.widths:
                yield Window(self.real, tall, wide)

    @property
    def heights(self) -> tuple[int, ...]:
        """Lines of tiles; where their number is a run-time value, the last has some for nothing."""
        return (self.lines.height,) if isinstance(self.lines, OpenRows) else self.lines.sizes

    @property
    def widths(self) -> tuple[int, ...]:
        """Pixels of a line in tiles."""
        columns = self.columns
        return (columns.height, *columns.tails) if isinstance(columns, OpenRows) else columns.sizes

    def nest(self, window: Window, steps: Steps) -> list[TileLoop]:
        """Loops over the taps that are not written out, in a window of such steps."""
        d, h, w = self.dense.spans
        tall, wide = self.taps
        return [TileLoop(d.taps, steps.plane, h.taps * w.taps * self.pitch),
                TileLoop(h.taps // tall, steps.line * (h.step // window.down), w.taps * self.pitch),
                TileLoop(w.taps // wide, steps.pixel * (w.step // window.right), self.pitch)]

    def uses(self, window: Window) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """Return which (tap, result) meet in each (line, pixel) of a window, for the taps written
        out.
        """
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        _, h, w = self.dense.spans
        tall, wide = self.taps
        for tap in range(tall * wide):
            for result in range(window.lines * window.columns):
                i, j = divmod(result, window.columns)
                y = i * h.stride + tap // wide * h.step
                x = j * w.stride + tap % wide * w.step
                at = (y // window.down, x // window.right)
                found.setdefault(at, []).append((tap, result))
        return dict(sorted(found.items()))

    @property
    def apart(self) -> int:
        """Return how many positions may have their cache lines in the first-level cache at once."""
        step = abs(self.dense.source.strides[4]) * self.itemsize
        sets = SET_STRIDE_BYTES // math.gcd(step, SET_STRIDE_BYTES)
        return max(_UNCONTENDED_LINES, _USABLE_WAYS * sets)

    @property
    def areas(self) -> tuple[int, ...]:
        """Bytes for the table of addresses, a line of zeros, the packed filters or the sums of
        their gradient, and the sums of a tile.
        """
        table = max(window.table_bytes for window in self.windows())
        sums = self.lines.largest * self.columns.largest * self.lanes if self.spill else 0
        return (whole_lines(table), whole_lines(self.pitch * self.itemsize),
                self.lines_for(self.dense.depth * self.pitch), whole_lines(sums * self.itemsize))


def written_out(dense: Dense) -> tuple[int, int]:
    """Lines and taps beside each other that a tile has side by side."""
    _, h, w = dense.spans
    if h.taps * w.taps <= _WRITTEN_OUT:
        return h.taps, w.taps
    return (1, w.taps) if w.taps <= _WRITTEN_OUT else (1, 1)


def plan_depthwise(dense: Dense, type_: str, machine: Machine, weight: bool,
                   long_epilogue: bool) -> DepthwisePlan | None:
    """The plan, if there is one filter for each channel and channels are adjacent."""
    other = dense.filters.group if weight else 1
    if not dense.single or dense.source.group != 1 or other != 1 or machine.lanes < 2:
        return None
    real, dense = dense, dense.typical
    size = dense.batch * dense.groups * math.prod(s.size for s in dense.spans)
    far = size * machine.itemsize > machine.l2 // 2
    plans = (
        DepthwisePlan(dense, real, type_, machine.lanes, machine.itemsize, machine.registers,
                      weight, lines, columns, 1, long_epilogue and not weight, far)
        for lines, columns in _tiles(dense, machine)
    )
    best = min(plans, key=_cost)
    if real.open:
        _, h, w = real.spans
        best = replace(best, lines=opened(best.lines, h.count),
                       columns=opened(best.columns, w.count))
    if best.scratch > 2 * MAX_WORKSPACE_BYTES:
        return None
    if dense.work < 1 << 17:
        return best
    return replace(best, chunks=_runs(len(best.pieces)) if weight
                   else min(TARGET_UNITS, dense.batch * best.planes))


def _runs(vectors: int) -> int:
    """Return into how many work units the vectors of channels are divided: two, or more where each
    still has 8 vectors.
    """
    return max(min(vectors, 2), min(TARGET_UNITS, vectors // 8))


def _tiles(dense: Dense, machine: Machine) -> Iterator[tuple[Rows, Rows]]:
    """Lines and columns of tiles whose sums leave some registers."""
    _, h, w = dense.spans
    most = machine.registers - 4
    deep = 4 if written_out(dense)[0] == h.taps else 1
    for lines in heights(h.count, min(deep, h.count)):
        for columns in heights(w.count, min(most // lines.largest, w.count)):
            yield lines, columns


def _cost(plan: DepthwisePlan) -> float:
    """Estimated cycles of an image."""
    taps, unit = math.prod(plan.taps), unit_cycles(plan.lanes, plan.itemsize)

    def tile(panel: Panel, tall: int, wide: int) -> tuple[float, int]:
        sums = tall * wide
        products = sums * taps
        positions = _positions_read(plan, 1, tall) * _positions_read(plan, 2, wide)
        kept = sums + taps + 2 <= plan.registers
        loads = positions + (sums if plan.weight else taps) if kept else positions + products
        crowd = (positions + sums) / plan.apart
        loads += round(positions * crowd * max(0.0, crowd - 1))
        ends = 2 * taps if plan.weight else 0
        cycles = plan.outer * _beside(products, loads + ends) + (not plan.weight) * 2 * sums
        around = _TILE_CYCLES + _EDGE_CYCLES * positions * plan.outer
        return len(panel.pieces) * (cycles * unit + 5) + around, products + loads + ends + sums

    total, code = tally((Panel(0, 1, plan.pieces, Rows(1, 1)),), plan.lines, plan.columns, tile)
    return total * (1 + _INSTRUCTION_TIME_SHARE * code * len({p[1:] for p in plan.pieces}))


def _positions_read(plan: DepthwisePlan, axis: int, count: int) -> int:
    """Return how many positions along an axis the unrolled taps of ``count`` results read."""
    span, taps = plan.dense.spans[axis], plan.taps[axis - 1]
    return len({n * span.stride + t * span.step for n in range(count) for t in range(taps)})


def _beside(products: int, loads: int) -> float:
    """Return the cycles of two kinds of instructions that overlap."""
    return max(products, loads) + 0.3 * min(products, loads)
