"""``theano.d3viz``: a graph as one HTML file, which needs nothing else and no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

from agnesi import inspect
from agnesi.compat.theano.graphs.fgraph import optimised
from agnesi.compat.theano.variable import Variable, bare
from agnesi.core.ir.node import Node, toposort
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.atomic import replacing
from agnesi.core.support.errors import at, location
from agnesi.inspect.listing import described, nodes_of

_PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>graph</title><style>
html, body, svg { margin: 0; width: 100%; height: 100%; font: 12px sans-serif; }
rect { stroke: #444; rx: 4; } .input rect { fill: beige; } .op rect { fill: #fff; }
.result rect { fill: lightblue; } .nest rect { stroke-width: 3; } g.node { cursor: move; }
line { stroke: #888; marker-end: url(#tip); }
</style></head><body><svg><defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3"
markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 6 3 0 6z" fill="#888"/></marker></defs>
<g id="all"></g></svg><script>
// Drag nodes and the background, turn the wheel to zoom, click on what has a thick border to expand
// its graph, double-click on a label to edit it.
const graph = GRAPH, byId = new Map(graph.nodes.map(n => [n.id, n]));
const all = document.getElementById("all"), svg = document.querySelector("svg");
const open = new Set(); let view = {x: 20, y: 20, k: 1}, held = null;
const make = (tag, parent, attrs) => {
  const e = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
  for (const a in attrs) e.setAttribute(a, attrs[a]);
  return e; };
const shown = n => n.parent === null || (open.has(n.parent) && shown(byId.get(n.parent)));
function draw() {
  all.replaceChildren();
  all.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
  for (const [a, b] of graph.edges.map(e => e.map(i => byId.get(i)))) if (shown(a) && shown(b))
    make("line", all, {x1: a.x + 70, y1: a.y + 34, x2: b.x + 70, y2: b.y});
  for (const n of graph.nodes) if (shown(n)) {
    const g = make("g", all, {class: `node ${n.kind}${n.nested ? " nest" : ""}`,
                              transform: `translate(${n.x} ${n.y})`, "data-id": n.id});
    make("rect", g, {width: 140, height: 34});
    make("text", g, {x: 5, y: 14}).textContent = n.label.split("[")[0];
    make("text", g, {x: 5, y: 28, fill: "#666"}).textContent = n.type;
    make("title", g, {}).textContent = `${n.label}\\n${n.type}\\n${n.where}`;
    g.onmousedown = e => { held = {n, x: e.clientX, y: e.clientY, still: true};
                           e.stopPropagation(); };
    g.ondblclick = () => { n.label = prompt("label", n.label) ?? n.label; draw(); }; } }
svg.onmousedown = e => { held = {n: null, x: e.clientX, y: e.clientY}; };
window.onmousemove = e => { if (!held) return;
  const to = held.n ?? view, k = held.n ? view.k : 1;
  if (Math.hypot(e.clientX - held.x, e.clientY - held.y) > 3) held.still = false;
  if (held.still) return;
  to.x += (e.clientX - held.x) / k; to.y += (e.clientY - held.y) / k;
  held.x = e.clientX; held.y = e.clientY; draw(); };
window.onmouseup = () => { const n = held?.still ? held.n : null; held = null;
  if (n?.nested) { open.has(n.id) ? open.delete(n.id) : open.add(n.id); draw(); } };
svg.onwheel = e => { e.preventDefault(); view.k *= Math.exp(-e.deltaY / 500); draw(); };
draw();
</script></body></html>
"""


def d3viz(fct: Any, outfile: str | os.PathLike[str], copy_deps: bool = True, *args: Any,
          **keywords: Any) -> None:
    """Write a graph as an HTML file in which nodes can be moved, renamed and expanded.

    :param fct: What to draw.
    :type fct: Variable, list of Variable, or compiled function
    :param outfile: The file.
    :type outfile: str or path
    """
    graph = _drawn(fct)
    drawn: dict[str, list[Any]] = {"nodes": [], "edges": []}
    _add(drawn, graph, None, 0.0, 0.0)
    text = json.dumps(drawn).replace("<", "\\u003c")
    with replacing(outfile) as file:
        file.write(_PAGE.replace("GRAPH", text).encode())


class Dot:
    """A graph in the language of Graphviz, with the methods of pydot's graphs that write it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_string(self) -> str:
        """The text."""
        return self._text

    def write(self, path: str | os.PathLike[str], prog: str = "dot", format: str = "raw") -> bool:
        """Write a file: the text, or what Graphviz draws of it.

        :raises FileNotFoundError: If there is no Graphviz for another format than the text.
        """
        made = self._text.encode()
        if format not in ("raw", "dot"):
            program = shutil.which(prog)
            if program is None:
                raise FileNotFoundError(at(
                    f"a {format} is drawn by Graphviz, whose program {prog!r} is not here: install "
                    "it, or write the text with write_raw"))
            made = subprocess.run([program, f"-T{format}"], input=made, stdout=subprocess.PIPE,
                                  check=True).stdout
        with replacing(path) as file:
            file.write(made)
        return True

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("write_"):
            raise AttributeError(name)
        return lambda path, prog="dot": self.write(path, prog, name.removeprefix("write_"))


class PyDotFormatter:
    """Makes a graph in the language of Graphviz of a function or expression."""

    def __init__(self, compact: bool = True) -> None:
        self.compact = compact

    def __call__(self, fct: Any, graph: Any = None) -> Dot:
        return Dot(inspect.to_dot(_drawn(fct)))


def _drawn(fct: Any) -> Any:
    graph = fct if not hasattr(fct, "_compiled") else optimised(fct._compiled)
    if isinstance(graph, (list, tuple)):
        return [bare(x) for x in graph]
    return bare(graph) if isinstance(graph, Variable) else graph


def _add(drawn: dict[str, list[Any]], what: Any, parent: int | None, x: float, y: float) -> None:
    """Add the nodes of a graph, each below what it takes, and those of graphs inside of them."""
    inputs, outputs = nodes_of(what)
    numbers: dict[Node, int] = {}
    depth: dict[Node, int] = {}
    width: dict[int, int] = {}
    for node in toposort((*inputs, *outputs)):
        depth[node] = row = max([depth[n] + 1 for n in node.inputs], default=0)
        numbers[node] = number = len(drawn["nodes"])
        width[row] = place = width.get(row, 0) + 1
        bodies = [getattr(node.op, held).graph for held in node.op.bodies] if node.op else []
        drawn["nodes"].append({
            "id": number, "parent": parent, "label": described(node), "nested": bool(bodies),
            "type": f"{node.dtype}[{', '.join(map(str, node.shape))}]",
            "where": location(node.where) if node.op is not None and node.where else "",
            "kind": "result" if node in outputs else "op" if node.op is not None else "input",
            "x": x + 170.0 * (place - 1), "y": y + 70.0 * row})
        drawn["edges"] += [(numbers[n], number) for n in node.inputs]
        for k, body in enumerate(bodies):
            _add(drawn, body, number, x + 170.0 * place + 400.0 * k, y + 70.0 * row + 20.0)


_strictly(__name__)
