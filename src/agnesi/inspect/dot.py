"""Graphs as drawings, in the language of Graphviz."""

from __future__ import annotations

from agnesi.core.ir.node import Node, toposort
from agnesi.inspect.listing import described, nodes_of


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _style(node: Node, results: set[Node]) -> str:
    if node in results:
        return "shape=box, style=filled, fillcolor=lightblue"
    return "shape=box" if node.op is not None else "shape=ellipse, style=filled, fillcolor=beige"


def to_dot(what: object) -> str:
    """The graph behind tensors, or inside a compiled function, for ``dot -Tsvg``.

    :param what: What to draw.
    :type what: Tensor, sequence of Tensor, graph or compiled function
    :returns: In Graphviz's language.
    :see: inspect.listing, inspect.pprint

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> print(ag.inspect.to_dot(T.exp(T.fscalar("x"))))
    digraph {
      0 [label="input x\\nfloat32[]", shape=ellipse, style=filled, fillcolor=beige];
      1 [label="exp\\nfloat32[]", shape=box, style=filled, fillcolor=lightblue];
      0 -> 1;
    }
    """
    inputs, outputs = nodes_of(what)
    numbers: dict[Node, int] = {}
    lines = ["digraph {"]
    for node in toposort((*inputs, *outputs)):
        number = numbers[node] = len(numbers)
        sizes = ", ".join(map(str, node.shape))
        label = _quoted(f"{described(node)}\n{node.dtype}[{sizes}]")
        lines.append(f"  {number} [label={label}, {_style(node, set(outputs))}];")
        lines += [f"  {numbers[source]} -> {number};" for source in node.inputs]
    return "\n".join([*lines, "}"])
