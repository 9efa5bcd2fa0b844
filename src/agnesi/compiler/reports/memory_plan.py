"""The memory plan of a compiled function, for people and for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from agnesi.compiler.compilation.compiled import Compiled
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import Extent, guess
from agnesi.core.ir.kernels import (
    Branch,
    Buffer,
    Callback,
    Check,
    Convolution,
    Foreign,
    Kernel,
    Loop,
    Product,
    Sparse,
)
from agnesi.core.support.foreign import imported

_KINDS = {Product: "product", Convolution: "convolution", Callback: "python", Check: "check",
          Foreign: "C function", Sparse: "sparse product",
          Loop: "loop", Branch: "branch"}


class Place(NamedTuple):
    """The address of one buffer, and when it is live.

    :ivar name, role: What the listing calls it; "argument", "state", "constant", "output" or
        "temporary".
    :ivar what: The user's name for the value, or the operation that makes it.
    :ivar shape, dtype: Its type.
    :ivar nbytes, offset: Bytes, and where they begin in the arena or in the memory of ``shares``.
    :ivar first, last: The kernels that touch it first and last; -1 where none does.
    :ivar shares: The argument, state or temporary whose memory it takes over; "" for none.
    """

    name: str
    role: str
    what: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    offset: int
    first: int
    last: int
    shares: str


class Sized(NamedTuple):
    """Bounds and typical value of a dynamic size."""

    least: int | None
    most: int | None
    typical: int
    whose: str


def algorithms(compiled: Any) -> str:
    """Return which algorithms the convolutions of a version have; empty where there are none."""
    module = imported("agnesi.ops.convolution.conv_choice")  # there where one is used
    if module is None or not any("convolution" in n.traits for n in compiled.graph.nodes):
        return ""
    return f"convolutions: {', '.join(dict.fromkeys(module.chosen(compiled.optimised.nodes)))}"


class MemoryPlan:
    """Kernels in order, and the memory of every buffer; printing it gives both.

    Where sizes are run-time values, bytes are those of typical sizes, which printing it names.

    :ivar policy: What the compilation took its time for: the optimizer with all that follows from
        it.
    :ivar passes: What each pass of the scheduler did, by its name: so many kernels, values or
        bytes.
    :ivar sizes: The run-time sizes by name: least, most and typical value, and whose size it is.
    :ivar eager_bytes: Memory if every value of the user's graph had an array of its own.
    :ivar planned_bytes: Memory of arguments, state, constants, results and the arena, shared memory
        counted once.
    :ivar arena_bytes: The part for values that do not outlive a call.
    :ivar argument_bytes, state_bytes, constant_bytes, output_bytes: The other parts.
    :ivar peak_bytes: The most bytes of the arena that hold a value at one time; no arena could be
        smaller.
    :ivar peak_kernel: The kernel during which that is so; -1 without temporaries.
    :ivar places: Every buffer: arguments, state, constants, results, and temporaries as they come
        to life.
    """

    def __init__(self, compiled: Compiled) -> None:
        if compiled.bound is None:
            raise RuntimeError("functions on the interpreter have no memory plan")
        self.layout = compiled.scheduled.layout
        self.steps = compiled.scheduled.steps
        self.policy = compiled.policy
        self.passes = dict(compiled.scheduled.counts)
        self.algorithms = algorithms(compiled)
        self.sizes = _sizes(compiled.graph)
        self.arena_bytes = guess(self.layout.arena_bytes)
        self.eager_bytes = sum(_bytes(n) for n in compiled.graph.nodes if n.value is None)
        self.planned_bytes = self.arena_bytes + sum(guess(b.nbytes) for b in self.layout.table)
        self.argument_bytes = self._total("argument")
        self.state_bytes = self._total("state")
        self.constant_bytes = self._total("constant")
        self.output_bytes = self._total("output")
        self.places = [_described(b, self.layout) for b in self._buffers()]
        self.peak_bytes, self.peak_kernel = self._peak()

    def _total(self, role: str) -> int:
        return sum(guess(b.nbytes) for b in self.layout.table if b.role == role)

    def _buffers(self) -> list[Buffer]:
        """Return all buffers: those of the buffer table, then the others in the order of the
        kernels that first use them.
        """
        lives = self.layout.lifetimes
        rest = [b for b in lives if b.slot >= 0 and b.role != "sum"]
        return list(dict.fromkeys([*self.layout.table, *sorted(rest, key=lives.__getitem__)]))

    def _peak(self) -> tuple[int, int]:
        """The most bytes of the arena that are in use, and when."""
        best, when = 0, -1
        ranges = [p for p in self.places if p.role == "temporary" and p.first >= 0]
        starts: dict[int, list[Place]] = {}
        for p in ranges:
            starts.setdefault(p.first, []).append(p)
        alive: list[Place] = []
        for k in range(len(self.layout.kernels)):
            alive = [p for p in alive if p.last >= k] + starts.get(k, [])
            used = _covered((p.offset, p.offset + p.nbytes) for p in alive)
            if used > best:
                best, when = used, k
        return best, when

    def figures(self) -> dict[str, int]:
        """The numbers alone.

        >>> import agnesi as ag
        >>> f = ag.jit(lambda x: (x @ x) @ x)
        >>> y = f(ag.ones((8, 8)))
        >>> f.plan().figures()["output"], f.plan().figures()["arena"]
        (256, 256)
        """
        return {
            "argument": self.argument_bytes, "state": self.state_bytes,
            "constant": self.constant_bytes, "output": self.output_bytes,
            "arena": self.arena_bytes, "peak": self.peak_bytes, "planned": self.planned_bytes,
            "eager": self.eager_bytes,
        }

    def __str__(self) -> str:
        return "\n".join([*self._summary(), *self._passes(), *self._kernels(), *self._memory()])

    def _summary(self) -> list[str]:
        typical = " and ".join(f"{name} = {n.typical}" for name, n in self.sizes.items())
        return [
            *(f"{name}, {n.whose}, is any size from {n.least} to {n.most}"
              for name, n in self.sizes.items()),
            *([f"all bytes are those of {typical}, for example:"] if typical else []),
            f"every value in its own array: {self.eager_bytes} bytes; "
            f"planned: {self.planned_bytes} bytes, {self.arena_bytes} of them in the arena",
            f"arguments {self.argument_bytes}, state {self.state_bytes}, constants "
            f"{self.constant_bytes}, results {self.output_bytes}; the arena holds at most "
            f"{self.peak_bytes} bytes of values"
            + (f", during kernel {self.peak_kernel}" if self.peak_kernel >= 0 else ""),
        ]

    def _passes(self) -> list[str]:
        from agnesi.schedule.passes import describe_counts

        return [f"policy: {self.policy}", f"passes: {'; '.join(describe_counts(self.passes))}",
                *([self.algorithms] if self.algorithms else [])]

    def _kernels(self) -> Iterable[str]:
        beside = {id(kernel): f" beside {len(group.kernels) - 1} others on all threads"
                  for group in self.layout.groups for kernel in group.kernels}
        for k, (kernel, step) in enumerate(zip(self.layout.kernels, self.steps, strict=True)):
            reads = ", ".join(map(repr, kernel.reads()))
            writes = ", ".join(map(_placed, kernel.writes()))
            threads = beside.get(id(kernel), " on all threads" if step.parallel else "")
            yield f"{k}: {describe_kernel(kernel)}: {reads} -> {writes}{threads}"
            yield from _inside(kernel, "  ")

    def _memory(self) -> Iterable[str]:
        for p in self.places:
            role = "" if p.what.startswith(p.role) else p.role
            text = " ".join(filter(None, (p.name, role, p.what)))
            line = f"{text}: {p.dtype}{list(p.shape)}, {p.nbytes} bytes"
            if p.role == "temporary":
                line += f" at {p.offset}"
            if p.first >= 0:
                line += f", kernels {p.first} to {p.last}"
            if p.shares:
                line += f", takes over the memory of {p.shares}"
            yield line


def _sizes(graph: FunctionGraph) -> dict[str, Sized]:
    """Return the dynamic sizes of a graph by name, each with its bounds and the argument axis that
    it is read from.
    """
    found: dict[str, Sized] = {}
    for i, node in enumerate(graph.inputs):
        for axis, n in enumerate(node.shape):
            if isinstance(n, Extent) and not n.op:
                whose = f"axis {axis} of {node.name or f'argument {i}'}"
                found.setdefault(str(n), Sized(n.least, n.most, n.guess, whose))
    return found


def _bytes(node: Any) -> int:
    return guess(product(node.shape)) * int(node.dtype.itemsize)


def _described(buffer: Buffer, layout: Any) -> Place:
    first, last = layout.lifetimes.get(buffer, (-1, -1))
    owner = layout.shared.get(buffer)
    return Place(
        _placed(buffer), buffer.role, _what(buffer), tuple(buffer.shape), buffer.dtype.name,
        guess(buffer.nbytes), guess(buffer.offset), first, last,
        "" if owner is None else _owner(owner),
    )


def _owner(buffer: Buffer) -> str:
    """Return the name of a buffer; temporaries at one address share it."""
    text = repr(buffer)
    return (f"{text} {_what(buffer)}" if buffer.role == "temporary" and _what(buffer) else text)


def _what(buffer: Buffer) -> str:
    node = buffer.node
    if node is None:
        return "copy"
    return node.name or node.op_name


def _covered(ranges: Iterable[tuple[int, int]]) -> int:
    """Bytes in at least one of the ranges."""
    total = end = 0
    for start, stop in sorted(ranges):
        total += max(stop - max(start, end), 0)
        end = max(end, stop)
    return total


def _placed(buffer: Buffer) -> str:
    return f"{buffer!r}+{guess(buffer.offset)}" if guess(buffer.offset) else repr(buffer)


def describe_kernel(kernel: Kernel) -> str:
    """A kernel's kind and operations."""
    ops = ", ".join(n.op.name for n in kernel.nodes if n.op is not None) or "copy"
    return f"{_KINDS.get(type(kernel), 'loops')} {ops}"


def _inside(kernel: Kernel, indent: str) -> Iterable[str]:
    """The kernels inside of a loop or branch, a line each."""
    for block in kernel.blocks():
        for inner in block.kernels:
            yield f"{indent}- {describe_kernel(inner)}"
            yield from _inside(inner, indent + "  ")
