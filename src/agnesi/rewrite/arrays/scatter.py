"""Sums of terms most elements of which are zero: only what they name is touched."""

from __future__ import annotations

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.node import Node
from agnesi.core.support.record import field, struct
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import ADD, SUBTRACT, add, divide, multiply, negative
from agnesi.ops.base.creation import spread_constant
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.select import WHERE, where
from agnesi.rewrite.pattern import CONSTANT, LEAF, is_number
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter
#: Levels of sums that are looked into.
_MAX_SUM_DEPTH = 16
#: Terms among which a scattered one is looked for.
_MAX_SEARCHED_TERMS = 64
_LINEAR = frozenset(("add", "subtract", "negative", "divide", "multiply", "where"))


def _one_number(node: Node) -> Tensor | None:
    """The number that fills a node, as a scalar; None for what has several."""
    while node.op_name == "broadcast_to":
        node = node.inputs[0]
    return reshape(symbol(node), ()) if product(node.shape) == 1 else None


@struct
class _Sum:
    """A value as a sum: terms that fill its shape, and scattered ones (operation, indices, new)."""

    dense: list[Tensor] = field(default_factory=list)
    scattered: list[tuple[Node, Tensor]] = field(default_factory=list)

    def scaled(self, change: object) -> _Sum:
        """Return the sum with ``change`` applied to every term."""
        return _Sum(
            [change(t) for t in self.dense],  # type: ignore[operator]
            [(s, change(t)) for s, t in self.scattered],  # type: ignore[operator]
        )

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.dense + other.dense, self.scattered + other.scattered)

    def onto(self, total: Tensor) -> Tensor:
        """Return ``total`` plus all terms, the dense ones first."""
        for t in self.dense:
            total = add(total, t)
        for node, t in self.scattered:
            total = apply(node.op, total, t, *map(symbol, node.inputs[2:]))
        return total


def _has_scattered(node: Node) -> bool:
    """Return whether a sum has scattered terms, by a search of bounded depth."""
    stack, left = [node], _MAX_SEARCHED_TERMS
    while stack and left:
        node, left = stack.pop(), left - 1
        if node.op_name == "scatter_add":
            return True
        if node.op_name in _LINEAR:
            stack.extend(node.inputs)
    return False


def _taken_apart(node: Node, depth: int = _MAX_SUM_DEPTH) -> _Sum:
    """Return a node as a sum of dense and scattered terms; as one dense term if nothing in it is
    scattered.
    """
    found = _parts(node, depth) if depth else None
    return _Sum([symbol(node)]) if found is None or not found.scattered else found


def _parts(node: Node, depth: int) -> _Sum | None:
    if node.op_name == "scatter_add":
        base, new = node.inputs[:2]
        rest = _Sum() if is_number(base, 0) else _taken_apart(base, depth - 1)
        return rest + _Sum(scattered=[(node, symbol(new))])
    if node.op_name in ("add", "subtract"):
        left, right = (
            _taken_apart(n, depth - 1 if n.shape == node.shape else 0) for n in node.inputs
        )
        return left + (right.scaled(negative) if node.op_name == "subtract" else right)
    if node.op_name == "negative":
        return _taken_apart(node.inputs[0], depth - 1).scaled(negative)
    if node.op_name in ("divide", "multiply"):
        first, second = node.inputs
        number = _one_number(second)
        if number is None and node.op_name == "multiply":
            first, second = second, first
            number = _one_number(second)
        if number is None or first.shape != node.shape:
            return None
        by = divide if node.op_name == "divide" else multiply
        return _taken_apart(first, depth - 1).scaled(lambda t: by(t, number))
    return _chosen(node, depth) if node.op_name == "where" else None


def _chosen(node: Node, depth: int) -> _Sum | None:
    """Return the terms of ``where(condition, value, 0)`` with a scalar condition, which is applied
    to each term; None for other nodes.
    """
    condition, value, other = node.inputs
    chosen = _one_number(condition)
    if chosen is None or value.shape != node.shape or not is_number(other, 0):
        return None
    zero = spread_constant((), 0, value.dtype)
    return _taken_apart(value, depth - 1).scaled(lambda t: where(chosen, t, zero))


@rewriter("specialize", ops=[ADD, SUBTRACT], tags=("scatter", "memory"), operands=[CONSTANT, LEAF])
def update_of_rows(node: Node) -> Tensor | None:
    """A tensor plus scattered terms changes only at the indices that these name."""
    first, second = node.inputs
    if node.op_name == "add" and first.op is not None:
        first, second = second, first
    if first.op is not None or first.shape != node.shape or second.shape != node.shape:
        return None
    terms = _taken_apart(second) if _has_scattered(second) else _Sum()
    if not terms.scattered:
        return None
    if node.op_name == "subtract":
        terms = terms.scaled(negative)
    return terms.onto(symbol(first))


@rewriter("specialize", ops=[ADD], tags=("scatter", "memory"), operands=["scatter_add"])
def added_to_scattered(node: Node) -> Tensor | None:
    """Scattered terms are added into the other term of a sum, not into zeros."""
    for first, second in (node.inputs, node.inputs[::-1]):
        if (
            first is not second and first.op_name not in ("", "broadcast_to")
            and second.op_name == "scatter_add" and is_number(second.inputs[0], 0)
            and first.shape == second.shape == node.shape
        ):
            return _Sum(scattered=[(second, symbol(second.inputs[1]))]).onto(symbol(first))
    return None


@rewriter("specialize", ops=[WHERE], tags=("scatter", "memory"))
def chosen_rows(node: Node) -> Tensor | None:
    """Scale and select the values of a scatter into zeros before it, at its indices only."""
    terms = _parts(node, _MAX_SUM_DEPTH) if _has_scattered(node.inputs[1]) else None
    if terms is None or not terms.scattered or terms.dense:
        return None
    return terms.onto(spread_constant(node.shape, 0, node.dtype))


# -- terms that are adjacent ----------------------------------------------------------------
def _ranges(node: Node, axis: int) -> list[tuple[int, Tensor]] | None:
    """Return the values that fill ranges of an axis, with their starts, where all else is zero."""
    if node.op_name == "unslice":
        found = _range(node)
        return [found[1:]] if found is not None and found[0] == axis else None
    if node.op_name != "concat" or node.op.axis != axis:
        return None
    ranges, start = [], 0
    for operand in node.inputs:
        if not is_number(operand, 0):
            ranges.append((start, symbol(operand)))
        start += operand.shape[axis]
    return ranges if len(ranges) < len(node.inputs) else None


def _range(node: Node) -> tuple[int, int, Tensor] | None:
    """The one axis that an Unslice fills in part, from where on, and with what."""
    (piece,) = node.inputs
    sizes, starts = [], []
    left = iter(piece.shape)
    for entry, n in zip(node.op.key, node.shape, strict=True):
        single = isinstance(entry, int)
        start = (entry + n if entry < 0 else entry) if single else entry[0] or 0
        if not single and entry[2] not in (None, 1):
            return None
        sizes.append(1 if single else next(left))
        starts.append(start)
    part = [a for a, (n, m) in enumerate(zip(node.shape, sizes, strict=True)) if n != m]
    if len(part) != 1 or not isinstance(starts[part[0]], int) or starts[part[0]] < 0:
        return None
    return part[0], starts[part[0]], reshape(symbol(piece), tuple(sizes))


@rewriter("specialize", ops=[ADD], tags=("scatter", "memory"), operands=["unslice"])
def side_by_side(node: Node) -> Tensor | None:
    """The sum of what fills different ranges of an axis is their concatenation."""
    first, second = node.inputs
    if not (second.op_name == "unslice" or first.op_name == "unslice"):
        return None
    known = _range(first if first.op_name == "unslice" else second)
    if known is None or first.shape != second.shape:
        return None
    axis = known[0]
    if not is_static(node.shape[axis : axis + 1]):
        return None
    ranges = [_ranges(n, axis) for n in node.inputs]
    if None in ranges:
        return None
    filled = sorted((r for found in ranges for r in found or () if r[1].shape[axis]),
                    key=lambda r: r[0])  # an empty piece may begin behind the end
    pieces, at = [], 0
    for start, piece in filled:
        if start < at:
            return None
        pieces += [*_nothing(node, axis, start - at), piece]
        at = start + piece.shape[axis]
    pieces += _nothing(node, axis, node.shape[axis] - at)
    if not pieces:
        return None
    from agnesi.ops.indexing.join import Concat

    return apply(Concat(axis), *pieces)


def _nothing(node: Node, axis: int, size: int) -> list[Tensor]:
    """Zeros for a range of an axis that nothing fills, if it is not empty."""
    shape = (*node.shape[:axis], size, *node.shape[axis + 1 :])
    return [spread_constant(shape, 0, node.dtype)] if size else []
