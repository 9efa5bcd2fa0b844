"""Check the results of users' rewrite rules: types, inputs and outputs stay, and errors name the
rule.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from numbers import Number
from typing import Any

import numpy as np

from agnesi import ops as operations
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph, constant
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node
from agnesi.core.op import GIVEN_NAMES, Op, typed
from agnesi.core.support.errors import PACKAGE, DTypeError, ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.elementwise import TABLE
from agnesi.rewrite.pattern import scalar
from agnesi.rewrite.rules import changed, may_agree, op_names


def starts(ops: Iterable[Any]) -> tuple[str, ...]:
    """The names of the operations at which a rule starts, if there are any."""
    ops = tuple(ops)
    for op in ops:
        if isinstance(op, str):
            _check_name(op)
        module = getattr(op, "__module__", "")
        if isinstance(op, (str, type, Op)) or not module.startswith(f"{PACKAGE}."):
            continue
        classes = list(_classes(Op))
        if op.__name__ not in TABLE and op.__name__ not in {n for c in classes for n in _names(c)}:
            near = sorted({n for c in classes if c.__module__ == module for n in _names(c)})
            raise TypeError(at(
                f"rewrite_rule: no operation is called {op.__name__}, which is a function that "
                "makes others: give their names, as print(f.graph) shows them"
                + (f"; {module} has {', '.join(map(repr, near))}" if near else "")
            ))
    return op_names(ops)


def _check_name(name: str) -> None:
    """Refuse a rule whose pattern starts at an unknown operation."""
    def known() -> set[str]:
        return {*TABLE, *GIVEN_NAMES, *(n for c in _classes(Op) for n in _names(c))}

    if name in known():
        return
    for module in pkgutil.walk_packages(operations.__path__, f"{operations.__name__}."):
        importlib.import_module(module.name)  # some are loaded when they are needed
    names = known()
    if name not in names:
        import difflib  # late: few need it

        near = difflib.get_close_matches(name, names, 3)
        raise ValueError(at(
            f"rewrite_rule: no operation is called {name!r}"
            + (f"; did you mean {' or '.join(map(repr, near))}?" if near else "")
            + " Those of your own are made before the rules that start at them."))


def check_types(name: str, pattern: Tensor, replacement: Any) -> None:
    """Refuse a replacement that cannot have the type of the pattern, whatever variables are."""
    if not isinstance(replacement, Tensor):
        return
    kinds = [{"b": "b", "c": "c"}.get(t.dtype.kind, "") for t in (pattern, replacement)]
    if kinds[0] != kinds[1]:
        raise DTypeError(at(
            f"rule {name!r}: the replacement is {replacement.dtype} where the pattern is "
            f"{pattern.dtype}; a replacement must have the dtype of the original"))
    new, old = replacement.shape, pattern.shape
    pairs = zip(new, old, strict=False)
    if new and (len(new) != len(old) or any(
        m != n and (type(m) is type(n) is int or _are_named(m, n)) for m, n in pairs
    )):
        raise ShapeError(at(
            f"rule {name!r}: the replacement is of shape {new} where the pattern is of shape {old};"
            " a replacement must have the shape of the original"))


def _are_named(m: Any, n: Any) -> bool:
    """Return whether both sizes have names of the user's, which stand for different sizes."""
    return all(isinstance(d, Dim) and not d.op and not str(d)[1:].isdigit() for d in (m, n))


def _classes(base: type) -> Iterator[Any]:
    cls: type
    for cls in base.__subclasses__():
        yield cls
        yield from _classes(cls)


def _names(cls: Any) -> tuple[str, ...]:
    """Return the names of a class's operations, as far as the class knows."""
    return cls.names or ((cls.name,) if isinstance(cls.name, str) and cls.name else ())


def node_checked(name: str, function: Callable[[Node], Any]) -> Callable[[Node], Node | None]:
    """A user's function on one node that gives a node of the same type or None."""

    @functools.wraps(function)
    def run(node: Node) -> Node | None:
        new = _called(name, function, node)
        if isinstance(new, (Number, np.generic)):
            return constant(np.asarray(new, node.dtype), node.where)
        new = graph_node(new) if isinstance(new, Tensor) else new
        if new is None:
            return None
        if not isinstance(new, Node):
            raise TypeError(at(
                f"rewrite rule {name!r} gives {typed(new)}, but must give a node, a tensor, a "
                "number or None", node.where))
        if new.shape != node.shape and not may_agree(new.shape, node.shape) and (
            new.shape or scalar(new) is None
        ):
            raise changed(name, node, new)
        return new

    return run


def graph_checked(name: str, function: Callable[[FunctionGraph], Any]
                  ) -> Callable[[FunctionGraph], FunctionGraph]:
    """A user's function on a whole graph that gives one with the same inputs and outputs."""

    @functools.wraps(function)
    def run(graph: FunctionGraph) -> FunctionGraph:
        new = _called(name, function, graph)
        if new is None:
            return graph
        if not isinstance(new, FunctionGraph):
            raise TypeError(at(
                f"rewrite rule {name!r} gives {typed(new)}, but must give a FunctionGraph or None"))
        if list(new.inputs) != list(graph.inputs) or len(new.outputs) != len(graph.outputs):
            raise ValueError(at(
                f"rewrite rule {name!r} makes a graph of {len(new.inputs)} inputs and "
                f"{len(new.outputs)} outputs; it must have the {len(graph.inputs)} inputs that it "
                f"had, in that order, and {len(graph.outputs)} outputs"))
        return new

    return run


def _called(name: str, function: Callable[[Any], Any], given: Any) -> Any:
    try:
        return function(given)
    except Exception as error:
        error.add_note(f"in rewrite rule {name!r}")
        raise
