"""Checks of traced Python decisions run as soon as their values exist, before other kernels.

Kernels that a decision does not need may belong to a branch that the call does not take, where they
could fail, loop forever, or print something.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.ir.kernels import DECIDES, Check
from agnesi.core.ir.node import Node
from agnesi.schedule.program import Program


def decide_first(program: Program) -> Program:
    """Move kernels that a decision does not need behind its check."""
    kernels = program.kernels
    checks = [k for k, kernel in enumerate(kernels)
              if isinstance(kernel, Check) and kernel.error == DECIDES]
    if checks:
        checks.sort(key=lambda k: int(kernels[k].text))  # type: ignore[attr-defined]
        program.dependence.put_first(checks, hold_rest=True)
        program.count(len(checks))
    return program


def in_stages(order: Sequence[Node]) -> list[Node]:
    """Return the nodes in topological order, with everything that a decision needs before the rest.
    """
    flags = _flags(order)
    if not flags:
        return list(order)
    stages = _stages(order, flags)
    return sorted(order, key=lambda n: stages[id(n)])


def waiting(order: Sequence[Node]) -> dict[int, list[Node]]:
    """Return, by node id, the decisions that must be checked before a node is computed; no kernel
    fills both.

    Only nodes that cost more than arithmetic, or whose sizes depend on a decision, wait.
    """
    flags = _flags(order)
    if not flags:
        return {}
    stages = _stages(order, flags)
    sized = any(["decision" in n.traits and n.op.sizes for n in order])
    return {id(n): flags[: stages[id(n)]] for n in order
            if n.op is not None and "decision" not in n.op.traits
            and (sized or (n.op.lower is None and not n.op.template))}


def _flags(order: Sequence[Node]) -> list[Node]:
    """Return the nodes of conditions that Python branched on while tracing, in program order."""
    return [n.inputs[1] for n in order if "decision" in n.traits]


def _stages(order: Sequence[Node], flags: Sequence[Node]) -> dict[int, int]:
    """The number of the first decision that needs a node, by its id."""
    stages: dict[int, int] = {}
    for i, flag in enumerate(flags):
        stages.setdefault(id(flag), i)
    for node in reversed(order):
        mine = stages.setdefault(id(node), len(flags))
        if node.op is not None and "decision" not in node.op.traits:
            for n in node.inputs:
                stages[id(n)] = min(stages.get(id(n), mine), mine)
    return stages
