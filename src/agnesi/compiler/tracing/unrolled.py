"""Python loops that a trace unrolled, and whose body could be that of a scan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from types import CodeType

from agnesi.compiler.tracing.bytecode import instructions
from agnesi.core.graph import FunctionGraph, constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.errors import location

#: Repetitions from which on a loop is worth mentioning.
_MIN_REPETITIONS = 8
Group = tuple[tuple[CodeType, int], str]


@cache
def _loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Return the loops of a code object, as offsets of their first and last instruction."""
    return tuple(
        (i.argval, i.offset) for i in instructions(code)
        if "JUMP" in i.opname and i.argval is not None and i.argval < i.offset
    )


def _is_repeated(code: CodeType, instruction: int, counts: Sequence[int]) -> bool:
    """Return whether an instruction is in a loop, or in a function that is called repeatedly."""
    if any(first <= instruction <= last for first, last in _loops(code)):
        return True
    least = min(counts)
    return least >= _MIN_REPETITIONS and all(n % least == 0 for n in counts)


def repetitions(graph: FunctionGraph) -> list[str]:
    """Describe Python loops that tracing unrolled, a line of text for each: stretches of the graph
    that repeat on their own results."""
    groups: dict[Group, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.op is None or node.where is None:
            continue
        code, instruction, _ = node.where
        if isinstance(code, CodeType):  # a graph from a file knows lines only
            groups[(code, instruction), node.op.name].append(node)
    counts: dict[CodeType, list[int]] = defaultdict(list)
    for ((code, _), _), nodes in groups.items():
        counts[code].append(len(nodes))
    member = {n: group for group, nodes in groups.items() for n in nodes}
    bodies: dict[tuple[CodeType, int], list[list[Node]]] = defaultdict(list)
    for group, nodes in groups.items():
        (code, instruction), _ = group
        if len(nodes) >= _MIN_REPETITIONS and _is_repeated(code, instruction, counts[code]):
            bodies[code, len(nodes)].append(nodes)
    return [
        _describe_loop(times, body) for (_, times), body in bodies.items()
        if all(_is_alike(nodes, member) for nodes in body) and any(map(_is_chain, body))
    ]


def _is_alike(nodes: Sequence[Node], member: dict[Node, Group]) -> bool:
    """Return whether corresponding inputs of nodes are equal, or members of the same repeated
    group; the first node may differ.
    """
    for sources in zip(*(n.inputs for n in nodes[1:]), strict=False):
        if len(set(sources)) == 1 or all(constant_value(n) is not None for n in sources):
            continue
        if len({member.get(n, n) for n in sources}) > 1:
            return False
    return True


def _is_chain(nodes: Sequence[Node]) -> bool:
    """Return whether the last node depends on the first."""
    first = nodes[0]
    return first in set(toposort([nodes[-1]], lambda n: n is first))


def _describe_loop(times: int, body: Sequence[Sequence[Node]]) -> str:
    positions = {location(nodes[0].where) for nodes in body}
    lines = sorted(int(where.rpartition(":")[2]) for where in positions)
    file = next(iter(positions)).rpartition(":")[0]
    span = f"{lines[0]}" if lines[0] == lines[-1] else f"{lines[0]}-{lines[-1]}"
    return (
        f"{file}:{span} was written out {times} times, each time on the last one's results; as "
        "the body of ag.scan (or ag.fori_loop) it is compiled once"
    )
