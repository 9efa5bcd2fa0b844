"""Sums of values in regions of one shape, shifted rows of a stencil say, are filled box by box."""

from __future__ import annotations

import math

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import ADD
from agnesi.ops.base.slices import Slice, Unslice, region
from agnesi.ops.indexing.overlay import Overlay
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter

#: Elements from which a pass over memory costs more than a few more loops.
_MIN_ELEMENTS = 1 << 12
#: How many more loops.
_MAX_BOXES = 32

#: An operand, and where its first element is.
_Term = tuple[Tensor, tuple[int, ...]]


@rewriter("specialize", ops=[ADD], operands=[Overlay, Slice, Unslice])
def sum_of_regions(node: Node) -> Tensor | None:
    """Values in regions, whole or cut, are added in one pass."""
    if not node.shape or not all(isinstance(n, int) for n in node.shape):
        return None
    if math.prod(node.shape) < _MIN_ELEMENTS or node.dtype.kind != "f":
        return None
    terms: list[_Term] = []
    for operand in node.inputs:
        found = _terms(operand) if operand.shape == node.shape else None
        if found is None:
            return None
        terms += found
    return _overlaid(terms, node.shape)


@rewriter("specialize", ops=[Slice], operands=[Overlay])
def part_of_regions(node: Node) -> Tensor | None:
    """A part of a sum of regions is a sum of parts."""
    if node.inputs[0].op is None or type(node.inputs[0].op) is not Overlay:
        return None
    terms = _terms(node)
    return None if terms is None else _overlaid(terms, node.shape)


def _overlaid(terms: list[_Term], shape: tuple[int, ...]) -> Tensor | None:
    if not terms:
        return None
    op = Overlay(tuple(start for _, start in terms), shape)
    values = [value for value, _ in terms]
    return apply(op, *values) if op.count([v.shape for v in values]) <= _MAX_BOXES else None


def _terms(node: Node) -> list[_Term] | None:
    """Return the values whose sum a node is, each with the start of its region; None for other
    nodes.
    """
    op = node.op
    if type(op) is Overlay:
        return [(symbol(x), start) for x, start in zip(node.inputs, op.starts, strict=True)]
    if type(op) is Unslice:
        start = region(op.key, op.shape)
        return None if start is None else [(symbol(node.inputs[0]), start)]
    if type(op) is not Slice:
        return None
    source = node.inputs[0]
    start = region(op.key, source.shape)
    if start is None or type(source.op) not in (Overlay, Unslice):
        return None
    found = _terms(source)
    return None if found is None else [
        term for value, corner in found for term in _cut(value, corner, start, node.shape)
    ]


def _cut(value: Tensor, corner: tuple[int, ...], start: tuple[int, ...],
         shape: tuple[int, ...]) -> list[_Term]:
    """Return the part of a value placed at ``corner`` that a window of ``shape`` at ``start``
    covers, with its place in the window; empty if there is none.
    """
    key, at = [], []
    for p, s, n, size in zip(corner, start, shape, value.shape, strict=True):
        first, last = max(s - p, 0), min(s + n - p, size)
        if first >= last:
            return []
        key.append((first, last, 1))
        at.append(max(p - s, 0))
    whole = all(a == 0 and b == size for (a, b, _), size in zip(key, value.shape, strict=True))
    return [(value if whole else apply(Slice(tuple(key)), value), tuple(at))]
