"""Data flow in the bodies of loops and branches, and the variables to differentiate them with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.bodies import BodyTrace
from agnesi.autodiff.forward import push
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item
from agnesi.core.tensor import Tensor
from agnesi.ops.control.body import Body
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import Scan, While


def _flowing(body: Body, flags: Sequence[bool]) -> list[bool]:
    """Which outputs depend, in a differentiable way, on the inputs flagged."""
    known = {n: f and n.dtype.kind in "fcV" for n, f in zip(body.inputs, flags, strict=True)}
    several: dict[Node, list[bool]] = {}
    for node in body.graph.nodes:
        if node in known:
            continue
        op, flows = node.op, any(known[n] for n in node.inputs)
        if flows and type(op) in _THROUGH:
            several[node] = _THROUGH[type(op)](op, [known[n] for n in node.inputs])
            flows = any(several[node])
        elif type(op) is Item and node.inputs[0] in several:
            flows = several[node.inputs[0]][op.index]
        known[node] = (
            flows and op is not None and op.differentiable
            and (node.dtype.kind in "fcV" or node.outputs is not None)
        )
    return [known[n] for n in body.outputs]


def _through_scan(op: Scan, flags: Sequence[bool]) -> list[bool]:
    inner = settled(op.body, flags[op.counted:], op.sequences, op.carries)
    return _flowing(op.body, inner)


def _through_while(op: While, flags: Sequence[bool]) -> list[bool]:
    return settled(op.body, flags, 0, op.carries)[: op.carries]


def _through_cond(op: Cond, flags: Sequence[bool]) -> list[bool]:
    found = [_flowing(body, flags[1:]) for body in (op.then, op.otherwise)]
    return [a or b for a, b in zip(*found, strict=True)]


_THROUGH: dict[Any, Any] = {Scan: _through_scan, While: _through_while, Cond: _through_cond}


def settled(body: Body, flags: Sequence[bool], first: int, carries: int) -> list[bool]:
    """The flags with those carries added that become dependent in some later step."""
    flags = list(flags)
    while True:
        found = _flowing(body, flags)[:carries]
        places = range(first, first + carries)
        new = [i for i, f in zip(places, found, strict=True) if f and not flags[i]]
        if not new:
            return flags
        for i in new:
            flags[i] = True


def flowing_results(op: Scan, xs: Sequence[Tensor]) -> list[bool]:
    """Which results of a scan depend, in a differentiable way, on operands that require grad."""
    return _through_scan(op, [current(x).requires_grad for x in xs])


def reached(body: Body, flags: Sequence[bool], op: Scan, gs: Sequence[Any]) -> list[int]:
    """Return which carries of a scan receive a cotangent in some step of the backward pass."""
    first = op.sequences
    active = {i for i in range(op.carries) if gs[i] is not None and flags[first + i]}
    rows = [body.outputs[i] for i in range(op.carries, len(gs)) if gs[i] is not None]
    while True:
        below = set(toposort([*rows, *(body.outputs[i] for i in active)],
                             lambda n: n.op is not None and not n.op.differentiable))
        more = {
            i for i in range(op.carries) if flags[first + i] and body.inputs[first + i] in below
        }
        if more <= active:
            return sorted(active)
        active |= more


def variables_of(trace: BodyTrace, body: Body, flags: Sequence[bool]) -> list[Tensor]:
    """Variables for a body's inputs, of which those flagged carry gradient."""
    made = [trace.variable(n) for n in body.inputs]
    for x, flag in zip(made, flags, strict=True):
        node: Any = x.node
        x._requires_grad = node.requires_grad = node.requires_grad and flag
    return made


def seeds_of(results: Sequence[Tensor], cotangents: Sequence[Any]) -> dict[Node, Tensor]:
    """Cotangents by node."""
    seeds: dict[Node, Tensor] = {}
    for x, g in zip(results, cotangents, strict=False):
        if g is not None:
            node = current(x)
            seeds[node] = seeds[node] + g if node in seeds else g
    return seeds


def listed(g: Any, op: Any) -> list[Any]:
    """The cotangents of an operation's results."""
    return list(g) if op.outputs > 1 else [g]


def both(values: Sequence[Any], moves: Sequence[Any]) -> list[Any]:
    """Values, then those tangents that there are."""
    return [*values, *(m for m in moves if m is not None)]


def pushed(results: Sequence[Tensor], values: Sequence[Tensor],
           moves: Sequence[Any]) -> list[Any]:
    """Tangents of results, None where there is none."""
    tangents = {current(v): m for v, m in zip(values, moves, strict=True) if m is not None}
    found = push([current(y) for y in results], tangents)
    return [found.get(current(y)) for y in results]
