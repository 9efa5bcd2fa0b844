"""The first few places of the order of long rows, without sorting the rest.

The k-th least of what blocks have at least is no less than the k-th element in order: what is not
greater than that is sorted.
"""

from __future__ import annotations

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.quick import write_quick
from agnesi.codegen.library.sorting.rows import FIELDS, PLACE_BITS, Rows, Spec
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64, lanes, suffix, vector
from agnesi.codegen.llvm.task import share, task
from agnesi.core.ir.calls.sorting import BLOCK_ELEMENTS
from agnesi.core.target import Target

_LANES = 16


def first_module(name: str, target: Target) -> str:
    """The module for ``name``, a dtype whose keys have 32 bits.

    Its function ``run`` is told what sorts are told, and how many places are wanted; rows lie one
    behind the other.
    """
    module, spec = Module(target), Spec(name, True)
    write_quick(module, "i64", spec.most)
    _First(task(module), spec).write()
    return str(module)


class _First:
    def __init__(self, b: Builder, spec: Spec) -> None:
        self.b = b
        table, begin, _, thread = b.parameters
        self.polls = Polls.begin(b, thread)
        self.rows = Rows(b, spec, table)
        self.k = b.load("i64", b.gep("i64", table, i64(len(FIELDS))))
        self.words = b.gep("i8", self.rows.room, b.mul(begin, self.rows.step))
        self.count = b.alloca("i64", 1)

    def write(self) -> None:
        b, rows = self.b, self.rows
        with b.loop(*share(b, rows.count, rows.units)) as row:
            start = b.mul(row.index, rows.n)
            self._collect(start, self._bound(start))
            b.call("void", "sort_words", self.words, b.load("i64", self.count),
                   self.polls.place)
            with b.loop(i64(0), self.k) as turn:
                result = rows.result(b.load("i64", b.gep("i64", self.words, turn.index)))
                at = b.add(b.mul(row.index, self.k), turn.index)
                b.store(result, b.gep("i64", rows.target, at))
            row.until = self.polls.left()
        b.ret()
        b.finish()

    def _bound(self, start: Value) -> Value:
        """A key that at least ``k`` elements are not behind."""
        b, rows = self.b, self.rows
        blocks = b.op("udiv", rows.n, i64(BLOCK_ELEMENTS))
        with self.polls.chunks(i64(0), blocks, each=BLOCK_ELEMENTS) as (part, end), \
                b.loop(part.index, end, nonempty=True) as block:
            at = b.add(start, b.mul(block.index, i64(BLOCK_ELEMENTS)))
            least = rows.key(rows.load(at, _LANES))
            for k in range(_LANES, BLOCK_ELEMENTS, _LANES):
                least = b.intrinsic("smin", least, rows.key(rows.load(b.add(at, i64(k)), _LANES)))
            one = b.call("i32", f"llvm.vector.reduce.smin.{suffix(least.type)}", least)
            b.store(rows.packed(one, block.index), b.gep("i64", self.words, block.index))
        b.call("void", "sort_words", self.words, blocks, self.polls.place)
        key = b.load("i64", b.gep("i64", self.words, b.sub(self.k, i64(1))))
        return b.cast("trunc", b.op("ashr", key, i64(PLACE_BITS)), "i32")

    def _collect(self, start: Value, bound: Value) -> None:
        """Put together what is not behind the bound, with its places."""
        b, rows = self.b, self.rows
        b.store(i64(0), self.count)
        limit = b.splat(bound, _LANES)
        numbers = lanes(vector("i64", _LANES), range(_LANES))
        with self.polls.chunks(i64(0), rows.n) as (part, end), \
                b.loop(part.index, end, _LANES, nonempty=True) as turn:
            there = b.icmp("slt", numbers, b.splat(b.sub(rows.n, turn.index), _LANES))
            keys = rows.key(rows.load(b.add(start, turn.index), _LANES, there))
            ahead = b.op("and", b.icmp("sle", keys, limit), there)
            bits = b.cast("bitcast", ahead, f"i{_LANES}")
            with b.when(b.icmp("ne", bits, const(bits.type, 0)), rare=True):
                self._append(start, turn.index, b.cast("zext", bits, "i64"))

    def _append(self, start: Value, first: Value, bits: Value) -> None:
        b, rows = self.b, self.rows
        with b.loop(i64(0), b.intrinsic("ctpop", bits), 1, [bits], nonempty=True) as turn:
            (left,) = turn.carried
            place = b.add(first, b.intrinsic("cttz", left, Value("true", "i1")))
            packed = rows.packed(rows.key(rows.load(b.add(start, place))), place)
            at = b.load("i64", self.count)
            b.store(packed, b.gep("i64", self.words, at))
            b.store(b.add(at, i64(1)), self.count)
            turn.carry(b.op("and", left, b.sub(left, i64(1))))
