"""Gather from and scatter-add into rows, by indices.

Indices are int32 or int64, negative ones count from the end, and those out of range are clamped;
only gathers report them.  Rows that share indices are done some at a time, with indices made ready
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.codegen.library.polls import Polls, polled_task
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, is_float, lanes, vector, width
from agnesi.codegen.llvm.instructions import prefetch
from agnesi.codegen.llvm.task import TYPES, share
from agnesi.core.target import Target

#: Rows at a time.
_ROWS_AT_ONCE = 4
#: Indices at a time.
_INDICES_AT_ONCE = 16
#: Elements ahead of those that are written for which memory is prefetched.
_PREFETCH_ELEMENTS = 128
#: Bytes of a row from which its elements are gathered, so that more of them are under way.
_MIN_GATHERED_ROW_BYTES = 1 << 19

#: Addresses of a row that is read and of one that is written.
_Line = tuple[Value, Value]


def take_module(name: str, target: Target) -> str:
    """The module for ``name``: the bytes of an element, and the dtype of indices.

    Its function ``run`` does units of work, as kernels do; the table has the addresses of elements,
    indices, results, workspace of ``m`` int32 for each unit, and a byte that becomes 0 where an
    index is out of range; then the number of rows, elements of a row, indices, and units.
    """
    size, indices = name.split()
    b = polled_task(target)
    IndexedRows(b, f"i{8 * int(size)}", indices, False).write()
    return str(b.module)


def add_module(name: str, target: Target) -> str:
    """The module that adds rows, for ``name``, the dtypes of elements and indices.

    Rows of results have ``n`` elements, source rows, which are added to them, ``m``.
    """
    dtype, indices = name.split()
    b = polled_task(target)
    IndexedRows(b, TYPES[dtype], indices, True).write()
    return str(b.module)


class IndexedRows:
    """Emits a function that gathers or adds elements at indices."""

    def __init__(self, b: Builder, type_: str, indices: str, adds: bool) -> None:
        self.b = b
        self.polls = Polls.begin(b, b.parameters[3])
        self.type = type_
        self.size = {"float": 4, "double": 8}.get(type_) or int(type_[1:]) // 8
        self.index = TYPES[indices]
        self.adds = adds
        table = b.parameters[0]
        self.source, self.indices, self.target, self.workspace, self.flag = (
            b.load("ptr", b.gep("ptr", table, i64(k))) for k in range(5)
        )
        self.count, self.n, self.m, self.units = (
            b.load("i64", b.gep("i64", table, i64(k))) for k in range(5, 9)
        )
        # Elements of the rows that are read and of those that are written.
        self.read, self.written = (self.m, self.n) if adds else (self.n, self.m)

    def write(self) -> None:
        b = self.b
        several = b.icmp("sgt", self.count, i64(1))
        with b.when(several):
            self._all_rows()
        with b.when(b.op("xor", several, Value("true", "i1"))):
            first, last = (i64(0), self.m) if self.adds else share(b, self.m, self.units)
            self._one_row(first, last)
        b.finish()

    # -- indices ---------------------------------------------------------------------------
    def _located(self, i: Value, count: int = 1, mask: Value | None = None) -> Value:
        """Load ``count`` indices from index number ``i`` on, with negative ones counted from the
        end, as int64 in range; those out of range set the flag.
        """
        b = self.b
        found = self._given(i, count, mask)
        if self.index != "i64":
            found = b.cast("sext", found, vector("i64", count))
        zero, n = const(found.type, 0), b.splat(self.n, count)
        found = b.select(b.icmp("slt", found, zero), b.add(found, n), found)
        if not self.adds:
            with b.when(self._any(b.icmp("uge", found, n)), rare=True):
                b.store(const("i8", 0), self.flag)
        last = b.splat(b.sub(self.n, i64(1)), count)
        return b.intrinsic("smin", b.intrinsic("smax", found, zero), last)

    def _given(self, i: Value, count: int, mask: Value | None = None) -> Value:
        """Load ``count`` indices from index number ``i`` on as they are."""
        b, type_ = self.b, vector(self.index, count)
        there, size = b.gep(self.index, self.indices, i), int(self.index[1:]) // 8
        if mask is None:
            return b.load(type_, there, size)
        return b.masked_load(type_, there, mask, size, const(type_, 0))

    def _any(self, flags: Value) -> Value:
        """Return whether one of some bools holds."""
        b, count = self.b, width(flags.type)
        if count == 1:
            return flags
        bits = b.cast("bitcast", flags, f"i{count}")
        return b.icmp("ne", bits, const(bits.type, 0))

    def _make_ready(self, workspace: Value) -> None:
        """Emit code that converts all indices to int32 in the workspace."""
        b = self.b
        with self.polls.chunks(i64(0), self.m) as (part, end), \
                b.loop(part.index, end, _INDICES_AT_ONCE, nonempty=True) as loop:
            left = b.splat(b.sub(self.m, loop.index), _INDICES_AT_ONCE)
            mask = b.icmp(
                "slt", lanes(vector("i64", _INDICES_AT_ONCE), range(_INDICES_AT_ONCE)), left
            )
            found = self._located(loop.index, _INDICES_AT_ONCE, mask)
            narrow = b.cast("trunc", found, vector("i32", _INDICES_AT_ONCE))
            b.masked_store(narrow, b.gep("i32", workspace, loop.index), mask, 4)

    # -- rows -----------------------------------------------------------------------------
    def _all_rows(self) -> None:
        b = self.b
        workspace = b.gep("i32", self.workspace, b.mul(b.parameters[1], self.m))
        self._make_ready(workspace)
        first, last = share(b, self.count, self.units)
        last = b.select(self.polls.interrupted(), first, last)  # indices may be missing

        def several(polls: Polls, first: Value, last: Value) -> None:
            self.polls = polls
            whole = b.add(first, b.op("and", b.sub(last, first), i64(-_ROWS_AT_ONCE)))
            for start, end, rows in (first, whole, _ROWS_AT_ONCE), (whole, last, 1):
                with b.loop(start, end, rows) as row:
                    self._rows([b.add(row.index, i64(k)) for k in range(rows)], workspace)

        all_polls = self.polls
        all_polls.rows(first, last, self.m, _ROWS_AT_ONCE, several)
        self.polls = all_polls

    def _rows(self, rows: Sequence[Value], workspace: Value) -> None:
        """Gather or scatter some rows by the int32 indices at ``workspace``, and prefetch the rows
        after them.
        """
        b = self.b
        lines = [(b.gep(self.type, self.source, b.mul(row, self.read)),
                  b.gep(self.type, self.target, b.mul(row, self.written))) for row in rows]

        def one(i: Value) -> None:
            index = b.cast("zext", b.load("i32", b.gep("i32", workspace, i)), "i64")
            self._element(lines, i, index)

        def several(i: Value) -> None:
            following = b.add(b.mul(self.n, i64(len(rows))), i)
            for source, target in lines:
                self._prefetch(target if self.adds else source, following)
                if not self.adds:
                    self._prefetch(target, b.add(i, i64(_PREFETCH_ELEMENTS)))
            for k in range(_INDICES_AT_ONCE):
                one(b.add(i, i64(k)))

        self._iterations(i64(0), self.m, several, one, len(lines))

    def _one_row(self, first: Value, last: Value) -> None:
        """Emit code for indices [first, last) of a single row."""
        b, line = self.b, (self.source, self.target)
        far = b.icmp("sgt", b.mul(self.n, i64(self.size)), i64(_MIN_GATHERED_ROW_BYTES))

        def one(i: Value) -> None:
            self._element([line], i, self._located(i))

        def several(i: Value) -> None:
            if self.adds:
                for k in range(_INDICES_AT_ONCE):
                    one(b.add(i, i64(k)))
                return
            self._prefetch(self.target, b.add(i, i64(_PREFETCH_ELEMENTS)))
            n = self.n if self.index == "i64" else b.cast("trunc", self.n, self.index)
            beyond = b.icmp("uge", self._given(i, _INDICES_AT_ONCE), b.splat(n, _INDICES_AT_ONCE))
            gathered, plain, done = b.label("gathered"), b.label("plain"), b.label("done")
            b.cbr(b.op("or", far, self._any(beyond)), gathered, plain)
            b.open_block(gathered)
            self._gathered(i)
            b.br(done)
            b.open_block(plain)
            for k in range(_INDICES_AT_ONCE):
                at = b.add(i, i64(k))
                index = self._given(at, 1)
                self._element([line], at, index if self.index == "i64" else b.cast(
                    "zext", index, "i64"))
            b.br(done)
            b.open_block(done)

        self._iterations(first, last, several, one)

    def _gathered(self, i: Value) -> None:
        """Gather elements ``i`` and following of the only row into the result, by one vector
        instruction.
        """
        b = self.b
        text = f"getelementptr {self.type}, {self.source}, {self._located(i, _INDICES_AT_ONCE)}"
        pointers = b.value(f"<{_INDICES_AT_ONCE} x ptr>", text)
        mask = const(vector("i1", _INDICES_AT_ONCE), True)
        found = b.gather(vector(self.type, _INDICES_AT_ONCE), pointers, mask, self.size)
        b.store(found, b.gep(self.type, self.target, i), self.size)

    def _iterations(self, first: Value, last: Value, several: Callable[[Value], None],
               one: Callable[[Value], None], rows: int = 1) -> None:
        """Loop over the indices ``first`` to ``last``: ``several`` emits a group of 16, ``one``
        each that remains. ``rows`` rows are done for every index, which polls for interrupts count.
        """
        b = self.b
        whole = b.add(first, b.op("and", b.sub(last, first), i64(-_INDICES_AT_ONCE)))
        with self.polls.chunks(first, whole, each=rows) as (part, end), \
                b.loop(part.index, end, _INDICES_AT_ONCE) as loop:
            several(loop.index)
        with b.loop(whole, last) as loop:
            one(loop.index)

    def _prefetch(self, row: Value, i: Value) -> None:
        """Prefetch memory that may be beyond a row's end."""
        address = self.b.value("ptr", f"getelementptr {self.type}, {row}, {i}")
        prefetch(self.b, address, near=True)

    def _element(self, lines: Sequence[_Line], i: Value, index: Value) -> None:
        """Move element ``i`` of some rows."""
        b = self.b
        for source, target in lines:
            if not self.adds:
                found = b.load(self.type, b.gep(self.type, source, index))
                b.store(found, b.gep(self.type, target, i))
                continue
            there = b.gep(self.type, target, index)
            new = b.load(self.type, b.gep(self.type, source, i))
            name = "fadd" if is_float(self.type) else "add"
            b.store(b.op(name, b.load(self.type, there), new), there)
