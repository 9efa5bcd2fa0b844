"""What a compiled function tells about itself: specialisations, graph, memory plan, code."""

from __future__ import annotations

from typing import Any

from agnesi.compiler.compiled import Compiled
from agnesi.core.graph import FunctionGraph
from agnesi.core.kernels import Callback, Nest, Product


class Specialisation:
    """One compiled version of a function: for which arguments, why, and what it cost."""

    __slots__ = ("cause", "compiled", "seconds", "signature")

    def __init__(self, compiled: Compiled, signature: str, cause: str, traced: float) -> None:
        self.compiled = compiled
        self.signature = signature
        self.cause = cause
        self.seconds = {"trace": traced, **compiled.clock.seconds}

    def __str__(self) -> str:
        spent = ", ".join(f"{k} {1e3 * v:.1f}" for k, v in self.seconds.items())
        total = 1e3 * sum(self.seconds.values())
        return f"({self.signature})\n    because {self.cause}\n    {total:.1f} ms: {spent}"


class Inspectable:
    """Mixin of compiled functions: ``explain``, ``graph``, ``plan``, ``ir``, ``asm``."""

    name: str
    #: Calls that ran eagerly because memory that the function writes is also used otherwise.
    tangled_calls = 0

    @property
    def specialisations(self) -> list[Specialisation]:
        """The compiled versions, oldest first."""
        found: list[Specialisation] = self.__dict__.setdefault("_specialisations", [])
        return found

    def _note(
        self, compiled: Compiled, signature: str, cause: str = "", traced: float = 0.0
    ) -> None:
        known = self.specialisations
        cause = cause or ("it was the first call" if not known else "the shapes were new")
        known.append(Specialisation(compiled, signature, cause, traced))

    def explain(self) -> str:
        """Every specialisation, its cause and its cost.

        Examples
        --------
        >>> import agnesi as ag
        >>> f = ag.jit(lambda x: x * 2)
        >>> y = f(ag.ones(3))
        >>> print(f.explain().splitlines()[0])
        <lambda>: 1 specialisation
        """
        n = len(self.specialisations)
        lines = [f"{self.name}: {n} specialisation{'s' if n != 1 else ''}"]
        lines += [f"  {i}: {s}" for i, s in enumerate(self.specialisations)]
        if self.tangled_calls:
            lines.append(
                f"  {self.tangled_calls} calls ran eagerly: memory that the function changes "
                "overlaps other memory that it uses"
            )
        return "\n".join(lines)

    def _last(self) -> Compiled:
        if not self.specialisations:
            raise RuntimeError(f"{self.name} has not been called yet, so nothing is compiled")
        return self.specialisations[-1].compiled

    @property
    def graph(self) -> FunctionGraph:
        """The optimised graph of the last specialisation; printing it gives its text."""
        return self._last().optimised

    def rewrites(self) -> Any:
        """What each stage of rewriting did; printing it gives node counts and firings by rule."""
        return self._last().rewritten[1]

    def plan(self) -> MemoryPlan:
        """The memory plan of the last specialisation; printing it gives kernels and buffers."""
        return MemoryPlan(self._last())

    def ir(self) -> str:
        """LLVM IR of the last specialisation, after LLVM's passes."""
        return self._code().ir()

    def asm(self) -> str:
        """Assembly of the last specialisation."""
        return self._code().asm()

    def _code(self) -> Any:
        bound = self._last().bound
        if bound is None:
            raise RuntimeError(f"{self.name} runs on the interpreter, so it has no machine code")
        return bound.code


class MemoryPlan:
    """Kernels in order and the memory of every buffer.

    Attributes
    ----------
    eager_bytes : int
        Memory if every value of the user's graph had an array of its own.
    planned_bytes : int
        Memory of arguments, state, constants, results and the arena, shared memory counted once.
    arena_bytes : int
        The part for values that do not outlive a call.
    """

    def __init__(self, compiled: Compiled) -> None:
        if compiled.bound is None:
            raise RuntimeError("functions on the interpreter have no memory plan")
        self.layout = compiled.scheduled.layout
        self.steps = compiled.scheduled.steps
        self.arena_bytes = self.layout.arena_bytes
        self.eager_bytes = sum(_bytes(n) for n in compiled.graph.nodes if n.value is None)
        self.planned_bytes = self.arena_bytes + sum(b.nbytes for b in self.layout.table)

    def __str__(self) -> str:
        lines = [
            f"every value in its own array: {self.eager_bytes} bytes; "
            f"planned: {self.planned_bytes} bytes, {self.arena_bytes} of them in the arena"
        ]
        for k, (kernel, step) in enumerate(zip(self.layout.kernels, self.steps, strict=True)):
            ops = ", ".join(n.op.name for n in kernel.nodes if n.op is not None) or "copy"
            reads = ", ".join(map(repr, kernel.reads()))
            writes = ", ".join(map(_placed, kernel.writes()))
            threads = " on all threads" if step.parallel else ""
            lines.append(f"{k}: {_kind(kernel)} {ops}: {reads} -> {writes}{threads}")
        for buffer, owner in self.layout.shared.items():
            lines.append(f"{buffer.name} {list(buffer.shape)} takes over the memory of {owner}")
        return "\n".join(lines)


def _bytes(node: Any) -> int:
    size = node.dtype.itemsize
    for n in node.shape:
        size *= n
    return int(size)


def _placed(buffer: Any) -> str:
    return f"{buffer!r}+{buffer.offset}" if buffer.offset else repr(buffer)


def _kind(kernel: Any) -> str:
    return {Nest: "loops", Product: "product", Callback: "python"}[type(kernel)]
