"""The conductor: a closed graph goes in, a native function comes out.  All stages, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agnesi.core.dispatch import Item
from agnesi.core.errors import MissingInputError
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.kernels import Buffer, Callback, Product
from agnesi.core.node import Node
from agnesi.core.op import explain
from agnesi.core.tensor import Tensor
from agnesi.schedule.fuse import fuse
from agnesi.schedule.memory import Layout, lay_out

_GIL_WORK = 1 << 14


@dataclass
class Executable:
    """A compiled graph: its native function and what each stage made of it."""

    graph: FunctionGraph
    layout: Layout
    native: Any
    code: Any
    states: list[Any]
    steps: list[Any] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    reused: dict[int, int] = field(default_factory=dict)


def leaf_buffers(graph: FunctionGraph) -> dict[int, Buffer]:
    """A buffer for every leaf: arguments in order, live tensors, constants."""
    buffers: dict[int, Buffer] = {}
    for node in graph.inputs:
        t = live_tensor(node)
        assert t is None or node.handle is None
        buffers[id(node)] = Buffer(node.shape, node.dtype, "argument", node=node)
    for node in graph.nodes:
        if node.op is not None or id(node) in buffers:
            continue
        t = live_tensor(node)
        if t is not None:
            buffers[id(node)] = _state_buffer(node)
        elif constant_value(node) is not None:
            buffers[id(node)] = Buffer(node.shape, node.dtype, "constant", node=node)
        else:
            raise MissingInputError(f"the input {node.name or 'without a name'} has no value")
    return buffers


def _state_buffer(leaf: Node) -> Buffer:
    data: Any = live_tensor(leaf).data  # type: ignore[union-attr]
    strides = tuple(s // data.dtype.itemsize for s in data.strides)
    return Buffer(data.shape, data.dtype, "state", node=leaf, strides=strides)


def compile_graph(
    graph: FunctionGraph,
    arguments: Sequence[Any],
    returned: int,
    updates: Sequence[tuple[Node, int]],
    *,
    result: str,
    wrap: Sequence[bool],
    slow: Callable[..., Any],
    guards: Sequence[Any] = (),
    donated: Sequence[Node] = (),
    name: str = "compiled",
) -> Executable:
    """Compile a specialised, rewritten graph.

    ``graph.outputs`` are the ``returned`` results and then the new values of state; ``updates``
    pairs the leaf of each changed live tensor with its output's position.  ``arguments`` are the
    entry's :class:`Arg` records, in order.
    """
    from agnesi.codegen.program import Machine, emit_program
    from agnesi.runtime import entry, machine
    from agnesi.runtime.callbacks import Callbacks

    clock = _Clock()
    buffers = leaf_buffers(graph)
    for leaf, _ in updates:
        if id(leaf) not in buffers:
            buffers[id(leaf)] = _state_buffer(leaf)
    program = fuse(graph.outputs, buffers)
    pairs = [(buffers[id(leaf)], program.outputs[i]) for leaf, i in updates]
    layout = lay_out(program, pairs, [buffers[id(n)] for n in donated])
    clock.mark("schedule")
    target = machine.target()
    text, steps = emit_program(
        layout.kernels, Machine(target.vector_bits, target.l1, target.l2, target.l3, target.names)
    )
    clock.mark("emit")
    code = machine.load(text)
    clock.mark("machine code")
    callbacks = [_callback(k, layout) for k in layout.kernels if isinstance(k, Callback)]
    back = Callbacks(callbacks) if callbacks else None
    states = [_state(b) for b in layout.table if b.role == "state"]
    reused = _reused(program.outputs[:returned], layout, graph)
    spec = entry.EntrySpec(
        arguments=tuple(arguments),
        outputs=tuple(
            entry.Out(node.dtype.name, _shape(node), w)
            for i, (node, w) in enumerate(zip(graph.outputs[:returned], wrap, strict=True))
            if i not in reused
        ),
        result="tuple" if reused else result,  # type: ignore[arg-type]
        arena_bytes=layout.arena_bytes,
        release_gil=_is_long(layout),
    )
    native = entry.bind(
        code, spec, slow=slow,
        failed=back.failed if back else _unexpected,
        states=states,
        constants=[np.ascontiguousarray(constant_value(b.node))  # type: ignore[arg-type]
                   for b in layout.table if b.role == "constant"],
        guards=guards,
        wrapper=_wrapper(entry),
        callback=back,
        name=name,
    )
    clock.mark("entry")
    return Executable(graph, layout, native, code, states, steps, clock.seconds, reused)


def _reused(results: Sequence[Buffer], layout: Layout, graph: FunctionGraph) -> dict[int, int]:
    """Results that take over the memory of an argument: which argument, by position."""
    arguments = {id(n): i for i, n in enumerate(graph.inputs)}
    found = {}
    for i, buffer in enumerate(results):
        owner = layout.shared.get(buffer)
        if owner is not None and owner.role == "argument":
            found[i] = arguments[id(owner.node)]
    return found


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def mark(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


def _wrapper(entry: Any) -> Any:
    """How native code reads tensors and makes new ones."""
    return entry.Wrapper(
        Tensor, "data", required={"requires_grad": False},
        fresh={"node": None, "requires_grad": False, "_grad": None, "_view": None,
               "_version": None, "_name": None},
    )


def _shape(node: Node) -> tuple[int, ...]:
    return tuple(node.shape)


def _state(buffer: Buffer) -> Any:
    from agnesi.runtime.entry import State

    t = live_tensor(buffer.node)  # type: ignore[arg-type]
    return State(t.data, t, "data")  # type: ignore[union-attr]


def _unexpected(code: int) -> Any:
    raise RuntimeError(f"compiled code stopped with code {code}")


def _is_long(layout: Layout) -> bool:
    """Whether a call takes long enough for other threads to run meanwhile."""
    work = 0
    for kernel in layout.kernels:
        if isinstance(kernel, Product):
            b, m, n, k = kernel.sizes
            work += b * m * n * k // 16
        for store in kernel.stores():
            work += store.buffer.size
    return work > _GIL_WORK


def _callback(kernel: Callback, layout: Layout) -> Any:
    """The Python side of a kernel without a lowering."""
    from agnesi.runtime.callbacks import Callback as Native

    op, where = kernel.op, kernel.nodes[0].where if kernel.nodes else None

    strided = {
        i: b for i, b in enumerate(kernel.inputs) if b.role == "state" and not b.contiguous
    }

    def run(*arrays: np.ndarray) -> Any:
        if strided:
            arrays = tuple(
                live_tensor(strided[i].node).data if i in strided else a  # type: ignore
                for i, a in enumerate(arrays)
            )
        try:
            return op.perform(*arrays)
        except (ValueError, TypeError, IndexError) as error:
            raise explain(error, op.name, arrays, where) from None

    return Native(
        run,
        tuple((b.dtype.name, b.shape) for b in kernel.inputs),
        tuple((b.dtype.name, b.shape) for b in kernel.results),
    )


__all__ = ["Executable", "Item", "compile_graph", "leaf_buffers"]
