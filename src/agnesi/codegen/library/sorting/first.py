"""The first few positions of the order of long rows, without sorting the rest.

The k-th smallest of the minima of blocks is an upper bound of the k-th smallest element, so only
elements up to this bound are sorted.  Only ``k - 1`` blocks have smaller elements, and of those
equal to the bound the first ``k`` are enough.  Keys of 64 bits, beside which a word has no bits
for indices, make a short row of their own.
"""

from __future__ import annotations

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.packed_keys import Ties
from agnesi.codegen.library.sorting.quick import word_lanes, write_quick
from agnesi.codegen.library.sorting.row import Row
from agnesi.codegen.library.sorting.rows import FIELDS, POSITION_BITS, Rows, Spec
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64, lanes, suffix, vector
from agnesi.codegen.llvm.task import share, task
from agnesi.core.ir.calls.sorting import BLOCK_ELEMENTS, VECTOR_BYTES
from agnesi.core.target import Target


def first_module(name: str, target: Target) -> str:
    """The module that finds the first positions in sorted order, for a dtype ``name``.

    Its function ``run`` takes the arguments of a sort, the number of positions, and the number of
    elements in the workspace; rows are contiguous.
    """
    module, spec = Module(target), Spec(name, True)
    write_quick(module, "i64", spec.most)
    if not spec.fits:
        row = [("ptr", "table"), ("i64", "start")]
        polls = ("ptr", "polls")
        Ties(Builder(module, "sort_ties", [*row, ("ptr", "words"), ("i64", "least"), polls]),
             spec, word_lanes(target, 64)).write()
        Row(Builder(module, "sort_row", [*row, ("ptr", "workspace"), polls]), spec).write()
    _First(task(module), spec).write()
    return str(module)


class _First:
    def __init__(self, b: Builder, spec: Spec) -> None:
        self.b = b
        self.fits = spec.fits
        self.type = spec.keys.type
        self.lanes = 8 * VECTOR_BYTES // int(self.type[1:])
        self.table, begin, _, thread = b.parameters
        self.polls = Polls.begin(b, thread)
        self.rows = Rows(b, spec, self.table)
        self.k, most = (b.load("i64", b.gep("i64", self.table, i64(len(FIELDS) + i)))
                        for i in (0, 1))
        #: Words that are sorted; of long keys elements and their positions.
        self.words = b.gep("i8", self.rows.workspace, b.mul(begin, self.rows.step))
        self.positions = b.gep("i64", self.words, b.sub(b.op("udiv", self.rows.step, i64(8)), most))
        self.elements = b.gep("i64", self.positions, b.sub(i64(0), most))
        self.count, self.equal = b.alloca("i64", 1), b.alloca("i64", 1)
        self.limit = b.alloca(self.type, 1)
        self.short = b.alloca("i64", len(FIELDS))

    def write(self) -> None:
        b, rows = self.b, self.rows
        with b.loop(*share(b, rows.count, rows.units)) as row:
            start = b.mul(row.index, rows.n)
            self._collect(start, self._bound(start))
            if self.fits:
                b.call("void", "sort_words", self.words, b.load("i64", self.count),
                       self.polls.address)
            else:
                self._sort_elements()
            with b.loop(i64(0), self.k) as loop:
                result = self._result(b.load("i64", b.gep("i64", self.words, loop.index)))
                at = b.add(b.mul(row.index, self.k), loop.index)
                b.store(result, b.gep("i64", rows.target, at))
            row.until = self.polls.interrupted()
        b.finish()

    def _sort_elements(self) -> None:
        """Sort the collected candidates as one row."""
        b, count = self.b, self.b.load("i64", self.count)
        for k, address in enumerate((self.elements, self.words, self.words)):
            b.store(address, b.gep("ptr", self.short, i64(k)))
        fields = {"n": count, "order_mask": self.rows.order_mask, "first": i64(0), "last": count,
                "step": i64(0)}
        for k, name in enumerate(FIELDS[3:], 3):
            b.store(fields.get(name, i64(1)), b.gep("i64", self.short, i64(k)))
        b.call("void", "sort_row", self.short, i64(0), self.words, self.polls.address)

    def _result(self, word: Value) -> Value:
        """Return the index of a sorted word, clipped to valid ones: after an interrupted sort the
        word may be any number.
        """
        b = self.b
        if self.fits:
            return self.rows.result(word)
        return b.load("i64", b.gep("i64", self.positions,
                                   b.intrinsic("umin", word, b.load("i64", self.count))))

    def _bound(self, start: Value) -> Value:
        """Return a key such that at least ``k`` elements do not come after it in order."""
        b, rows, lanes_ = self.b, self.rows, self.lanes
        blocks = b.op("udiv", rows.n, i64(BLOCK_ELEMENTS))
        with self.polls.chunks(i64(0), blocks, each=BLOCK_ELEMENTS) as (part, end), \
                b.loop(part.index, end, nonempty=True) as block:
            at = b.add(start, b.mul(block.index, i64(BLOCK_ELEMENTS)))
            least = rows.key(rows.load(at, lanes_))
            for k in range(lanes_, BLOCK_ELEMENTS, lanes_):
                least = b.intrinsic("smin", least, rows.key(rows.load(b.add(at, i64(k)), lanes_)))
            one = b.call(self.type, f"llvm.vector.reduce.smin.{suffix(least.type)}", least)
            word = rows.packed(one, block.index) if self.fits else one
            b.store(word, b.gep("i64", self.words, block.index))
        b.call("void", "sort_words", self.words, blocks, self.polls.address)
        key = b.load("i64", b.gep("i64", self.words, b.sub(self.k, i64(1))))
        return b.cast("trunc", b.op("ashr", key, i64(POSITION_BITS)), "i32") if self.fits else key

    def _collect(self, start: Value, bound: Value) -> None:
        """Collect the elements that do not come after the bound, with their indices, as a short
        row.
        """
        b, rows, lanes_ = self.b, self.rows, self.lanes
        b.store(i64(0), self.count)
        b.store(i64(0), self.equal)
        b.store(bound, self.limit)
        numbers = lanes(vector("i64", lanes_), range(lanes_))
        last = self.polls.remaining(rows.n)  # what a sort that was left found is no bound
        with self.polls.chunks(i64(0), last) as (part, end), \
                b.loop(part.index, end, lanes_, nonempty=True) as loop:
            there = b.icmp("slt", numbers, b.splat(b.sub(rows.n, loop.index), lanes_))
            keys = rows.key(rows.load(b.add(start, loop.index), lanes_, there))
            limit = b.splat(b.load(self.type, self.limit), lanes_)
            ahead = b.op("and", b.icmp("sle", keys, limit), there)
            bits = b.cast("bitcast", ahead, f"i{lanes_}")
            with b.when(b.icmp("ne", bits, const(bits.type, 0)), rare=True):
                self._append(start, loop.index, b.cast("zext", bits, "i64"), bound)

    def _append(self, start: Value, first: Value, bits: Value, bound: Value) -> None:
        b, rows = self.b, self.rows
        with b.loop(i64(0), b.intrinsic("ctpop", bits), 1, [bits], nonempty=True) as loop:
            (bits,) = loop.carried
            position = b.add(first, b.intrinsic("cttz", bits, Value("true", "i1")))
            raw = rows.load(b.add(start, position))
            key = rows.key(raw)
            alike = b.cast("zext", b.icmp("eq", key, bound), "i64")
            equal = b.add(b.load("i64", self.equal), alike)
            enough = b.icmp("sgt", equal, self.k)
            at = b.load("i64", self.count)
            if self.fits:
                b.store(rows.packed(key, position), b.gep("i64", self.words, at))
            else:
                b.store(raw, b.gep("i64", self.elements, at))
                b.store(position, b.gep("i64", self.positions, at))
            taken = b.select(b.op("and", enough, b.icmp("eq", key, bound)), i64(0), i64(1))
            b.store(b.add(at, taken), self.count)
            b.store(equal, self.equal)
            loop.carry(b.op("and", bits, b.sub(bits, i64(1))))
        enough = b.icmp("sge", b.load("i64", self.equal), self.k)
        below = b.intrinsic("ssub.sat", bound, const(bound.type, 1))
        b.store(b.select(enough, below, bound), self.limit)
