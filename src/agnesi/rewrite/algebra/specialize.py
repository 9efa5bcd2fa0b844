"""Strength reduction: the same value, bit for bit or nearly, from cheaper operations."""

from __future__ import annotations

import math

import numpy as np

from agnesi.core.ir.dims import is_static
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import DIVIDE, add, multiply, reciprocal
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.contractions.matmul import MatMul
from agnesi.rewrite.pattern import is_count, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter
#: Elements of a matrix from which it is read from memory, not from a cache.
_MIN_MEMORY_ELEMENTS = 1 << 17


@rewriter("specialize", ops=[DIVIDE])
def over_power_of_two(node: Node) -> Tensor | None:
    """Division by a power of two is an exact multiplication."""
    value = scalar(node.inputs[1])
    if value is None or node.dtype.kind != "f" or value == 0 or not np.isfinite(value):
        return None
    with np.errstate(over="ignore"):
        inverse = node.dtype.type(1) / value
    if np.frexp(value)[0] not in (0.5, -0.5) or not np.isfinite(inverse):
        return None
    if abs(inverse) < np.finfo(node.dtype).tiny:
        return None
    return multiply(symbol(node.inputs[0]), float(inverse))


@rewriter("specialize", ops=[DIVIDE])
def over_count(node: Node) -> Tensor | None:
    """Replace the division of many elements by a run-time size by one reciprocal and products."""
    many, count = node.inputs
    if not many.shape or node.dtype.kind != "f" or not is_count(count):
        return None
    return multiply(symbol(many), reciprocal(symbol(count)))


@rewriter("specialize", ops=[MatMul])
def outer_product(node: Node) -> Tensor | None:
    """A matrix product over one element is an elementwise product, of which no zero is negative."""
    a, b = node.inputs
    if a.shape[-1] != 1 or b.shape[-2] != 1:
        return None
    product = multiply(symbol(a), symbol(b))
    return add(product, 0.0) if is_inexact(node.dtype) else product


@rewriter("specialize", ops=[MatMul])
def thin_product(node: Node) -> Tensor | None:
    """A product of a computed matrix and a vector becomes a sum, fused with that computation."""
    a, b = node.inputs
    if node.dtype.kind != "f" or not is_static((*a.shape, *b.shape)):
        return None
    if len(a.shape) != 2 or len(b.shape) != 2:
        return None
    if b.shape[1] == 1 and _is_made(a):
        return total(multiply(symbol(a), reshape(symbol(b), (1, -1))), 1, keepdims=True)
    if a.shape[0] == 1 and _is_made(b):
        return total(multiply(reshape(symbol(a), (-1, 1)), symbol(b)), 0, keepdims=True)
    return None


def _is_made(matrix: Node) -> bool:
    """Return whether a large matrix is computed element by element."""
    while matrix.op is not None and matrix.op.flat:
        (matrix,) = matrix.inputs
    made = matrix.op is not None and bool(matrix.op.pointwise)
    return made and math.prod(matrix.shape) >= _MIN_MEMORY_ELEMENTS
