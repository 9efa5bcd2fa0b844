"""Reports on a compiled function: specializations, graph, memory plan, code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agnesi.compiler.compilation.compiled import Compiled, Settings
from agnesi.compiler.tracing.decisions import Decision
from agnesi.compiler.tracing.unrolled import repetitions
from agnesi.core.graph import FunctionGraph
from agnesi.core.keywords import strict_class
from agnesi.core.support.config import config
from agnesi.core.support.errors import Explained, at
from agnesi.core.support.exports import public

if TYPE_CHECKING:
    from agnesi.compiler.reports.memory_plan import MemoryPlan
    from agnesi.compiler.reports.profile import Profile


class Specialisation:
    """One compiled version of a function: for which arguments, why, and what it cost."""

    __slots__ = ("cause", "compiled", "decisions", "seconds", "signature")

    def __init__(self, compiled: Compiled, signature: str, cause: str, traced: float,
                 decisions: Sequence[Decision] = ()) -> None:
        self.compiled = compiled
        self.signature = signature
        self.cause = cause
        #: What Python decided by computed values.
        self.decisions = decisions
        self.seconds = {"trace": traced, **compiled.clock.seconds}

    def __str__(self) -> str:
        spent = ", ".join(f"{k} {1e3 * v:.1f}" for k, v in self.seconds.items())
        total = 1e3 * sum(self.seconds.values())
        hints = "".join(f"\n    {line}" for line in repetitions(self.compiled.graph))
        return (f"({self.signature})\n    because {self.cause}\n    {total:.1f} ms: {spent}{hints}"
                f"{''.join(self._passes())}")

    def _passes(self) -> Iterator[str]:
        """Return the lines about passes over the graph, and about those over its kernels."""
        if self.compiled.bound is None:
            return
        yield f"\n    compiled for {self.compiled.policy}"
        stages = self.compiled.rewritten[1].stages
        if stages:
            n = len(stages)
            changes = ", ".join(f"{s.stage} {s.before} -> {s.after} operations" for s in stages)
            yield f"\n    rewritten in {n} pass{'es' if n > 1 else ''}: {changes}"
        from agnesi.compiler.reports.memory_plan import algorithms

        by = algorithms(self.compiled)
        if by:
            yield f"\n    {by}"
        from agnesi.schedule.passes import describe_counts

        yield f"\n    scheduled: {'; '.join(describe_counts(self.compiled.scheduled.counts))}"


@strict_class
class Inspectable(Explained):
    """Mixin of compiled functions: ``explain``, ``graph``, ``plan``, ``ir``, ``asm``."""

    name: str
    settings: Settings
    #: Calls that ran eagerly because memory that the function writes is also used otherwise.
    tangled_calls = 0
    #: Versions that were let go, since there were too many.
    released = 0

    #: What ``dir`` shows.
    public_names = "asm explain graph ir name plan profile rewrites specialisations"

    def __dir__(self) -> list[str]:
        return public(self, self.public_names)

    @property
    def specialisations(self) -> list[Specialisation]:
        """The compiled versions, oldest first."""
        found: list[Specialisation] = self.__dict__.setdefault("_specialisations", [])
        return found

    def _note(
        self, compiled: Compiled, signature: str, cause: str = "", traced: float = 0.0,
        decisions: Sequence[Decision] = (),
    ) -> None:
        known = self.specialisations
        cause = cause or ("it was the first call" if not known else "the shapes were new")
        known.append(Specialisation(compiled, signature, cause, traced, decisions))

    def release(self, gone: Sequence[Compiled]) -> None:
        """Forget versions that are let go.

        :param gone: The versions.
        :type gone: sequence
        """
        here = set(map(id, gone))
        self.__dict__["_specialisations"] = [
            s for s in self.specialisations if id(s.compiled) not in here]
        self.released += len(gone)

    def explain(self) -> str:
        """Every specialisation, its cause and its cost.

        :returns: A line for each specialisation, what it reads besides its arguments, and the tree
            of the ways that Python went by computed values, each with its specialisations.

        >>> f = ag.jit(lambda x: x * 2)
        >>> y = f(ag.ones(3))
        >>> print(f.explain().splitlines()[0])
        <lambda>: 1 specialisation
        """
        n = len(self.specialisations)
        lines = [f"{self.name}: {n} specialisation{'s' if n != 1 else ''}"]
        lines += [f"  {i}: {s}" for i, s in enumerate(self.specialisations)]
        ways = [(s.decisions, i) for i, s in enumerate(self.specialisations) if s.decisions]
        if ways:
            lines += ["  ways, by what Python decided:", *_tree(ways, 0)]
        if self.released:
            lines.append(f"  {self.released} more were let go: they were not used for longest")
        if self.tangled_calls:
            lines.append(
                f"  {self.tangled_calls} calls ran eagerly: memory that the function changes "
                "overlaps other memory that it uses"
            )
        return "\n".join(lines)

    def _last(self) -> Compiled:
        if not self.specialisations:
            raise RuntimeError(at(
                f"{self.name} has not been called yet, so nothing is compiled" if config.compiles
                else f"{self.name} is not compiled: config.compile is False, so calls run as Python"
            ))
        return self.specialisations[-1].compiled

    @property
    def graph(self) -> FunctionGraph:
        """The optimised graph of the last specialisation; printing it gives its text."""
        return self._last().optimised

    def rewrites(self) -> Any:
        """The changes made by each stage of rewriting; printing it gives node counts and the
        firings of each rule.

        :returns: With ``stages`` and ``firings``.
        :rtype: Report
        """
        return self._last().rewritten[1]

    def plan(self) -> MemoryPlan:
        """The memory plan of the last specialisation; printing it gives kernels and buffers.

        :returns: With its kernels, buffers and peak.
        """
        from agnesi.compiler.reports.memory_plan import MemoryPlan

        return MemoryPlan(self._last())

    def profile(self) -> Profile:
        """How often and how long the kernels of all versions ran, of a function that was made with
        ``profile=True``; printing it gives them in order, and sums by operation and line.

        :returns: With its calls, seconds and kernels.
        :raises RuntimeError: If the function is not profiled.

        >>> f = ag.jit(lambda x: (x @ x).sum(), profile=True)
        >>> y = f(ag.ones((3, 3))), f(ag.ones((3, 3)))
        >>> f.profile().calls, f.profile().kernels[0].calls
        (2, 2)
        """
        if not self.settings.profile:
            raise RuntimeError(at(f"{self.name} is not profiled: make it with profile=True"))
        from agnesi.compiler.reports.profile import Profile

        return Profile(self.name, self.specialisations)

    def ir(self) -> str:
        """LLVM IR of the last specialisation, after LLVM's passes.

        :returns: The module's text.
        """
        return self._code().ir()

    def asm(self) -> str:
        """Assembly of the last specialisation.

        :returns: The machine's.
        """
        return self._code().asm()

    def _code(self) -> Any:
        bound = self._last().bound
        if bound is None:
            raise RuntimeError(f"{self.name} runs on the interpreter, so it has no machine code")
        return bound.code


def _tree(ways: Sequence[tuple[Sequence[Decision], int]], depth: int) -> Iterator[str]:
    """Lines for the decisions from one on, and the specialisations that they lead to."""
    space = "    " * (depth + 1)
    for step in dict.fromkeys(str(d[depth]) for d, _ in ways):
        yield f"{space}{step}"
        here = [(d, i) for d, i in ways if str(d[depth]) == step]
        for value in dict.fromkeys(d[depth].value for d, _ in here):
            then = [(d, i) for d, i in here if d[depth].value == value]
            ends = ", ".join(str(i) for d, i in then if len(d) == depth + 1)
            yield f"{space}  {value}{': ' if ends else ''}{ends}"
            yield from _tree([(d, i) for d, i in then if len(d) > depth + 1], depth + 1)
