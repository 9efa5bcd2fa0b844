"""A work unit of a product: its panels and row tiles, and the loops over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agnesi.codegen.kernels.gemm.gemm_plan import GemmPlan
from agnesi.codegen.kernels.gemm.operands import Operand, Operands
from agnesi.codegen.kernels.gemm.pack import copy_lines, copy_transposed, neighbours
from agnesi.codegen.kernels.tiling import OpenPanel, OpenRows, Panel, Rows, pieces_of
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import surely


def share(b: Builder, total: Size | Value, parts: int | Value, part: Value) -> tuple[Value, Value]:
    """Return the begin and end of share ``part`` of ``total`` items cut into ``parts``."""
    count, by = b.size(total), b.size(parts)
    if by.ref == "1":
        return i64(0), count
    if count == by:
        return part, b.add(part, i64(1))
    low = b.op("udiv", b.mul(part, count), by)
    high = b.op("udiv", b.mul(b.add(part, i64(1)), count), by)
    return low, high


def _slice(b: Builder, part: Value, size: int, total: Size) -> tuple[Value, Value]:
    """Return the bounds [low, high) of block ``part`` of ``size`` elements; the last block may be
    shorter."""
    low = b.mul(part, i64(size))
    return low, b.intrinsic("smin", b.add(low, i64(size)), b.size(total))


#: Products of an element from which each panel of open rows looks for signals.
_LONG_LINES = 256


class Unit:
    """A chunk of row tiles and a group of column panels of one batch member."""

    def __init__(self, b: Builder, plan: GemmPlan, operands: Operands, scratch: Value, batch: Value,
                 chunk: Value, group: Value) -> None:
        self.b, self.plan, self.operands, self.batch = b, plan, operands, batch
        self.type = plan.spec.type
        self.packed_a = scratch
        self.packed_b = b.gep("i8", scratch, i64(plan.a_bytes))
        self.sums = b.gep("i8", scratch, i64(plan.a_bytes + plan.b_bytes))
        self.group_start, self.group_stop = self._panels_of(group)
        self.tiles = [self._share_of(p.rows, chunk) for p in plan.panels]
        first = plan.panels[0].rows
        self.row = first.start(b, self.tiles[0][0])
        self.rows = b.sub(first.start(b, self.tiles[0][1]), self.row)

    def _share_of(self, rows: Rows, chunk: Value) -> tuple[Value, Value]:
        """The row tiles of this unit: where they begin and end."""
        b, plan = self.b, self.plan
        if not isinstance(rows, OpenRows):
            return share(b, rows.tiles, plan.row_chunks, chunk)
        if not plan.cuts_rows:
            return i64(0), b.size(rows.count)
        return _slice(b, chunk, plan.chunk_tiles, rows.count)

    def _panels_of(self, group: Value) -> tuple[Value, Value]:
        """The column panels of this unit: where they begin and end."""
        b, plan = self.b, self.plan
        if not plan.cuts_columns:
            return share(b, plan.panel_count, plan.column_groups, group)
        return _slice(b, group, plan.group_panels, plan.panel_count)

    def prepare(self) -> None:
        """Emit what is done once for each member of the batch."""

    def _lay_out(
        self, operand: Operand, first: Value, lines: Size, axis: int, target: Value
    ) -> None:
        """Pack lines of an operand as ``target[line][k]``; a line is a row (axis 0) or a column
        (axis 1).
        """
        plan, count = self.plan, self.b.size(lines)
        spec = plan.spec
        strides = (spec.a_strides, spec.b_strides)[axis]
        along_k = (spec.a_steps, spec.b_steps)[axis][1 - axis]
        if strides[axis] == 1 != strides[1 - axis]:
            origin = (first, i64(0)) if axis == 0 else (i64(0), first)
            along = neighbours(operand, self.type, self.batch, origin, along_k, axis, "mn"[axis])
            pieces = pieces_of(plan.spec.k, plan.lanes)
            tail = lines if isinstance(lines, int) else None
            copy_transposed(self.b, self.type, count, tail, pieces, along, target, plan.k_pitch)
            return

        def read(b: Builder, line: Value, k: Value, lanes: int, mask: Value | None) -> Value:
            line = b.add(first, line)
            index = (line, k) if axis == 0 else (k, line)
            return operand.load(b, self.batch, *index, lanes, mask, "k")

        copy_lines(
            self.b,
            self.type,
            count,
            i64(plan.spec.k),
            read,
            target,
            plan.k_pitch,
            plan.lanes,
        )

    def emit(self) -> None:
        """Emit the code of one work unit."""
        raise NotImplementedError

    def _tile(
        self, panel: Panel, size: int, index: Value, i: Value, k: Value, count: Value
    ) -> None:
        """Emit a register tile of ``size`` rows: its products for k .. k+count, and their end."""
        raise NotImplementedError

    @contextmanager
    def _panels(self, panel: Panel) -> Iterator[Value]:
        """Loop over the panels of this kind that belong to the unit."""
        b = self.b
        start, stop = self.group_start, self.group_stop
        if isinstance(panel, OpenPanel) and panel.rest:
            past = b.sub(b.size(panel.total % panel.full), i64(panel.above + 1))
            with b.when(b.icmp("ult", past, i64(panel.rest - panel.above))):
                start = b.intrinsic("smax", start, b.size(panel.total // panel.full))
                with b.loop(start, stop) as loop:
                    yield loop.index
            return
        if isinstance(panel, OpenPanel):
            stop = b.intrinsic("smin", stop, b.size(panel.total // panel.full))
        else:
            start, stop = self.plan.those(b, panel, start, stop)
        with b.loop(start, stop) as loop:
            yield loop.index
            if isinstance(panel.rows, OpenRows) and self.operands.interrupted is not None and (
                    surely(lambda: self.plan.spec.sizes[3] >= _LONG_LINES)):
                loop.until = self.operands.interrupted()

    def _column(self, index: Value) -> Value:
        return self.b.mul(index, i64(self.plan.panel_columns))

    def _row_tiles(self, kind: int, panel: Panel, index: Value, k: Value, count: Value) -> None:
        b, rows = self.b, panel.rows
        low, high = self.tiles[kind]
        if isinstance(rows, OpenRows):
            self._open_tiles(kind, panel, rows, index, k, count)
            return
        if rows.big:
            with b.loop(low, b.intrinsic("smin", high, i64(rows.big))) as tile:
                self._tile(panel, rows.small_size + 1, index, rows.start(b, tile.index), k, count)
            low = b.intrinsic("smax", low, i64(rows.big))
        with b.loop(low, high) as tile:
            self._tile(panel, rows.small_size, index, rows.start(b, tile.index), k, count)

    def _open_tiles(self, kind: int, panel: Panel, rows: OpenRows, index: Value, k: Value,
                    count: Value) -> None:
        """Emit whole tiles, then the remaining rows in tiles of fewer rows."""
        b = self.b
        low, high = self.tiles[kind]
        whole = b.size(rows.whole)
        with b.loop(low, b.intrinsic("smin", high, whole)) as tile:
            self._tile(panel, rows.height, index, rows.start(b, tile.index), k, count)
        if not rows.parts:
            return
        with b.when(b.icmp("sgt", high, whole)):
            first, rest = rows.start(b, whole), b.size(rows.rest)
            for size in rows.parts:
                part = b.op("and", rest, i64(max(size, 3)))
                with b.when(b.icmp("eq", part, i64(size))):
                    self._tile(panel, size, index, first, k, count)
                first = b.add(first, part) if size > 3 else first

    def _epilogue(self, panel: Panel, i: Value, j: Value, line: list[Value]) -> None:
        b = self.b
        for piece, value in zip(panel.pieces, line, strict=True):
            at = b.add(j, i64(piece.offset))
            self.operands.epilogue(b, value, self.batch, i, at, piece.lanes, piece.mask, "n")
