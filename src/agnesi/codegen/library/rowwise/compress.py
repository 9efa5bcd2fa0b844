"""Indices of the true elements of a bool vector: a table gives those of eight elements at once.

Eight positions are written at once, of which those behind the last true one are overwritten by what
follows; near the end of the result, and where few are true, positions are written one by one.
"""

from __future__ import annotations

from agnesi.codegen.library.polls import Polls, polled_task
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.target import Target

#: Elements of a block.
_BLOCK_ELEMENTS = 64
#: Elements of a group, whose combinations of bits are in a table.
_GROUP_ELEMENTS = 8
#: True elements of a block from which groups are quicker than one by one.
_MIN_GROUPED = 8
_FALSE = Value("false", "i1")


def chosen_module(name: str, target: Target) -> str:
    """The module for bools.

    Its function ``run`` does its one unit of work, as kernels do; the table has the addresses of
    bools and of int64 positions, the number of bools, and that of positions.
    """
    assert name == "bool"
    b = polled_task(target)
    _Chosen(b).write()
    return str(b.module)


class _Chosen:
    def __init__(self, b: Builder) -> None:
        self.b = b
        self.polls = Polls.begin(b, b.parameters[3])
        table = b.parameters[0]
        self.source, self.target = (b.load("ptr", b.gep("ptr", table, i64(k))) for k in (0, 1))
        self.n, self.size = (b.load("i64", b.gep("i64", table, i64(k))) for k in (2, 3))
        lists = [
            [i for i in range(_GROUP_ELEMENTS) if bits >> i & 1]
            for bits in range(1 << _GROUP_ELEMENTS)
        ]
        self.table = b.module.table(
            "i8", [i for found in lists for i in (*found, *[0] * (_GROUP_ELEMENTS - len(found)))])

    def write(self) -> None:
        b = self.b
        whole = b.op("and", self.n, i64(-_BLOCK_ELEMENTS))
        with self.polls.chunks(i64(0), whole, (i64(0),)) as (part, end):
            with b.loop(part.index, end, _BLOCK_ELEMENTS, part.carried, nonempty=True) as loop:
                address = b.gep("i8", self.source, loop.index)
                flags = b.load(f"<{_BLOCK_ELEMENTS} x i8>", address, 1)
                loop.carry(self._block(flags, loop.index, loop.carried[0]))
            part.carry(*loop.results)
        (found,) = part.results
        with b.loop(whole, self.n, 1, [found]) as loop:
            flag = b.load("i8", b.gep("i8", self.source, loop.index), 1)
            with b.when(b.op("and", b.icmp("ne", flag, Value("0", "i8")),
                             b.icmp("slt", loop.carried[0], self.size))):
                b.store(loop.index, b.gep("i64", self.target, loop.carried[0]))
            loop.carry(b.add(loop.carried[0], b.cast("zext", flag, "i64")))
        b.finish()

    def _block(self, flags: Value, first: Value, found: Value) -> Value:
        """Emit code that appends the positions of a block's true elements; return the number found
        so far.
        """
        b = self.b
        zero = Value("zeroinitializer", flags.type)
        bits = b.cast("bitcast", b.icmp("ne", flags, zero), "i64")
        count = b.intrinsic("ctpop", bits)
        fits = b.icmp("sle", b.add(found, i64(_BLOCK_ELEMENTS)), self.size)
        many = b.op("and", fits, b.icmp("sgt", count, i64(_MIN_GROUPED)))
        b.either(many, lambda: self._groups(bits, first, found),
                 lambda: self._singly(bits, count, first, found))
        return b.add(found, count)

    def _groups(self, bits: Value, first: Value, found: Value) -> list[Value]:
        b = self.b
        for k in range(0, _BLOCK_ELEMENTS, _GROUP_ELEMENTS):
            group = b.op("and", b.op("lshr", bits, i64(k)), i64((1 << _GROUP_ELEMENTS) - 1))
            row = b.gep("i8", self.table, b.mul(group, i64(_GROUP_ELEMENTS)))
            positions = b.cast(
                "zext", b.load(f"<{_GROUP_ELEMENTS} x i8>", row, 8), f"<{_GROUP_ELEMENTS} x i64>"
            )
            positions = b.add(positions, b.splat(b.add(first, i64(k)), _GROUP_ELEMENTS))
            b.store(positions, b.gep("i64", self.target, found), 8)
            found = b.add(found, b.intrinsic("ctpop", group))
        return []

    def _singly(self, bits: Value, count: Value, first: Value, found: Value) -> list[Value]:
        b = self.b
        end = b.intrinsic("smin", b.add(found, count), self.size)
        with b.loop(found, end, 1, [bits]) as loop:
            (left,) = loop.carried
            position = b.add(first, b.intrinsic("cttz", left, _FALSE))
            b.store(position, b.gep("i64", self.target, loop.index))
            loop.carry(b.op("and", left, b.sub(left, i64(1))))
        return []
