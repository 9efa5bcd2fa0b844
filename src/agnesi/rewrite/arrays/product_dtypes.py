"""Products of dtypes that have no tiles are products of others."""

from __future__ import annotations

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import imag, real
from agnesi.ops.base.convert import cast
from agnesi.ops.contractions.matmul import MatMul, product_of
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter


@rewriter("specialize", ops=[MatMul])
def product_of_parts(node: Node) -> Tensor | None:
    """Four real products for a complex one."""
    if node.dtype.kind != "c":
        return None
    from agnesi.ops.elementwise.complexes import complex as join

    (a, b), (c, d) = ((real(symbol(x)), imag(symbol(x))) for x in node.inputs)
    return join(product_of(a, c) - product_of(b, d), product_of(a, d) + product_of(b, c))


@rewriter("specialize", ops=["matmul", "conv", "conv_grad_w", "conv_grad_x"])
def product_of_halves(node: Node) -> Tensor | None:
    """Numbers of 16 bits are widened, so that sums are float32, and rounded once."""
    if node.dtype not in dtypes.HALVES:
        return None
    from agnesi.ops.contractions.halves import half_product

    found = half_product(node)
    if found is not None:
        return cast(found, node.dtype)
    a, b = (cast(symbol(x), dtypes.float32) for x in node.inputs)
    product = product_of(a, b) if type(node.op) is MatMul else apply(node.op, a, b)
    return cast(product, node.dtype)
