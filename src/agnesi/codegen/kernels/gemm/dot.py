"""Products whose operands both run along k: vectors along k, summed across lanes at the end."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.kernels.gemm.operands import lanes_from, load_strided
from agnesi.codegen.kernels.gemm.pack import zip_orders
from agnesi.codegen.kernels.gemm.unit import Unit
from agnesi.codegen.kernels.tiling import OpenRows, Panel
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, is_float, scalar, vector, width
from agnesi.codegen.llvm.builder import lanes as lanes_of
from agnesi.codegen.llvm.instructions import multiply_add, prefetch
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import is_static
from agnesi.core.support.record import record


@record
class _Lines:
    """An operand as lines along k: where line 0 of a tile starts, and how far lines are apart."""

    pointer: Value
    pitch: Any


class DotUnit(Unit):
    """A work unit whose accumulators are vectors of partial sums, one for each element of C."""

    def prepare(self) -> None:
        """Pack a small operand along k, whole; done once for each batch member."""
        spec = self.plan.spec
        if self.plan.pack_a:
            self._lay_out(self.operands.a, i64(0), spec.sizes[1], 0, self.packed_a)
        if self.plan.pack_b:
            self._lay_out(self.operands.b, i64(0), spec.n, 1, self.packed_b)

    def emit(self) -> None:
        """All panels of the unit."""
        for kind, panel in enumerate(self.plan.panels):
            with self._panels(panel) as index:
                self._row_tiles(kind, panel, index, i64(0), self.b.size(self.plan.spec.sizes[3]))

    def _tile(
        self, panel: Panel, size: int, index: Value, i: Value, k: Value, count: Value
    ) -> None:
        """Rows times columns accumulators, then their sums, row by row, to the epilogue."""
        b, plan, j = self.b, self.plan, self._column(index)
        piece = panel.pieces[0]
        self.beside = self._beside(panel, i, j)
        sums = self._sum(size, piece.active, self._a_lines(i), self._b_lines(j))
        if b.module.policy.short_epilogues and size > 1:
            self._row_by_row(panel, sums, i, j)
            return
        empty = const(sums[0].type, 0)
        cells = []
        for r in range(size):
            cells += sums[r * piece.active : (r + 1) * piece.active]
            cells += [empty] * (piece.lanes - piece.active)
        whole = max(piece.lanes, plan.lanes // piece.lanes * piece.lanes)
        for at in range(0, len(cells), whole):
            some = cells[at : at + whole]
            folded = _fold_padded(b, some)
            for n in range(0, min(len(cells) - at, whole), piece.lanes):
                value = lanes_from(b, folded, n, piece.lanes)
                row = (at + n) // piece.lanes
                self._epilogue(panel, b.add(i, i64(row)), j, [value])

    def _row_by_row(self, panel: Panel, sums: list[Value], i: Value, j: Value) -> None:
        """Reduce the accumulators of a tile to its sums by way of the stack, in a loop over rows: a
        third of the code that shuffles of all accumulators would be.
        """
        b, type_, piece = self.b, sums[0].type, panel.pieces[0]
        columns = piece.active
        stack = b.alloca(type_, len(sums))
        for n, value in enumerate(sums):
            b.store(value, b.gep(type_, stack, i64(n)))
        with b.loop(i64(0), i64(len(sums) // columns), nonempty=True) as row:
            at = b.gep(type_, stack, b.mul(row.index, i64(columns)))
            line = [b.load(type_, b.gep(type_, at, i64(n))) for n in range(columns)]
            line += [const(type_, 0)] * (piece.lanes - columns)
            value = lanes_from(b, _fold_padded(b, line), 0, piece.lanes)
            self._epilogue(panel, b.add(i, row.index), j, [value])

    def _beside(self, panel: Panel, i: Value, j: Value) -> list[Value]:
        """Return the addresses to prefetch during a tile: its share of the next panel's columns."""
        b, plan, rows = self.b, self.plan, panel.rows
        if not plan.ahead or isinstance(rows, OpenRows) or rows.tiles == 1:
            return []
        assert self.operands.b.address is not None
        share = -(-panel.columns // rows.tiles)
        tile = b.op("udiv", i, i64(rows.largest))
        first = b.add(b.add(j, i64(panel.columns)), b.mul(tile, i64(share)))
        columns = (b.add(first, i64(n)) for n in range(share))
        return [self.operands.b.address(b, self.batch, i64(0), column) for column in columns]

    def _a_lines(self, i: Value) -> _Lines:
        plan = self.plan
        if plan.pack_a:
            at = self.b.mul(i, i64(plan.k_pitch))
            return _Lines(self.b.gep(self.type, self.packed_a, at), plan.k_pitch)
        assert self.operands.a.address is not None
        at = self.operands.a.address(self.b, self.batch, i, i64(0))
        return _Lines(at, plan.spec.a_steps[0])

    def _b_lines(self, j: Value) -> _Lines:
        plan = self.plan
        if plan.pack_b:
            at = self.b.mul(j, i64(plan.k_pitch))
            return _Lines(self.b.gep(self.type, self.packed_b, at), plan.k_pitch)
        assert self.operands.b.address is not None
        at = self.operands.b.address(self.b, self.batch, i64(0), j)
        return _Lines(at, plan.spec.b_steps[1])

    def _sum(self, rows: int, columns: int, x: _Lines, y: _Lines) -> list[Value]:
        """Vectors of partial sums of all products along k."""
        lanes, k = self.plan.lanes, self.plan.spec.k
        if not is_static(self.plan.spec.sizes[3:]):
            return self._open_sum(rows, columns, x, y)
        chains = max(1, min(4, 4 // (rows * columns), k // lanes))
        step = lanes * chains
        zero = const(vector(self.type, lanes), 0)
        sums = [zero] * (rows * columns)
        at = 0
        if k >= step:
            at = k - k % step
            wide = self._loop(rows, columns, x, y, i64(at), chains, sums * chains)
            sums = self._joined(wide, chains)
        while at < k:
            sums = self._step(rows, columns, x, y, i64(at), self._mask(min(lanes, k - at)), sums)
            at += lanes
        return sums

    def _open_sum(self, rows: int, columns: int, x: _Lines, y: _Lines) -> list[Value]:
        """Vectors of partial sums of all products along a k that is known at run time."""
        b, lanes, k = self.b, self.plan.lanes, self.b.size(self.plan.spec.sizes[3])
        chains = max(1, 4 // (rows * columns))
        zero = const(vector(self.type, lanes), 0)
        whole = b.sub(k, b.op("urem", k, i64(lanes * chains)))
        wide = self._loop(rows, columns, x, y, whole, chains, [zero] * (rows * columns * chains))
        with b.loop(whole, k, lanes, self._joined(wide, chains)) as loop:
            left = b.splat(b.sub(k, loop.index), lanes)
            mask = b.icmp("ult", lanes_of(vector("i64", lanes), range(lanes)), left)
            loop.carry(*self._step(rows, columns, x, y, loop.index, mask, loop.carried))
        return loop.results

    def _joined(self, wide: list[Value], chains: int) -> list[Value]:
        """The sums of all chains, added in order."""
        size = len(wide) // chains
        sums = wide[:size]
        for chain in range(1, chains):
            part = wide[chain * size : (chain + 1) * size]
            sums = [_add(self.b, s, p) for s, p in zip(sums, part, strict=True)]
        return sums

    def _mask(self, active: int) -> Value | None:
        lanes = self.plan.lanes
        if active == lanes:
            return None
        return lanes_of(vector("i1", lanes), [n < active for n in range(lanes)])

    def _loop(self, rows: int, columns: int, x: _Lines, y: _Lines, stop: Value, chains: int,
              sums: list[Value]) -> list[Value]:
        b, lanes, size = self.b, self.plan.lanes, len(sums) // chains
        with b.loop(i64(0), stop, lanes * chains, sums, nonempty=stop.ref.isdigit()) as loop:
            new: list[Value] = []
            for column in self.beside:
                prefetch(b, b.gep(self.type, column, loop.index), near=False)
            for chain in range(chains):
                k = b.add(loop.index, i64(chain * lanes)) if chain else loop.index
                mine = loop.carried[chain * size : (chain + 1) * size]
                new += self._step(rows, columns, x, y, k, None, mine)
            loop.carry(*new)
        return loop.results

    def _step(self, rows: int, columns: int, x: _Lines, y: _Lines, k: Value, mask: Value | None,
              sums: list[Value]) -> list[Value]:
        """Multiply one vector of every line, pairwise."""
        b, lanes = self.b, self.plan.lanes

        def read(lines: _Lines, count: int) -> list[Value]:
            at = b.gep(self.type, lines.pointer, k)
            addresses = (b.gep(self.type, at, b.size(n * lines.pitch)) for n in range(count))
            return [load_strided(b, p, self.type, 1, lanes, mask) for p in addresses]

        left, right = read(x, rows), read(y, columns)
        return [
            multiply_add(b, p, q, sums[r * columns + c])
            for r, p in enumerate(left)
            for c, q in enumerate(right)
        ]


def _fold_padded(b: Builder, vectors: list[Value]) -> Value:
    """The sums of so many vectors as a power of two, or fewer."""
    empty = const(vectors[0].type, 0)
    return fold(b, [*vectors, *[empty] * (-len(vectors) % (1 << (len(vectors) - 1).bit_length()))])


def fold(b: Builder, vectors: list[Value]) -> Value:
    """Sum each vector across its lanes: lane ``n`` of the result is the sum of vector ``n``.

    The number of vectors is a power of two and at most that of lanes.  Pairs are zipped and
    added, first element by element inside of 128-bit lanes, then by whole 128-bit lanes: cheap
    shuffles on every machine.
    """
    type_, count = vectors[0].type, len(vectors)
    lanes = width(type_)
    group = min(lanes, 16 // nbytes(scalar(type_)))
    inner = min(group, count)
    near, far = zip_orders(lanes, group), zip_orders(lanes, lanes, group)
    total = _halve(
        b, [_halve(b, vectors[n : n + inner], near) for n in range(0, count, inner)], far
    )
    while width(total.type) > count:
        half = width(total.type) // 2
        total = _add(b, lanes_from(b, total, 0, half), lanes_from(b, total, half, half))
    return total


def _halve(b: Builder, vectors: list[Value], orders: tuple[list[int], list[int]]) -> Value:
    """Reduce several vectors of sums to one by pairwise shuffles and additions."""
    low, high = orders
    empty = const(vectors[0].type, 0)
    while len(vectors) > 1:
        half = len(vectors) // 2
        vectors = [
            p if p == q == empty else _add(b, b.shuffle(p, q, low), b.shuffle(p, q, high))
            for p, q in zip(vectors[:half], vectors[half:], strict=True)
        ]
    return vectors[0]


def _add(b: Builder, x: Value, y: Value) -> Value:
    return b.fadd(x, y) if is_float(x.type) else b.add(x, y)
