"""Errors of compiled code: what its checks say, and at which of the user's lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from agnesi.core.errors import at, error_named
from agnesi.core.graph import FunctionGraph
from agnesi.core.kernels import FIRST_FAILURE, Check, Foreign
from agnesi.core.node import Node

#: The error's type, its text, and the node of the user's graph whose line it is told with (or -1).
Failure = tuple[str, str, int]


def failures(checks: Sequence[Check | Foreign], graph: FunctionGraph) -> list[Failure]:
    """What the checks of a program say; ``graph`` is the user's, before it was rewritten."""
    places: dict[Any, int] = {}
    for i, node in enumerate(_every(graph)):
        places.setdefault(node.where, i)
    return [(c.error, c.text, places.get(c.nodes[0].where, -1)) for c in checks]


def _every(graph: FunctionGraph) -> Iterator[Node]:
    """All nodes, those of loops' and branches' bodies too."""
    for node in graph.nodes:
        yield node
        for name in node.op.bodies if node.op is not None else ():
            yield from _every(getattr(node.op, name).graph)


def raiser(known: Sequence[Failure], graph: FunctionGraph,
           otherwise: Callable[[int], Any]) -> Callable[[int], Any]:
    """A function that raises the error for the code that a compiled function returned."""

    def failed(code: int) -> Any:
        if code < FIRST_FAILURE:
            return otherwise(code)
        kind, text, place = known[code - FIRST_FAILURE]
        where = next(islice(_every(graph), place, None)).where if place >= 0 else None
        raise error_named(kind)(at(text, where))

    return failed
