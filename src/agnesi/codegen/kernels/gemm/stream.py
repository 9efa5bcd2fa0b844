"""Few rows times a large matrix: B is read once, in its order in memory.

Partial sums of a whole line of C stay in scratch while some lines of B at a time are added, so
that memory is read in long runs; a register tile would read short pieces of far lines.
"""

from __future__ import annotations

from agnesi.codegen.kernels.gemm.operands import lanes_from, load_strided
from agnesi.codegen.kernels.gemm.unit import Unit, share
from agnesi.codegen.kernels.tiling import Panel, Piece
from agnesi.codegen.llvm.builder import Value, const, i64, vector
from agnesi.codegen.llvm.instructions import multiply_add, prefetch
from agnesi.codegen.llvm.type_names import nbytes

_PREFETCH_LINES = 16  # lines of B that are under way from memory


class StreamUnit(Unit):
    """A work unit of all rows and a run of columns, a vector wide each."""

    def widen(self, begin: Value, end: Value) -> None:
        """Take all units [begin, end) as one, since longer runs read memory faster."""
        count, groups = self.plan.panel_count, self.plan.column_groups
        self.group_start = share(self.b, count, groups, begin)[0]
        self.group_stop = share(self.b, count, groups, end)[0]

    def emit(self) -> None:
        """Clear, add ``depth`` lines of B at a time, finish."""
        b, spec, depth = self.b, self.plan.spec, self.plan.depth
        zero = const(vector(self.type, self.plan.lanes), 0)
        with b.loop(i64(0), i64(self._pitch * spec.m), self.plan.lanes, nonempty=True) as at:
            b.store(zero, b.gep(self.type, self.sums, at.index), nbytes(self.type))
        whole = spec.k - spec.k % depth
        for start, stop, lines in ((0, whole, depth), (whole, spec.k, 1)):
            if start < stop:
                with b.loop(i64(start), i64(stop), lines, nonempty=True) as k:
                    self._add_lines(k.index, lines)
        for panel in self.plan.panels:
            with self._panels(panel) as index:
                self._finish(panel, index)

    @property
    def _pitch(self) -> int:
        return self.plan.panel_count * self.plan.lanes

    def _partial(self, index: Value, row: int) -> Value:
        at = self.b.mul(self.b.sub(index, self.group_start), i64(self.plan.lanes))
        return self.b.gep(self.type, self.sums, self.b.add(at, i64(row * self._pitch)))

    def _add_lines(self, k: Value, lines: int) -> None:
        b, plan, a = self.b, self.plan, self.operands.a
        rows = range(plan.spec.m)
        factors = [
            [
                b.splat(a.load(b, self.batch, i64(r), b.add(k, i64(d)), 1, None, "k"), plan.lanes)
                for d in range(lines)
            ]
            for r in rows
        ]
        for panel in plan.panels:
            piece = panel.pieces[0]
            with self._panels(panel) as index:
                vectors = self._read(k, self._column(index), lines, piece)
                for r in rows:
                    address, size = self._partial(index, r), nbytes(self.type)
                    total = b.load(vector(self.type, piece.lanes), address, size)
                    for factor, value in zip(factors[r], vectors, strict=True):
                        x = lanes_from(b, factor, 0, piece.lanes)
                        total = multiply_add(b, x, value, total)
                    b.store(total, address, nbytes(self.type))

    def _read(self, k: Value, j: Value, lines: int, piece: Piece) -> list[Value]:
        b, operand = self.b, self.operands.b
        if operand.address is None:
            return [
                operand.load(b, self.batch, b.add(k, i64(d)), j, piece.lanes, piece.mask, "n")
                for d in range(lines)
            ]
        line = b.gep(self.type, operand.address(b, self.batch, k, i64(0)), j)
        pitch = self.plan.spec.b_strides[0]
        addresses = [b.gep(self.type, line, i64(d * pitch)) for d in range(lines)]
        for d in range(lines):
            prefetch(b, b.gep(self.type, line, i64((d + _PREFETCH_LINES) * pitch)), near=False)
        return [load_strided(b, p, self.type, 1, piece.lanes, piece.mask) for p in addresses]

    def _finish(self, panel: Panel, index: Value) -> None:
        for r in range(self.plan.spec.m):
            type_ = vector(self.type, panel.pieces[0].lanes)
            total = self.b.load(type_, self._partial(index, r), nbytes(self.type))
            self._epilogue(panel, i64(r), self._column(index), [total])
