"""``config.compute_test_value``: what expressions are for the test values of their inputs."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from agnesi.compat.theano.base.casting import given_array
from agnesi.compat.theano.config import ON_CHANGE
from agnesi.compat.theano.types import TensorType
from agnesi.compat.theano.variable import MADE, VARIABLES, Constant, SharedVariable, Variable
from agnesi.compiler.declaration import function
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.dims import declared, leaves
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.config import config
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, symbol

#: Test values by the nodes of the variables that have them.
_KNOWN: weakref.WeakKeyDictionary[Node, np.ndarray] = weakref.WeakKeyDictionary()


def switch(how: str) -> None:
    """Compute test values, or no longer: "off", "ignore", "warn" or "raise" where one is missing.

    :raises ValueError: If it is none of these.
    """
    if how not in ("off", "ignore", "warn", "raise", "pdb"):
        raise ValueError(at("compute_test_value is 'off', 'ignore', 'warn' or 'raise', not "
                            f"{how!r}"))
    MADE.clear()
    if how != "off":
        MADE.append(lambda x: _attach(x, how))


ON_CHANGE["compute_test_value"] = switch


@contextmanager
def without_test_values() -> Iterator[None]:
    """Within it, new variables are not looked up: those of a loop's step have no value before it
    runs."""
    kept = MADE[:]
    MADE.clear()
    try:
        yield
    finally:
        MADE[:] = kept


def note(x: Any, value: Any) -> None:
    """Take a test value that the user gives an input."""
    if isinstance(x.tensor, Tensor):
        kind = x.type
        array = kind.filter(value) if isinstance(kind, TensorType) else given_array(value)
        _KNOWN[graph_node(x.tensor)] = array


def _attach(x: Variable, how: str) -> None:
    """Compute the test value of a variable that was made now."""
    node = None if isinstance(x, (Constant, SharedVariable)) else graph_node(x.tensor)
    if node is None or node.op is None or node in _KNOWN:
        return
    _note_given(node)
    order = toposort([node], _KNOWN.__contains__)
    order += [n for n in _sized_by(node) if n not in order]
    missing = [n for n in order if n.op is None and n not in _KNOWN
               and live_tensor(n) is None and constant_value(n) is None]
    if missing:
        message = at(f"{missing[0].name or 'an input without a name'} has no test value: set its "
                  "tag.test_value", node.where)
        if how == "raise":
            raise AttributeError(message)
        if how == "warn":
            warnings.warn(message, stacklevel=2)
        return
    read = [n for n in order if n in _KNOWN]
    with config(compile=False):
        found = function([symbol(n) for n in read], symbol(node), on_unused_input="ignore")(
            *[_KNOWN[n] for n in read])
    _KNOWN[node] = x.tag.test_value = np.asarray(found)


def _sized_by(node: Node) -> list[Node]:
    """The inputs whose sizes an expression reads, which are no operands of it."""
    sizes = [d for size in FunctionGraph.of([], [node]).sizes if not isinstance(size, Extent)
             for d in leaves(size)]
    found = [declared(d) for d in dict.fromkeys(sizes)]
    return [graph_node(v) if isinstance(v, Tensor) else v for v in found if v is not None]


def _note_given(node: Node) -> None:
    """Take the test values that the inputs of an expression were given in the meantime."""
    for n in (*toposort([node], _KNOWN.__contains__), *_sized_by(node)):
        variable = VARIABLES.get(n) if n.op is None else None
        if variable is not None and hasattr(variable.tag, "test_value"):
            note(variable, variable.tag.test_value)
