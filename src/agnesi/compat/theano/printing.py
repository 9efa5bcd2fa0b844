"""Showing graphs and values: ``theano.printing``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import agnesi
from agnesi import inspect
from agnesi.compat.theano.graphs.fgraph import optimised
from agnesi.compat.theano.graphs.pretty import formula, tree
from agnesi.compat.theano.types import Apply
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.atomic import replacing
from agnesi.core.support.errors import at, typed


def debugprint(obj: Any, depth: int = -1, print_type: bool = False, file: Any = None,
               **ignored: Any) -> Any:
    """Print the graph of a variable or a compiled function as a tree, ``depth`` operations deep;
    "str" as file returns the text."""
    parts = obj if isinstance(obj, (list, tuple)) else [obj]
    if isinstance(obj, (bool, int, float, str, np.ndarray, type(None))):
        raise TypeError(at(f"debugprint takes a variable, a compiled function, or a list of them, "
                           f"not {typed(obj)}"))
    text = tree([n for x in parts for n in _results(x)], depth, print_type) + "\n"
    if file == "str":
        return text
    print(text, file=file or sys.stdout, end="")
    return file or sys.stdout


dprint = debugprint


def _results(x: Any) -> Sequence[Node]:
    """The nodes of a variable, an Apply's outputs, or what a compiled function returns."""
    if isinstance(x, Apply):
        return [n for y in x.outputs for n in _results(y)]
    if isinstance(x, Variable):
        return [graph_node(x._value)]
    found = _graph(x)
    graph = optimised(found) if hasattr(found, "specialisations") else getattr(
        found, "graph", getattr(found, "_graph", None))
    return graph.outputs if graph is not None else [graph_node(found)]


def _graph(x: Any) -> Any:
    return bare(x) if isinstance(x, Variable) else getattr(x, "_compiled", x)


def pp(x: Variable) -> str:
    """The expression as a formula."""
    return formula(graph_node(x._value))


pprint = pp


def pydotprint(fct: Any, outfile: str = "graph.dot", **ignored: Any) -> None:
    """Write the graph as a DOT file."""
    with replacing(outfile) as file:
        file.write(inspect.to_dot(_graph(fct)).encode())


class Print:
    """An operation that gives its operand and prints it when it is computed.

    :param message: What is printed in front.
    :param attrs: Attributes to print, such as ``("shape",)``; by default the value.
    :type attrs: sequence of str
    """

    def __init__(self, message: str = "", attrs: Any = ("__str__",), **ignored: Any) -> None:
        self.message, self.attrs = message, attrs

    def __call__(self, x: Variable) -> Variable:
        def show(value: Any) -> Any:
            for name in self.attrs:
                found = getattr(value, name)
                print(f"{self.message} {name} = {found() if callable(found) else found}")
            return value

        found = bare(x)
        printer = agnesi.op(show, infer=lambda v: (v.shape, v.dtype), vjp=lambda g, y, v: (g,))
        return wrapped(printer(found))


_strictly(__name__)
