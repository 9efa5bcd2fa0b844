"""Branches and while loops made better: without what is not needed, and what the graph decides.

A branch on a constant is the graph that it chooses.  Results without uses are not computed,
operands without uses are not passed, equal ones are passed once, small constants are inside.
Carries that stay what they are become constants, and unused ones are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agnesi.core.graph import FunctionGraph, Interner, constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item, Op
from agnesi.core.tensor import symbol
from agnesi.ops.control.body import Body
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import While, applied

#: Bytes of constants up to which a branch has its own copies.
_INSIDE_BYTES = 1 << 12
Results = dict[int, Node]


def branches(graph: FunctionGraph) -> FunctionGraph:
    """Leave out what branches and while loops need not compute."""
    nodes = graph.nodes
    if not any(isinstance(n.op, (Cond, While)) for n in nodes):
        return graph
    used: dict[Node, set[int]] = {}
    for node in nodes:
        if type(node.op) is Item:
            used.setdefault(node.inputs[0], set()).add(node.op.index)
    interner = Interner()
    now: dict[Node, Node] = {n: interner.add(n) for n in graph.inputs}
    found: dict[Node, Results] = {}
    for node in nodes:
        if node in now:
            continue
        if type(node.op) is Item and node.inputs[0] in found:
            now[node] = found[node.inputs[0]][node.op.index]
            continue
        inputs = [now[n] for n in node.inputs]
        better = _better(node.op, inputs, sorted(used.get(node, {0})))
        if better is None:
            now[node] = interner.rebuilt(node, tuple(inputs))
        else:
            found[node] = better
            now[node] = better.get(0, node)
    if not found:
        return graph
    return FunctionGraph.of(graph.inputs, [now[n] for n in graph.outputs])


def _better(op: Op | None, inputs: list[Node], wanted: list[int]) -> Results | None:
    """Return replacements of the wanted results, by index; None if nothing can be left out."""
    if isinstance(op, Cond):
        return _cond(op, inputs, wanted)
    return _while(op, inputs, wanted) if isinstance(op, While) else None


def _given(variables: Sequence[Node], operands: Sequence[Node]) -> dict[Node, Node]:
    """Return replacements of the variables of a body: small constants, and one variable for equal
    operands.
    """
    first: dict[Node, Node] = {}
    found = {}
    for x, operand in zip(variables, operands, strict=True):
        value = constant_value(operand)
        if value is not None and value.nbytes <= _INSIDE_BYTES:
            found[x] = Node(None, (), operand.shape, operand.dtype, value=value)
        elif first.setdefault(operand, x) is not x:
            found[x] = first[operand]
    return found


def _read(body: Body, outputs: Sequence[Node], givens: Mapping[Node, Node]) -> set[int]:
    """Return the indices of the inputs that the outputs depend on."""
    below = set(toposort(outputs))
    indices = {n: i for i, n in enumerate(body.inputs)}
    read = {givens.get(n, n) for n in body.inputs if n in below}
    return {indices[n] for n in read if n in indices}


def _cut(body: Body, outputs: Sequence[Node], kept: Sequence[int],
         givens: Mapping[Node, Node]) -> Body:
    """The body with some of its inputs and outputs."""
    here = set(toposort(outputs))
    return Body(FunctionGraph(
        [body.inputs[i] for i in kept], outputs, {a: b for a, b in givens.items() if a in here}
    ))


def _placed(op: Op, inputs: Sequence[Node], wanted: Sequence[int]) -> Results:
    results = applied(op, *map(symbol, inputs))
    return {i: t.node for i, t in zip(wanted, results, strict=True) if t.node is not None}


# -- branches ---------------------------------------------------------------------------------
def _cond(op: Cond, inputs: list[Node], wanted: list[int]) -> Results | None:
    decision, *operands = inputs
    value = constant_value(decision)
    if value is not None:
        results = (op.then if value else op.otherwise)(*map(symbol, operands))
        return {i: t.node for i, t in enumerate(results) if t.node is not None}
    bodies = op.then, op.otherwise
    givens = [_given(b.inputs, operands) for b in bodies]
    outputs = [[b.outputs[i] for i in wanted] for b in bodies]
    read = [_read(*part) for part in zip(bodies, outputs, givens, strict=True)]
    kept = sorted(read[0] | read[1])
    if len(kept) == len(operands) and len(wanted) == op.outputs:
        return None
    then, otherwise = (_cut(b, o, kept, g) for b, o, g in zip(bodies, outputs, givens, strict=True))
    return _placed(Cond(then, otherwise), [decision, *(operands[i] for i in kept)], wanted)


# -- while loops ------------------------------------------------------------------------------
def _while(op: While, inputs: list[Node], wanted: list[int]) -> Results | None:
    n = op.carries
    body, test = op.body, op.test
    same = [i for i in range(n) if body.outputs[i] is body.inputs[i]]
    needed = {i for i in wanted if i not in same}
    needed |= {i for i in _read(test, test.outputs, {}) if i < n and i not in same}
    while True:
        more = _read(body, [body.outputs[i] for i in needed], {})
        more = {i for i in more if i < n and i not in same} - needed
        if not more:
            break
        needed |= more
    carries = sorted(needed)
    fixed = [*same, *range(n, len(inputs))]
    givens = [_given([b.inputs[i] for i in fixed], [inputs[i] for i in fixed])
              for b in (test, body)]
    following = [body.outputs[i] for i in carries]
    read = _read(test, test.outputs, givens[0]) | _read(body, following, givens[1])
    constants = [i for i in fixed if i in read]
    if len(carries) == n and len(constants) == len(inputs) - n:
        return None
    kept = [*carries, *constants]
    results: Results = {i: inputs[i] for i in same}
    if not carries:
        return None  # it has no end, or no step: that is found when it runs
    new = While(_cut(test, test.outputs, kept, givens[0]), _cut(body, following, kept, givens[1]),
                len(carries))
    return {**results, **_placed(new, [inputs[i] for i in kept], carries)}
