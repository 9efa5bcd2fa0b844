"""Products of complex matrices are products of their parts."""

from __future__ import annotations

from agnesi.core.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.arith import imag, real
from agnesi.ops.complexes import complex as join
from agnesi.ops.matmul import MatMul, product_of
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter


@rewriter("specialize", ops=[MatMul])
def product_of_parts(node: Node) -> Tensor | None:
    """Four real products, which the compiler has tiles for."""
    if node.dtype.kind != "c":
        return None
    (a, b), (c, d) = ((real(symbol(x)), imag(symbol(x))) for x in node.inputs)
    return join(product_of(a, c) - product_of(b, d), product_of(a, d) + product_of(b, c))
