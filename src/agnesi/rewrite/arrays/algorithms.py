"""Linear algebra: functions of matrices that need not be made become cheaper, exacter ones.

The operations themselves say what they become, so that rewriting does not load them.
"""

from __future__ import annotations

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.movement import Permute, matrix_transpose
from agnesi.ops.base.reduce import prod
from agnesi.ops.base.reduce import sum as sum_over
from agnesi.ops.contractions.matmul import MatMul
from agnesi.ops.indexing.diagonal import Diagonal, Triangle
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter


def triangle_of(node: Node) -> bool | None:
    """Return whether matrices are lower (True) or upper (False) triangular, where that
    follows from the operations that made them."""
    op = node.op
    if type(op) is Permute and op.axes[-2:] == (len(op.axes) - 1, len(op.axes) - 2):
        below = triangle_of(node.inputs[0])
        return None if below is None else not below
    if type(op) is Triangle and (op.k >= 0 if op.upper else op.k <= 0):
        return not op.upper
    return True if node.op_name == "cholesky" else None


@rewriter("canonicalize", ops=[MatMul], operands=["inv"])
def product_with_inverse(node: Node) -> Tensor | None:
    """A product with an inverse is a solution."""
    a, b = node.inputs
    if a is b:  # the inverse is computed all the same
        return None
    if a.op_name == "inv":
        solution: Tensor = a.op.before(symbol(a.inputs[0]), symbol(b))
        return solution
    if b.op_name == "inv":
        solution = b.op.behind(symbol(a), symbol(b.inputs[0]))
        return solution
    return None


@rewriter("canonicalize", ops=["solve"])
def solution_of_triangle(node: Node) -> Tensor | None:
    """A system of a triangular matrix needs no factors."""
    a, b = node.inputs
    lower = triangle_of(a)
    if lower is None:
        return None
    solution: Tensor = node.op.of_triangle(lower, symbol(a), symbol(b))
    return solution


@rewriter("canonicalize", ops=["det"])
def determinant_of_triangle(node: Node) -> Tensor | None:
    """The determinant of a triangular matrix is the product of its diagonal."""
    if triangle_of(node.inputs[0]) is None:
        return None
    return prod(apply(Diagonal(0), symbol(node.inputs[0])), axis=-1)


@rewriter("stabilize", ops=["log"])
def logarithm_of_determinant(node: Node) -> Tensor | None:
    """The logarithm of a determinant, which may overflow, is a sum of logarithms."""
    (source,) = node.inputs
    sizes = source.op_name == "abs"
    inner = source.inputs[0] if sizes else source
    if inner.op_name != "det" or node.dtype.kind != "f":
        return None
    found: Tensor = inner.op.logarithm(symbol(inner.inputs[0]), sizes)
    return found


@rewriter("specialize", ops=["sum"], operands=[Diagonal])
def trace_of_product(node: Node) -> Tensor | None:
    """The trace of a product needs only the products of elements."""
    (diagonal,) = node.inputs
    last = len(diagonal.shape) - 1
    if node.op.kind != "add" or node.op.axes != (last,) or node.op.keepdims:
        return None
    if type(diagonal.op) is not Diagonal or diagonal.op.k:
        return None
    (product,) = diagonal.inputs
    if type(product.op) is not MatMul:
        return None
    a, b = map(symbol, product.inputs)
    if a.shape[-2] != b.shape[-1] or product.dtype.kind not in "fc":
        return None
    return sum_over(a * matrix_transpose(b), (-2, -1))
