"""Sizes of jitted functions that depend on values: computed before the call, then passed along.

Where a trace needs an integer scalar as a size (``x[:n]`` with a tensor ``n``), it is abandoned,
and the part of the graph that computes the scalar from the arguments becomes a function of its
own, which runs before each call from then on.  Its result is the size of one more argument,
without elements; like any size, it is a constant of a specialization or a run-time value.  Where
Python has decided by values before (``compiler.tracing.decisions``), the function checks these
decisions, too, and returns no size on other branches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from agnesi.compiler.binding.call_adapter import CARRIERS, MISSED, missed
from agnesi.compiler.compilation.compiled import Compiled
from agnesi.compiler.specialization.dynamic_sizes import check
from agnesi.compiler.specialization.graph_text import GraphText
from agnesi.compiler.specialization.present_sizes import at_present, sizes_seen
from agnesi.compiler.tracing.leaves import Forwarded, plain
from agnesi.core.graph import FunctionGraph, alike
from agnesi.core.ir.extents import most
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.support.record import replace
from agnesi.core.support.tracing import present
from agnesi.core.tensor import symbol
from agnesi.runtime.guards import Watched
from agnesi.runtime.support import still_seen

#: Most values of what was read of Python for which one function computes a size.
_MOST_SOURCES = 8


class SizeWanted(BaseException):
    """A trace needs a data-dependent size."""

    def __init__(self, outputs: Sequence[Node], forwarded: Sequence[Node], index: int, most: Any
                 ) -> None:
        super().__init__()
        #: The scalar, what is forwarded, and what exists on the way only on which it is requested
        #: (``Decisions``).
        self.outputs, self.forwarded, self.most = outputs, forwarded, most
        #: Which of the data-dependent sizes it is, in the order in which they are requested.
        self.index = index
        #: The arguments before it, their sizes where some are run-time values; what makes the
        #: function that computes it, and that.
        self.inputs: Sequence[Node] = ()
        self.pattern: Any = None
        #: What was read of Python before it was requested.
        self.sources: list[Any] = []
        self.make: Callable[[], Computed]
        self.made: Computed | None = None


class SizeQueries:
    """The data-dependent sizes of a trace, in the order in which it requests them.

    :param arguments: Descriptions of the arguments of native code.
    :param symbols: The arguments in the trace, followed, for each known size, by an array of that
        size without elements and by the values that the code which computed it forwards.
    :param inputs: The nodes of the tensors among them. Forwarded values become arguments, in all
        three lists, when their size is requested.
    :param known: The functions that compute the sizes.
    :param exact: Whether static sizes must be those for which ``known`` was compiled.
    """

    def __init__(self, arguments: list[Any], symbols: list[Any], inputs: list[Node],
                 known: Sequence[Computed], exact: bool) -> None:
        self.arguments, self.symbols, self.inputs = arguments, symbols, inputs
        self.known, self.exact = known, exact
        #: How many arguments before the end each size is.
        self.indices = [behind(known[i:]) for i in range(len(known))]
        self.sizes = [symbols[-n].shape[0] for n in self.indices]
        #: The scalars of which the size was requested, and that.
        self.queried: list[tuple[Node, Any]] = []

    def next(self, node: Node, most: Any, given: Node | None, token: Node | None) -> Any:
        """Return the size whose value is the scalar ``node``; equal computations share one size.

        ``given`` is the data that determines it; ``token`` is a value that exists only if earlier
        decisions hold (``Decisions.token``).
        """
        for known, size in self.queried:
            if alike(known, node):
                return size
        index, forwarded = len(self.queried), _forwarded(node, given, self.inputs)
        outputs = [node, *forwarded] if token is None else [node, *forwarded, token]
        if index < len(self.sizes) and self.known[index].computes(self.inputs, outputs, self.exact):
            self.queried.append((node, self.sizes[index]))
            for i, n in enumerate(forwarded, 1 - self.indices[index]):
                self._hand_on(n, i)
            return self.sizes[index]
        raise SizeWanted(outputs, forwarded, index, most)

    def _hand_on(self, node: Node, index: int) -> None:
        """Bind the argument at ``index``, counted from the end, to a node."""
        self.symbols[index], self.inputs[index] = symbol(node), node
        self.arguments[index] = replace(
            self.arguments[index], dtype=node.dtype.name, shape=tuple(map(present, node.shape)))

    @property
    def all_queried(self) -> bool:
        """Whether the trace has requested all sizes."""
        return len(self.queried) == len(self.known)

    @contextmanager
    def found(self, owner: Any, pattern: Any) -> Iterator[None]:
        """A context for tracing: adds to :class:`SizeWanted` what is needed to compute that size.
        """
        try:
            yield
        except SizeWanted as wanted:
            later = [*self.indices, 0][wanted.index]
            wanted.inputs = self.inputs[: len(self.inputs) - later]
            if pattern is not None:
                wanted.pattern = pattern[: len(pattern) - 2 * (len(self.known) - wanted.index)]
            wanted.make = partial(
                Computed, self.arguments[: len(self.arguments) - later], wanted, owner)
            raise


class _AsRead:
    """What a function read of Python, which native code compares where it can."""

    def __init__(self, sources: Sequence[Any]) -> None:
        self.sources = self._blind = sources
        self._watched = Watched()
        self._watched_at = ctypes.addressof(self._watched)
        self.holds()

    def holds(self) -> bool:
        """Whether all of it is as it was."""
        if still_seen()(self._watched_at) and self._blind is not self.sources:
            return all(p.holds() for p in self._blind)
        if not all(p.holds() for p in self.sources):
            return False
        self._watch()
        return True

    def settle(self) -> None:
        """Leave out what a call has changed itself, by a function of the user's."""
        if not self.holds():
            self.sources = [p for p in self.sources if p.holds()]
            self._watch()

    def _watch(self) -> None:
        records = [(p, list(p.records())) for p in self.sources]
        self._blind = [p for p, found in records if not found]
        self._watched.fill(r for _, found in records for r in found)


class Computed:
    """A compiled function that computes a data-dependent size from the arguments of a call.

    :param arguments: Descriptions of the arguments of native code.
    :param wanted: The scalar, the expensive values on the way to it, which are forwarded, and a
        token that exists only if Python decides as it did before the size was requested.
    :param owner: The jitted function.
    :ivar most: Upper bound of a size that data determines.
    :ivar pattern: The sizes of the arguments that it takes, where some are dynamic.
    :ivar sources: What the function read of Python before, which may decide what is computed: each
        time that it turned out to be this.
    """

    def __init__(self, arguments: Sequence[Any], wanted: SizeWanted, owner: Any) -> None:
        self.most: int | None = wanted.most if wanted.most is None else most(wanted.most)
        self.forwarded, self.pattern = wanted.forwarded, wanted.pattern
        as_traced = FunctionGraph(wanted.inputs, wanted.outputs)
        self.graph = graph = at_present(as_traced)
        #: Variables of which it has the sizes, and these.
        self._shared = [(t, t.shape) for t in sizes_seen(as_traced)]
        if self.pattern is not None:
            check(graph)
        #: Which of the computations it is that are alike but for sizes of arguments.
        self.number = 0
        #: Whether tensors that it reads are made again in each trace, and so known by their values.
        self.fresh = False
        self.indices = [i for i, a in enumerate(arguments) if a.kind != "identity"]
        self.statics = [a.object if a.kind == "identity" else None for a in arguments]
        count = 1 + len(self.forwarded)
        self.sources = [_AsRead(wanted.sources)]
        self.compiled = Compiled(
            arguments, graph, count, [], result="tuple" if self.forwarded else "single",
            wrap=[False] * count, settings=owner.settings, name=f"sizes of {owner.name}",
            slow=missed, guards=self._guards(),
        )

    def _guards(self) -> list[Any]:
        from agnesi.runtime.entry import Guard

        return [Guard(t, "array", t.array) for t, _ in self._shared]

    def _holds(self) -> bool:
        """Return whether shared variables still have the sizes that the code was made for; their
        guards follow new arrays of equal shape.
        """
        if any(t.shape != shape for t, shape in self._shared):
            return False
        if any(g.value is not g.owner.array for g in self.compiled.guards):
            self.compiled.guards = self._guards()
            if self.compiled.bound is not None:
                self.compiled.bind()
        return True

    def computes(self, inputs: Sequence[Node], outputs: Sequence[Node], exact: bool | None) -> bool:
        """Return whether it computes what nodes of a later trace do, one of static sizes
        (``exact``) or not; with None sizes do not count.
        """
        graph = at_present(FunctionGraph(inputs, outputs))
        if not self._holds() or len(graph.nodes) != len(self.graph.nodes):
            return False
        same = exact is not None and exact == (self.pattern is None)
        known, later = (GraphText(same, self.fresh).of(g) for g in (self.graph, graph))
        return bool(known == later)

    def serves(self, sources: Sequence[Any]) -> Computed:
        """Itself, which computes the size for other values of what was read, too."""
        if not self.sources[-1].holds():
            self.sources = [*self.sources[1 - _MOST_SOURCES:], _AsRead(sources)]
        return self

    def results(self, leaves: Sequence[Any]) -> list[Any] | None:
        """Return an array that carries the size, and the forwarded values; None if Python decides
        otherwise for these arguments before it requests the size.
        """
        read = next((read for read in self.sources if read.holds()), None)
        if read is None or not self._holds():
            return None
        self.compiled.follow()
        values = list(self.statics)
        for i in self.indices:
            values[i] = plain(leaves[i])
        made = self.compiled.run(*values)
        if self.compiled.bound is None or self.compiled.recipe.callbacks:
            read.settle()
        if made is MISSED:
            return None
        size, *forwarded = made if self.forwarded else (made,)
        found: np.ndarray | None = CARRIERS[int(size)]
        if found is None:
            raise ShapeError(at(f"{size} decides the size of a result, so it must not be negative"))
        return [found, *map(Forwarded, forwarded)]


def behind(computed: Sequence[Computed]) -> int:
    """Return how many trailing arguments pass sizes and forwarded values."""
    return len(computed) + sum(len(c.forwarded) for c in computed)


def _forwarded(node: Node, given: Node | None, inputs: Sequence[Node]) -> list[Node]:
    """Return the expensive node on the way to a scalar, so that the code behind need not compute it
    again: the data that decides, and whatever is no loop over elements.
    """
    known = set(inputs)
    wanted = [] if given is None or given in known or given.op is None else [given]
    for n in toposort([node], known.__contains__):
        if n is not node and n not in known and n.outputs is None and not n.weak and (
                n.op is not None and n is not given and _is_expensive(n)):
            wanted.append(n)
    return wanted


def _is_expensive(node: Node) -> bool:
    op: Any = node.op
    return bool(op.foreign or op.template or op.bodies or op.reduction(*node.inputs))
