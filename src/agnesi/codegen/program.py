"""Kernels to one LLVM module: a function each, and the body that calls them in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agnesi.codegen.builder import Builder, Module, Value, i64
from agnesi.codegen.nest import emit_nest, prepare
from agnesi.codegen.product import emit_product, plan_product
from agnesi.core.kernels import Buffer, Callback, Kernel, Nest, Product

_TASK = (("ptr", "bufs"), ("i64", "begin"), ("i64", "end"), ("i64", "thread"))
_PARALLEL_FLOPS = 400_000


@dataclass(frozen=True)
class Machine:
    """What code generation asks of the processor."""

    vector_bits: int
    l1: int
    l2: int
    l3: int
    features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """One kernel as the body runs it."""

    name: str
    units: int
    parallel: bool
    callback: int = -1


def emit_program(kernels: Sequence[Kernel], machine: Machine) -> tuple[str, list[Step]]:
    """The module's text, and what its body does step by step.

    The body is ``i32 @body(ptr bufs, ptr rt)``; equal kernels share one function.
    """
    module = Module(machine.features)
    steps: list[Step] = []
    known: dict[str, Step] = {}
    callbacks = 0
    for kernel in kernels:
        if isinstance(kernel, Callback):
            steps.append(Step(f"python {kernel.op.name}", 1, False, callbacks))
            callbacks += 1
        else:
            steps.append(_function(module, kernel, machine, f"k{len(steps)}", known))
    _body(module, steps, [k for k in kernels if isinstance(k, Callback)])
    return str(module), steps


def _function(module: Module, kernel: Kernel, machine: Machine, name: str,
              known: dict[str, Step]) -> Step:
    b = Builder(module, name, _TASK)
    bufs, begin, end, _ = b.parameters
    pointers = _Pointers(b, bufs)
    if isinstance(kernel, Product):
        cut = plan_product(kernel, vector_bits=machine.vector_bits, l1=machine.l1, l2=machine.l2,
                           l3=machine.l3)
        _, m, n, k = kernel.sizes
        step = Step(name, cut.units, cut.units > 1 and kernel.sizes[0] * m * n * k > _PARALLEL_FLOPS)
        pointers.take(kernel)
        emit_product(b, kernel, cut, pointers, begin, end)
    else:
        assert isinstance(kernel, Nest)
        shape = prepare(kernel)
        step = Step(name, shape.units, shape.parallel)
        pointers.take(kernel)
        emit_nest(b, shape, pointers, machine.vector_bits, begin, end)
    b.ret()
    text = b.text().replace(f"@{name}(", "@(")
    same = known.get(text)
    if same is not None:
        return same
    known[text] = step
    b.finish()
    return step


class _Pointers:
    """Addresses of buffers, loaded once at the start of a kernel."""

    def __init__(self, b: Builder, bufs: Value) -> None:
        self.b = b
        self.bufs = bufs
        self.known: dict[tuple[int, int], Value] = {}

    def take(self, kernel: Kernel) -> None:
        for buffer in (*kernel.reads(), *kernel.writes()):
            self(buffer)

    def __call__(self, buffer: Buffer) -> Value:
        key = (buffer.slot, buffer.offset)
        found = self.known.get(key)
        if found is None:
            entry = self.b.gep("ptr", self.bufs, i64(buffer.slot))
            found = self.b.load("ptr", entry)
            if buffer.offset:
                found = self.b.gep("i8", found, i64(buffer.offset))
            self.known[key] = found
        return found


def _body(module: Module, steps: Sequence[Step], callbacks: Sequence[Callback]) -> None:
    b = Builder(module, "body", (("ptr", "bufs"), ("ptr", "rt")), "i32", internal=False)
    bufs, rt = b.parameters
    parallel_for = b.load("ptr", rt) if any(s.parallel for s in steps) else None
    callback = None
    if any(s.callback >= 0 for s in steps):
        callback = b.load("ptr", b.gep("ptr", rt, i64(1)))
    for step in steps:
        if step.callback >= 0:
            assert callback is not None
            given = _addresses(b, bufs, callbacks[step.callback])
            code = b.call_pointer("i32", callback, i64(step.callback), given)
            failed = b.icmp("ne", code, Value("0", "i32"))
            leave, go = b.label("failed"), b.label("go")
            b.cbr(failed, leave, go)
            b.open_block(leave)
            b.ret(code)
            b.open_block(go)
        elif step.parallel and parallel_for is not None:
            b.call_pointer("void", parallel_for, rt, Value(f"@{step.name}", "ptr"), bufs,
                           i64(step.units))
        else:
            b.call("void", step.name, bufs, i64(0), i64(step.units), i64(0))
    b.ret(Value("0", "i32"))
    b.finish()


def _addresses(b: Builder, bufs: Value, kernel: Callback) -> Value:
    """The addresses that a callback gets: inputs, then results."""
    buffers = [*kernel.inputs, *kernel.results]
    given = b.alloca("ptr", len(buffers))
    find = _Pointers(b, bufs)
    for i, buffer in enumerate(buffers):
        b.store(find(buffer), b.gep("ptr", given, i64(i)))
    return given
