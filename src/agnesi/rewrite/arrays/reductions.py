"""Rules for empty, nested and broadcast reductions; loop-invariant factors move out of sums.

A sum of a sum of computed values stays in two steps, so that the rows of the inner one share a
kernel with what else is computed from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import is_settled, product
from agnesi.core.ir.node import Node, executed
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import divide, multiply, negative, safe_divide, safe_multiply
from agnesi.ops.base.convert import number
from agnesi.ops.base.expand import BroadcastTo, SumTo, broadcast_to
from agnesi.ops.base.movement import Reshape, reshape
from agnesi.ops.base.reduce import Reduce, reducer
from agnesi.rewrite.intervals import far_from_zero, interval
from agnesi.rewrite.pattern import scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter
_COMBINE = {
    "multiply": multiply, "divide": divide,
    "safe_multiply": safe_multiply, "safe_divide": safe_divide,
}
REDUCTIONS = ("sum", "prod", "max", "min", "all", "any")
#: What reductions of nothing are.
_OF_NONE = {"add": 0, "multiply": 1, "logical_or": 0, "logical_and": 1}


def _sum(x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
    return apply(reducer("add", tuple(axes), keepdims), x)


@rewriter("canonicalize", ops=[SumTo])
def sum_to_shape(node: Node) -> Node | Tensor | None:
    """The adjoint of a broadcast is a sum over the axes that were broadcast."""
    (source,) = node.inputs
    if source.shape == node.shape:
        return source
    if not is_settled(source.shape) or not is_settled(node.shape):
        return None
    axes = node.op.axes(source.shape)
    extra = len(source.shape) - len(node.shape)
    if any(m == 1 != n for m, n in zip(source.shape[extra:], node.shape, strict=True)):
        return None  # it is repeated there
    if axes == tuple(range(extra)):
        return _sum(symbol(source), axes, False)
    return reshape(_sum(symbol(source), axes, True), node.shape)


@rewriter("canonicalize", ops=REDUCTIONS)
def empty_reduction(node: Node) -> Tensor | None:
    """A reduction of no elements is a constant, where computing them checks nothing; it goes first,
    as no factor may leave its sum."""
    (source,) = node.inputs
    if not isinstance(node.op, Reduce) or node.op.kind not in _OF_NONE:
        return None
    if not any(isinstance(n, int) and n == 0 for n in source.shape):
        return None
    if any(n.op is not None and "raises" in n.op.traits and not n.op.pointwise
           for n in executed([source])):
        return None
    return broadcast_to(number(_OF_NONE[node.op.kind], node.dtype), node.shape)


@rewriter("canonicalize", ops=REDUCTIONS)
def trivial_reduction(node: Node) -> Node | Tensor | None:
    """A reduction over no axes, or axes of one element, is a reshape."""
    (source,) = node.inputs
    if source.dtype != node.dtype or not isinstance(node.op, Reduce):
        return None
    if any(source.shape[a] != 1 for a in node.op.axes):
        return None
    return reshape(symbol(source), node.shape)


@rewriter("canonicalize", ops=REDUCTIONS, operands=REDUCTIONS)
def nested_reductions(node: Node) -> Tensor | None:
    """The sum of a sum of something in memory is one sum over all the axes, and so on.

    Sums of computed values stay in two steps: the rows of the inner one can share a kernel with
    what else is computed from the same rows.
    """
    (source,) = node.inputs
    outer, inner = node.op, source.op
    if source.inputs and source.inputs[0].op is not None:
        return None
    if not isinstance(inner, Reduce) or not isinstance(outer, Reduce) or inner.kind != outer.kind:
        return None
    if inner.keepdims is not outer.keepdims or inner.combined is not outer.combined:
        return None
    origin = source.inputs[0]
    kept = [a for a in range(len(origin.shape)) if inner.keepdims or a not in inner.axes]
    axes = sorted({*inner.axes, *(kept[a] for a in outer.axes)})
    return apply(reducer(outer.kind, tuple(axes), outer.keepdims, outer.combined), symbol(origin))


@rewriter("canonicalize", ops=[Reshape], operands=REDUCTIONS)
def reshape_of_reduction(node: Node) -> Tensor | None:
    """A reduction keeps or drops its axes itself."""
    (source,) = node.inputs
    op = source.op
    if not isinstance(op, Reduce) or not op.axes:
        return None
    (origin,) = source.inputs
    other = reducer(op.kind, op.axes, not op.keepdims, op.combined)
    return apply(other, symbol(origin)) if other.infer(origin)[0] == node.shape else None


@rewriter("canonicalize", ops=["sum"], operands=[BroadcastTo])
def sum_of_broadcast(node: Node) -> Tensor | None:
    """Summing copies is multiplying by their number."""
    (source,) = node.inputs
    if type(source.op) is not BroadcastTo or not is_settled(source.shape):
        return None
    (origin,) = source.inputs
    extra = len(source.shape) - len(origin.shape)
    copies = [a for a in node.op.axes if a < extra or origin.shape[a - extra] != source.shape[a]]
    if not copies:
        return None
    count = product([source.shape[a] for a in copies])
    sizes = (1,) * extra + origin.shape
    rest = tuple(a for a in node.op.axes if a not in copies)
    total = reshape(symbol(origin), sizes) * count
    total = _sum(total, rest, True) if rest else total
    kept = [1 if a in node.op.axes else sizes[a] for a in range(len(sizes))]
    if not node.op.keepdims:
        kept = [n for a, n in enumerate(kept) if a not in node.op.axes]
    return broadcast_to(reshape(total, tuple(kept)), node.shape)


@rewriter("canonicalize", ops=["sum"], operands=["negative", *_COMBINE],
          exact=lambda node: _product_summed(node, True))
def sum_of_product(node: Node) -> Tensor | None:
    """Signs, numbers and factors that do not vary along the axes leave the sum."""
    return _product_summed(node, False)


def _product_summed(node: Node, exact: bool) -> Tensor | None:
    """Move a factor or divisor that does not vary along the summed axes out of a sum.

    ``exact`` requires it to be finite and positive.  Otherwise the result may differ: an infinite
    factor makes the whole sum NaN where it made one term NaN, and the sign of a sum of zeros
    depends on the signs of its terms.
    """
    (source,) = node.inputs
    if source.op is None or node.dtype.kind not in "fc" or 0 in source.shape:
        return None  # the sum of no elements is 0, whatever the factor is
    if source.op_name == "negative":
        if exact:
            return None
        return negative(_sum(symbol(source.inputs[0]), node.op.axes, node.op.keepdims))
    combine = _COMBINE.get(source.op_name)
    if combine is None:
        return None
    a, b = source.inputs
    if node.dtype.itemsize == 2 and not _grows(source):
        return None
    if _still(b, source, node.op.axes) and a.shape == source.shape and (
            not exact or _is_tame(b, source.op_name not in ("multiply", "safe_multiply"))):
        return combine(_sum(symbol(a), node.op.axes, node.op.keepdims), _outside(b, node))
    if source.op_name == "multiply" and _still(a, source, node.op.axes) and (
            b.shape == source.shape and (not exact or _is_tame(a, False))):
        return multiply(_outside(a, node), _sum(symbol(b), node.op.axes, node.op.keepdims))
    return None


def _is_tame(factor: Node, divides: bool) -> bool:
    """Return whether a factor is finite and positive for all inputs, and as a divisor not close to
    0.
    """
    found = interval(factor)
    return found.low > 0 and math.isfinite(found.high) and (not divides or far_from_zero(factor))


def _grows(product: Node) -> bool:
    """Return whether a product has a numeric factor of at least 1 in size.

    Values that users scale down, so that their sum fits in 16 bits, must stay scaled.
    """
    values = [scalar(n) for n in product.inputs]
    return product.op_name == "multiply" and any(v is not None and abs(v) >= 1 for v in values)


def _still(factor: Node, whole: Node, axes: Sequence[int]) -> bool:
    """Return whether a factor is constant along the axes: its size is 1 there, or it has no such
    axes.
    """
    if scalar(factor) is not None or factor.shape == ():
        return True
    offset = len(whole.shape) - len(factor.shape)
    return all(a < offset or factor.shape[a - offset] == 1 for a in axes)


def _outside(factor: Node, node: Node) -> Tensor:
    """Return the factor, reshaped to broadcast against the sum."""
    value = scalar(factor)
    if value is not None:
        return number(value, factor.dtype)
    t = symbol(factor)
    if node.op.keepdims or factor.shape == ():
        return t
    (source,) = node.inputs
    offset = len(source.shape) - len(factor.shape)
    shape = [n for i, n in enumerate(factor.shape) if i + offset not in node.op.axes]
    return reshape(t, tuple(shape))
