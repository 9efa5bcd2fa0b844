"""Piecewise values, such as concatenations and pads: a nest for each region."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Buffer, Nest, Store, buffers_of, walk
from agnesi.core.ir.loops import At, Expr, Part, Sequential
from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.boxes import between, covering
from agnesi.schedule.clustering.layout import by_memory
from agnesi.schedule.iteration_space import axes_of, in_order, point

#: Regions of one value that a nest fills, at most.
_MAX_REGIONS_PER_NEST = 8


def filled(root: Node, buffer: Buffer, parts: Iterable[Any]) -> list[Nest]:
    """The nests that write a value part by part."""
    result: list[Nest] = []
    together: dict[Any, Nest] = {}
    for part in parts:
        if 0 in part.shape:
            continue
        if isinstance(part, Sequential):
            result.append(in_order(root, buffer, part))
            continue
        axes = axes_of(part.shape)
        at = point(axes)
        store = Store(buffer, buffer.offset_of(_target(part, at)), part.function(at))
        if store.value.op == "load" and store.value.param == (buffer, store.offset):
            continue
        nest = together.get(part.shape)
        if nest is None or root.op.changes or len(nest.body) == _MAX_REGIONS_PER_NEST:
            nest = together[part.shape] = Nest([root], by_memory(axes, [store]))
            result.append(nest)
        nest.body.append(store)
    return result


def finished(roots: Sequence[Node], pieces: Sequence[tuple[Buffer, Sequence[Part]]],
             stores: Callable[[At], list[Store]]) -> list[Nest]:
    """The nests that write roots computed from values made of boxes.

    ``stores(at)`` are those of an element, whose parts they load from the buffers of ``pieces``.
    """
    result: list[Nest] = []
    together: dict[Any, Nest] = {}
    for box in between([part for _, parts in pieces for part in parts], pieces[0][0].shape):
        low, high = box
        extents = tuple(b - a for a, b in zip(low, high, strict=True))
        axes = axes_of(extents)
        at = point(axes)
        target = tuple(i + a for i, a in zip(at, low, strict=True))
        elements = {}
        for total, parts in pieces:
            part = covering(parts, box)
            own = tuple(i + -start for i, start in zip(target, part.start, strict=True))
            elements[loops.load(total, total.dtype.name, total.offset_of(target))] = (
                part.function(own))
        body = [Store(s.buffer, s.offset, _with(s.value, elements)) for s in stores(target)]
        nest = together.get(extents)
        if nest is None or len(nest.body) + len(body) > _MAX_REGIONS_PER_NEST:
            nest = together[extents] = Nest(list(roots), by_memory(axes, body))
            result.append(nest)
        nest.body += body
    return result


def _target(part: Part, at: At) -> At:
    """Return the address in the result of an element of a part."""
    return tuple(i * step + start for i, start, step in zip(at, part.start, part.step, strict=True))


def computed_with(nodes: Iterable[Node], root: Container[int]) -> set[int]:
    """Return the ids of the values without memory that nodes are computed from, and their own."""
    found: set[int] = set()
    stack = [*nodes]
    while stack:
        node = stack.pop()
        if node.op is not None and id(node) not in root and id(node) not in found:
            found.add(id(node))
            stack += node.inputs
    return found


def only_at(body: Sequence[Store], total: Buffer, at: At) -> bool:
    """Return whether stores read a sum only at the index where it is finished."""
    offset = total.offset_of(at)
    for value in walk([s.value for s in body]):
        if value.op == "load" and value.param[0] is total and value.param[1] != offset:
            return False
        if value.op == "reduce" and total in buffers_of([value]):
            return False
    return True


def _with(value: Expr, others: Mapping[Expr, Expr]) -> Expr:
    """An expression with others in place of some."""
    done = dict(others)
    for v in walk([value]):
        if v not in done:
            args = tuple([done[a] for a in v.args])
            done[v] = v if args == v.args else loops.make(v.op, args, v.dtype, v.param)
    return done[value]
