"""Showing graphs and values: ``theano.printing``."""

from __future__ import annotations

import sys
from typing import Any

import agnesi
from agnesi import inspect
from agnesi.compat.theano.variable import Variable, bare, wrapped


def debugprint(obj: Any, depth: int = -1, print_type: bool = False, file: Any = None,
               **ignored: Any) -> Any:
    """Print the graph of a variable or a compiled function; "str" as file returns the text."""
    parts = obj if isinstance(obj, (list, tuple)) else [obj]
    text = "\n".join(inspect.listing(_graph(x)) for x in parts)
    if file == "str":
        return text
    print(text, file=file or sys.stdout)
    return file or sys.stdout


def _graph(x: Any) -> Any:
    return bare(x) if isinstance(x, Variable) else getattr(x, "_compiled", x)


def pp(x: Variable) -> str:
    """The operations of an expression, in order."""
    return inspect.listing(bare(x))


pprint = pp


def pydotprint(fct: Any, outfile: str = "graph.dot", **ignored: Any) -> None:
    """Write the graph as a DOT file."""
    with open(outfile, "w", encoding="utf-8") as file:
        file.write(inspect.to_dot(_graph(fct)))


class Print:
    """An operation that gives its operand and prints it when it is computed.

    :param message: What is printed in front.
    :param attrs: Attributes to print, such as ``("shape",)``; by default the value.
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
        told = agnesi.op(show, infer=lambda v: (v.shape, v.dtype), vjp=lambda g, y, v: (g,))
        return wrapped(told(found))
