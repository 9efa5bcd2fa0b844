"""Running sums, products and extremes of rows whose elements are neighbours.

In a vector, each lane is combined with the one 1, 2, 4 ... lanes before it (Hillis and Steele 1986:
Data parallel algorithms); vectors with what came before them.  So the order in which numbers are
added follows from positions alone.  Products that leave the range on the way, of a vector's own
elements, are made again in order: what came before may bring them back.
"""

from __future__ import annotations

import functools

import numpy as np

from agnesi.codegen.library.polls import Polls, polled_task
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, is_float, lanes, suffix, vector
from agnesi.codegen.llvm.task import TYPES, share
from agnesi.core.ir.calls.sorting import VECTOR_BYTES
from agnesi.core.target import Target

_NEUTRAL = {"add": -0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}
_NAMES = {"add": ("fadd", "add"), "multiply": ("fmul", "mul"), "maximum": ("ogt", "smax"),
          "minimum": ("olt", "smin")}
#: Vectors at a time.
_VECTORS_AT_ONCE = 4


def running_module(name: str, target: Target) -> str:
    """The module for ``name``: a kind, a dtype, and perhaps the word "reverse".

    Its function ``run`` does units of work, as kernels do; the table has the addresses of elements
    and results, elements of a row, the number of rows, and that of units.
    """
    kind, dtype, *reverse = name.split()
    b = polled_task(target)
    running = _Running(b, kind, dtype, bool(reverse))
    if kind == "multiply" and dtype.startswith("float"):
        running.write_in_order()
    running.write()
    return str(b.module)


class _Running:
    def __init__(self, b: Builder, kind: str, dtype: str, reverse: bool) -> None:
        self.b = b
        self.type = TYPES[dtype]
        self.size = int(dtype[-2:]) // 8
        self.lanes = VECTOR_BYTES // self.size
        self.vector = vector(self.type, self.lanes)
        self.name = _NAMES[kind][dtype.startswith("int")]
        self.floating = is_float(self.type)
        self.extreme = kind in ("maximum", "minimum")
        neutral: float = _NEUTRAL[kind]
        if self.extreme and not self.floating:
            limits = np.iinfo(dtype)
            neutral = int(limits.min if kind == "maximum" else limits.max)
        self.neutral = const(self.vector, neutral)
        self.reverse = reverse
        self._end = 0 if reverse else self.lanes - 1
        self.polls = Polls.begin(b, b.parameters[3])

    def write(self) -> None:
        b = self.b
        table = b.parameters[0]
        source, target = (b.load("ptr", b.gep("ptr", table, i64(k))) for k in (0, 1))
        n, count, units = (b.load("i64", b.gep("i64", table, i64(k))) for k in (2, 3, 4))
        with b.loop(*share(b, count, units)) as row:
            start = b.mul(row.index, n)
            self._row(b.gep(self.type, source, start), b.gep(self.type, target, start), n)
            row.until = self.polls.interrupted()
        b.finish()

    def write_in_order(self) -> None:
        """Write ``in_order(vector part, vector before)``: the running sums or products of ``part``,
        one lane after the other, starting from the first lane of ``before``.
        """
        b = Builder(self.b.module, "in_order", [(self.vector, "part"), (self.vector, "before")],
                    self.vector)
        part, result = b.parameters
        last = b.extract(result, 0)
        for k in reversed(range(self.lanes)) if self.reverse else range(self.lanes):
            last = b.op(self.name, last, b.extract(part, k))
            result = b.value(self.vector, f"insertelement {result}, {last}, i64 {k}")
        b.finish(result)

    def _row(self, source: Value, target: Value, n: Value) -> None:
        b = self.b
        before, done = self.neutral, i64(0)
        for several in (_VECTORS_AT_ONCE, 1):
            step = several * self.lanes
            stop = b.op("and", n, i64(-step))
            with self.polls.chunks(done, stop, (before,)) as (part, end):
                with b.loop(part.index, end, step, part.carried, nonempty=True) as loop:
                    at = [self._offset(n, b.add(loop.index, i64(k * self.lanes)))
                          for k in range(several)]
                    loop.carry(self._step(source, target, at, loop.carried[0]))
                part.carry(*loop.results)
            (before,), done = part.results, stop
        with b.when(b.icmp("slt", done, n)):
            self._rest(source, target, b.sub(n, done), i64(0) if self.reverse else done, before)

    def _step(self, source: Value, target: Value, offsets: list[Value], before: Value) -> Value:
        """Emit the running results of the vectors at ``offsets``; return the total so far, in all
        lanes.
        """
        b = self.b
        parts = [b.load(self.vector, b.gep(self.type, source, p), self.size) for p in offsets]
        results, following = self._several(parts, before)
        for offset, result in zip(offsets, results, strict=True):
            b.store(result, b.gep(self.type, target, offset), self.size)
        return following

    def _offset(self, n: Value, done: Value) -> Value:
        """Return the address of a vector behind so many elements."""
        if not self.reverse:
            return done
        return self.b.sub(n, self.b.add(done, i64(self.lanes)))

    def _rest(self, source: Value, target: Value, left: Value, at: Value, before: Value) -> None:
        """Emit the running results of the last ``left`` elements, which do not fill a vector."""
        b = self.b
        numbers = lanes(vector("i64", self.lanes), range(self.lanes))
        mask = b.icmp("slt", numbers, b.splat(left, self.lanes))
        part = b.masked_load(self.vector, b.gep(self.type, source, at), mask, self.size,
                             self.neutral)
        (result,), _ = self._several([part], before)
        b.masked_store(result, b.gep(self.type, target, at), mask, self.size)

    def _several(self, parts: list[Value], before: Value) -> tuple[list[Value], Value]:
        """Return the running results of several vectors, and the total so far, in all lanes."""
        owns = [self._inside(part) for part in parts]
        if not self.floating or self.name != "fmul":
            *found, before = self._at_once(owns, before)
        else:
            *found, before = self.b.either(
                self._any_abnormal(owns), lambda: self._one_by_one(parts, owns, before),
                lambda: self._at_once(owns, before))
        return found, before

    def _one_by_one(self, parts: list[Value], owns: list[Value], before: Value) -> list[Value]:
        """Return the same for vectors of which some products are not normal numbers: these are
        computed element by element, as NumPy does.
        """
        found = []
        for part, own in zip(parts, owns, strict=True):
            result, before = self.b.either(
                self._strays(part, own), functools.partial(self._in_order, part, before),
                functools.partial(self._at_once, [own], before))
            found.append(result)
        return [*found, before]

    def _any_abnormal(self, owns: list[Value]) -> Value:
        """Return whether a product is not a normal number: subnormal, zero, infinite or NaN."""
        b, bits = self.b, vector(f"i{8 * self.size}", self.lanes)
        limits = np.finfo(f"float{8 * self.size}")
        least, most = (int(x.view(f"int{8 * self.size}")) for x in (limits.tiny, limits.max))
        worst = None
        for own in owns:
            size = b.cast("bitcast", b.intrinsic("fabs", own), bits)
            beyond = b.op("sub", size, const(bits, least))  # of lesser ones it is large
            worst = beyond if worst is None else b.intrinsic("umax", worst, beyond)
        assert worst is not None
        return self._reduced("or", b.icmp("ugt", worst, const(bits, most - least)))

    def _at_once(self, owns: list[Value], before: Value) -> list[Value]:
        """Return the running results, given each vector's own running results ``owns``; and the
        total.
        """
        found = []
        for own in owns:
            found.append(self._combine(before, own))
            before = self._combine(before, self.b.shuffle(own, None, [self._end] * self.lanes))
        return [*found, before]

    def _strays(self, part: Value, own: Value) -> Value:
        """Return whether a product is not a normal number; zeros are allowed if a factor is zero.
        """
        b = self.b
        size, limits = b.intrinsic("fabs", own), np.finfo(f"float{8 * self.size}")
        inside = b.op("and", b.fcmp("oge", size, const(self.vector, float(limits.tiny))),
                      b.fcmp("ole", size, const(self.vector, float(limits.max))))
        zero = const(self.vector, 0.0)
        none = b.splat(self._reduced("or", b.fcmp("oeq", part, zero)), self.lanes)
        inside = b.op("or", inside, b.op("and", b.fcmp("oeq", own, zero), none))
        return b.op("xor", self._reduced("and", inside), Value("true", "i1"))

    def _reduced(self, name: str, flags: Value) -> Value:
        return self.b.call("i1", f"llvm.vector.reduce.{name}.{suffix(flags.type)}", flags)

    def _in_order(self, part: Value, before: Value) -> list[Value]:
        """Return the running results of one vector, computed element by element, and the total."""
        result = self.b.call(self.vector, "in_order", part, before)
        return [result, self.b.shuffle(result, None, [self._end] * self.lanes)]

    def _combine(self, a: Value, c: Value) -> Value:
        """Emit the combination of a running result and the next element; NaN propagates."""
        b = self.b
        if not self.extreme:
            return b.op(self.name, a, c)
        if not self.floating:
            return b.intrinsic(self.name, a, c)
        ahead = b.op("or", b.fcmp(self.name, a, c), b.fcmp("uno", a, a))
        return b.select(ahead, a, c)

    def _inside(self, part: Value) -> Value:
        """Return the running results within a vector: each lane combined with all lanes before it.
        """
        n, step = self.lanes, 1
        while step < n:
            moved = [
                (k + step if k + step < n else n) if self.reverse else
                (k - step if k >= step else n) for k in range(n)
            ]
            part = self._combine(self.b.shuffle(part, self.neutral, moved), part)
            step *= 2
        return part
