"""Trials of rewrite rules: patterns over drawn values of many types, and operations that functions
start from, before and after a rule.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import FunctionGraph, constant
from agnesi.core.interpret import interpret
from agnesi.core.ir.node import Node, leaves, toposort
from agnesi.core.support import dtypes
from agnesi.core.support.errors import at
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.tensor import symbol
from agnesi.ops.base.convert import cast
from agnesi.ops.base.elementwise import TABLE
from agnesi.rewrite.engine import outside_traces
from agnesi.rewrite.pattern import filled, sizes_in
from agnesi.rewrite.rules import NodeRule, PatternRule, Rule

_DTYPES = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.int32, dtypes.uint8, dtypes.bool_,
    dtypes.complex128,
)
#: Shapes of operands with which a rule is tried: equal, broadcast, scalar.
_SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (((3, 4),), ((3, 1), (4,), (1, 1)), ((),))
#: Operations of which others are tried.
_INNER = ("exp", "log", "sqrt", "square", "negative", "abs")
_TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-11, "complex128": 1e-11}


def closed(*nodes: Node) -> FunctionGraph:
    """Return the graph that computes some nodes from all variables that they depend on."""
    return FunctionGraph([n for n in leaves(nodes) if n.value is None and n.handle is None], nodes)


def samples_of(rule: PatternRule) -> Iterator[Node]:
    """Yield the pattern of a rule over variables of many dtypes and shapes, with numbers in place
    of each variable in turn.
    """
    names, own = sorted(rule.pattern.names()), rule.pattern.shapes()
    for dtype, shapes in itertools.product(_DTYPES, _shapes(names, own)):
        some = 2.5 if dtype.kind in "fc" else 2
        for number, value in [(None, 0.0), *[(n, v) for n in names if n not in own
                                             for v in (some, 0)]]:
            bound = {
                name: constant(np.asarray(value).astype(dtype)) if name == number
                else Node(None, (), shape, dtype, name=name)
                for name, shape in zip(names, shapes, strict=True)
            }
            sizes = sizes_in(rule.pattern, bound)
            node = filled(rule.pattern, bound, next(iter(bound.values())), sizes)
            if node is not None:
                yield node


def _shapes(names: Sequence[str], own: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Shapes of variables: any, or of different sizes for those that have axes."""
    dims = list(dict.fromkeys(n for shape in own.values() for n in shape))
    for shapes in _SHAPES if len(own) < len(names) else _SHAPES[-1:]:
        free = dict(zip(names, itertools.cycle(shapes), strict=False))
        for numbers in (range(2, 2 + len(dims)), range(1 + len(dims), 1, -1)):
            sizes = dict(zip(dims, numbers, strict=True))
            with_axes = {name: tuple([n if isinstance(n, int) else sizes[n] for n in shape])
                         for name, shape in own.items()}
            yield list((free | with_axes).values())
            if not dims:
                break


def difference(name: str, old: Node, new: Node, rng: np.random.Generator) -> str:
    """Return a message if a replacement has another type, or other values where the original is
    finite; empty if it agrees.
    """
    if old.dtype != new.dtype or old.shape != new.shape:
        return f"rule {name!r} changes the type of {old} to that of {new}"
    graph = closed(old, new)
    for spread in (1.0, 0.0):
        values = [_random(n, rng, spread) for n in graph.inputs]
        with np.errstate(all="ignore"):
            before, after = interpret(graph, values)
        known = np.isfinite(before)
        tolerance = _TOLERANCE.get(old.dtype.name, 0)
        # Cancellation costs the pattern digits in proportion to what it subtracts.
        scale = tolerance * max(1.0, *(float(np.abs(v).max(initial=0)) for v in values), 1.0)
        near = np.isclose(before, after, rtol=tolerance, atol=scale)
        if old.dtype == dtypes.float16 and not near[known].all():  # the pattern's own rounding
            (exact,) = interpret(closed(_in_single(old)), [
                v.astype(_single(n).dtype) for n, v in zip(graph.inputs, values, strict=True)])
            near |= np.isclose(exact, after, rtol=tolerance, atol=tolerance)
        wrong = np.argwhere(np.atleast_1d(known & ~near))
        if len(wrong):
            return (f"rule {name!r} changes {old.dtype} values: "
                    + _example(graph, values, before, after, tuple(wrong[0])))
    return ""


def _single(leaf: Node) -> Node:
    """A variable or constant of single precision in the place of one of half precision."""
    if leaf.dtype != dtypes.float16:
        return leaf
    if leaf.value is None:
        return Node(None, (), leaf.shape, dtypes.float32, name=leaf.name)
    return constant(np.asarray(leaf.value).astype(np.float32))


def _in_single(node: Node) -> Node:
    """What an expression in half precision is in single precision."""
    done: dict[Node, Node] = {}
    for n in toposort([node]):
        if n.op is None:
            done[n] = _single(n)
        elif n.op_name == "cast" and n.dtype == dtypes.float16:
            done[n] = graph_node(cast(symbol(done[n.inputs[0]]), dtypes.float32))
        else:
            done[n] = graph_node(apply(n.op, *[symbol(done[i]) for i in n.inputs]))
    return done[node]


def _example(graph: FunctionGraph, values: Sequence[np.ndarray], before: np.ndarray,
             after: np.ndarray, index: tuple[int, ...]) -> str:
    """Return a text with the values before and after the rule at one index, and the values of its
    variables there."""
    before, after = np.atleast_1d(before), np.atleast_1d(after)
    found = []
    for n, v in zip(graph.inputs, values, strict=True):
        fits = len(index) >= v.ndim and all(m in (1, k) for m, k in zip(
            v.shape[::-1], before.shape[::-1], strict=False))
        here = np.broadcast_to(v, before.shape)[index] if fits else v.tolist()
        found.append(f"{n.name} = {here}")
    return f"{before[index]} became {after[index]} for {', '.join(found)}"


def check_values(rule: PatternRule) -> None:
    """Refuse a rule of a user's that gives other values than its pattern, at some that are drawn.

    :raises ValueError: If it does.
    """
    _try(rule, samples_of(rule))


def check_function(rule: NodeRule) -> None:
    """Refuse a function on nodes that gives other values, at elementwise operations that it starts
    from, of variables and of other operations of such.

    :raises ValueError: If it does.
    """
    _try(rule, _nodes_of(rule.ops))


def _try(rule: Rule, samples: Iterable[Node]) -> None:
    """Compare values of nodes with those of what a rule makes of them; what it raises is raised,
    with its name.

    :raises ValueError: If values differ.
    """
    rng = np.random.default_rng(0)
    with outside_traces(), no_gc():
        for node in samples:
            if not _has_values(node, rng):
                continue
            try:
                new = rule(node)
                text = "" if new is None else difference(rule.name, node, new, rng)
            except Exception as error:
                if not any(rule.name in note for note in getattr(error, "__notes__", ())):
                    error.add_note(f"in rewrite rule {rule.name!r}")
                error.add_note(f"as it was tried on {node}; what it is not for, it leaves by None, "
                               "a pattern by when=...")
                raise
            if text:
                raise ValueError(at(
                    f"{text}; a rule must keep values up to rounding. One that is not meant to has "
                    "tags=['unsafe'], and runs where it is included by its name"))


def _has_values(node: Node, rng: np.random.Generator) -> bool:
    """Return whether a node can be computed eagerly."""
    graph = closed(node)
    try:
        with np.errstate(all="ignore"):
            interpret(graph, [_random(n, rng, 0.0) for n in graph.inputs])
    except Exception as error:
        raise_if_from_signal(error)
        return False
    return True


def _nodes_of(ops: Sequence[str]) -> Iterator[Node]:
    """Elementwise operations of variables, numbers, and of operations of such."""
    for name, dtype in itertools.product([n for n in ops if n in TABLE], _DTYPES[:2]):
        op = TABLE[name]
        x, y = (symbol(Node(None, (), shape, dtype, name=title))
                for title, shape in (("x", (3, 4)), ("y", (4,))))
        two = symbol(constant(np.asarray(2.0).astype(dtype)))
        inside = [x, y, two, *(apply(TABLE[inner], x) for inner in _INNER),
                  apply(TABLE["add"], x, y), apply(TABLE["multiply"], x, two)]
        for operands in itertools.product(inside if op.arity < 3 else [x, y], repeat=op.arity):
            try:
                yield graph_node(apply(op, *operands))
            except TypeError:  # of operands that the operation does not take
                continue


def _random(node: Node, rng: np.random.Generator, spread: float) -> np.ndarray:
    """Values of both signs, or (for no spread) in (0.1, 2), where all functions are defined."""
    kind = node.dtype.kind
    if kind == "b":
        return np.asarray(rng.integers(0, 2, node.shape)).astype(bool)
    if kind in "iu":
        return np.asarray(rng.integers(1, 9, node.shape)).astype(node.dtype)
    values = rng.normal(size=node.shape) if spread else rng.uniform(0.1, 2, node.shape)
    if kind == "c":
        values = values + 1j * rng.uniform(0.1, 1, node.shape)
    return np.asarray(values).astype(node.dtype)
