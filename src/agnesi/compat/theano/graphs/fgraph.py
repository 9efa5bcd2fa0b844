"""``f.maker.fgraph``: the graph of a compiled function as Theano's programs read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.compat.theano.types import Apply, applied, variable_of
from agnesi.compat.theano.variable import Constant, Variable, wrapped
from agnesi.core.op import Item
from agnesi.core.support.errors import at
from agnesi.ops.base.convert import as_tensor
from agnesi.rewrite import library, rewrite
from agnesi.rewrite.outlining import outlined


def optimised(compiled: Any) -> Any:
    """The graph that a function of agnesi's runs, before its first call of sizes not known yet."""
    settings = compiled.settings
    if compiled.specialisations:
        return compiled.graph
    return rewrite(outlined(compiled.graph), settings.preset, settings.include,
                   [n for n in settings.exclude if any(r.goes_by((n,)) for r in library.rules())],
                   algebra=settings.numbers)


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
        """The optimised graph: after the first call that of its sizes."""
        return FunctionGraph(optimised(self.function._compiled))

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
        return [applied(n) for n in self._graph.nodes
                if n.op is not None and type(n.op) is not Item]

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
    """The variables and all that they are computed from, each once; the last variable first."""
    found: dict[Variable, None] = {}
    held, waiting = set(blockers), list(variables)
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


def is_same_graph(x: Any, y: Any, givens: Any = ()) -> bool:
    """Return whether two expressions compute the same, where the givens' pairs are the same."""
    pairs = list(givens.items() if isinstance(givens, dict) else givens)
    return equal_computations([x], [y], [a for a, _ in pairs], [b for _, b in pairs])


def equal_computations(xs: Iterable[Any], ys: Iterable[Any], in_xs: Iterable[Variable] = (),
                       in_ys: Iterable[Variable] = ()) -> bool:
    """Return whether two lists of expressions compute the same from inputs that are taken for
    one another."""
    xs, ys = list(xs), list(ys)
    if len(xs) != len(ys):
        raise ValueError(at(f"equal_computations: {len(xs)} and {len(ys)} expressions"))
    same = set(zip(in_xs, in_ys, strict=True))
    waiting = list(zip(xs, ys, strict=True))
    while waiting:
        x, y = (v if isinstance(v, Variable) else wrapped(as_tensor(v)) for v in waiting.pop())
        if x is y or (x, y) in same:
            continue
        same.add((x, y))
        a, b = x.owner, y.owner
        if isinstance(x, Constant) and isinstance(y, Constant):
            if x.type != y.type or not np.array_equal(x.data, y.data, equal_nan=True):
                return False
        elif a is None or b is None or a.op != b.op or len(a.inputs) != len(b.inputs):
            return False
        else:
            waiting += zip(a.inputs, b.inputs, strict=True)
    return True
