"""Blocked transposition: nests whose reads run across the order of their stores.

Lanes run along what is written.  What is the other way round in memory would be gathered, an
element at a time.  Instead squares of it are read row by row, transposed in registers, and kept
in a block close by, of which the nest then reads rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.codegen.llvm.builder import Builder, Value, i64, vector
from agnesi.codegen.llvm.outlining import apart
from agnesi.codegen.llvm.register_tiles import transposed
from agnesi.codegen.loops.evaluate import ROW, Scope, memory_type
from agnesi.codegen.loops.slp_stores import store_all
from agnesi.core.ir.extents import guess, is_some
from agnesi.core.ir.kernels import Buffer, axes_in
from agnesi.core.ir.loops import ITEM_BYTES, Affine, Axis, Expr, fresh_axes, load
from agnesi.core.ir.mapping import BLOCK_ELEMENTS, reads_across

#: Elements of a block across the lanes, at most.
_MAX_ACROSS_ELEMENTS = 64
#: Rows of the squares that are transposed in registers.
_SQUARE_ROWS = 8
#: Bytes of one of them, at most, where a row has more.
_MAX_SQUARE_ROW_BYTES = 16


def emit_transposed(nest: Any, scope: Scope, begin: Value, end: Value) -> None:
    """Emit work units [begin, end) of a nest with an axis across the lanes."""
    plan, b = nest.plan, nest.b
    span = (i64(0), b.size(plan.across.extent))
    rest = [a for a in plan.outer if a is not plan.across]
    if plan.outer[0] is plan.across:
        _level(nest, scope, rest, None, (begin, end))
    else:
        _level(nest, scope, rest, (begin, end), span)


def _level(nest: Any, scope: Scope, rest: Sequence[Axis], span: tuple[Value, Value] | None,
           across: tuple[Value, Value]) -> None:
    """Emit the loops around the two blocked axes of a nest, with the blocks inside."""
    if not rest:
        _blocks(nest, scope, across)
        return
    inner = scope.inside({})
    scope.hoist(_values(nest), {*rest, nest.plan.across, nest.plan.along}, inner)
    start, stop = span or (i64(0), nest.b.size(rest[0].extent))
    some = span is None and is_some(rest[0].extent)
    with nest.b.loop(start, stop, 1, nonempty=some) as loop:
        inner.axes[rest[0]] = loop.index
        _level(nest, inner, rest[1:], None, across)


def _values(nest: Any) -> list[Expr]:
    return [s.value for s in nest.stores]


def _blocks(nest: Any, scope: Scope, across: tuple[Value, Value]) -> None:
    """Emit the loops over blocks of both axes."""
    b, plan = nest.b, nest.plan
    first_across, first_along = fresh_axes((1, 1), axes_in(nest.stores))  # where a block begins
    offset = Affine(0, {plan.across: BLOCK_ELEMENTS, plan.along: 1, first_across: -BLOCK_ELEMENTS,
                        first_along: -1})
    reads, kept = reads_across(_values(nest), plan.along, plan.across), {}
    wide = _wide(reads, b.module.target.costs.near_bytes)
    for v in reads:
        workspace = Buffer((wide * BLOCK_ELEMENTS,), np.dtype(v.param[0].dtype), ROW)
        nest.rows[workspace] = b.alloca(memory_type(v.dtype), wide * BLOCK_ELEMENTS)
        kept[v] = load(workspace, v.dtype, offset)
    inner = scope.inside({})
    scope.hoist(_values(nest), {plan.across, plan.along}, inner)
    length = b.size(plan.along.extent)
    with b.loop(*across, wide) as outer, b.loop(
        i64(0), b.size((plan.along.extent + (BLOCK_ELEMENTS - 1)) // BLOCK_ELEMENTS),
        nonempty=is_some(plan.along.extent)
    ) as iteration:
        inner.axes[first_across], first = outer.index, b.mul(iteration.index, i64(BLOCK_ELEMENTS))
        inner.axes[first_along] = first
        stop = b.intrinsic("smin", b.add(outer.index, i64(wide)), across[1])
        rows = b.intrinsic("smin", b.sub(length, first), i64(BLOCK_ELEMENTS))
        for v in reads:
            _transpose(nest, inner.inside({plan.across: outer.index, plan.along: first}, lanes=1),
                       v, kept[v].param[0], rows, b.sub(stop, outer.index))
        inner.kept = kept
        with b.loop(outer.index, stop, 1, nonempty=True) as row:
            line = inner.inside({plan.across: row.index})
            span = iteration.index, b.add(iteration.index, i64(1))
            nest._lane_loop(line, plan.along, _values(nest), span,
                            lambda lanes, _: store_all(lanes, nest.stores), [])
        inner.kept = {}


def _wide(reads: Sequence[Expr], near_bytes: int) -> int:
    """Return the block size across the lanes such that the block fits the first-level cache."""
    fitting = near_bytes // (BLOCK_ELEMENTS * sum([ITEM_BYTES[v.dtype] for v in reads]))
    return min(_MAX_ACROSS_ELEMENTS, 1 << fitting.bit_length() - 1)


def _transpose(nest: Any, scope: Scope, read: Expr, workspace: Buffer, rows: Value, columns: Value
               ) -> None:
    """Emit a call that copies rows of a loaded value into the columns of a block."""
    b, (buffer, at) = nest.b, read.param
    plan, size = nest.plan, ITEM_BYTES[read.dtype]
    shortest = min(max(_SQUARE_ROWS, _MAX_SQUARE_ROW_BYTES // size), guess(plan.along.extent),
                   guess(plan.across.extent))
    own = 1 << (shortest.bit_length() - 1)
    bits = f"i{8 * size}"
    apart(b, "transposed", (bits, own), lambda b, *given: _transpose_block(b, bits, own, *given),
          scope.address(read.dtype, buffer, at), b.size(at.terms[plan.along]), nest.rows[workspace],
          rows, columns)


def _transpose_block(b: Builder, type_: str, own: int, source: Value, step: Value, target: Value,
            rows: Value, columns: Value) -> None:
    """Write rows of ``source``, ``step`` elements apart, as columns of a block.

    Squares reach over the end of the block by being moved back over what is there already; what is
    smaller than a square is written one by one.
    """
    size = int(type_[1:]) // 8
    last_row, last_column = b.sub(rows, i64(own)), b.sub(columns, i64(own))
    small = b.icmp("slt", b.intrinsic("smin", last_row, last_column), i64(0))
    with b.when(small), b.loop(i64(0), rows) as i, b.loop(i64(0), columns) as j:
        one = b.load(type_, b.gep(type_, source, b.add(b.mul(i.index, step), j.index)), size)
        offset = b.add(b.mul(j.index, i64(BLOCK_ELEMENTS)), i.index)
        b.store(one, b.gep(type_, target, offset), size)
    large = b.op("xor", small, Value("true", "i1"))
    with b.when(large), b.loop(i64(0), rows, own) as i, b.loop(i64(0), columns, own) as j:
        row = b.intrinsic("smin", i.index, last_row)
        column = b.intrinsic("smin", j.index, last_column)
        address = b.gep(type_, source, b.add(b.mul(row, step), column))
        square = []
        for _ in range(own):
            square.append(b.load(vector(type_, own), address, size))
            address = b.gep(type_, address, step)
        start = b.gep(type_, target, b.add(b.mul(column, i64(BLOCK_ELEMENTS)), row))
        for k, value in enumerate(transposed(b, square)):
            b.store(value, b.gep(type_, start, i64(k * BLOCK_ELEMENTS)), size)
