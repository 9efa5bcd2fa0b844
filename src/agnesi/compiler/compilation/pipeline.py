"""The compilation pipeline, from a closed graph to a native function: all stages, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from agnesi.compiler.compilation.artifact import Recipe
from agnesi.compiler.compilation.products import library
from agnesi.core.backend import Backend
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.calls.gemm import Library
from agnesi.core.ir.dims import Size, is_static
from agnesi.core.ir.extents import Extent, UnknownSizeError, guess
from agnesi.core.ir.foreign import HOLD, RELEASE, in_one_thread
from agnesi.core.ir.interning import interning
from agnesi.core.ir.kernels import Buffer, Callback, Check, Contraction, Foreign, nested
from agnesi.core.ir.node import Node
from agnesi.core.op import explain, name_at
from agnesi.core.storage.assignment import read_only
from agnesi.core.support.errors import MissingInputError, at
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import struct
from agnesi.core.target import Target
from agnesi.core.tensor import Tensor

#: Scalar operations of a program from which it gives Python's lock away.
_GIL_WORK = 1 << 14


class Clock:
    """Seconds spent in each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def mark(self, stage: str) -> None:
        """Add the time since the last mark to ``stage``."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


class Scheduled:
    """A graph as kernels with memory, as code text, and as a recipe."""

    @interning()
    def __init__(self, graph: FunctionGraph, live: Sequence[Tensor], returned: int,
                 updates: Sequence[tuple[Tensor | int, int]], donated: Sequence[int],
                 clock: Clock, backend: Backend, limit: int | None = None, saved: str = "",
                 policy: CompilePolicy = FAST_RUN, exclude: Sequence[str] = ()) -> None:
        if limit is not None and graph.extents:
            raise UnknownSizeError("a memory limit needs sizes that are known")
        from agnesi.codegen.program import Varying
        from agnesi.schedule.passes import schedule
        from agnesi.schedule.program import Request

        buffers = _leaf_buffers(graph)
        states = {id(live_tensor(b.node)): b  # type: ignore[arg-type]
                  for b in buffers.values() if b.role == "state"}
        targets = [
            (buffers[id(graph.inputs[t])] if isinstance(t, int)
             else states.get(id(t)) or _written(t, buffers), i)
            for t, i in updates
        ]
        target = backend.target
        products = _library(policy, target)
        prefers = partial(_preferred, target=target) if target.supports("convolution") else None
        program = schedule(Request(
            graph.outputs, buffers, target, prefers, products,
            {i: t for t, i in targets if not t.contiguous and is_dense(t.shape, t.strides)},
            updates=targets, donated=[buffers[id(graph.inputs[i])] for i in donated],
            unread=sorted({*range(returned, len(graph.outputs))} - {i for _, i in updates}),
            limit=limit, saved=saved, exclude=frozenset(exclude),
        ))
        self.layout, self.counts = program.layout, program.counts
        self.memory = backend.prepare(guess(self.layout.arena_bytes))
        clock.mark("schedule")
        reused = _reused(program.outputs[:returned], self.layout.shared, graph)
        made = [i for i in range(returned) if i not in reused]
        arena: Any = self.layout.arena_bytes
        varying = None
        if graph.extents:
            results = tuple(n for i in made for n in graph.outputs[i].shape)
            varying = Varying(graph.extents, self.layout.arena_slot + 1, results, arena)
        self.ahead = backend.begin(policy.opt_level)
        text, self.steps = backend.emit(
            self.layout.kernels, policy=policy, threads=products.threads, varying=varying,
            ahead=self.ahead, groups=self.layout.groups,
        )
        clock.mark("emit")
        table = self.layout.table
        indices = {id(t): i for i, t in enumerate(live)}
        kernels = list(nested(self.layout.kernels))
        self.checks = [k for k in kernels if isinstance(k, Check | Foreign)]
        self.largest = max(
            (b for b in program.buffers if b.role == "temporary"),
            key=lambda b: guess(b.nbytes), default=None,
        )
        self.recipe = Recipe(
            backend.key(), text,
            [indices[id(live_tensor(b.node))] for b in table if b.role == "state"],  # type: ignore[arg-type]
            _constants(table), made, reused, guess(arena), self._is_long(),
            optimize=policy.opt_level,
            callbacks=[_callback(k, graph.extents) for k in kernels if isinstance(k, Callback)],
            foreign=_foreign(kernels, products.threads),
        )

    def _is_long(self) -> bool:
        """Return whether a call runs long enough to release Python's lock."""
        from agnesi.codegen.opt_level import duration, endless

        kernels = self.layout.kernels
        return endless(kernels) or guess(duration(kernels)) > _GIL_WORK


def _library(policy: CompilePolicy, target: Target) -> Library:
    """Return the library that evaluates matrix products."""
    if not policy.library_products or not target.supports("product"):
        return Library()
    return library(policy.every_product)


def _constants(table: Sequence[Buffer]) -> list[np.ndarray]:
    """The values of the constants in a table of buffers."""
    return [np.ascontiguousarray(constant_value(b.node))  # type: ignore[arg-type]
            for b in table if b.role == "constant"]


def _preferred(*args: Any, **keywords: Any) -> Any:
    """Return the preferred memory orders of convolutions; the module is loaded (15 ms) where there
    are any.
    """
    from agnesi.codegen.kernels.conv import preferred

    return preferred(*args, **keywords)


def _foreign(kernels: Sequence[Any], threads: int) -> list[str]:
    """The C functions that kernels call, those of kernels of this kind first, in their order."""
    called = [s for k in kernels if isinstance(k, Foreign) for s in k.call.symbols]
    products = [k.symbol for k in kernels if isinstance(k, Contraction) and k.symbol]
    held = (products and threads > 1) or any(
        in_one_thread(k) for k in kernels if isinstance(k, Foreign))
    return list(dict.fromkeys([*called, *products, *([HOLD, RELEASE] if held else [])]))


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether an array has its elements side by side, whatever the order of its axes."""
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def _leaf_buffers(graph: FunctionGraph) -> dict[int, Buffer]:
    """A buffer for every leaf: arguments in order, live tensors, constants."""
    buffers = {id(n): Buffer(n.shape, n.dtype, "argument", node=n) for n in graph.inputs}
    for node in graph.nodes:
        if node.op is not None or id(node) in buffers:
            continue
        if live_tensor(node) is not None:
            buffers[id(node)] = _state_buffer(node)
        elif constant_value(node) is not None:
            buffers[id(node)] = Buffer(node.shape, node.dtype, "constant", node=node)
        else:
            raise MissingInputError(f"the input {node.name or 'without a name'} has no value")
    return buffers


def _written(t: Tensor, buffers: dict[int, Buffer]) -> Buffer:
    """The buffer of a tensor that the graph changes and does not read."""
    leaf = Node(None, (), t.shape, t.dtype, handle=lambda: t, name=t._name)
    buffers[id(leaf)] = _state_buffer(leaf)
    return buffers[id(leaf)]


def _state_buffer(leaf: Node) -> Buffer:
    data: Any = live_tensor(leaf).array  # type: ignore[union-attr]
    strides = tuple(s // data.dtype.itemsize for s in data.strides)
    return Buffer(data.shape, data.dtype, "state", node=leaf, strides=strides)


def _reused(results: Sequence[Buffer], shared: dict[Buffer, Buffer],
            graph: FunctionGraph) -> dict[int, int]:
    """Results that take over the memory of an argument: which argument, by position."""
    arguments = {id(n): i for i, n in enumerate(graph.inputs)}
    return {
        i: arguments[id(shared[b].node)] for i, b in enumerate(results)
        if b in shared and shared[b].role == "argument"
    }


def _callback(kernel: Callback, names: Sequence[Extent]) -> Any:
    """The Python side of a kernel without a lowering; for run-time sizes what makes it of them."""
    from agnesi.runtime.callbacks import ForSizes

    if all(is_static(b.shape) for b in (*kernel.inputs, *kernel.results)):
        return _python_side(kernel, lambda n: n)

    def at_sizes(sizes: Sequence[int]) -> Any:
        known = dict(zip(names, sizes, strict=True))
        return _python_side(kernel, lambda n: n.value(known) if isinstance(n, Extent) else n)

    return ForSizes(at_sizes, len(kernel.inputs) + len(kernel.results), len(names))


def _python_side(kernel: Callback, known: Callable[[Size], Any]) -> Any:
    """The Python callback of a kernel without a lowering, for static sizes."""
    from agnesi.runtime.callbacks import Callback as Native

    op, where = kernel.op.resolve(known), kernel.nodes[0].where if kernel.nodes else None
    inputs, results = ([(b.dtype.name, tuple(map(known, b.shape))) for b in buffers]
                       for buffers in (kernel.nodes[0].inputs, kernel.results))
    views = [(known(v.offset), tuple(map(known, v.strides))) for v in kernel.views]
    skipped = 1 if getattr(op, "effect", False) else 0

    def explained(error: Exception) -> Exception:
        shown = tuple(np.broadcast_to(np.empty((), dtype), shape)
                      for dtype, shape in inputs[skipped:])
        return explain(error, name_at(op.name, where), shown, where)

    return Native(op.perform, tuple(inputs), tuple(results), tuple(views), copy=not op.copies,
                  translate=explained)


@struct
class Call:
    """The bindings of a program's code to memory, and how it is called.

    :ivar recipe: What the body expects.
    :ivar graph: What was compiled, for messages.
    :ivar live: The tensors that it reads and changes without being given them.
    :ivar arguments: What comes in (``runtime.entry.Arg``).
    :ivar outputs: The dtypes and shapes of the results, which become tensors, and what those hold.
    :ivar result: {"none", "single", "tuple"}: what the function returns.
    :ivar written: The tensors, and the indices of arguments, that it changes.
    :ivar name: For messages.
    :ivar slow: Takes the user's own calls where they do not fit.
    :ivar guards: What has to hold for those (``runtime.entry.Guard``).
    :ivar watched: What native code compares before them.
    :ivar own_scratch: Whether scratch memory is kept from call to call.
    :ivar counters: Where a profiled program counts (``runtime.entry.bind``).
    """

    recipe: Recipe
    graph: FunctionGraph
    live: Sequence[Tensor]
    arguments: Sequence[Any]
    outputs: Sequence[tuple[str, tuple[int, ...], bool, Mapping[str, Any]]]
    result: str
    written: Sequence[Tensor | int]
    name: str
    slow: Callable[..., Any] | None = None
    guards: Sequence[Any] = ()
    watched: Any = None
    own_scratch: bool = False
    counters: Any = None


def check_writeable(written: Sequence[Any], values: Callable[[], Sequence[Node]]) -> None:
    """Raise ValueError where a tensor or array that is changed is in read-only memory, at the
    line of its new value, which is one of ``values``."""
    for k, t in enumerate(written):
        memory = t.array if isinstance(t, Tensor) else t
        if isinstance(memory, np.ndarray) and not memory.flags.writeable:
            node = values()[k]
            name = (node.where and node.where[2]) or node.op_name
            raise ValueError(at(f"{name}: {read_only(t)}".removeprefix(": "), node.where))
