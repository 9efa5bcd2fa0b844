"""``f.maker.fgraph``: the graph of a compiled function as Theano's programs read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.compat.theano.opclasses import op_of
from agnesi.compat.theano.types import Apply, variable_of
from agnesi.compat.theano.variable import Variable


class Maker:
    """What made a function: its graph.

    Parameters
    ----------
    function : Function
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph: after the first call the optimised one, before as declared."""
        return FunctionGraph(self.function._compiled.graph)

    @property
    def inputs(self) -> list[Named]:
        """The inputs, each with its ``variable`` and ``name``."""
        return [Named(x) for x in self.fgraph.inputs]

    @property
    def outputs(self) -> list[Named]:
        """The outputs, likewise."""
        return [Named(x) for x in self.fgraph.outputs]


class Named:
    """An input or output of a function.

    Parameters
    ----------
    variable : Variable
    """

    def __init__(self, variable: Variable) -> None:
        self.variable, self.name = variable, variable.name


class FunctionGraph:
    """Operations in an order in which they can be computed.

    Attributes
    ----------
    inputs, outputs : list of Variable
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self.inputs = [variable_of(n) for n in graph.inputs]
        self.outputs = [variable_of(n) for n in graph.outputs]

    def toposort(self) -> list[Apply]:
        """Return the operations, each behind what it needs."""
        return [Apply(op_of(n.op), [variable_of(m) for m in n.inputs], [variable_of(n)])
                for n in self._graph.nodes if n.op is not None]

    @property
    def apply_nodes(self) -> set[Apply]:
        """The operations."""
        return set(self.toposort())

    @property
    def variables(self) -> set[Variable]:
        """Inputs, constants and results."""
        found = {v for node in self.toposort() for v in (*node.inputs, *node.outputs)}
        return found | set(self.inputs) | set(self.outputs)


def ancestors(variables: Iterable[Variable], blockers: Iterable[Variable] = ()) -> list[Variable]:
    """The variables and all that they are computed from, each once."""
    found: dict[Variable, None] = {}
    held, waiting = set(blockers), list(variables)[::-1]
    while waiting:
        x = waiting.pop()
        if x in found:
            continue
        found[x] = None
        owner = None if x in held else x.owner
        waiting += reversed(owner.inputs) if owner is not None else ()
    return list(found)


def inputs(variables: Iterable[Variable], blockers: Iterable[Variable] = ()) -> list[Variable]:
    """The variables that nothing computes: inputs, shared variables and constants."""
    return [x for x in ancestors(variables, blockers) if x.owner is None]
