"""Units of register tiles: broadcast rows of A against vectors of B along n."""

from __future__ import annotations

from agnesi.codegen.kernels.gemm.microkernel import At, ReadRow, Source, sum_products, zeros
from agnesi.codegen.kernels.gemm.pack import copy_lines, copy_pieces, copy_transposed, neighbours
from agnesi.codegen.kernels.gemm.unit import Unit
from agnesi.codegen.kernels.tiling import OpenPanel, Panel
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.extents import guess
from agnesi.core.support.record import replace

#: Multiply-adds of a unit, from which it looks for signals: 8 ms.
_LONG_MULTIPLY_ADDS = 1 << 28


class TileUnit(Unit):
    """Packs what must be packed, then runs the register tile over rows and panels."""

    def emit(self) -> None:
        """Emit the unit, in one pass over k, or block by block with partial sums in the workspace.
        """
        b, plan = self.b, self.plan
        size = b.size(plan.spec.sizes[3])
        self.many = Value("true", "i1")
        if plan.pack_from:
            self.many = b.icmp("uge", b.size(plan.spec.sizes[1]), i64(plan.pack_from))
        self.first = self.last = Value("true", "i1")
        if not plan.blocked:
            self._block(i64(0), size)
            return
        self._clear_tile()
        with b.loop(i64(0), size, plan.k_block) as loop:
            left = b.sub(size, loop.index)
            self.first = b.icmp("eq", loop.index, i64(0))
            self.last = b.icmp("sle", left, i64(plan.k_block))
            self._block(loop.index, b.intrinsic("smin", left, i64(plan.k_block)))
            if self.operands.interrupted is not None and self._is_long():
                loop.until = self.operands.interrupted()

    def _is_long(self) -> bool:
        """Return whether a unit may take so long that it looks for signals between blocks of k."""
        work = product(self.plan.spec.sizes)
        return not isinstance(work, int) or work >= guess(self.plan.units) * _LONG_MULTIPLY_ADDS

    def _block(self, k: Value, count: Value) -> None:
        """Add the products of k .. k+count to all sums of the unit."""
        plan = self.plan
        if plan.pack_a:
            self._pack_a(k, count)
        for kind, panel in enumerate(plan.panels):
            with self._panels(panel) as index:
                if isinstance(panel, OpenPanel) and panel.rest:
                    panel = panel.cut(self.b)
                if plan.pack_b:
                    with self.b.when(self.many):
                        self._pack_b(panel, index, k, count)
                self._row_tiles(kind, panel, index, k, count)

    def _pack_a(self, k: Value, count: Value) -> None:
        """Pack the rows of A of this unit, in the order in which A is read fastest."""
        b, plan, load = self.b, self.plan, self.operands.a.load
        address = self.operands.a.address

        def at(b: Builder, i: Value, kk: Value) -> Value:
            assert address is not None
            return address(b, self.batch, b.add(self.row, i), b.add(k, kk))

        far = address is not None and plan.blocked
        if plan.spec.a_strides[1] == 1:
            copy_lines(
                b,
                self.type,
                self.rows,
                count,
                lambda b, i, kk, lanes, mask: load(
                    b, self.batch, b.add(self.row, i), b.add(k, kk), lanes, mask, "k"
                ),
                self.packed_a,
                plan.k_pitch,
                plan.lanes,
                at if far else None,
            )
        else:
            copy_lines(
                b,
                self.type,
                count,
                self.rows,
                lambda b, kk, i, lanes, mask: load(
                    b, self.batch, b.add(self.row, i), b.add(k, kk), lanes, mask, "m"
                ),
                self.packed_a,
                plan.chunk_rows,
                plan.lanes,
                (lambda b, kk, i: at(b, i, kk)) if far else None,
            )

    def _pack_b(self, panel: Panel, index: Value, k: Value, count: Value) -> None:
        """Pack a column panel, k by k, for either layout of B."""
        b, plan, operand, j = self.b, self.plan, self.operands.b, self._column(index)
        spec = plan.spec
        if spec.b_strides[0] == 1 != spec.b_strides[1]:
            copy_transposed(
                b,
                self.type,
                count,
                spec.k if is_static(spec.sizes[3:]) else None,
                panel.pieces,
                neighbours(operand, self.type, self.batch, (k, j), spec.b_steps[1], 0, "k"),
                self._packed_panel(index),
                panel.width,
            )
            return
        address = operand.address
        copy_pieces(
            b,
            self.type,
            count,
            panel.pieces,
            lambda b, kk, x, lanes, mask: operand.load(
                b, self.batch, b.add(k, kk), b.add(j, x), lanes, mask, "n"
            ),
            self._packed_panel(index),
            panel.width,
            (lambda b, kk, x: address(b, self.batch, b.add(k, kk), b.add(j, x)))
            if address is not None and plan.blocked else None,
        )

    def _tile(
        self, panel: Panel, size: int, index: Value, i: Value, k: Value, count: Value
    ) -> None:
        """Emit a register tile and the epilogue of its sums."""
        b, plan = self.b, self.plan
        j = self._column(index)
        sums = zeros(self.type, size, panel.pieces)
        address = self.sums
        if plan.calls and self.operands.call is not None:
            with b.when(self.last):
                then = b.add(j, i64(panel.columns)) if plan.early else j
                self.operands.call(b, self.batch, i, then, size, panel.columns)
        if plan.blocked:
            address = self._partial(index, b.sub(i, self.row), panel)
            start = b.select(self.first, self.zeros, address)
            sums = [b.load(v.type, at, self._align) for v, at in self._cells(panel, sums, start)]
            address = b.select(self.last, self.sums, address)
        sums = sum_products(
            b,
            self.type,
            size,
            panel.pieces,
            self._a(i, k, size),
            self._b(panel, index, k),
            i64(0),
            count,
            sums,
            plan.chains(panel, size),
            self._beside(panel, index, i, k, count),
            nonempty=is_static(plan.spec.sizes[3:]),
        )
        if not (plan.blocked or plan.spill):
            for r in range(size):
                line = sums[r * len(panel.pieces) : (r + 1) * len(panel.pieces)]
                self._epilogue(panel, b.add(i, i64(r)), j, line)
            return
        for value, at in self._cells(panel, sums, address):
            b.store(value, at, self._align)
        with b.when(self.last):
            self._finish(panel, i, j, i64(size), address)

    def _beside(self, panel: Panel, index: Value, i: Value, k: Value, count: Value) -> At | None:
        """Return the addresses to prefetch during a tile's products: its share of the next panel
        of B.
        """
        b, plan, address = self.b, self.plan, self.operands.b.address
        if not plan.beside or address is None:
            return None
        pieces, tiles = panel.pieces, panel.rows.tiles
        share = -(-len(pieces) // tiles)
        tile = b.op("udiv", i, i64(panel.rows.largest))
        first = b.intrinsic("smin", b.mul(tile, i64(share)), i64(len(pieces) - share))
        last = b.add(self._column(index), i64(panel.columns + plan.lanes - 1))
        last = b.add(last, b.mul(first, i64(plan.lanes)))
        return lambda b, kk: [address(b, self.batch, b.add(k, kk), b.add(last, i64(n * plan.lanes)))
                              for n in range(share)]

    @property
    def _align(self) -> int:
        return nbytes(self.type)

    def _cells(self, panel: Panel, sums: list[Value], address: Value) -> list[tuple[Value, Value]]:
        """The accumulators with their addresses in scratch."""
        cells = []
        for n, value in enumerate(sums):
            r, piece = n // len(panel.pieces), panel.pieces[n % len(panel.pieces)]
            at = i64(r * panel.width + piece.offset)
            cells.append((value, self.b.gep(self.type, address, at)))
        return cells

    def _a(self, i: Value, k: Value, size: int) -> Source:
        b, plan = self.b, self.plan
        if plan.pack_a:
            row_major = plan.spec.a_strides[1] == 1
            strides = (plan.k_pitch, 1) if row_major else (1, plan.chunk_rows)
            at = b.mul(b.sub(i, self.row), i64(strides[0]))
            return Source(b.gep(self.type, self.packed_a, at), strides[0], strides[1])
        address = self.operands.a.address
        assert address is not None, "a direct operand has an address"
        row_stride, step = plan.spec.a_steps
        return Source(address(b, self.batch, i, k), row_stride, step)

    def _packed_panel(self, index: Value) -> Value:
        """Return the address of a packed panel of B."""
        return self.packed_b

    def _b(self, panel: Panel, index: Value, k: Value) -> Source | ReadRow:
        plan, operand, j = self.plan, self.operands.b, self._column(index)
        packed = Source(self._packed_panel(index), 1, panel.width, ahead=plan.ahead)
        if plan.pack_b and not plan.pack_from:
            return packed
        if operand.address is not None and plan.spec.b_strides[1] == 1:
            at = operand.address(self.b, self.batch, k, j)
            there = Source(at, 1, plan.spec.b_steps[0], masked=True, ahead=plan.ahead)
            return there if not plan.pack_from else replace(
                there, pointer=self.b.select(self.many, packed.pointer, at),
                step=self.b.select(self.many, i64(packed.step), self.b.size(there.step)),
            )

        def read(b: Builder, step: Value) -> list[Value]:
            row = b.add(k, step)
            return [
                operand.load(b, self.batch, row, b.add(j, i64(p.offset)), p.lanes, p.mask, "n")
                for p in panel.pieces
            ]

        return read

    def _partial(self, index: Value, row: Value, panel: Panel) -> Value:
        """Return the address of a panel's partial sums, from this row of the chunk on."""
        b = self.b
        own = b.mul(b.sub(index, self.group_start), i64(self.plan.panel_elements))
        partial = b.gep("i8", self.zeros, i64(self.plan.tile_bytes))
        return b.gep(self.type, partial, b.add(own, b.mul(row, i64(panel.width))))

    def _clear_tile(self) -> None:
        """Return the zeros that the first block of k adds to, one per sum of the tile."""
        b, plan = self.b, self.plan
        self.zeros = b.gep("i8", self.sums, i64(plan.tile_bytes))
        zero = const(vector(self.type, plan.lanes), 0)
        with b.loop(i64(0), i64(plan.tile_bytes // plan.spec.itemsize), plan.lanes) as loop:
            b.store(zero, b.gep(self.type, self.zeros, loop.index), self._align)

    def _finish(self, panel: Panel, i: Value, j: Value, rows: Value, address: Value) -> None:
        """Hand finished sums from scratch to the epilogue, row after row."""
        b = self.b
        with b.loop(i64(0), rows) as loop:
            line = b.gep(self.type, address, b.mul(loop.index, i64(panel.width)))
            sums = [
                b.load(
                    vector(self.type, p.lanes), b.gep(self.type, line, i64(p.offset)), self._align
                )
                for p in panel.pieces
            ]
            self._epilogue(panel, b.add(i, loop.index), j, sums)
