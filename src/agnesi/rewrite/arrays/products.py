"""Matrix products: transposed ones are made as they are wanted, sums of them are one product."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.extents import is_some, surely
from agnesi.core.ir.node import Node
from agnesi.core.substitution import copied
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import add, multiply
from agnesi.ops.base.movement import Permute, Reshape, permute_dims, reshape
from agnesi.ops.contractions.matmul import MATMUL, MatMul
from agnesi.rewrite.pattern import is_count, scalar
from agnesi.rewrite.rules import Book, GraphRule

BOOK = Book()
rewriter = BOOK.rewriter
#: Numbers between this and 1 move out of products: nothing under- or overflows for them.
_MIN_SAFE_FACTOR = 2.0**-30


def _swaps(node: Node) -> bool:
    """Return whether a node is a matrix, or a batch of them, transposed."""
    n = len(node.shape)
    return type(node.op) is Permute and n > 1 and node.op.axes == (*range(n - 2), n - 1, n - 2)


def _transposed(node: Node) -> Tensor:
    n = len(node.shape)
    if _swaps(node):
        return symbol(node.inputs[0])
    return permute_dims(symbol(node), (*range(n - 2), n - 1, n - 2))


def transposed_products(graph: FunctionGraph) -> FunctionGraph:
    """Compute a product transposed if all uses transpose it, so that a use can be its epilogue."""
    if MatMul.name not in graph.names:
        return graph
    uses = graph.uses
    changes: dict[Node, Node] = {}
    for node in graph.nodes:
        if _swaps(node) and type(node.inputs[0].op) is MatMul and uses[node.inputs[0]] == 1:
            a, b = node.inputs[0].inputs
            if len(a.shape) == len(b.shape):
                new = graph_node(apply(MATMUL, _transposed(b), _transposed(a)))
                new.where = node.where
                changes[node] = new
    if not changes:
        return graph
    return FunctionGraph.of(graph.inputs, replaced(graph, changes))


def replaced(graph: FunctionGraph, changes: dict[Node, Node]) -> list[Node]:
    """The outputs with nodes replaced, also in what replacements are made of."""
    done: dict[Node, Node] = {}
    stack = list(graph.outputs)
    while stack:
        node = stack[-1]
        needed = [changes[node]] if node in changes else node.inputs
        missing = [n for n in needed if n not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if node in changes:
            done[node] = done[changes[node]]
        elif node not in done:
            inputs = tuple([done[n] for n in node.inputs])
            done[node] = node if inputs == node.inputs else copied(node, inputs)
    return [done[n] for n in graph.outputs]


BOOK.add(GraphRule("transposed_products", "specialize", ("product",), (), transposed_products))


@rewriter("specialize", ops=["sum"], tags=("product",))
def sum_of_products(node: Node) -> Tensor | None:
    """The sum of a batch of matrix products is one product, over the batch as well."""
    (source,) = node.inputs
    if type(source.op) is not MatMul or node.op.keepdims or source.dtype.kind != "f":
        return None
    a, b = source.inputs
    n = len(source.shape) - 2
    if not n or node.op.axes != tuple(range(n)) or a.shape[:n] != b.shape[:n]:
        return None
    if len(a.shape) != n + 2 or len(b.shape) != n + 2 or source.dtype.itemsize < 4:
        return None
    rows, columns = source.shape[-2:]
    if _swaps(a):  # in its memory order
        wide = permute_dims(reshape(symbol(a.inputs[0]), (-1, rows)), (1, 0))
    else:
        wide = reshape(permute_dims(symbol(a), (n, *range(n), n + 1)), (rows, -1))
    return apply(MATMUL, wide, reshape(symbol(b), (-1, columns)))


@rewriter("specialize", ops=[MatMul], tags=("product", "memory"))
def scaled_operand(node: Node) -> Tensor | None:
    """A number that scales an operand scales the product instead."""
    for which, operand in enumerate(node.inputs):
        found = _without_factor(operand) if node.dtype.kind == "f" else None
        if found is not None:
            value, rest = found
            pair = [symbol(n) for n in node.inputs]
            pair[which] = rest
            scaled = multiply(value, apply(MATMUL, *pair))
            # No zero of a product is negative.
            return add(scaled, 0.0) if isinstance(value, float) and value < 0 else scaled
    return None


def _without_factor(node: Node) -> tuple[Any, Tensor] | None:
    """Return the numeric factor of a value, looked for behind transposes and reshapes, and the
    value without it; None if it has none that can be moved.
    """
    if type(node.op) in (Permute, Reshape):
        found = _without_factor(node.inputs[0])
        return None if found is None else (found[0], apply(node.op, found[1]))
    if node.op_name != "multiply":
        return None
    for number, rest in (node.inputs, node.inputs[::-1]):
        value = scalar(number)
        if value is not None and rest.shape == node.shape and _MIN_SAFE_FACTOR < abs(value) < 1:
            return float(value), symbol(rest)
        if number.op_name == "reciprocal" and is_count(number.inputs[0]):
            return symbol(number), symbol(rest)
    return None


# -- sums of products ---------------------------------------------------------------------------
def _terms(total: Node, uses: Counter[Node]) -> list[Node]:
    """Return the terms of a tree of additions, in order; sums with other uses are not taken apart.
    """
    found, stack = [], [total]
    while stack:
        node = stack.pop()
        inner = node is total or uses[node] == 1
        if inner and node.op_name == "add" and all(n.shape == node.shape for n in node.inputs):
            stack.extend(reversed(node.inputs))
        else:
            found.append(node)
    return found


def _is_step(node: Node, uses: Counter[Node]) -> bool:
    return (
        type(node.op) is MatMul and uses[node] == 1 and len(node.shape) == 2
        and all(len(n.shape) == 2 and is_static(n.shape) for n in node.inputs)
    )


def _joined(nodes: list[Node], axis: int) -> Tensor:
    """Concatenate matrices; if all are transposes, their sources are concatenated and the result is
    transposed."""
    from agnesi.ops.indexing.join import Concat

    if all(map(_swaps, nodes)):
        rows = apply(Concat(1 - axis), *(symbol(n.inputs[0]) for n in nodes))
        return permute_dims(rows, (1, 0))
    return apply(Concat(axis), *map(symbol, nodes))


def sums_of_products(graph: FunctionGraph) -> FunctionGraph:
    """Products that are added up, as those of a loop's steps, are one product of all steps.

    They are where joining their operands moves less memory than adding up their results.
    """
    if MatMul.name not in graph.names:
        return graph
    nodes = graph.nodes
    uses = graph.uses
    inside: set[Node] = set()
    changes: dict[Node, Node] = {}
    for node in reversed(nodes):
        if node.op_name != "add" or node in inside:
            continue
        terms = _terms(node, uses)
        if len(terms) == 1:  # itself: of operands that are broadcast
            continue
        inside |= _between(node, set(terms))
        steps = [n for n in terms if _is_step(n, uses)]
        if len(steps) < 2 or node.dtype.kind != "f":
            continue
        m, n = node.shape
        depth = sum(s.inputs[0].shape[1] for s in steps)
        if depth * (m + n) >= (len(steps) - 1) * m * n:
            continue
        left, right = (_joined([s.inputs[i] for s in steps], 1 - i) for i in (0, 1))
        total = apply(MATMUL, left, right)
        for term in terms:
            if term not in steps:
                total = add(total, symbol(term))
        changes[node] = graph_node(total)
        changes[node].where = node.where
    if not changes:
        return graph
    return FunctionGraph.of(graph.inputs, replaced(graph, changes))


def _between(total: Node, terms: set[Node]) -> set[Node]:
    """Return the additions of a tree, without its terms."""
    found: set[Node] = set()
    stack = list(total.inputs)
    while stack:
        node = stack.pop()
        if node not in terms and node not in found:
            found.add(node)
            stack.extend(node.inputs)
    return found


BOOK.add(GraphRule("sums_of_products", "specialize", ("product",), (), sums_of_products))


# -- what follows a product ---------------------------------------------------------------------
def _as_rows(node: Node, shape: tuple[Any, ...], flat: tuple[Any, ...]) -> Tensor | None:
    """Return an operand of an elementwise operation with a result of ``shape``, reshaped for a
    result of ``flat``, in which all axes but the last are one; None where it would be repeated."""
    if node.shape == shape:
        return reshape(symbol(node), flat)
    if surely(lambda: all(n == 1 for n in node.shape[:-1])):
        return reshape(symbol(node), node.shape[-1:])
    if node.shape == (*shape[:-1], 1):
        return reshape(symbol(node), (*flat[:-1], 1))
    return None


class _Rows:
    """Values that products' epilogues can make, with the leading axes as one."""

    def __init__(self, graph: FunctionGraph) -> None:
        self.uses = graph.uses
        self.ending: set[Node] = set()
        self.flat: dict[Node, Node] = {}
        for node in graph.nodes:
            self._add(node)

    def _add(self, node: Node) -> None:
        once = [n for n in node.inputs if self.uses[n] == 1]
        if type(node.op) is MatMul and len(node.shape) == 2:
            self.ending.add(node)
        elif node.op is None or not node.op.pointwise:
            return
        elif any(n in self.ending and n.shape == node.shape for n in once):
            self.ending.add(node)
        elif len(node.shape) > 2 and any(map(self._row, once)):
            self._flatten(node)

    def _row(self, node: Node) -> Node | None:
        """Return the value with its leading axes joined, if a product is its last operation; None
        otherwise.
        """
        source = node.inputs[0] if type(node.op) is Reshape else None
        if source is None or source not in self.ending or self.uses[source] > 1:
            return self.flat.get(node)
        last = node.shape[-1:]
        same = source.shape[-1:] == last and (  # of no columns, there may be any number of rows
            all(map(is_some, last))
            or surely(lambda: source.shape[0] == product(node.shape[:-1])))
        return source if same else None

    def _inlined(self, node: Node) -> bool:
        """Return whether a value is elementwise with one use, so that it is computed where it is
        used.
        """
        return node.op is not None and not node.op.flat and self.uses[node] == 1

    def _flatten(self, node: Node) -> None:
        flat = (product(node.shape[:-1]), node.shape[-1])
        operands = []
        for n in node.inputs:
            row = self._row(n) if n.shape == node.shape and self.uses[n] == 1 else None
            if row is None and n.shape == node.shape and self._inlined(n):
                return  # with other axes it would need memory
            operands.append(_as_rows(n, node.shape, flat) if row is None else symbol(row))
        if None not in operands:
            self.flat[node] = graph_node(apply(node.op, *operands))  # type: ignore[arg-type]
            self.flat[node].where = node.where


def rows_of_products(graph: FunctionGraph) -> FunctionGraph:
    """Move elementwise operations on a product before the reshape of its rows."""
    if MatMul.name not in graph.names:
        return graph
    flat = _Rows(graph).flat
    if not flat:
        return graph
    changes = {old: graph_node(reshape(symbol(new), old.shape)) for old, new in flat.items()}
    return FunctionGraph.of(graph.inputs, replaced(graph, changes))


BOOK.add(GraphRule("rows_of_products", "specialize", ("product",), (), rows_of_products))
