"""Sizes of shared variables in jitted functions: those of the present call.

The sizes of a shared variable are open in a declared graph, and in a trace they may take part in
arithmetic as they are.  Where Python needs a number, it gets the present one, and a specialization
is compiled for the present sizes, which its guards check like the types of all tensors from
outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agnesi.compiler.shared import SharedDim
from agnesi.compiler.specialization.data_dependent_sizes import data_dependent_sizes
from agnesi.compiler.tracing.sources import MemoryType, Source
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import Dim, leaves
from agnesi.core.ir.node import Node
from agnesi.core.substitution import size_with
from agnesi.core.tensor import Tensor


def at_present(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph with the present sizes of shared variables."""
    known = _present(graph.sizes)
    return graph.resolve(lambda n: size_with(n, known)) if known else graph


def sizes_seen(graph: FunctionGraph) -> list[Tensor]:
    """Return what holds the values of the shared variables on whose sizes a graph depends."""
    return list({id(d.storage): d.storage for d in _present(graph.sizes)}.values())


def _present(sizes: Iterable[Any]) -> dict[Any, Any]:
    """Return the present values of sizes of shared variables among ``sizes``."""
    return {d: d.now for n in sizes for d in leaves(n) if isinstance(d, SharedDim)}


class SharedSizes:
    """The shared variables whose sizes a trace has seen."""

    def __init__(self) -> None:
        self._storages: dict[int, Tensor] = {}

    def size(self, size: Any) -> Any:
        """Return a size with the present sizes of shared variables."""
        found = _present([size]) if isinstance(size, Dim) else {}
        self._note(found)
        return size_with(size, found) if found else size

    def guards(self, nodes: Sequence[Node]) -> list[Source]:
        """Return guards on the sizes that the trace has seen, or that nodes depend on."""
        self._note(data_dependent_sizes(nodes))
        member = vars(Tensor)["array"]
        return [MemoryType(f"the type of the shared variable {t.name or ''}".rstrip(), t, member,
                           t.array) for t in self._storages.values()]

    def _note(self, sizes: Iterable[Any]) -> None:
        for size in sizes:
            if isinstance(size, SharedDim):
                self._storages[id(size.storage)] = size.storage
