"""``theano.gof``: what graphs are made of."""

from __future__ import annotations

import importlib
import sys
from collections import deque
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
from agnesi.compat.theano.ops.cops import COp as COp
from agnesi.compat.theano.ops.cops import ExternalCOp as ExternalCOp
from agnesi.compat.theano.ops.params import ParamsType as ParamsType
from agnesi.compat.theano.types import Apply as Apply
from agnesi.compat.theano.types import TensorType as TensorType
from agnesi.compat.theano.variable import Constant as Constant
from agnesi.compat.theano.variable import SharedVariable as SharedVariable
from agnesi.compat.theano.variable import Variable as Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import MissingInputError as MissingInputError

graph_inputs = inputs
#: What methods of operations raise that are not written, and PyTensor's name of it.
MethodNotDefined = MethodNotImplementedError = NotImplementedError
PureOp = CLinkerOp = Op  # Theano's bases of Op


def explicit_graph_inputs(variables: Iterable[Variable]) -> Iterator[Variable]:
    """The inputs that have no value yet."""
    return (x for x in inputs(variables) if not isinstance(x, (Constant, SharedVariable)))


def io_toposort(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """The operations between inputs and outputs, each behind what it needs, in Theano's order:
    one is next as soon as all that it needs is there."""
    held, waiting = set(inputs), list(outputs)
    owners: dict[Variable, Apply] = {}
    there: dict[Variable, None] = {}
    while waiting:  # the last input first
        x = waiting.pop()
        if x not in there:
            there[x] = None
            if x not in held and (node := x.owner) is not None:
                owners[x] = node
                waiting += node.inputs
    clients: dict[Variable, list[Variable]] = {}
    lacking: dict[Variable, set[Variable]] = {}
    for x, node in owners.items():
        lacking[x] = set(node.inputs)
        for read in dict.fromkeys(node.inputs):
            clients.setdefault(read, []).append(x)
    ready = deque(x for x in there if not lacking.get(x))
    order: dict[Any, Apply] = {}
    while ready:
        x = ready.popleft()
        if x in owners:
            order.setdefault(owners[x].outputs[0], owners[x])
        for client in clients.get(x, ()):
            lacking[client].discard(x)
            if not lacking[client]:
                ready.append(client)
    return list(order.values())


def variables(i: Iterable[Variable], o: Iterable[Variable]) -> list[Variable]:
    """All variables between inputs and outputs, both included."""
    return ancestors(o, i)


def applys_between(ins: Iterable[Variable], outs: Iterable[Variable]) -> Iterator[Apply]:
    """The operations between inputs and outputs, each behind what it needs."""
    return iter(io_toposort(ins, outs))


def apply_ancestors(variables: Iterable[Variable],
                    blockers: Iterable[Variable] = ()) -> Iterator[Apply]:
    """The operations that variables are computed by, each behind what it needs."""
    return iter(io_toposort(blockers, variables))


#: What PyTensor has here, too.
_REPLACING = ("clone_replace", "graph_replace", "vectorize_graph")


def __getattr__(name: str) -> Any:
    if name in _REPLACING:
        return getattr(importlib.import_module("agnesi.compat.theano.compile.rebuild"), name)
    if name in ("Optimizer", "GlobalOptimizer", "GraphRewriter", "Feature"):
        raise AttributeError(
            f"theano.gof has no {name!r} here: rules for whole graphs are written with "
            "agnesi.rewrite.rewrite_rule(whole_graph=True) (docs/extending.md)")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


#: Theano's modules of it, whose names are all here.
for _name in ("graph", "op", "opt", "fg", "type", "utils"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]


_strictly(__name__)
