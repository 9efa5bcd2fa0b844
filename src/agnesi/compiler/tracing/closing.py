"""The graph of a traced function, and where gradients flow in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from agnesi.autodiff.recording import is_leaf
from agnesi.compiler.tracing.obstacles import ExampleReadError, OnlyEagerError
from agnesi.compiler.tracing.trace import Trace
from agnesi.core.graph import FunctionGraph, live_tensor
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.node import toposort
from agnesi.core.support.config import MODE
from agnesi.core.support.errors import MissingInputError, TraceError, at, typed
from agnesi.core.support.tracing import finished
from agnesi.core.tensor import Tensor
from agnesi.ops.identity import ALIAS, STOP


def carrying(results: Sequence[Any]) -> list[Any]:
    """Return the nodes that gradients of results may flow through, operands first."""
    return [n for n in toposort(results, lambda n: not n.requires_grad) if n.requires_grad]


def flowing(order: Sequence[Any], thawed: Collection[Any] = ()) -> set[Any]:
    """Return the nodes through which gradients flow to leaves that require them, ``thawed``
    arguments included.

    Other nodes carry gradients only for derivatives taken inside the function.
    """
    return _reaching(order, lambda n: _is_leaf(n) or n in thawed)


def _reaching(order: Sequence[Any], is_end: Callable[[Any], bool]) -> set[Any]:
    """Return the nodes through which gradients flow to certain leaves."""
    reaching: set[Any] = set()
    for node in order:
        if is_end(node) or not reaching.isdisjoint(node.inputs):
            reaching.add(node)
    return reaching


def begins_inside(node: Any) -> bool:
    """Return whether a node is a leaf that requires a gradient and was made by the traced function.
    """
    return (node.op is ALIAS and node.handle is not None and not node.inputs[0].requires_grad
            and node.requires_grad and node.handle().array is None)


def begun_results(nodes: Sequence[Any], count: int, flows: Sequence[bool], order: Sequence[Any],
                  thawed: Collection[Any] = ()) -> dict[int, bool]:
    """Return which of the first ``count`` results require gradients only because of leaves that the
    function made itself (``x.detach().requires_grad_()``), each with whether it is such a leaf.

    :raises OnlyEagerError: If such a leaf is returned, or kept, together with a value computed from
        it.
    """
    made = [n for n in order if begins_inside(n) and n not in thawed]
    found = _reaching(order, set(made).__contains__) if made else set()
    leaves = {n for n in nodes if n in found and begins_inside(n)}
    others = [n for n in nodes if n in found and n not in leaves]
    if not leaves.isdisjoint(toposort(others, lambda n: not n.requires_grad)) or (
            not leaves.isdisjoint(nodes[count:])):
        raise OnlyEagerError("it returns or keeps a tensor that it made require gradients, "
                             "and others are computed from that",
                             "Return the gradients, or x.detach()")
    return {i: n in leaves for i, n in enumerate(nodes[:count]) if n in found and not flows[i]}


def _is_leaf(node: Any) -> bool:
    """Return whether gradients accumulate at this node: an argument, or a concrete tensor."""
    if node.op is not ALIAS or node.handle is None:
        return node.op is None
    return node.handle().array is not None


def flow_into_changed(nodes: Sequence[Any], reached: Collection[Any], updates: Any, taught: bool
                      ) -> bool:
    """Return whether gradients flow into a new value of something that the function changes.

    Those of parameters do not count in a training step (``taught``), which took its gradients
    itself; elsewhere, those that keep the gradient of the tensor itself do not.

    :param updates: Pairs of what is changed and the index of its new value in ``nodes``.
    """
    return any(nodes[i] in reached and not (
        getattr(x, "_requires_grad", False) if taught else is_its_own(nodes[i], x))
        for x, i in updates)


def leaves_gradients(trace: Trace) -> bool:
    """Return whether a step that took gradients itself leaves some at arguments that were computed
    or may have hooks, or one that others flow through; only the function itself does that."""
    left = [r.now for r in trace.grads.values()] + [x._grad for x, _ in trace.left.values()]
    return trace.left.reached or any(getattr(g, "_requires_grad", False) for g in left)


def leaving(trace: Trace, reached: Collection[Any], changed: Collection[Tensor]
            ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return the tensors from outside that require gradients, those of them that gradients arrive
    at, and all other tensors that the function reads and does not change.

    Gradients of a view arrive at its base.
    """
    parameters = [x for x, leaf in trace.leaves.values()
                  if leaf.requires_grad and (x._view is None or is_leaf(x))]
    parameters += trace.borrowed
    ends = {id(n.handle()) for n in reached if n.handle is not None}
    apart = {*ends, *map(id, changed)}
    read = [x for x, leaf in trace.leaves.values()
            if leaf.op is None and id(x) not in apart and live_tensor(leaf) is not None]
    return parameters, [x for x in parameters if id(x) in ends], read


def fed(trace: Trace, symbols: Sequence[Any], reached: Collection[Any]) -> list[int]:
    """Return the positions of the arguments that gradients arrive at."""
    nodes = {id(x): n for n, x in trace.arguments.items()}
    return [i for i, x in enumerate(symbols) if nodes.get(id(x)) in reached]


def links(results: Sequence[Any], reached: Collection[Any], inputs: Sequence[Any],
          ends: Sequence[Tensor]) -> list[list[int]]:
    """Return, for each result, the positions of the inputs, and of the tensors in ``ends`` after
    these, that gradients reach from it.
    """
    indices = {n: i for i, n in enumerate(inputs)}
    of = {id(x): i for i, x in enumerate(ends, len(inputs))}
    masks: dict[Any, int] = {}  # by bits, for there may be thousands of each
    for n in toposort(results, lambda n: not n.requires_grad):
        i = indices.get(n)
        if i is None and n.handle is not None and n in reached:
            i = of.get(id(n.handle()))
        mask = 0 if i is None else 1 << i
        for before in n.inputs if n.requires_grad else ():
            mask |= masks[before]
        masks[n] = mask
    count = len(inputs) + len(ends)
    return [[i for i in range(count) if masks[n] >> i & 1] for n in results]


def trains(parameters: Sequence[Any], trace: Trace) -> bool:
    """Return whether new values of parameters come from gradients."""
    if not parameters or not trace.derives:
        return False
    return "derived" in trace.noticed or any(n in trace.gradients for n in toposort(parameters))


def is_its_own(node: Any, x: Any) -> bool:
    """Return whether the new value of ``x`` is ``x`` itself, detached or not, so that its gradient
    is that of ``x``.
    """
    while node.op is STOP.put:
        node = node.inputs[0]
    begins = node.op is None or node.op is ALIAS
    return begins and node.handle is not None and node.handle() is x


def closed(inputs: Sequence[Any], nodes: Sequence[Any], since: int,
           sized: Callable[[FunctionGraph], FunctionGraph] = lambda graph: graph) -> FunctionGraph:
    """Return the graph of a trace, from its inputs to ``nodes``, which are numbered from ``since``
    on; ``sized`` puts sizes that are known into it.
    """
    try:
        graph = sized(FunctionGraph(inputs, nodes, since=since))
        return graph if _has_sizes(graph) else graph.specialise()
    except MissingInputError as error:
        if MODE.get().examples is not None:
            raise ExampleReadError from None
        what = str(error).partition(", which")[0]
        variable = error.variable
        if str(variable.name).isidentifier() and not finished(variable):
            raise TraceError(at(
                f"{variable.name}, {typed(variable)}, is a variable of a declared graph, which has "
                "no value in a traced function: give it as an argument, or compile the graph by "
                "ag.function(inputs, outputs)")) from None
        raise TraceError(
            at(
                "a value from another trace was used: it was kept in a global, attribute or "
                "closure when an earlier jit-compiled call or the body of a loop ended. Return it, "
                f"or keep it in a tensor that is changed in place ({what})"
            )
        ) from None


def _has_sizes(graph: FunctionGraph) -> bool:
    """Return whether all sizes in a graph are known."""
    nodes = (*graph.inputs, *graph.nodes)
    shapes = {n.shape for n in nodes}  # there are few, and many nodes
    shapes.update(shape for n in nodes if n.outputs for shape, _ in n.outputs)
    return all(map(is_static, shapes)) and all(
        _has_sizes(getattr(n.op, name).graph)
        for n in nodes if n.op is not None and n.op.bodies for name in n.op.bodies
    )
