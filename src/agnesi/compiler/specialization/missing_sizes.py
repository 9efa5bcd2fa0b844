"""Sizes of declared variables that a graph needs but that none of its inputs has.

Where a derivative needs only a variable's shape, and reshapes a value of known size to it, its
sizes follow from that value's; else they are reported as missing, like a value.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import Dim, Size, declared, leaves
from agnesi.core.ir.extents import Extent
from agnesi.core.op import typed
from agnesi.core.substitution import size_with
from agnesi.core.support.errors import MissingInputError, at
from agnesi.ops.base.movement import Reshape


def sizes_from_reshapes(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph with named sizes that no leaf has replaced by what the element counts of
    reshapes imply.
    """
    known = {d for n in graph.nodes if n.op is None for size in n.shape for d in leaves(size)}
    known.update(d for n in graph.inputs for size in n.shape for d in leaves(size))
    found: dict[Dim, Size] = {}
    for node in graph.nodes:
        if isinstance(node.op, Reshape):
            before, after = _without_common(node.inputs[0].shape, node.op.shape)
            if len(before) == len(after) == 1 and isinstance(after[0], Dim) and (
                    not after[0].op and after[0] not in known and declared(after[0])):
                found.setdefault(after[0], size_with(before[0], found))
    return graph.resolve(lambda n: size_with(n, found)) if found else graph


def _without_common(a: Sequence[Size], b: Sequence[Size]) -> tuple[list[Size], list[Size]]:
    left, more = [n for n in a if n != 1], [n for n in b if n != 1]
    for n in tuple(left):
        if n in more:
            left.remove(n)
            more.remove(n)
    return left, more


def without_missing_sizes(graph: FunctionGraph) -> FunctionGraph:
    """The graph, which is compiled now; refused where a size of a declared variable is left."""
    for size in graph.sizes:
        for d in () if isinstance(size, Extent) else leaves(size):
            variable = declared(d)
            if variable is not None:
                name = variable.name or "a variable without a name"
                raise MissingInputError(at(
                    f"the outputs depend on the shape of {name} ({typed(variable)}), which is not "
                    "among the inputs: add it to the inputs, or give it a value with givens",
                    variable.where))
    return graph
