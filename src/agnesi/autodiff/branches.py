"""Derivatives of branches, which are branches on the same condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.bodies import body_trace, close_all
from agnesi.autodiff.flows import both, listed, pushed, seeds_of, variables_of
from agnesi.autodiff.reached import asked, set_reached
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import apply, current
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import logical_not
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.expand import BroadcastTo
from agnesi.ops.control.body import Body
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import applied


def _cond_vjp(op: Cond, g: Any, y: Any, decision: Tensor, *xs: Tensor) -> tuple[Any, ...]:
    """The pullback of the branch that ran."""
    gs = listed(g, op)
    flags = [x._requires_grad for x in xs]
    parts, reached = zip(*[_branch_pullback(b, flags, gs) for b in (op.then, op.otherwise)],
                         strict=True)
    steered = [i for i, ends in enumerate(zip(*reached, strict=True))
               if any(isinstance(end, Tensor) for end in ends)]
    for (_, _, ends), known in zip(parts, reached, strict=True):
        ends += [(True, current(as_tensor(known[i]))) for i in steered]
    found = either(parts, decision, [*xs, *(v for v in gs if v is not None)])
    for i, (first, second) in enumerate(zip(*reached, strict=True)):
        if i in steered:
            set_reached(found[i], found[len(xs) + steered.index(i)])
        elif first is not second:
            set_reached(found[i], decision if first else logical_not(decision))
    return (None, *found[:len(xs)])


def _branch_pullback(body: Body, flags: Sequence[bool], gs: Sequence[Any]) -> Any:
    """Return the pullback of a branch, and for each operand whether it is reached: True, False, or
    a bool that another branch in it gives.
    """
    reached = asked()
    with body_trace() as trace:
        values = variables_of(trace, body, flags)
        results = body(*values)
        cotangents = [
            None if v is None else trace.variable(x) for x, v in zip(results, gs, strict=True)
        ]
        nodes = [current(x) for x in values]
        found = backprop(seeds_of(results, cotangents), [n for n in nodes if n.requires_grad],
                         flags=reached)
        ends = ends_of([_sized(found.get(n), x) for n, x in zip(nodes, values, strict=True)],
                       values)
    known = [n in found and (reached is None or reached.of.get(n, True)) for n in nodes]
    return (trace, [*values, *(c for c in cotangents if c is not None)], ends), known


def _sized(g: Tensor | None, x: Tensor) -> Tensor | None:
    """Return a cotangent broadcast to its operand's shape as that is written.

    If known sizes then disagree, the error is the branch's own instead of one about the types of
    both branches.
    """
    return g if g is None or g.shape == x.shape else apply(BroadcastTo(x.shape), g)


def _cond_jvp(op: Cond, ts: Any, y: Any, decision: Tensor, *xs: Tensor) -> Any:
    """The tangent of the branch that ran."""
    given = list(ts)[1:]
    flags = [t is not None for t in given]
    parts = []
    for body in (op.then, op.otherwise):
        with body_trace() as trace:
            values = variables_of(trace, body, flags)
            moves = [trace.variable(v) if f else None for v, f in zip(values, flags, strict=True)]
            results = body(*values)
            ends = ends_of(pushed(results, values, moves), results)
        parts.append((trace, both(values, moves), ends))
    found = either(parts, decision, both(xs, given))
    return found if op.outputs > 1 else found[0]


def ends_of(found: Sequence[Any], like: Sequence[Tensor]) -> list[tuple[bool, Node]]:
    """Return for each result whether it exists, and its node, or zeros."""
    return [
        (v is not None, current(zeros_like(x) if v is None else v))
        for v, x in zip(found, like, strict=True)
    ]


def either(parts: Sequence[Any], decision: Tensor, operands: Sequence[Tensor]) -> list[Any]:
    """Return the results of a branch on ``decision`` between two parts; None where neither part has
    a result.
    """
    wanted = [i for i, ends in enumerate(zip(*(p[2] for p in parts), strict=True))
              if any(there for there, _ in ends)]
    results: list[Any] = [None] * len(parts[0][2])
    if wanted:
        (then, otherwise), captured = close_all([
            (trace, variables, [ends[i][1] for i in wanted]) for trace, variables, ends in parts
        ])
        done = applied(Cond(then, otherwise), decision, *operands, *captured)
        for i, v in zip(wanted, done, strict=True):
            results[i] = v
    return results


Cond.vjp, Cond.jvp = _cond_vjp, _cond_jvp
