"""Kernels to one LLVM module: a function each, and the body that calls them in order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from agnesi.codegen.builder import Builder, Module, Value, i64
from agnesi.codegen.nest import emit_nest, prepare
from agnesi.codegen.product import emit_product, plan_product
from agnesi.codegen.structure import structure
from agnesi.core.kernels import Buffer, Callback, Kernel, Nest, Product

_TASK = (("ptr", "places"), ("i64", "begin"), ("i64", "end"), ("i64", "thread"))
#: Multiply-adds from which a product is worth several threads.
_PARALLEL_WORK = 600_000


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
    """One kernel as the body runs it.

    ``places`` are the buffers whose addresses the kernel gets, in its own order: the kernel's text
    does not tell where they are, so equal work is equal code.
    """

    name: str
    units: int
    parallel: bool
    places: tuple[Buffer, ...]
    callback: int = -1


def emit_program(kernels: Sequence[Kernel], machine: Machine) -> tuple[str, list[Step]]:
    """The module's text, and what its body does step by step.

    The body is ``i32 @body(ptr bufs, ptr rt)``; equal kernels share one function.
    """
    module = Module(machine.features)
    steps: list[Step] = []
    known: dict[Hashable, Step] = {}
    texts: dict[str, str] = {}
    callbacks = 0
    for kernel in kernels:
        if isinstance(kernel, Callback):
            places = (*kernel.inputs, *kernel.results)
            steps.append(Step(f"python {kernel.op.name}", 1, False, places, callbacks))
            callbacks += 1
        else:
            key = structure(kernel)
            if key not in known:
                known[key] = _step(module, kernel, machine, f"k{len(texts)}", texts)
            steps.append(replace(known[key], places=_places(kernel)))
    _body(module, steps)
    return str(module), steps


def _step(module: Module, kernel: Kernel, machine: Machine, name: str,
          texts: dict[str, str]) -> Step:
    """A kernel's function, written unless another kernel has the same text."""
    b = Builder(module, name, _TASK)
    places, begin, end, _ = b.parameters
    buffers = _places(kernel)
    numbers = {_spot(buffer): i for i, buffer in enumerate(buffers)}
    pointers = [b.load("ptr", b.gep("ptr", places, i64(i))) for i in range(len(buffers))]

    def pointer(buffer: Buffer) -> Value:
        return pointers[numbers[_spot(buffer)]]

    if isinstance(kernel, Product):
        cut = plan_product(kernel, vector_bits=machine.vector_bits, l1=machine.l1, l2=machine.l2,
                           l3=machine.l3)
        units, parallel = cut.units, cut.units > 1 and _work(kernel) > _PARALLEL_WORK
        emit_product(b, kernel, cut, pointer, begin, end)
    else:
        assert isinstance(kernel, Nest)
        shape = prepare(kernel)
        units, parallel = shape.units, shape.parallel
        emit_nest(b, shape, pointer, machine.vector_bits, begin, end)
    b.ret()
    text = b.text().replace(f"@{name}(", "@(", 1)
    if text not in texts:
        texts[text] = name
        b.finish()
    return Step(texts[text], units, parallel, buffers)


def _places(kernel: Kernel) -> tuple[Buffer, ...]:
    return _distinct((*kernel.reads(), *kernel.writes()))


def _work(product: Product) -> int:
    """Multiply-adds of a product, or as many as take as long as reading its matrices."""
    batch, m, n, k = product.sizes
    elements = m * k + k * n + m * n
    return batch * max(m * n * k, 3 * elements * product.total.dtype.itemsize // 4)


def _spot(buffer: Buffer) -> tuple[int, int]:
    return buffer.slot, buffer.offset


def _distinct(buffers: Iterable[Buffer]) -> tuple[Buffer, ...]:
    """Buffers without those that share the memory of an earlier one."""
    found: dict[tuple[int, int], Buffer] = {}
    for buffer in buffers:
        found.setdefault(_spot(buffer), buffer)
    return tuple(found.values())


def _body(module: Module, steps: Sequence[Step]) -> None:
    b = Builder(module, "body", (("ptr", "bufs"), ("ptr", "rt")), "i32", internal=False)
    bufs, rt = b.parameters
    parallel_for = b.load("ptr", rt) if any(s.parallel for s in steps) else None
    callback = None
    if any(s.callback >= 0 for s in steps):
        callback = b.load("ptr", b.gep("ptr", rt, i64(1)))
    room = b.alloca("ptr", max((len(s.places) for s in steps), default=1) or 1)
    for step in steps:
        _put_addresses(b, bufs, step.places, room)
        if callback is not None and step.callback >= 0:
            code = b.call_pointer("i32", callback, i64(step.callback), room)
            leave, go = b.label("failed"), b.label("go")
            b.cbr(b.icmp("ne", code, Value("0", "i32")), leave, go)
            b.open_block(leave)
            b.ret(code)
            b.open_block(go)
        elif parallel_for is not None and step.parallel:
            b.call_pointer("void", parallel_for, rt, Value(f"@{step.name}", "ptr"), room,
                           i64(step.units))
        else:
            b.call("void", step.name, room, i64(0), i64(step.units), i64(0))
    b.ret(Value("0", "i32"))
    b.finish()


def _put_addresses(b: Builder, bufs: Value, buffers: Sequence[Buffer], room: Value) -> None:
    """Write the addresses that a step gets, in order."""
    for i, buffer in enumerate(buffers):
        place = b.load("ptr", b.gep("ptr", bufs, i64(buffer.slot)))
        if buffer.offset:
            place = b.gep("i8", place, i64(buffer.offset))
        b.store(place, b.gep("ptr", room, i64(i)))
