"""Functions with inputs whose arrays results may look into: views of the caller's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.opgraph import OpFromGraph
from agnesi.compiler.compilation.compiled import Settings
from agnesi.compiler.function import Function, is_part_of_graph, results_of
from agnesi.compiler.inputs import Inputs, check_used
from agnesi.compiler.specialization.data_dependent_sizes import value_dims
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.interpret import Runner
from agnesi.core.ir.node import Node
from agnesi.core.substitution import substituted
from agnesi.core.support.tracing import is_tracing, within
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import as_tensor

#: Shapes for which what is looked into is known, at most.
_MAX_SHAPES = 64


class BorrowingFunction(Function):
    """A function of which some results are views of arrays that it is given.

    The others are computed by compiled code; views take the same time for any size.
    """

    same = (*Function.same, "_views", "_form")

    def __init__(self, declared: Inputs, outputs: Any, updates: Mapping[Tensor, Tensor],
                 givens: Mapping[Tensor, Tensor], name: str, settings: Settings,
                 unused: str = "ignore") -> None:
        replaced = {graph_node(a): graph_node(b) for a, b in givens.items()}
        results = [as_tensor(t) for t in results_of(outputs)]
        nodes = substituted([graph_node(t) for t in results], replaced)
        borrowed = [graph_node(v) if i.borrow else None
                    for i, v in zip(declared.compiled, declared.variables, strict=False)]
        bases = [_base(n, borrowed) for n in nodes]
        if unused != "ignore":
            given = [graph_node(i.variable) for i in declared.compiled]
            every = [*nodes, *substituted([graph_node(as_tensor(t)) for t in updates.values()],
                                          replaced)]
            check_used([(i.name or f"number {k}", n) for k, (i, n) in enumerate(
                zip(declared.compiled, given, strict=True))], every, unused)
        super().__init__(declared, [t for t, b in zip(results, bases, strict=True) if b is None],
                         updates, givens, name, settings)
        #: For each result that is a view, the argument and the view of it.
        self._views = [
            None if b is None else (borrowed.index(b), FunctionGraph([b], [n]))
            for b, n in zip(bases, nodes, strict=True)]
        self._form = list(outputs) if isinstance(outputs, dict) else (
            None if isinstance(outputs, Tensor) else ())

    def _begin(self, known: dict[Any, Any], *, anew: bool = False) -> None:
        self._runners: dict[Any, Runner] = {}
        super()._begin(known, anew=anew)

    def _direct(self, found: Any) -> Any:
        return self.dispatch

    def _dispatch_values(self, values: Sequence[Any]) -> Any:
        """Run the compiled part, and make those results that are views of arguments."""
        computed = iter(super()._dispatch_values(values) or ())
        symbolic = is_tracing() or any(map(is_part_of_graph, values))
        look = self._in_graph if symbolic else self._look
        found = [next(computed) if known is None else look(k, known[1], values[known[0]], known[0])
                 for k, known in enumerate(self._views)]
        if self._form is None:
            return found[0]
        return dict(zip(self._form, found, strict=True)) if self._form else tuple(found)

    def _look(self, k: int, view: FunctionGraph, value: Any, index: int) -> np.ndarray:
        """Return the ``k``-th view result, as a view of the memory of argument ``index``."""
        array = self._inputs.checked(self._inputs.positions[index], value, self.name)
        key = k, array.shape
        runner = self._runners.get(key)
        if runner is None:
            if len(self._runners) >= _MAX_SHAPES:
                self._runners.clear()
            runner = Runner(view.specialise({view.inputs[0]: array.shape}))
            self._runners[key] = runner
        found: np.ndarray = runner([array])[0]
        return found

    def _in_graph(self, k: int, view: FunctionGraph, value: Any, index: int) -> Any:
        """Return the view of an argument as an operation of the graph that is being traced."""
        with within(None):
            look = OpFromGraph([symbol(view.inputs[0])], [symbol(view.outputs[0])], name=self.name)
        return look(value)[0]


def _base(node: Node, borrowed: Sequence[Node | None]) -> Node | None:
    """Return the borrowed input of which a value is a view; None if the value is computed."""
    base = node
    while base.op is not None:
        if not base.op.view or len(base.inputs) != 1:
            return None
        base = base.inputs[0]
    return base if base in borrowed and not value_dims([base], [node]) else None
