"""Calls of C functions: their addresses come from a table that is filled when the code is bound."""

from __future__ import annotations

import re
from collections.abc import Callable

from agnesi.codegen.interrupts import looks, poll
from agnesi.codegen.launch import FUNCTIONS_ENTRY
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent, guess
from agnesi.core.ir.foreign import (
    HOLD,
    READ,
    RELEASE,
    SCRATCH,
    WRITTEN,
    Argument,
    Call,
    external,
    in_one_thread,
    may_last,
)
from agnesi.core.ir.kernels import Buffer, Foreign

#: What is called beside the main thread (``runtime/foreign_calls.py``), and what arguments are to
#: it.
_RUN_BESIDE = external("runtime:beside")
_KINDS = {"result": WRITTEN, "scratch": SCRATCH}
#: Bytes of a matrix from which a function may take long, and from which one that iterates may: of
#: 500 rows, singular values take 80 ms, and eigenvalues 300, a Cholesky factor 3.
_BESIDE_BYTES, _ITERATED_BYTES = 1 << 21, 1 << 18
_ITERATED = re.compile(r":[sdcz](gesdd|gees|geev|syevd|heevd)")


def emit_foreign(b: Builder, kernel: Foreign, rt: Value, address_of: Callable[[Buffer], Value],
                 symbol: int, code: int) -> None:
    """Emit the calls of a kernel; the program returns ``code`` if one fails. ``symbol`` is the
    number of the function.
    """
    functions = b.load("ptr", b.gep("ptr", rt, i64(FUNCTIONS_ENTRY)))
    function = b.load("ptr", b.gep("ptr", functions, i64(symbol)))
    call = kernel.call
    assert isinstance(call, Call)
    for i, j in call.copies:
        target, source = kernel.results[i], kernel.inputs[j]
        b.call("void", "llvm.memcpy.p0.p0.i64", address_of(target), address_of(source),
               b.size(target.nbytes), const("i1", False))
    maker = _Arguments(b, kernel, call, address_of)
    if call.units:
        _shared(b, kernel, call, maker, rt, function)
        return
    before = [maker.fixed(a) for a in call.arguments]
    held = in_one_thread(kernel)
    if held:
        b.call("void", external(HOLD))
    with b.loop(i64(0), b.size(call.batch)) as loop:
        given = [maker.moving(a, loop.index) if value is None else value
                 for a, value in zip(call.arguments, before, strict=True)]
        if may_last(call.symbol):
            _beside(b, maker, function, given, held)
        elif not call.status:
            b.call_pointer("void", function, *given)
        else:
            status = b.call_pointer("i32", function, *given)
            failed, go = b.label("failed"), b.label("go")
            b.cbr(b.icmp("ne", status, Value("0", "i32")), failed, go, rare=True)
            b.open_block(failed)
            _leave(b, held, Value(str(code), "i32"))
            b.open_block(go)
        if looks(kernel):
            _leave_if_interrupted(b, held)
    _leave(b, held, Value("0", "i32"))


def _leave(b: Builder, held: bool, code: Value) -> None:
    """Return from the program; the library may use its own threads again."""
    if held:
        b.call("void", external(RELEASE))
    b.ret(code)


def _beside(b: Builder, maker: _Arguments, function: Value, given: list[Value], held: bool) -> None:
    """Emit a call that may take long, in a thread beside the main one, which handles signals."""
    largest = max(map(maker.bytes_of, maker.call.arguments), key=guess)
    least = _ITERATED_BYTES if _ITERATED.search(maker.call.symbol) else _BESIDE_BYTES
    if isinstance(largest, int) and largest < least:
        b.call_pointer("void", function, *given)
        return
    table = b.alloca("i64", 2 + 3 * len(given))
    words: list[Value] = [function, i64(len(given))]
    for a, value in zip(maker.call.arguments, given, strict=True):
        words += [value, b.size(maker.bytes_of(a)), i64(_KINDS.get(a.kind, READ))]
    for i, word in enumerate(words):
        b.store(word, b.gep("i64", table, i64(i)))
    (code,) = b.either(b.icmp("sge", b.size(largest), i64(least)),
                       lambda: [b.call("i32", _RUN_BESIDE, table)], lambda: [const("i32", -1)])
    with b.when(b.icmp("eq", code, const("i32", -1))):
        b.call_pointer("void", function, *given)
    left, on = b.label("left"), b.label("on")
    b.cbr(b.icmp("slt", code, const("i32", -1)), left, on, rare=True)
    b.open_block(left)
    _leave(b, held, code)
    b.open_block(on)


def _leave_if_interrupted(b: Builder, held: bool) -> None:
    """Emit a poll for signals between two calls."""
    signal, left, on = poll(b), b.label("left"), b.label("on")
    b.cbr(b.icmp("ne", signal, Value("0", "i32")), left, on, rare=True)
    b.open_block(left)
    _leave(b, held, signal)
    b.open_block(on)


def _shared(b: Builder, kernel: Foreign, call: Call, maker: _Arguments, rt: Value,
            function: Value) -> None:
    """Emit a call of a function that takes units of work, as kernels do: on all threads where there
    is more than one unit.

    It may have been left before its end, for a signal.
    """
    table = b.alloca("i64", len(call.arguments))
    for i, a in enumerate(call.arguments):
        fixed = maker.fixed(a)
        value = maker.moving(a, i64(0)) if fixed is None else fixed
        b.store(value, b.gep("i64", table, i64(i)))
    if call.units > 1:
        share = b.load("ptr", rt)
        b.call_pointer("void", share, rt, function, table, i64(call.units))
    else:
        b.call_pointer("void", function, table, i64(0), i64(1), i64(0))
    b.ret(poll(b) if looks(kernel) else Value("0", "i32"))


class _Arguments:
    """The values of a call's arguments."""

    def __init__(self, b: Builder, kernel: Foreign, call: Call,
                 address_of: Callable[[Buffer], Value]) -> None:
        self.b = b
        self.kernel = kernel
        self.call, self.batch = call, call.batch
        self.address_of = address_of

    def fixed(self, a: Argument) -> Value | None:
        """The value of an argument that is equal in all calls; None where each call has its own."""
        b = self.b
        if a.kind == "scratch":
            return self.address_of(self.kernel.scratch[a.value])
        if a.kind == "sizes":
            sizes = [n for x in self._both for n in x.shape]
            workspace = b.alloca("i64", len(sizes) or 1)
            for i, n in enumerate(sizes):
                b.store(b.size(n), b.gep("i64", workspace, i64(i)))
            return workspace
        if a.kind in ("operand", "result", "pointers"):
            return None
        value = self._number(a)
        if a.direct:
            return value
        workspace = b.alloca(a.kind, 1)
        b.store(value, workspace)
        return workspace

    def _number(self, a: Argument) -> Value:
        if isinstance(a.value, tuple):
            return lanes(a.kind, a.value)
        if not isinstance(a.value, Extent):
            return const(a.kind, a.value)
        n = self.b.size(a.value)
        return n if a.kind == "i64" else self.b.cast("trunc", n, a.kind)

    @property
    def _both(self) -> list[Buffer]:
        return [*self.kernel.inputs, *self.kernel.results]

    def bytes_of(self, a: Argument) -> Size:
        """Return the bytes that one call's argument points to."""
        if a.kind == "scratch":
            return self.call.scratch[a.value]
        if a.kind not in ("operand", "result"):
            return nbytes(a.kind)
        x = self._of(a)
        return x.size // self.batch * x.dtype.itemsize

    def moving(self, a: Argument, loop: Value) -> Value:
        """Return the argument of the call of an iteration."""
        b = self.b
        if a.kind != "pointers":
            return self._part(self._of(a), loop)
        workspace = b.alloca("ptr", len(self._both))
        for i, buffer in enumerate(self._both):
            b.store(self._part(buffer, loop), b.gep("ptr", workspace, i64(i)))
        return workspace

    def _of(self, a: Argument) -> Buffer:
        """The operand or result that an argument points to."""
        return (self.kernel.inputs if a.kind == "operand" else self.kernel.results)[a.value]

    def _part(self, buffer: Buffer, loop: Value) -> Value:
        b, batch = self.b, self.batch
        start = self.address_of(buffer)
        if batch == 1:
            return start
        step = buffer.size // batch * buffer.dtype.itemsize
        return b.gep("i8", start, b.mul(loop, b.size(step)))
