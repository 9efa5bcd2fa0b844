"""One row: its elements become words, which are sorted, and then results.

Words are keys or, where positions are wanted, keys with positions below them, so that equal
elements keep their order; keys of 64 bits are ``squeezed`` for that.
"""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.packed_keys import Squeezed, squeezed, with_position
from agnesi.codegen.library.sorting.quick import word_lanes
from agnesi.codegen.library.sorting.rows import Rows, Signs, Spec
from agnesi.codegen.library.sorting.small import there
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector

_YES = Value("true", "i1")


class Row:
    """Writes ``sort_row(ptr table, i64 start, ptr workspace, ptr polls)``: the row from ``start``
    on.

    The words are in ``workspace`` unless they fit where the result is wanted.
    """

    def __init__(self, b: Builder, spec: Spec) -> None:
        self.b = b
        self.spec = spec
        self.table, self.start, workspace, polls = b.parameters
        self.polls = Polls(b, polls)
        self.rows = Rows(b, spec, self.table)
        self.lanes = word_lanes(b.module.target, 8 * spec.bytes)
        self.type = spec.type
        self.near = b.icmp("eq", self.rows.inner, i64(1))
        self.words = workspace
        if spec.in_place:
            target = b.gep(spec.result_type, self.rows.target, self.start)
            self.words = b.select(self.near, target, workspace)
        self.signs = Signs(self.rows)
        self.squeezed = None if spec.fits else Squeezed(self.rows, self.lanes)

    def write(self) -> None:
        b, n = self.b, self.rows.n
        self.signs.begin()
        if self.squeezed is None:
            self._each(self._read)
            some = self.signs.none()  # zeros are put in order where they are neighbours
            first = b.select(some, self.rows.first, i64(0))
            b.call("void", "order_words", self.words, self.polls.remaining(self.rows.n), first,
                   b.select(some, self.rows.last, n), self.polls.address)
        else:
            self._sort_squeezed(self.squeezed)
        self._each(self._write)
        self.signs.mend(self.table, [self.start], self.polls.address)
        b.finish()

    def _sort_squeezed(self, known: Squeezed) -> None:
        b = self.b
        known.begin()
        self._each(self._read)
        least, shift, exact = known.settle()

        def store_words(first: Value, count: int, mask: Value | None) -> None:
            key = squeezed(b, self._load(first, count, mask), least, shift)
            self._store(with_position(self.rows, key, self._positions(first, count)), first, mask)

        self._each(store_words)
        n = self.polls.remaining(self.rows.n)
        b.call("void", "sort_words", self.words, n, self.polls.address)
        with b.when(b.op("xor", b.op("or", exact, self.polls.interrupted()), _YES)):
            b.call("void", "sort_ties", self.table, self.start, self.words, least,
                   self.polls.address)

    def _each(self, work: Callable[[Value, int, Value | None], None]) -> None:
        """Emit ``work`` for all elements: in vectors where they are contiguous, one by one for the
        rest.
        """
        b, n = self.b, self.polls.remaining(self.rows.n)
        whole = b.op("and", n, i64(-self.lanes))
        with b.when(self.near):
            with self.polls.chunks(i64(0), whole) as (part, end), \
                    b.loop(part.index, end, self.lanes, nonempty=True) as loop:
                work(loop.index, self.lanes, None)
            with b.when(b.icmp("ne", whole, n)):
                work(whole, self.lanes, there(b, whole, n, self.lanes))
        with b.when(b.op("xor", self.near, _YES)), \
                self.polls.chunks(i64(0), n) as (part, end), \
                b.loop(part.index, end, nonempty=True) as loop:
            work(loop.index, 1, None)

    def _read(self, first: Value, count: int, mask: Value | None) -> None:
        rows = self.rows
        raw = rows.load(self._at(first, count), count, mask)
        self.signs.note(raw)
        key = self.rows.key(raw)
        if self.squeezed is None:
            key = rows.packed(key, self._positions(first, count))
        else:
            self.squeezed.note(key, mask)
        self._store(key, first, mask)

    def _write(self, first: Value, count: int, mask: Value | None) -> None:
        words = self._load(first, count, mask)
        self.rows.store(self.rows.result(words), self._at(first, count), mask)

    def _positions(self, first: Value, count: int) -> Value:
        if count == 1:
            return first
        numbers = lanes(vector("i64", count), range(count))
        return self.b.add(self.b.splat(first, count), numbers)

    def _load(self, first: Value, count: int, mask: Value | None) -> Value:
        type_, size = vector(self.type, count), self.spec.bytes
        address = self.b.gep(self.type, self.words, first)
        if mask is None:
            return self.b.load(type_, address, size)
        return self.b.masked_load(type_, address, mask, size, const(type_, 0))

    def _at(self, first: Value, count: int) -> Value:
        return self.b.add(self.start, first) if count > 1 else self.rows.at(self.start, first)

    def _store(self, words: Value, first: Value, mask: Value | None) -> None:
        address, size = self.b.gep(self.type, self.words, first), self.spec.bytes
        if mask is None:
            self.b.store(words, address, size)
        else:
            self.b.masked_store(words, address, mask, size)
