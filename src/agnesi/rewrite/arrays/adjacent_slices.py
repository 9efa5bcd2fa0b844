"""Parts of one value that are joined again, as in borders and rolls, are read in one pass."""

from __future__ import annotations

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.expand import BroadcastTo
from agnesi.ops.base.slices import Slice, bounds
from agnesi.ops.indexing.join import Concat
from agnesi.ops.indexing.runs import Run, Runs
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter

#: Runs on an axis, at most: there is code for what is between any two.
_MAX_RUNS = 4
#: Rows that vectors fill, and for which tables of indices are small.
_MIN_ROW, _MAX_ROW = 16, 1 << 12


@rewriter("specialize", ops=[Concat])
def runs_of_rows(node: Node) -> Tensor | None:
    """Rows joined from parts of one row are read in one pass, whatever rows those are."""
    rank, filled = len(node.shape), all(isinstance(n, int) and n for n in node.shape)
    if rank < 2 or not filled or node.dtype.kind not in "fiub":
        return None
    if not _MIN_ROW <= node.shape[-1] <= _MAX_ROW or set(node.shape[:-1]) == {1}:
        return None
    found: dict[int, tuple[Run, ...]] = {}
    while (further := _joined(node)) is not None and found.keys().isdisjoint(further[1]):
        node = further[0]
        found |= further[1]
    if rank - 1 not in found:
        return None
    whole = [(Run(0, 1, n),) for n in node.shape]
    return apply(Runs(tuple(found.get(a, whole[a]) for a in range(rank))), symbol(node))


def _joined(node: Node) -> tuple[Node, dict[int, tuple[Run, ...]]] | None:
    """The value whose parts a node joins, and its runs on the axes where these are not all of it.
    """
    if type(node.op) is Runs:
        source = node.inputs[0]
        return source, {a: runs for a, runs in enumerate(node.op.axes)
                        if runs != (Run(0, 1, source.shape[a]),)}
    if type(node.op) is not Concat:
        return None
    axis = node.op.axis
    parts = [_run(operand, axis) for operand in node.inputs if operand.shape[axis] != 0]
    if len(parts) > _MAX_RUNS or any(s is not parts[0][0] or abs(r.step) > 1 for s, r in parts):
        return None
    return parts[0][0], {axis: tuple([run for _, run in parts])}


def _run(node: Node, axis: int) -> tuple[Node, Run]:
    """Return the value behind slices and broadcasts along one axis, and the run of its elements
    that is selected.
    """
    first, step, count = 0, 1, node.shape[axis]
    while node.op is not None and node.inputs:  # ranges of numbers have none
        source = node.inputs[0]
        if type(node.op) is Slice and not any(isinstance(e, int) for e in node.op.key):
            cut = [bounds(e, n) for e, n in zip(node.op.key, source.shape, strict=True)]
            start, _, by = cut[axis]
            cut[axis] = (0, source.shape[axis], 1)
            if cut != [(0, n, 1) for n in source.shape]:
                break
            first, step = start + first * by, step * by
        elif type(node.op) is BroadcastTo and source.shape == (
                *node.shape[:axis], 1, *node.shape[axis + 1:]):
            first = step = 0
        else:
            break
        node = source
    return node, Run(first, step, count)
