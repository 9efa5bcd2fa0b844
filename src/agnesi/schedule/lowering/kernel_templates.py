"""Kernel templates: a kernel that was planned is copied for all that differ in buffers only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from agnesi.core.ir.kernels import (
    Buffer,
    Instance,
    Kernel,
    KernelTemplate,
    Matrix,
    Nest,
    Product,
    Store,
    walk,
)
from agnesi.core.ir.loops import Affine, Expr, index, make
from agnesi.core.ir.node import Node
from agnesi.core.support.record import put_off, struct


@struct
class Pattern:
    """Kernels that can be instantiated on other buffers.

    ``fresh`` buffers are internal, all others are parameters; ``bodies`` are the kernels' stores,
    ``exprs`` their expressions in topological order.
    """

    kernels: list[Any]
    fresh: list[Buffer]
    bodies: list[list[Store]]
    exprs: list[Expr]


def pattern(kernels: Sequence[Any], given: Iterable[Buffer],
            listed: Sequence[Buffer] = ()) -> Pattern | None:
    """Return the template of kernels; None if any of them is neither a loop nest nor a product.

    ``given`` buffers are parameters, ``listed`` ones internal.
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
    return Pattern([*kernels], [*listed, *hidden], [[*k.body] for k in kernels], [*exprs])


class TemplateCache:
    """A cache of functions of kernels, by template: results are made again for kernels of equal
    structure.
    """

    def __init__(self) -> None:
        #: Of the first of them: its buffers, nodes, and how.
        self._known: dict[Hashable, tuple[list[Buffer], list[Node], Pattern | None]] = {}

    def __call__(self, kernel: Kernel, rows: Sequence[Buffer], parts: Sequence[Buffer],
                 make: Callable[[], list[Any]]) -> list[Any]:
        """Return ``make`` of a kernel for some of its buffers, ``rows``, with ``parts``."""
        if kernel.like is None:
            return make()
        given = [*kernel.like.buffers, *parts]
        key = (kernel.like.model, *map(given.index, rows), *[part.shape for part in parts])
        if key not in self._known:
            new = make()
            self._known[key] = given, kernel.nodes, pattern(new, given)
            return new
        buffers, nodes, made = self._known[key]
        if made is None:
            return make()
        if not made.kernels:
            return []
        swap = dict(zip(buffers, given, strict=True))
        return again(made, swap, {id(a): b for a, b in zip(nodes, kernel.nodes, strict=True)})


def again(made: Pattern, swap: dict[Buffer, Buffer], nodes: Mapping[int, Node]) -> list[Kernel]:
    """Instantiate the kernels on other buffers and nodes; their stores are built when first read.

    ``swap`` maps parameter buffers to their replacements, and new internal buffers are added to
    it.  Nodes that ``nodes`` does not map are kept.
    """
    for old in made.fresh:
        node = None if old.node is None else nodes.get(id(old.node), old.node)
        swap[old] = Buffer(old.shape, old.dtype, old.role, node=node, strides=old.strides)
    values = _Values(made.exprs, swap)
    return [_kernel(k, body, [nodes.get(id(n), n) for n in k.nodes], values)
            for k, body in zip(made.kernels, made.bodies, strict=True)]


class _Values:
    """The expressions of a template with buffers substituted, computed at first use."""

    __slots__ = ("_done", "_exprs", "swap")

    def __init__(self, exprs: Sequence[Expr], swap: Mapping[Buffer, Buffer]) -> None:
        self.swap = swap
        self._exprs = exprs
        self._done: dict[Expr, Expr] | None = None

    def stores(self, body: Sequence[Store]) -> list[Store]:
        """Return the stores of the kernel with its own buffers."""
        done = self._done
        if done is None:
            done = self._done = {}
            for value in self._exprs:
                done[value] = _swapped(value, self.swap, done)
        return [Store(self.swap[s.buffer], _index(s.offset, done), done[s.value]) for s in body]


def _swapped(value: Expr, swap: Mapping[Buffer, Buffer], done: Mapping[Expr, Expr]) -> Expr:
    """Return an expression on other buffers; its arguments have been replaced before (``done``)."""
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


def _kernel(kernel: Any, body: Sequence[Store], nodes: list[Node], values: _Values) -> Kernel:
    """Return a nest or product like ``kernel`` that reads and writes the instance's own buffers."""
    new: Kernel
    swap = values.swap
    if isinstance(kernel, Nest):
        new = Nest(nodes, kernel.axes, [], kernel.ordered)
    else:
        a, b = [Matrix(swap[m.buffer], m.offset, m.strides) for m in (kernel.a, kernel.b)]
        new = Product(nodes, kernel.sizes, a, b, kernel.axes, swap[kernel.total], [],
                      kernel.symbol, kernel.zeros)
    put_off(new, "body", partial(values.stores, body))
    new.__dict__["like"] = Instance(kernel.like.model, [swap[b] for b in kernel.like.buffers])
    return new


def _liken(kernel: Any) -> None:
    """Register a kernel as the first of its template."""
    reads, writes = kernel.reads(), kernel.writes()
    total = [kernel.total] if isinstance(kernel, Product) else []
    numbers = {b: i for i, b in enumerate(dict.fromkeys([*reads, *writes, *total]))}
    model = KernelTemplate(tuple([numbers[b] for b in reads]), tuple([numbers[b] for b in writes]))
    kernel.__dict__["like"] = Instance(model, [*numbers])
