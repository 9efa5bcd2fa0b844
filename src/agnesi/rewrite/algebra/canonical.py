"""Canonical form: what is known is computed, what does nothing is dropped, signs move outwards."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.graph import constant, constant_value
from agnesi.core.ir.costs import HEAVY
from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.node import Node
from agnesi.core.op import Item
from agnesi.core.support.dtypes import real_of
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import negative, positive, reciprocal, safe_divide, safe_multiply, square
from agnesi.ops.base.compare import logical_not
from agnesi.ops.base.convert import Cast, Size
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.base.expand import BroadcastTo, SumTo
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.rewrite.algebra.simplify import is_real
from agnesi.rewrite.arrays.reductions import REDUCTIONS
from agnesi.rewrite.intervals import far_from_zero, keeps_sign_of_zero
from agnesi.rewrite.pattern import CONSTANT, scalar, variables
from agnesi.rewrite.rules import Book

BOOK = Book()
rule, rewriter = BOOK.rule, BOOK.rewriter
a, b, c, x = variables("a b c x")
#: A folded result may be this large even if its inputs are smaller.
_FOLDED_BYTES = 1 << 16
#: What a costly operation reads is worked out so many levels down, and if it has so few elements.
_KNOWN_DEPTH, _KNOWN_SIZE = 6, 1 << 20


# -- what is known ---------------------------------------------------------------------------
@rewriter("canonicalize", tags=("fold",), operands=[CONSTANT])
def fold(node: Node) -> Node | None:
    """Operations on constants are computed now; fills with one number stay symbolic."""
    return None if any(n.op is not None for n in node.inputs) else _folded(node, 0)


@rewriter("canonicalize", ops=[*HEAVY, *REDUCTIONS, SumTo, Size], tags=("fold",))
def fold_costly(node: Node) -> Node | None:
    """Fold a constant of many operations, if it is worth its memory to save them in every call."""
    return _folded(node, _KNOWN_DEPTH)


def _folded(node: Node, depth: int) -> Node | None:
    """Return the value of a node as a constant, if its operands are known within ``depth``
    operations and the constant takes no more memory than it saves.
    """
    for n in node.inputs:  # first, as it is so nearly everywhere: operands that are not known
        if n.op is not None and (n.requires_grad or not depth):
            return None
    if type(node.op) in (BroadcastTo, Item) or node.op.outputs > 1 or not is_static(node.shape):
        return None
    size: Any = product(node.shape)
    depth = depth if size * node.dtype.itemsize <= _FOLDED_BYTES else 0
    try:
        values = _all_known(node, depth)
        if values is None:
            return None
        if size * node.dtype.itemsize > max(_FOLDED_BYTES, sum(v.nbytes for v in values)):
            return None
        result = np.asarray(node.op.perform(*values))
    except Exception as error:
        raise_if_from_signal(error)
        # Whatever is wrong is to be raised by the call, where the user expects it.
        return None
    if result.dtype != node.dtype or result.shape != node.shape:
        return None
    return constant(np.array(result), node.where)


def _known(node: Node, depth: int) -> Any:
    """Return the value of a small node that depends on constants only, at most ``depth`` operations
    deep; None otherwise.
    """
    if node.op is None:
        return constant_value(node)
    if not depth or node.requires_grad or node.op.outputs > 1:
        return None
    inputs = _all_known(node, depth - 1)
    if inputs is None or not is_static(node.shape):
        return None
    few: Any = product(node.shape) <= _KNOWN_SIZE
    return np.asarray(node.op.perform(*inputs)) if few else None


def _all_known(node: Node, depth: int) -> list[Any] | None:
    """The values of all that a node reads; None if one is not known."""
    values = []
    for operand in node.inputs:
        value = _known(operand, depth)
        if value is None:
            return None
        values.append(value)
    return values


@rewriter("canonicalize", ops=[where], tags=("fold",))
def known_condition(node: Node) -> Node | None:
    """A choice by a constant condition, or between equal values, is no choice."""
    condition, first, second = node.inputs
    if first is second:
        return first
    known = scalar(condition)
    return None if known is None else (first if known else second)


# -- broadcasts and casts that do nothing -----------------------------------------------------
@rewriter("canonicalize", ops=[BroadcastTo])
def trivial_broadcast(node: Node) -> Node | None:
    """Drop a broadcast to the shape that its operand has, and merge two broadcasts in a row."""
    (source,) = node.inputs
    if source.shape == node.shape:
        return source
    smaller = _before_broadcast(source)
    return None if smaller is source else Node(node.op, (smaller,), node.shape, node.dtype)


def _before_broadcast(node: Node) -> Node:
    """Return the operand of a broadcast; a scalar for a constant of one element."""
    if type(node.op) is BroadcastTo:
        return node.inputs[0]
    if node.op is None and node.shape and all(n == 1 for n in node.shape):
        value = scalar(node)
        return node if value is None else constant(np.asarray(value), node.where)
    return node


@rewriter("canonicalize", operands=[CONSTANT, BroadcastTo])
def late_broadcast(node: Node) -> Tensor | Node | None:
    """Elementwise operations broadcast by themselves, and work on few elements before it."""
    if not isinstance(node.op, Elementwise) and type(node.op) is not Cast:
        return None
    small = [_before_broadcast(n) for n in node.inputs]
    if all(map(operator.is_, small, node.inputs)):
        return None
    try:
        shape = shapes.broadcast(*(n.shape for n in small))
    except ShapeError:
        return None
    return Node(node.op, tuple(small), shape, node.dtype)


@rewriter("canonicalize", ops=[Cast])
def trivial_cast(node: Node) -> Node | None:
    """Casts to the dtype at hand are dropped; of two casts that lose nothing in between, one."""
    (source,) = node.inputs
    if source.dtype == node.dtype:
        return source
    if type(source.op) is Cast:
        (origin,) = source.inputs
        if np.can_cast(origin.dtype, source.dtype, "safe") and not (
            origin.dtype.kind in "iu" and origin.dtype.itemsize == 8 and source.dtype.kind in "fc"
        ):  # which rounds from 2**53 on
            return Node(node.op, (origin,), node.shape, node.dtype)
    return None


def _nothing(x: Node, c: Node) -> bool:
    """Return whether a node is the number +0: subtracting -0 from -0 gives 0, so -0 does not count.
    """
    value = scalar(c)
    return value is not None and value == 0 and not np.signbit([value.real, value.imag]).any()


# -- nothing added, times one -----------------------------------------------------------------
rule(x + 0, x, name="add_zero", stage="canonicalize", proof=lambda x: keeps_sign_of_zero(x))
rule(x - c, x, name="subtract_zero", stage="canonicalize", when=_nothing)
rule(0 - x, -x, name="zero_minus", stage="canonicalize",
     proof=lambda x: x.dtype.kind not in "fcV" or far_from_zero(x))
rule(x * 1, x, name="times_one", stage="canonicalize", proof=is_real)
rule(x / 1, x, name="over_one", stage="canonicalize")
rule(safe_multiply(x, 1), x, name="safe_times_one", stage="canonicalize")
rule(safe_multiply(1, x), x, name="one_safe_times", stage="canonicalize")
rule(safe_divide(x, 1), x, name="safe_over_one", stage="canonicalize")
rule(safe_divide(1, x), reciprocal(x), name="one_safe_over", stage="canonicalize")
rule(1 / x, reciprocal(x), name="one_over", stage="canonicalize", proof=is_real)
rule(safe_multiply(0, x), 0, name="zero_safe_times", stage="canonicalize")
rule(safe_divide(0, x), 0, name="zero_safe_over", stage="canonicalize")
rule(positive(x), x, name="positive", stage="canonicalize")


def _whole(x: Node) -> bool:
    return x.dtype.kind in "biu"


rule(x * 0, 0, name="times_zero_whole", stage="canonicalize", when=_whole)
rule(x - x, 0, name="minus_itself_whole", stage="canonicalize", when=_whole)
# For floats these lose NaN and infinity: only on request.
rule(x * 0, 0, name="times_zero", stage="canonicalize", tags=("unsafe",))
rule(x - x, 0, name="minus_itself", stage="canonicalize", tags=("unsafe",))


def _finite(c: Node, **_: Node) -> bool:
    value = scalar(c)
    return value is not None and bool(np.isfinite(value)) and value != 0


rule(safe_multiply(x, c), x * c, name="safe_times_number", stage="canonicalize", when=_finite)
rule(safe_multiply(c, x), c * x, name="number_safe_times", stage="canonicalize", when=_finite)
rule(safe_divide(x, c), x / c, name="safe_over_number", stage="canonicalize", when=_finite)
rule(safe_divide(c, x), c / x, name="number_safe_over", stage="canonicalize", when=_finite)

# -- signs move outwards ----------------------------------------------------------------------
rule(negative(negative(x)), x, name="negative_twice", stage="canonicalize")
rule(x * -1, -x, name="times_minus_one", stage="canonicalize",
     when=lambda x: x.dtype.kind in "ifc", proof=is_real)
rule((-a) * b, -(a * b), name="negative_times", stage="canonicalize", proof=is_real)
rule((-a) / b, -(a / b), name="negative_over", stage="canonicalize", proof=is_real)
rule(a / (-b), -(a / b), name="over_negative", stage="canonicalize", proof=is_real)
rule(reciprocal(-x), -reciprocal(x), name="reciprocal_of_negative", stage="canonicalize",
     proof=is_real)
rule(safe_multiply(-a, b), -safe_multiply(a, b), name="negative_safe_times", stage="canonicalize")
rule(safe_multiply(a, -b), -safe_multiply(a, b), name="safe_times_negative", stage="canonicalize")
rule(safe_divide(-a, b), -safe_divide(a, b), name="negative_safe_over", stage="canonicalize")
rule(safe_divide(a, -b), -safe_divide(a, b), name="safe_over_negative", stage="canonicalize")
rule(a + (-b), a - b, name="add_negative", stage="canonicalize")
rule(a - (-b), a + b, name="subtract_negative", stage="canonicalize")
rule(-(a - b), b - a, name="negative_difference", stage="canonicalize",
     proof=lambda a, b: a.dtype.kind not in "fcV")
rule((-a) - b, -(a + b), name="negative_minus", stage="canonicalize",
     proof=lambda a, b: a.dtype.kind not in "fcV" or far_from_zero(a) or far_from_zero(b))
rule(abs_(-x), abs_(x), name="abs_of_negative", stage="canonicalize",
     when=lambda x: x.dtype.kind != "u")
rule(square(-x), square(x), name="square_of_negative", stage="canonicalize")
rule(square(abs_(x)), square(x), name="square_of_abs", stage="canonicalize",
     when=lambda x: x.dtype == real_of(x.dtype))


@rewriter("canonicalize", ops=["negative"], operands=["multiply", "divide"])
def negative_number(node: Node) -> Tensor | None:
    """The sign of a product with a number goes into the number."""
    (product,) = node.inputs
    if product.op_name not in ("multiply", "divide"):
        return None
    first, second = product.inputs
    left, right = scalar(first), scalar(second)
    if left is not None:
        made = Node(product.op, (_negated(left), second), product.shape, product.dtype)
    elif right is not None:
        made = Node(product.op, (first, _negated(right)), product.shape, product.dtype)
    else:
        return None
    return symbol(made)


def _negated(value: Any) -> Node:
    return constant(np.negative(np.asarray(value)))


# -- the same twice ---------------------------------------------------------------------------
rule(abs_(abs_(x)), abs_(x), name="abs_twice", stage="canonicalize",
     when=lambda x: x.dtype.kind != "c")
rule(maximum(x, x), x, name="maximum_itself", stage="canonicalize")
rule(minimum(x, x), x, name="minimum_itself", stage="canonicalize")
rule(logical_not(logical_not(x)), x, name="not_twice", stage="canonicalize",
     when=lambda x: x.dtype.kind == "b")
