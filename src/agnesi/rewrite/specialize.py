"""Strength reduction: the same value, bit for bit or nearly, from cheaper operations."""

from __future__ import annotations

import numpy as np

from agnesi.core.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.arith import DIVIDE, multiply, reciprocal
from agnesi.ops.matmul import MatMul
from agnesi.rewrite.pattern import is_count, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter


@rewriter("specialize", ops=[DIVIDE])
def over_power_of_two(node: Node) -> Tensor | None:
    """Division by a power of two is an exact multiplication."""
    value = scalar(node.inputs[1])
    if value is None or node.dtype.kind != "f" or value == 0 or not np.isfinite(value):
        return None
    inverse = node.dtype.type(1) / value
    if np.frexp(value)[0] not in (0.5, -0.5) or not np.isfinite(inverse):
        return None
    if abs(inverse) < np.finfo(node.dtype).tiny:
        return None
    return multiply(symbol(node.inputs[0]), float(inverse))


@rewriter("specialize", ops=[DIVIDE])
def over_count(node: Node) -> Tensor | None:
    """Many elements over a size that is a run-time value: one division, and products."""
    many, count = node.inputs
    if not many.shape or node.dtype.kind != "f" or not is_count(count):
        return None
    return multiply(symbol(many), reciprocal(symbol(count)))


@rewriter("specialize", ops=[MatMul])
def outer_product(node: Node) -> Tensor | None:
    """A matrix product over one element is an elementwise product."""
    a, b = node.inputs
    if a.shape[-1] != 1 or b.shape[-2] != 1:
        return None
    return multiply(symbol(a), symbol(b))
