"""Products of many steps with one matrix are one product, as far as no step waits for it.

An unrolled recurrence multiplies by the same matrices in every step, and for few rows at a time
reading those takes longest.  Some operands are there before the first step (the words of a
sentence), and some results are only wanted after the last one (gradients to these words).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.node import Node
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import add
from agnesi.ops.base.slices import FULL, Slice
from agnesi.ops.contractions.matmul import MATMUL, MatMul
from agnesi.rewrite.arrays.products import replaced
from agnesi.rewrite.rules import Book, GraphRule

BOOK = Book()
Span = tuple[int, int]
Uses = dict[Node, list[Node | None]]


@record
class Steps:
    """The same part of products with one matrix: of their operands, or columns of their results.

    ``lefts`` are the operands, by ``lines`` and ``columns`` of the matrix; the part is in
    ``results``.
    """

    products: tuple[Node, ...]
    lefts: tuple[tuple[Node, ...], ...]
    lines: Span
    columns: Span
    results: tuple[Node, ...]

    @property
    def pays(self) -> bool:
        """Return whether copying operands and results moves less memory than reading the matrix
        again for each product.
        """
        rows = sum(n.shape[0] for n in self.products)
        k, n = self.lines[1] - self.lines[0], self.columns[1] - self.columns[0]
        return 2 * rows * (k + n) < (len(self.products) - 1) * k * n

    def replacements(self) -> Iterator[tuple[Node, Tensor]]:
        """Return the replacement of each result: rows of the one product, and what else a step
        adds.
        """
        matrix = self.products[0].inputs[1]
        lefts = [graph_node(_side_by_side(parts, 1)) for parts in self.lefts]
        part = _part(matrix, self.lines, self.columns)
        whole = graph_node(apply(MATMUL, _side_by_side(lefts, 0), part))
        stops = accumulate(product.shape[0] for product in self.products)
        for product, result, stop in zip(self.products, self.results, stops, strict=True):
            new = _part(whole, (stop - product.shape[0], stop), (0, whole.shape[1]))
            for rest in (0, self.lines[0]), (self.lines[1], matrix.shape[0]):
                if rest[0] < rest[1]:
                    left = _side_by_side(_within(product.inputs[0], rest), 1)
                    new = add(new, apply(MATMUL, left, _part(matrix, rest, self.columns)))
            yield result, new

    def narrower(self, uses: Uses) -> Iterator[tuple[Node, Tensor]]:
        """Yield the slices of other columns with the products that compute only these columns."""
        if self.results == self.products:
            return
        for product in self.products:
            matrix = product.inputs[1]
            for span, user in _columns(product, uses):
                if span != self.columns:
                    part = _part(matrix, (0, matrix.shape[0]), span)
                    yield user, apply(MATMUL, symbol(product.inputs[0]), part)


def products_of_steps(graph: FunctionGraph) -> FunctionGraph:
    """One product instead of many with the same matrix, where no operand of it needs a result."""
    if MatMul.name not in graph.names:
        return graph
    groups = _groups(graph)
    if not groups:
        return graph
    uses: Uses = defaultdict(list)
    for node in (*graph.nodes, None):
        for operand in graph.outputs if node is None else node.inputs:
            uses[operand].append(node)
    paying = [[s for s in _candidates(group, uses) if s.pays] for group in groups]
    changes: dict[Node, Node] = {}
    found = _possible(graph, paying)
    pairs = [pair for steps in found for pair in steps.narrower(uses)]
    for node, new in chain(pairs, *(steps.replacements() for steps in found)):
        changes[node] = graph_node(new)
        changes[node].where = node.where
    return FunctionGraph.of(graph.inputs, replaced(graph, changes)) if changes else graph


BOOK.add(GraphRule("products_of_steps", "specialize", ("product",), (), products_of_steps))


def _groups(graph: FunctionGraph) -> list[list[Node]]:
    """Return the products of 2-d matrices of known sizes, grouped by their right operand."""
    groups: dict[Node, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if type(node.op) is not MatMul or node.dtype.kind != "f":
            continue
        if all(len(n.shape) == 2 and is_static(n.shape) for n in node.inputs):
            groups[node.inputs[1]].append(node)
    return [group for group in groups.values() if len(group) > 1]


def _candidates(group: list[Node], uses: Uses) -> Iterator[Steps]:
    """Yield sets of products that may become one: of whole operands, of the first or last parts of
    concatenated operands, or of ranges of columns.
    """
    k, n = group[0].inputs[1].shape
    products, edges = tuple(group), _edges(group[0].inputs[0])
    if all(_edges(node.inputs[0]) == edges for node in group):
        inner = edges[1:-1]
        for lines in ((0, k), *((0, at) for at in inner[::-1]), *((at, k) for at in inner)):
            lefts = tuple(_within(node.inputs[0], lines) for node in group)
            yield Steps(products, lefts, lines, (0, n), products)
    sliced: dict[Span, list[Node]] = defaultdict(list)
    for node in group:
        for span, user in _columns(node, uses):
            sliced[span].append(user)
    for span, users in sliced.items():
        owners = tuple(user.inputs[0] for user in users)
        lefts = tuple((node.inputs[0],) for node in owners)
        yield Steps(owners, lefts, (0, k), span, tuple(users))


def _possible(graph: FunctionGraph, groups: list[list[Steps]]) -> list[Steps]:
    """Return for each group the first candidate that depends on none of its own results, directly
    or through other candidates; of ranges of columns, all such.
    """
    every = [steps for group in groups for steps in group]
    marks: dict[Node, int] = defaultdict(int)  # what a node's value depends on, a bit for each
    for number, steps in enumerate(every):
        for node in steps.results:
            marks[node] |= 1 << number
    for node in graph.nodes if every else ():
        for operand in node.inputs:
            marks[node] |= marks[operand]
    needs = [_all(marks[n] for left in steps.lefts for n in left) for steps in every]
    chosen: list[int] = []
    taken: set[Node] = set()  # of which no more is to be had
    for number, steps in enumerate(every):
        if taken.isdisjoint(steps.products) and not _circular(number, [*chosen, number], needs):
            chosen.append(number)
            if steps.results == steps.products:
                taken.update(steps.products)
    return [every[number] for number in chosen]


def _all(bits: Iterable[int]) -> int:
    found = 0
    for some in bits:
        found |= some
    return found


def _circular(start: int, among: list[int], needs: list[int]) -> bool:
    """Return whether a candidate depends on itself through the others."""
    seen: set[int] = set()
    stack = [start]
    while stack:
        at = stack.pop()
        for other in among:
            if needs[at] >> other & 1 and other not in seen:
                seen.add(other)
                stack.append(other)
    return start in seen


def _edges(operand: Node) -> list[int]:
    """Return where the parts of a concatenated operand begin, and its end; only 0 and the end for
    others.
    """
    if operand.op_name != "concat" or operand.op.axis != 1:
        return [0, operand.shape[1]]
    return [0, *accumulate(part.shape[1] for part in operand.inputs)]


def _within(operand: Node, lines: Span) -> tuple[Node, ...]:
    """Return the parts of a concatenated operand within a range of its columns."""
    edges = _edges(operand)
    if len(edges) == 2:
        return (operand,)
    return operand.inputs[edges.index(lines[0]) : edges.index(lines[1])]


def _columns(product: Node, uses: Uses) -> list[tuple[Span, Node]]:
    """Return the ranges of columns in which a product is used, each with its slice; none if it is
    also used as a whole.
    """
    found: dict[Span, Node] = {}
    m, n = product.shape
    for user in uses[product]:
        if user is None or type(user.op) is not Slice:
            return []
        rows, columns = user.op.key
        if isinstance(columns, int) or rows not in (FULL, (0, m, 1)) or columns[2] not in (None, 1):
            return []
        found[slice(*columns).indices(n)[:2]] = user
    return [*found.items()] if len(found) == len(uses[product]) else []


def _part(matrix: Node, lines: Span, columns: Span) -> Tensor:
    """Return a block of a matrix; the matrix itself if the block is all of it."""
    if (lines, columns) == ((0, matrix.shape[0]), (0, matrix.shape[1])):
        return symbol(matrix)
    return apply(Slice(((*lines, 1), (*columns, 1))), symbol(matrix))


def _side_by_side(parts: Sequence[Node], axis: int) -> Tensor:
    if len(parts) == 1:
        return symbol(parts[0])
    from agnesi.ops.indexing.join import Concat

    return apply(Concat(axis), *map(symbol, parts))
