"""Drawings of how variables were computed, in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.compat.chainer.variable import Variable
from agnesi.core.keywords import strictly as _strictly


class ComputationalGraph:
    """Variables and functions, and the arrows between them.

    Attributes
    ----------
    nodes : list
    edges : list of pair
    """

    def __init__(self, nodes: list[Any], edges: list[tuple[Any, Any]]) -> None:
        self.nodes, self.edges = nodes, edges

    def dump(self) -> str:
        """The graph as text."""
        lines = ["digraph graphname{rankdir=TB;"]
        for node in self.nodes:
            shape = "octagon" if isinstance(node, Variable) else "box"
            lines.append(f'{id(node)} [label="{node.label}",shape="{shape}"];')
        lines += [f"{id(a)} -> {id(b)};" for a, b in self.edges]
        return "\n".join([*lines, "}"])


def build_computational_graph(outputs: Iterable[Any], remove_split: bool = True,
                              **ignored: Any) -> ComputationalGraph:
    """The graph that leads to some variables."""
    nodes: dict[int, Any] = {}
    edges: dict[tuple[int, int], tuple[Any, Any]] = {}
    waiting = list(outputs)
    while waiting:
        y = waiting.pop()
        nodes[id(y)] = y
        function = y.creator
        if function is None:
            continue
        edges[id(function), id(y)] = function, y
        if id(function) not in nodes:
            nodes[id(function)] = function
            for x in function.inputs:
                edges[id(x), id(function)] = x, function
                waiting.append(x)
    return ComputationalGraph(list(nodes.values()), list(edges.values()))


_strictly(__name__)
