"""Blocked transposition: nests whose reads run across the order of their stores.

Lanes run along what is written.  What lies the other way round in memory would be gathered, an
element at a time.  Instead squares of it are read row by row, turned round in registers, and kept
in a block close by, of which the nest then reads rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.codegen.llvm.builder import Builder, Value, i64, vector
from agnesi.codegen.llvm.outlining import apart
from agnesi.codegen.llvm.register_tiles import transposed
from agnesi.codegen.loops.evaluate import _ITEM, ROW, Scope, memory_type
from agnesi.codegen.loops.slp_stores import store_all
from agnesi.codegen.loops.strided_loads import LONGEST_STEP
from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess, is_some
from agnesi.core.ir.kernels import Buffer, Store, axes_in, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, fresh_axes, load

#: Elements of a block along the lanes.
BLOCK_ELEMENTS = 64
#: Elements of a block across the lanes, at most.
_MAX_ACROSS_ELEMENTS = 64
#: Blocks of a nest, at most.
_MAX_BLOCKS = 4
#: Iterations of both loops, at least.
_MIN_ITERATIONS = 4
#: Elements of the nest, at least.
_MIN_ELEMENTS = 1 << 15
#: Rows of the squares that are transposed in registers.
_SQUARE_ROWS = 8
#: Bytes of one of them, at most, where a row has more.
_MAX_SQUARE_ROW_BYTES = 16
#: What is computed for more than one element, or takes more than one.
_OTHERS = ("reduce", "steps", "complex", "real", "imag")


def crossed(axes: Sequence[Axis], stores: Sequence[Store]) -> tuple[Axis, Axis] | None:
    """The axes of a nest for the lanes and across them, if it reads across what it writes."""
    values = [*walk([s.value for s in stores])]
    if any(v.op in _OTHERS for v in values) or any(
        s.offset.atoms or s.offset.free != {*axes} for s in stores
    ) or guess(product([a.extent for a in axes])) < _MIN_ELEMENTS:
        return None
    long = [a for a in axes if guess(a.extent) >= _MIN_ITERATIONS]
    along = next((a for a in long if all(s.offset.terms[a] == 1 for s in stores)), None)
    if along is None:
        return None
    found = {a: len(_reads(values, along, a)) for a in long if a is not along}
    across = max(found, key=lambda a: found[a], default=None)
    return (along, across) if across is not None and 0 < found[across] <= _MAX_BLOCKS else None


def _reads(values: Sequence[Expr], along: Axis, across: Axis) -> list[Expr]:
    """Return the loads whose contiguous axis is not that of the lanes."""
    return [v for v in values if v.op == "load" and _is_across(v.param[1], along, across)]


def _is_across(at: Affine, along: Axis, across: Axis) -> bool:
    step = at.terms.get(along, 0)
    far = not isinstance(step, int) or abs(step) > LONGEST_STEP
    return far and at.terms.get(across) == 1 and not at.atoms


def emit_transposed(nest: Any, scope: Scope, begin: Value, end: Value) -> None:
    """Emit work units [begin, end) of a nest with an axis across the lanes."""
    shape, b = nest.shape, nest.b
    span = (i64(0), b.size(shape.across.extent))
    rest = [a for a in shape.outer if a is not shape.across]
    if shape.outer[0] is shape.across:
        _level(nest, scope, rest, None, (begin, end))
    else:
        _level(nest, scope, rest, (begin, end), span)


def _level(nest: Any, scope: Scope, rest: Sequence[Axis], span: tuple[Value, Value] | None,
           across: tuple[Value, Value]) -> None:
    """The loops around those that are cut into blocks."""
    if not rest:
        _blocks(nest, scope, across)
        return
    inner = scope.inside({})
    scope.hoist(_values(nest), {*rest, nest.shape.across, nest.shape.along}, inner)
    start, stop = span or (i64(0), nest.b.size(rest[0].extent))
    some = span is None and is_some(rest[0].extent)
    with nest.b.loop(start, stop, 1, nonempty=some) as loop:
        inner.axes[rest[0]] = loop.index
        _level(nest, inner, rest[1:], None, across)


def _values(nest: Any) -> list[Expr]:
    return [s.value for s in nest.stores]


def _blocks(nest: Any, scope: Scope, across: tuple[Value, Value]) -> None:
    """The blocks of both loops."""
    b, shape = nest.b, nest.shape
    first_across, first_along = fresh_axes((1, 1), axes_in(nest.stores))  # where a block begins
    places = Affine(0, {shape.across: BLOCK_ELEMENTS, shape.along: 1, first_across: -BLOCK_ELEMENTS,
                        first_along: -1})
    reads, kept = _reads([*walk(_values(nest))], shape.along, shape.across), {}
    wide = _wide(reads, b.module.target.costs.near_bytes)
    for v in reads:
        room = Buffer((wide * BLOCK_ELEMENTS,), np.dtype(v.param[0].dtype), ROW)
        nest.rows[room] = b.alloca(memory_type(v.dtype), wide * BLOCK_ELEMENTS)
        kept[v] = load(room, v.dtype, places)
    inner = scope.inside({})
    scope.hoist(_values(nest), {shape.across, shape.along}, inner)
    length = b.size(shape.along.extent)
    with b.loop(*across, wide) as outer, b.loop(
        i64(0), b.size((shape.along.extent + (BLOCK_ELEMENTS - 1)) // BLOCK_ELEMENTS),
        nonempty=is_some(shape.along.extent)
    ) as turn:
        inner.axes[first_across], first = outer.index, b.mul(turn.index, i64(BLOCK_ELEMENTS))
        inner.axes[first_along] = first
        stop = b.intrinsic("smin", b.add(outer.index, i64(wide)), across[1])
        rows = b.intrinsic("smin", b.sub(length, first), i64(BLOCK_ELEMENTS))
        for v in reads:
            _turn(nest, inner.inside({shape.across: outer.index, shape.along: first}, lanes=1), v,
                  kept[v].param[0], rows, b.sub(stop, outer.index))
        inner.kept = kept
        with b.loop(outer.index, stop, 1, nonempty=True) as row:
            line = inner.inside({shape.across: row.index})
            span = turn.index, b.add(turn.index, i64(1))
            nest._lane_loop(line, shape.along, _values(nest), span,
                            lambda lanes, _: store_all(lanes, nest.stores), [])
        inner.kept = {}


def _wide(reads: Sequence[Expr], near_bytes: int) -> int:
    """Elements of blocks across the lanes, so that all of them are in the first-level cache."""
    fitting = near_bytes // (BLOCK_ELEMENTS * sum([_ITEM[v.dtype] for v in reads]))
    return min(_MAX_ACROSS_ELEMENTS, 1 << fitting.bit_length() - 1)


def _turn(nest: Any, scope: Scope, read: Expr, room: Buffer, rows: Value, columns: Value) -> None:
    """Call what fills a block with so many rows of what is read, as its columns."""
    b, (buffer, at) = nest.b, read.param
    shape, size = nest.shape, _ITEM[read.dtype]
    shortest = min(max(_SQUARE_ROWS, _MAX_SQUARE_ROW_BYTES // size), guess(shape.along.extent),
                   guess(shape.across.extent))
    own = 1 << (shortest.bit_length() - 1)
    bits = f"i{8 * size}"
    apart(b, "turned", (bits, own), lambda b, *given: _transpose_block(b, bits, own, *given),
          scope.address(read.dtype, buffer, at), b.size(at.terms[shape.along]), nest.rows[room],
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
        place = b.add(b.mul(j.index, i64(BLOCK_ELEMENTS)), i.index)
        b.store(one, b.gep(type_, target, place), size)
    large = b.op("xor", small, Value("true", "i1"))
    with b.when(large), b.loop(i64(0), rows, own) as i, b.loop(i64(0), columns, own) as j:
        row = b.intrinsic("smin", i.index, last_row)
        column = b.intrinsic("smin", j.index, last_column)
        place = b.gep(type_, source, b.add(b.mul(row, step), column))
        square = []
        for _ in range(own):
            square.append(b.load(vector(type_, own), place, size))
            place = b.gep(type_, place, step)
        start = b.gep(type_, target, b.add(b.mul(column, i64(BLOCK_ELEMENTS)), row))
        for k, value in enumerate(transposed(b, square)):
            b.store(value, b.gep(type_, start, i64(k * BLOCK_ELEMENTS)), size)
