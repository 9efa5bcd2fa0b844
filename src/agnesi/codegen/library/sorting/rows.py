"""The common part of all sorts: the addresses of rows, and the keys that elements are sorted by.

Functions of a module get a table of addresses and numbers; see ``module``.
"""

from __future__ import annotations

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.keys import Keys, extended
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector, width
from agnesi.core.support.record import record

#: Entries of the table: addresses of the rows, of the result, of workspace; elements of a
#: row, how far they are apart, how many rows there are, into how many units they are cut, whether
#: the order is descending (all bits set, or none), bytes of workspace for each unit, the first and
#: the last position of values that are wanted.
FIELDS = ("source", "target", "workspace", "n", "inner", "count", "units", "order_mask", "step",
          "first", "last")
#: What is below a key, where positions are sorted with it.
POSITION_BITS = 32


@record
class Spec:
    """A sort of elements of a dtype: of their values, or (``positions``) of where they are."""

    dtype: str
    positions: bool

    @property
    def keys(self) -> Keys:
        return Keys(self.dtype)

    @property
    def fits(self) -> bool:
        """Whether a key and an index fit into 64 bits, or no index is needed."""
        return not self.positions or self.keys.type == "i32"

    @property
    def in_place(self) -> bool:
        """Whether words are as long as elements of the result, so that they are sorted in its
        memory.
        """
        return self.result_type == self.type

    @property
    def type(self) -> str:
        """IR type of what is sorted instead of an element."""
        return "i64" if self.positions else self.keys.type

    @property
    def bytes(self) -> int:
        return int(self.type[1:]) // 8

    @property
    def most(self) -> int:
        """The greatest word."""
        return (1 << 63) - 1 if self.positions else self.keys.most

    @property
    def result_type(self) -> str:
        return "i64" if self.positions else self.keys.memory

    @property
    def zeros(self) -> bool:
        """Whether signed zeros have to be put in order afterwards."""
        return self.keys.floating and not self.positions


class Rows:
    """The table of a call, in one function."""

    def __init__(self, b: Builder, spec: Spec, table: Value) -> None:
        self.b = b
        self.spec = spec
        self.keys = spec.keys
        self.type = spec.type
        self.most = spec.most
        self.source, self.target, self.workspace = (
            b.load("ptr", b.gep("ptr", table, i64(k))) for k in range(3)
        )
        self.n, self.inner, self.count, self.units, order_mask, self.step, self.first, self.last = (
            b.load("i64", b.gep("i64", table, i64(k))) for k in range(3, len(FIELDS))
        )
        wide = self.keys.type == "i64"
        self.order_mask = order_mask if wide else b.cast("trunc", order_mask, "i32")

    @property
    def low(self) -> Value:
        """The mask of the bits of a word that hold the index of an element."""
        if self.spec.fits:
            return i64((1 << POSITION_BITS) - 1)
        b = self.b
        last = b.op("or", b.sub(self.n, i64(1)), i64(1))
        return b.op("lshr", i64(-1), b.intrinsic("ctlz", last, Value("false", "i1")))

    def start(self, row: Value) -> Value:
        """Return the address of a row."""
        b = self.b
        whole = b.op("udiv", row, self.inner)
        rest = b.sub(row, b.mul(whole, self.inner))
        return b.add(b.mul(b.mul(whole, self.n), self.inner), rest)

    def at(self, start: Value, i: Value) -> Value:
        """Return the address of element ``i`` of a row."""
        return self.b.add(start, self.b.mul(i, self.inner))

    def load(self, at: Value, lanes: int = 1, mask: Value | None = None) -> Value:
        """Load elements as integers; masked ones are 0."""
        keys, type_ = self.keys, vector(self.keys.memory, lanes)
        address = self.b.gep(keys.memory, self.source, at)
        if mask is not None:
            return self.b.masked_load(type_, address, mask, keys.bits // 8, const(type_, 0))
        return self.b.load(type_, address, keys.bits // 8)

    def store(self, result: Value, at: Value, mask: Value | None = None) -> None:
        type_ = self.spec.result_type
        address, size = self.b.gep(type_, self.target, at), int(type_[1:]) // 8
        if mask is not None:
            self.b.masked_store(result, address, mask, size)
        else:
            self.b.store(result, address, size)

    def key(self, raw: Value) -> Value:
        return self.keys.key(self.b, raw, self.b.splat(self.order_mask, width(raw.type)))

    def packed(self, key: Value, i: Value) -> Value:
        """Return the sorted word: a key, or a key with the index ``i`` in its low bits."""
        if not self.spec.positions:
            return key
        b, lanes = self.b, width(key.type)
        upper = extended(b, key, "i64")
        shifted = b.op("shl", upper, const(upper.type, POSITION_BITS))
        return b.op("or", shifted, i if width(i.type) == lanes else b.splat(i, lanes))

    def result(self, found: Value) -> Value:
        """Return the result for a sorted word."""
        b = self.b
        if self.spec.positions:
            return b.op("and", found, b.splat(self.low, width(found.type)))
        return self.keys.element(b, found, b.splat(self.order_mask, width(found.type)))


class Signs:
    """Records whether there were negative zeros, which compare equal to zeros and keep the order of
    the elements.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.seen = rows.b.alloca("i64", 1)

    def begin(self) -> None:
        if self.rows.spec.zeros:
            self.rows.b.store(i64(0), self.seen)

    def none(self) -> Value:
        """Return whether no element was a negative zero."""
        if not self.rows.spec.zeros:
            return Value("true", "i1")
        return self.rows.b.icmp("eq", self.rows.b.load("i64", self.seen), i64(0))

    def note(self, raw: Value) -> None:
        """Note whether there is a negative zero among some elements."""
        if not self.rows.spec.zeros:
            return
        b, lanes = self.rows.b, width(raw.type)
        found = self.rows.keys.is_negative_zero(b, raw)
        if lanes > 1:
            found = b.cast("bitcast", found, f"i{lanes}")
        wide = b.cast("zext", found, "i64")
        b.store(b.op("or", b.load("i64", self.seen), wide), self.seen)

    def mend(self, table: Value, starts: list[Value], polls: Value) -> None:
        """Put the zeros of rows in order, if there was one with a sign."""
        if not self.rows.spec.zeros:
            return
        b = self.rows.b
        with b.when(b.op("xor", self.none(), Value("true", "i1")), rare=True):
            for start in starts:
                b.call("void", "mend_zeros", table, start, polls)


def write_zeros(b: Builder, spec: Spec) -> None:
    """``mend_zeros(ptr table, i64 start, ptr polls)``: zeros of a sorted row in the order of the
    elements."""
    table, start, polls = b.parameters
    rows = Rows(b, spec, table)
    keys, target = spec.keys, b.alloca("i64", 1)
    b.store(rows.n, target)
    known = Polls(b, polls)
    with known.chunks(i64(0), known.remaining(rows.n)) as (part, end), \
            b.loop(part.index, end, nonempty=True) as loop:
        raw = b.load(keys.memory, b.gep(keys.memory, rows.target, rows.at(start, loop.index)))
        first = b.intrinsic("smin", b.load("i64", target), loop.index)
        b.store(b.select(keys.is_zero(b, raw), first, b.load("i64", target)), target)
    with known.chunks(i64(0), known.remaining(rows.n)) as (part, end), \
            b.loop(part.index, end, nonempty=True) as loop:
        raw = rows.load(rows.at(start, loop.index))
        with b.when(keys.is_zero(b, raw)):
            position = b.load("i64", target)
            rows.store(raw, rows.at(start, position))
            b.store(b.add(position, i64(1)), target)
    b.finish()
