"""The conductor: a closed graph goes in, a native function comes out.  All stages, in order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from agnesi.compiler.binding.aliasing import pairs
from agnesi.compiler.binding.call_adapter import missed
from agnesi.compiler.compilation.artifact import Recipe
from agnesi.compiler.compilation.failures import raiser
from agnesi.compiler.compilation.products import library
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.calls.gemm import HOLD, RELEASE, Library
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.extents import UnknownSizeError, guess
from agnesi.core.ir.interning import interning
from agnesi.core.ir.kernels import Buffer, Callback, Check, Contraction, Foreign, nested
from agnesi.core.ir.node import Node
from agnesi.core.op import explain, typed
from agnesi.core.support.cached import cached_property
from agnesi.core.support.config import config
from agnesi.core.support.errors import MissingInputError, at
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import replace
from agnesi.core.tensor import Tensor

_GIL_WORK = 1 << 14
_IN_BUFFERS = ("array", "float", "int", "bool")


class Clock:
    """Seconds spent in each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def mark(self, stage: str) -> None:
        """The time since the last mark belongs to ``stage``."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


class Scheduled:
    """A graph as kernels with memory, as code text, and as a recipe."""

    @interning()
    def __init__(self, graph: FunctionGraph, live: Sequence[Tensor], returned: int,
                 updates: Sequence[tuple[Tensor | int, int]], donated: Sequence[int],
                 clock: Clock, limit: int | None = None, saved: str = "",
                 policy: CompilePolicy = FAST_RUN, exclude: Sequence[str] = ()) -> None:
        if limit is not None and graph.extents:
            raise UnknownSizeError("a memory limit needs sizes that are known")
        from agnesi.codegen.program import Machine, Varying, emit_program
        from agnesi.runtime import machine, pool
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
        found = machine.target()
        products = library() if policy.library_products else Library()
        program = schedule(Request(
            graph.outputs, buffers, partial(_preferred, vector_bits=found.vector_bits), products,
            {i: t for t, i in targets if not t.contiguous and _dense(t.shape, t.strides)},
            updates=targets, donated=[buffers[id(graph.inputs[i])] for i in donated],
            unread=sorted({*range(returned, len(graph.outputs))} - {i for _, i in updates}),
            limit=limit, saved=saved, exclude=frozenset(exclude),
        ))
        self.layout, self.counts = program.layout, program.counts
        self.memory = pool.prepare(guess(self.layout.arena_bytes))
        clock.mark("schedule")
        reused = _reused(program.outputs[:returned], self.layout.shared, graph)
        made = [i for i in range(returned) if i not in reused]
        arena: Any = self.layout.arena_bytes
        varying = None
        if graph.extents:
            results = tuple(n for i in made for n in graph.outputs[i].shape)
            varying = Varying(graph.extents, self.layout.arena_slot + 1, results, arena)
        self.ahead = machine.Ahead(policy.opt_level)
        text, self.steps = emit_program(
            self.layout.kernels,
            Machine(found.vector_bits, found.l1, found.l2, found.l3, found.names, policy,
                    products.threads), varying,
            self.ahead.add, self.layout.groups,
        )
        clock.mark("emit")
        table = self.layout.table
        places = {id(t): i for i, t in enumerate(live)}
        kernels = list(nested(self.layout.kernels))
        self.checks = [k for k in kernels if isinstance(k, Check | Foreign)]
        self.largest = max(
            (b for b in program.buffers if b.role == "temporary" and b.node is not None),
            key=lambda b: guess(b.nbytes), default=None,
        )
        self.recipe = Recipe(
            text,
            [places[id(live_tensor(b.node))] for b in table if b.role == "state"],  # type: ignore[arg-type]
            [np.ascontiguousarray(constant_value(b.node))  # type: ignore[arg-type]
             for b in table if b.role == "constant"],
            made, reused, guess(arena), self._is_long(), optimize=policy.opt_level,
            callbacks=[_callback(k) for k in kernels if isinstance(k, Callback)],
            foreign=_foreign(kernels, products.threads),
        )

    def _is_long(self) -> bool:
        """Whether a call takes long enough for other threads to run meanwhile."""
        from agnesi.codegen.opt_level import duration, endless

        kernels = self.layout.kernels
        return endless(kernels) or guess(duration(kernels)) > _GIL_WORK


def _preferred(*args: Any, **keywords: Any) -> Any:
    """What convolutions prefer; their room is loaded (15 ms) where there are any."""
    from agnesi.codegen.kernels.conv import preferred

    return preferred(*args, **keywords)


def _foreign(kernels: Sequence[Any], threads: int) -> list[str]:
    """The C functions that kernels call, those of kernels of this kind first, in their order."""
    called = [s for k in kernels if isinstance(k, Foreign) for s in k.call.symbols]
    products = [k.symbol for k in kernels if isinstance(k, Contraction) and k.symbol]
    shared = [HOLD, RELEASE] if products and threads > 1 else []
    return list(dict.fromkeys([*called, *products, *shared]))


def _dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether an array has its elements side by side, whatever the order of its axes."""
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def _leaf_buffers(graph: FunctionGraph) -> dict[int, Buffer]:
    """A buffer for every leaf: arguments in order, live tensors, constants."""
    buffers = {id(n): Buffer(_shape(n), n.dtype, "argument", node=n) for n in graph.inputs}
    for node in graph.nodes:
        if node.op is not None or id(node) in buffers:
            continue
        if live_tensor(node) is not None:
            buffers[id(node)] = _state_buffer(node)
        elif constant_value(node) is not None:
            buffers[id(node)] = Buffer(_shape(node), node.dtype, "constant", node=node)
        else:
            raise MissingInputError(f"the input {node.name or 'without a name'} has no value")
    return buffers


def _written(t: Tensor, buffers: dict[int, Buffer]) -> Buffer:
    """The buffer of a changed tensor that nobody reads, with a leaf of its own."""
    leaf = Node(None, (), t.shape, t.dtype, handle=lambda: t, name=t._name)
    buffers[id(leaf)] = _state_buffer(leaf)
    return buffers[id(leaf)]


def _state_buffer(leaf: Node) -> Buffer:
    data: Any = live_tensor(leaf).data  # type: ignore[union-attr]
    strides = tuple(s // data.dtype.itemsize for s in data.strides)
    return Buffer(data.shape, data.dtype, "state", node=leaf, strides=strides)


def _shape(node: Node) -> tuple[int, ...]:
    return tuple(node.shape)


def _reused(results: Sequence[Buffer], shared: dict[Buffer, Buffer],
            graph: FunctionGraph) -> dict[int, int]:
    """Results that take over the memory of an argument: which argument, by position."""
    arguments = {id(n): i for i, n in enumerate(graph.inputs)}
    return {
        i: arguments[id(shared[b].node)] for i, b in enumerate(results)
        if b in shared and shared[b].role == "argument"
    }


def _callback(kernel: Callback) -> Any:
    """The Python side of a kernel without a lowering."""
    from agnesi.runtime.callbacks import Callback as Native

    op, where = kernel.op, kernel.nodes[0].where if kernel.nodes else None
    if not all(is_static(b.shape) for b in (*kernel.inputs, *kernel.results)):
        raise UnknownSizeError(at(f"Python evaluates {op.name}, for one size", where))
    shown = tuple(kernel.inputs[1:] if getattr(op, "effect", False) else kernel.inputs)
    strided = {
        i: b for i, b in enumerate(kernel.inputs) if b.role == "state" and not b.contiguous
    }

    def run(*arrays: np.ndarray) -> Any:
        if strided:
            arrays = tuple(
                live_tensor(strided[i].node).data if i in strided else a  # type: ignore
                for i, a in enumerate(arrays)
            )
        return op.perform(*arrays)

    return Native(
        run,
        tuple((b.dtype.name, b.shape) for b in kernel.inputs),
        tuple((b.dtype.name, b.shape) for b in kernel.results),
        told=lambda error: explain(error, op.name, shown, where),
    )


class Bound:
    """Machine code bound to the present memory of its live tensors.

    Attributes
    ----------
    native : builtin function
        For arguments that Python has made ready; anything else is an error.
    direct : builtin function or None
        For the user's own calls: looks at the guards, and hands what does not fit to ``slow``.
    asked : builtin function or None
        The same, which answers ``MISSED`` to what does not fit.
    """

    def __init__(self, recipe: Recipe, graph: FunctionGraph, live: Sequence[Tensor],
                 arguments: Sequence[Any], outputs: Sequence[tuple[str, tuple[int, ...], bool]], *,
                 result: str, slow: Callable[..., Any] | None, guards: Sequence[Any],
                 watched: Any, written: Sequence[Tensor | int], name: str, clock: Clock,
                 own_scratch: bool = False, ahead: Any = None) -> None:
        from agnesi.runtime import entry, machine
        from agnesi.runtime.watched import lying

        self._lying = lying
        self.code = machine.load(recipe.text, optimize=recipe.optimize, ahead=ahead)
        clock.mark("machine code")
        back = None
        if recipe.callbacks:
            from agnesi.runtime.callbacks import Callbacks

            back = Callbacks(recipe.callbacks)
        changed = {id(t) for t in written if isinstance(t, Tensor)}
        self.states = [
            entry.State(live[i].data, live[i], "data", id(live[i]) in changed,
                        lying(live[i].data))
            for i in recipe.states
        ]
        arrays = [s.array for s in self.states]
        check_writeable(written)
        spec = entry.EntrySpec(
            arguments=_marked(arguments, written),
            outputs=tuple(entry.Out(*outputs[i]) for i in recipe.results),
            result="tuple" if recipe.reused else result,  # type: ignore[arg-type]
            arena_bytes=recipe.arena_bytes,
            release_gil=recipe.long,
            scratch=entry.Scratch() if own_scratch else None,
            sizes=graph.extents,
        )
        common: dict[str, Any] = {
            "failed": raiser(recipe, graph, name, back.failed if back else _unexpected,
                             bool(written)),
            "states": self.states,
            "constants": recipe.constants, "wrapper": _wrapper(entry), "callback": back,
            "foreign": recipe.foreign, "name": name,
        }
        #: Whether Python decides by what it computes: a call may turn out to be another's.
        self.decides = any(n.op is not None and n.op.name == "decided" for n in graph.outputs)
        self.native = entry.bind(self.code, spec, slow=missed if self.decides else _unfit, **common)
        self.direct = None
        apart = self._apart(written, arguments, arrays)
        whole = not apart or all(
            _dense(a.shape, [s // a.itemsize for s in a.strides]) for a in arrays
        )
        if slow is not None and not recipe.reused and whole:
            guards = [*guards, entry.Guard(config, "_compiles", True)]
            self._bind = partial(
                entry.bind, self.code, spec, guards=guards, watched=watched, apart=apart,
                **common
            )
            self.direct = self._bind(slow=slow)
        clock.mark("entry")

    def _apart(self, written: Sequence[Tensor | int], arguments: Sequence[Any],
               arrays: Sequence[np.ndarray]) -> list[tuple[int, int, int, int]]:
        """Buffers that must not overlap for the direct call."""
        sizes = [_bytes_of(a, i) for i, a in enumerate(arguments) if a.kind in _IN_BUFFERS]
        states = {id(s.owner): len(sizes) + i for i, s in enumerate(self.states)}
        places = [t if isinstance(t, int) else states[id(t)] for t in written]
        return pairs(places, sizes, arrays)

    @cached_property
    def asked(self) -> Any:
        return None if self.direct is None else self._bind(slow=missed)

    def present(self) -> bool:
        """Whether all live tensors have the memory that the code knows."""
        return all(
            s.owner.data is s.array and self._lying(s.array) == s.lies
            and (s.array.flags.writeable or not s.written) for s in self.states
        )


def _bytes_of(argument: Any, place: int) -> int:
    """An argument's bytes, or -1 less its place where only the call knows them."""
    if argument.kind != "array":
        return 0
    if not is_static(argument.shape):
        return -1 - place
    return math.prod(argument.shape) * np.dtype(argument.dtype).itemsize


def _marked(arguments: Sequence[Any], written: Sequence[Tensor | int]) -> tuple[Any, ...]:
    """The arguments' records, with those marked that the code writes."""
    places = [i for i, a in enumerate(arguments) if a.kind in _IN_BUFFERS]
    changed = {places[t] for t in written if isinstance(t, int)}
    return tuple(replace(a, written=True) if i in changed else a for i, a in enumerate(arguments))


def check_writeable(written: Sequence[Any]) -> None:
    """Raise ValueError where a tensor or array that is changed lies in read-only memory."""
    for t in written:
        memory = t.data if isinstance(t, Tensor) else t
        if isinstance(memory, np.ndarray) and not memory.flags.writeable:
            raise ValueError(
                at(f"{typed(t)} lies in read-only memory and cannot be changed in place; copy it")
            )


def _wrapper(entry: Any) -> Any:
    """How native code reads tensors and makes new ones."""
    return entry.Wrapper(
        Tensor, "data", required={"requires_grad": False},
        fresh={"node": None, "requires_grad": False, "_grad": None, "_view": None,
               "_version": None, "_name": None},
        counter="_version",
    )


def _unfit(*args: Any) -> Any:
    raise RuntimeError("compiled code refused arguments that were made ready for it")


def _unexpected(code: int) -> Any:
    raise RuntimeError(f"compiled code stopped with code {code}")
