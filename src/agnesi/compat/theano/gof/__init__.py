"""``theano.gof``: what graphs are made of."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from agnesi.api.objects import generic as generic
from agnesi.compat.theano.graphs.fgraph import FunctionGraph as FunctionGraph
from agnesi.compat.theano.graphs.fgraph import ancestors as ancestors
from agnesi.compat.theano.graphs.fgraph import equal_computations as equal_computations
from agnesi.compat.theano.graphs.fgraph import inputs as inputs
from agnesi.compat.theano.graphs.fgraph import is_same_graph as is_same_graph
from agnesi.compat.theano.graphs.rewriting import EquilibriumOptimizer as EquilibriumOptimizer
from agnesi.compat.theano.graphs.rewriting import LocalOptGroup as LocalOptGroup
from agnesi.compat.theano.graphs.rewriting import LocalOptimizer as LocalOptimizer
from agnesi.compat.theano.graphs.rewriting import OpRemove as OpRemove
from agnesi.compat.theano.graphs.rewriting import OpSub as OpSub
from agnesi.compat.theano.graphs.rewriting import PatternSub as PatternSub
from agnesi.compat.theano.graphs.rewriting import TopoOptimizer as TopoOptimizer
from agnesi.compat.theano.graphs.rewriting import in2out as in2out
from agnesi.compat.theano.graphs.rewriting import local_optimizer as local_optimizer
from agnesi.compat.theano.graphs.rewriting import node_rewriter as node_rewriter
from agnesi.compat.theano.graphs.rewriting import out2in as out2in
from agnesi.compat.theano.ops import Op as Op
from agnesi.compat.theano.types import Apply as Apply
from agnesi.compat.theano.types import TensorType as TensorType
from agnesi.compat.theano.variable import Constant as Constant
from agnesi.compat.theano.variable import SharedVariable as SharedVariable
from agnesi.compat.theano.variable import Variable as Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import MissingInputError as MissingInputError

graph_inputs = inputs


def explicit_graph_inputs(variables: Iterable[Variable]) -> Iterator[Variable]:
    """The inputs that have no value yet."""
    return (x for x in inputs(variables) if not isinstance(x, (Constant, SharedVariable)))


def io_toposort(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """The operations between inputs and outputs, each behind what it needs."""
    order: dict[Variable, Apply] = {}
    held, waiting = set(inputs), [(x, False) for x in list(outputs)[::-1]]
    while waiting:
        x, ready = waiting.pop()
        owner = None if x in held or x in order else x.owner
        if owner is None:
            continue
        if ready:
            order[x] = owner
        else:
            waiting.append((x, True))
            waiting += [(n, False) for n in reversed(owner.inputs)]
    return list(order.values())


def variables(i: Iterable[Variable], o: Iterable[Variable]) -> list[Variable]:
    """All variables between inputs and outputs, both included."""
    return ancestors(o, i)


def __getattr__(name: str) -> Any:
    if name in ("Optimizer", "GlobalOptimizer", "GraphRewriter", "Feature"):
        raise AttributeError(
            f"theano.gof has no {name!r} here: rules for whole graphs are written with "
            "agnesi.rewrite.rewrite_rule(whole_graph=True) (docs/extending.md)")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


#: Theano's modules of it, whose names are all here.
for _name in ("graph", "op", "opt", "fg", "type", "utils"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]


_strictly(__name__)
