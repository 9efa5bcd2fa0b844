"""Errors of compiled code: the messages of its checks, with the user's line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from agnesi.compiler.compilation.artifact import Recipe
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.foreign import REASONS
from agnesi.core.ir.kernels import FIRST_FAILURE, Buffer, Check, Foreign
from agnesi.core.ir.node import Node
from agnesi.core.op import called, typed
from agnesi.core.support.errors import (
    OversizeError,
    Where,
    at,
    error_named,
    format_bytes,
    no_memory,
)

#: The error's type, its text, and the node of the user's graph whose line it names (or -1).
Failure = tuple[str, str, int]


def failures(checks: Sequence[Check | Foreign], graph: FunctionGraph) -> list[Failure]:
    """Return the messages of a program's checks; ``graph`` is the user's, before it was rewritten.
    """
    indices = _indices(graph) if checks else {}
    return [(c.error, c.text, indices.get(c.nodes[0].where, -1)) for c in checks]


def widest(buffer: Buffer, graph: FunctionGraph) -> Failure:
    """Describe the largest temporary, for the error where there is no memory for all of them."""
    text = f"temporaries, the largest of them {_made(buffer.node or buffer)}"
    where = None if buffer.node is None else buffer.node.where
    found = (i for i, n in enumerate(_every(graph)) if where and n.where == where)
    return "MemoryError", text, next(found, -1)


def _made(value: Node | Buffer) -> str:
    """Return text for a value: its type and the operation that computes it; of a buffer without a
    node the type alone.
    """
    op = None if isinstance(value, Buffer) else value.op
    by = "" if op is None else f" of {called(op.name, value.inputs)}"  # type: ignore[union-attr]
    return f"{typed(value)}{by}"


def check_elements(graph: FunctionGraph) -> None:
    """Raise OversizeError for values of 2**63 elements or more, whose indices do not fit 64 bits.
    """
    small: set[Any] = set()
    bodies: dict[int, FunctionGraph] = {}
    for node in graph.nodes:
        if node.shape not in small:
            if is_static(node.shape) and math.prod(node.shape) >= 1 << 63:
                raise OversizeError(node, math.prod(node.shape) * node.dtype.itemsize)
            small.add(node.shape)
        for name in node.op.bodies if node.op is not None else ():
            body = getattr(node.op, name).graph
            bodies[id(body)] = body
    for body in bodies.values():
        check_elements(body)


def oversize(error: OversizeError) -> str:
    """Describe a value that no machine has memory for."""
    return no_memory(error.nbytes, _made(error.value))


def _as_written(text: str, where: Where) -> str:
    """Return a check's message with the name of the public function that the user called."""
    name, bracket, rest = text.partition("(")
    if name == "ensure" and where and where[2] not in ("", name):  # its operands are none of those
        return f"{where[2]}: {rest.partition('): ')[2]}"
    return f"{where[2]}({rest}" if where and where[2] and bracket and name.isidentifier() else text


def _indices(graph: FunctionGraph) -> dict[Any, int]:
    indices: dict[Any, int] = {}
    for i, node in enumerate(_every(graph)):
        indices.setdefault(node.where, i)
    return indices


def _every(graph: FunctionGraph) -> Iterator[Node]:
    """All nodes, those of loops' and branches' bodies too."""
    for node in graph.nodes:
        yield node
        for name in node.op.bodies if node.op is not None else ():
            yield from _every(getattr(node.op, name).graph)


def raiser(recipe: Recipe, graph: FunctionGraph, name: str,
           otherwise: Callable[[int], Any], writes: bool) -> Callable[[int], Any]:
    """Return a function that raises the error for a status code returned by compiled code.

    Every error but one comes before a function that ``writes`` in place has changed anything. The
    exception is a lack of memory for temporaries, whose message says so.
    """
    from agnesi.runtime.support import refused

    def where_of(index: int) -> Any:
        return next(islice(_every(graph), index, None)).where if index >= 0 else None

    def failed(code: int) -> Any:
        if code < 0:
            raise MemoryError(lacking(-1 - code))
        if code < FIRST_FAILURE:
            return otherwise(code)
        kind, text, index = recipe.failures[code - FIRST_FAILURE]
        text = REASONS[kind]() if kind in REASONS else text
        where = where_of(index)
        raise error_named(kind)(at(_as_written(text, where), where))

    def lacking(i: int) -> str:
        if i < len(recipe.results):
            node = graph.outputs[recipe.results[i]]
            what, where = f"its result {_made(node)}", node.where
        else:
            _, what, index = recipe.widest or ("", "temporaries", -1)
            where = where_of(index)
        torn = ("; tensors that it changes in place may hold a part of the changes"
                if writes and i > len(recipe.results) else "")
        return at(
            f"{name}: no memory is left for {format_bytes(refused())}, {what}, and no other call "
            f"is running that would free some{torn}; see agnesi.limit_memory",
            where,
        )

    return failed
