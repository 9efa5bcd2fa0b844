"""Kernels made again on other buffers: what was planned for some serves all that are like them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agnesi.core.kernels import Buffer, Kernel, Like, Matrix, Model, Nest, Product, Store, walk
from agnesi.core.loops import Affine, Expr, index, make
from agnesi.core.node import Node
from agnesi.core.record import struct


@struct
class Pattern:
    """Kernels that can be made again.

    ``fresh`` buffers are their own, all others are given; ``exprs`` is what they consist of,
    arguments first.
    """

    kernels: list[Any]
    fresh: list[Buffer]
    exprs: list[Expr]


def pattern(kernels: Sequence[Any], given: Iterable[Buffer],
            listed: Sequence[Buffer] = ()) -> Pattern | None:
    """How to make kernels again; None where there is more to them than loops and products.

    ``given`` buffers come from outside, ``listed`` ones are their own.
    """
    if any(type(k) not in (Nest, Product) or k.waits for k in kernels):
        return None
    known = {*given, *listed}
    exprs: dict[Expr, None] = {}
    hidden: dict[Buffer, None] = {}
    for kernel in kernels:
        exprs |= dict.fromkeys(walk([v for s in kernel.body for v in (s.value, *s.offset.atoms)]))
        if kernel.like is None:
            _liken(kernel)
        hidden |= {b: None for b in kernel.like.buffers if b not in known}
    return Pattern([*kernels], [*listed, *hidden], [*exprs])


def again(made: Pattern, swap: dict[Buffer, Buffer], nodes: Mapping[int, Node]) -> list[Kernel]:
    """The same kernels on other buffers, and for other nodes.

    ``swap`` tells for given buffers which ones stand in their place, and learns it of fresh ones.
    Nodes of which nothing is told stay as they are.
    """
    for old in made.fresh:
        node = None if old.node is None else nodes.get(id(old.node), old.node)
        swap[old] = Buffer(old.shape, old.dtype, old.role, node=node, strides=old.strides)
    done: dict[Expr, Expr] = {}
    for value in made.exprs:
        done[value] = _swapped(value, swap, done)
    return [_kernel(k, [nodes.get(id(n), n) for n in k.nodes], swap, done) for k in made.kernels]


def _swapped(value: Expr, swap: Mapping[Buffer, Buffer], done: Mapping[Expr, Expr]) -> Expr:
    """An expression on other buffers; its arguments are done."""
    if value.op == "load":
        buffer, at = value.param
        new = swap[buffer], _index(at, done)
        return make("load", new[1].atoms, value.dtype, new, value.free)
    if value.op == "index":
        return index(_index(value.param, done))
    args = tuple([done[a] for a in value.args])
    if args == value.args:
        return value
    return make(value.op, args, value.dtype, value.param, value.free)


def _index(at: Affine, done: Mapping[Expr, Expr]) -> Affine:
    if not at.atoms:
        return at
    return Affine(at.const, {done[a] if isinstance(a, Expr) else a: c for a, c in at.terms.items()})


def _kernel(kernel: Any, nodes: list[Node], swap: Mapping[Buffer, Buffer],
            done: Mapping[Expr, Expr]) -> Kernel:
    """A kernel on other buffers."""
    body = [Store(swap[s.buffer], _index(s.offset, done), done[s.value]) for s in kernel.body]
    new: Kernel
    if isinstance(kernel, Nest):
        new = Nest(nodes, kernel.axes, body, kernel.ordered)
    else:
        a, b = (Matrix(swap[m.buffer], m.offset, m.strides) for m in (kernel.a, kernel.b))
        new = Product(nodes, kernel.sizes, a, b, kernel.axes, swap[kernel.total], body,
                      kernel.symbol, kernel.zeros)
    new.__dict__["like"] = Like(kernel.like.model, [swap[b] for b in kernel.like.buffers])
    return new


def _liken(kernel: Any) -> None:
    """Let a kernel be known as the first of its model."""
    reads, writes = kernel.reads(), kernel.writes()
    total = [kernel.total] if isinstance(kernel, Product) else []
    numbers = {b: i for i, b in enumerate(dict.fromkeys([*reads, *writes, *total]))}
    model = Model(tuple([numbers[b] for b in reads]), tuple([numbers[b] for b in writes]))
    kernel.__dict__["like"] = Like(model, [*numbers])
