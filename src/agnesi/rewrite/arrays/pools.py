"""Max-pooling: what follows or precedes it is done for the winners of windows only.

The gradient of a maximum goes where its window found it, and there the image has the value of the
maximum: so factors that come of the image are known to the windows already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import multiply
from agnesi.ops.base.convert import number
from agnesi.ops.base.reduce import Reduce
from agnesi.rewrite.arrays.products import replaced
from agnesi.rewrite.pattern import is_number, scalar
from agnesi.rewrite.rules import Book, GraphRule

if TYPE_CHECKING:
    from agnesi.ops.convolution.windows import Windows

BOOK = Book()
rewriter = BOOK.rewriter

#: Functions that grow everywhere, so the greatest argument has the greatest value; and the values
#: that they come so near to that arguments no longer differ.
_GROWING: dict[str, tuple[float, ...]] = {
    "tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "erf": (-1.0, 1.0), "softplus": (0.0,),
    "exp": (0.0,), "exp2": (0.0,), "expm1": (-1.0,),
}
#: Pointwise steps from an image to a factor of its gradient that are done again for windows.
_MAX_RECOMPUTED_OPS = 6


@rewriter("canonicalize", ops=["multiply"], operands=["tap_spread"])
def factor_of_winners(node: Node) -> Tensor | None:
    """Move a factor of a max-pooling gradient that is computed from the pooled image into the
    windows.
    """
    for i, spread in enumerate(node.inputs):
        factor = _for_winners(node.inputs[1 - i], spread, node)
        if factor is not None:
            given, taps = map(symbol, spread.inputs)
            return apply(spread.op, multiply(given, factor), taps)
    return None


@rewriter("canonicalize", ops=["where"], operands=["tap_spread"])
def mask_of_winners(node: Node) -> Tensor | None:
    """Move a mask of a max-pooling gradient that is computed from the pooled image into the
    windows.
    """
    condition, *branches = node.inputs
    for i, spread in enumerate(branches):
        if is_number(branches[1 - i], 0):
            mask = _for_winners(condition, spread, node)
            if mask is not None:
                given, taps = map(symbol, spread.inputs)
                nothing = number(0, node.dtype)
                kept = (given, nothing) if i == 0 else (nothing, given)
                return apply(spread.op, apply(node.op, mask, *kept), taps)
    return None


def _for_winners(node: Node, spread: Node, whole: Node) -> Tensor | None:
    """Return a pointwise function of an image, evaluated on the pooled image instead, for a
    gradient of the maxima of that image; None if it is no such function.
    """
    taps = _taps(spread)
    if taps is None or spread.shape != whole.shape:
        return None
    from agnesi.ops.convolution.pooled import MaxPool

    (image,) = taps.inputs
    pool = apply(MaxPool(taps.op.windows, taps.op.kernel), symbol(image))
    return _of_winners(node, image, pool)


def _taps(node: Node) -> Node | None:
    """Where the windows of a gradient of maxima found them."""
    if node.op_name != "tap_spread":
        return None
    taps = node.inputs[1]
    fits = taps.op_name == "pool_taps" and taps.op.windows == node.op.windows
    return taps if fits and taps.inputs[0].shape == node.shape else None


def _of_winners(
    node: Node, image: Node, pool: Tensor, steps: int = _MAX_RECOMPUTED_OPS
) -> Tensor | None:
    """Return ``node``, a pointwise function of ``image``, with ``pool``, the maxima of windows of
    the image, in place of the image; None where it is no such function of at most ``steps``
    operations."""
    if node is image:
        return pool
    if all(n == 1 for n in node.shape[2 - len(image.shape):]):
        return symbol(node)
    if node.op is None or not node.op.pointwise or not steps:
        return None
    found = [_of_winners(n, image, pool, steps - 1) for n in node.inputs]
    operands = [t for t in found if t is not None]
    return apply(node.op, *operands) if len(operands) == len(found) else None


@rewriter("canonicalize", ops=["sum"], operands=["tap_spread"])
def sum_of_winners(node: Node) -> Tensor | None:
    """A gradient of maxima over whole images adds up to the one over all windows."""
    (spread,) = node.inputs
    taps = _taps(spread)
    if taps is None or not isinstance(node.op, Reduce) or node.dtype != spread.dtype:
        return None
    rank = len(spread.shape)
    if not {*range(2, rank)} <= {*node.op.axes} or not _all_meet(taps):
        return None
    return apply(node.op, symbol(spread.inputs[0]))


def _all_meet(node: Node) -> bool:
    """Return whether every window of a pooling covers at least one element of the image."""
    windows: Windows = node.op.windows
    return all(
        (low, high) == (0, 0) or (isinstance(n, int) and all(
            any(0 <= p * s - low + t * d < n for t in range(k)) for p in range(count)
        ))
        for n, count, k, s, (low, high), d in zip(
            node.inputs[0].shape[2:], node.shape[2:], node.op.kernel, windows.stride,
            windows.padding, windows.dilation, strict=True)
    )


def pools_first(graph: FunctionGraph) -> FunctionGraph:
    """Move a monotonic function behind a max pool: max(f(x)) is f(max(x)).

    Where f is flat, max(x) chooses between arguments that give equal values.  So nothing may depend
    on the position of the first greatest value.
    """
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for n in node.inputs:
            users[n].append(node)
    for node in graph.outputs:
        users[node].append(node)
    changes: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op_name not in _GROWING or node.dtype.kind == "c":
            continue
        if node.dtype != node.inputs[0].dtype or not _only_pooled(node, users):
            continue
        for user in users[node]:
            new = apply(user.op, symbol(node.inputs[0]))
            changes[user] = graph_node(apply(node.op, new) if user.op_name == "max_pool" else new)
            changes[user].where = user.where
    return FunctionGraph.of(graph.inputs, replaced(graph, changes)) if changes else graph


def _only_pooled(node: Node, users: Mapping[Node, list[Node]]) -> bool:
    """Return whether the values of an increasing function are used only by max pools and by
    gradients of these.
    """
    pools = [n for n in users[node] if n.op_name == "max_pool"]
    taps = [n for n in users[node] if n.op_name == "pool_taps"]
    if not pools or len(pools) + len(taps) < len(users[node]) or not all(map(_all_meet, pools)):
        return False
    flat = _GROWING[node.op_name]
    return all(
        n.op_name == "tap_spread" and any(_vanishes(n.inputs[0], p, flat) for p in pools)
        for t in taps for n in users[t]
    )


def _vanishes(node: Node, pool: Node, values: tuple[float, ...],
              steps: int = _MAX_RECOMPUTED_OPS) -> bool:
    """Return whether a product has a factor that is zero wherever the pool has one of ``values``.
    """
    if node.op_name == "multiply" and steps:
        return any(_vanishes(n, pool, values, steps - 1) for n in node.inputs)
    return all(_value(node, pool, np.asarray(x, pool.dtype)) == 0 for x in values)


def _value(node: Node, pool: Node, x: np.ndarray, steps: int = _MAX_RECOMPUTED_OPS) -> Any:
    """Return a pointwise function of a pool, evaluated where the pool is ``x``; None if it depends
    on anything else.
    """
    if node is pool:
        return x
    known = scalar(node)
    if known is not None or node.op is None or not node.op.pointwise or not steps:
        return known
    found = [_value(n, pool, x, steps - 1) for n in node.inputs]
    return None if any(f is None for f in found) else node.op.perform(*map(np.asarray, found))


BOOK.add(GraphRule("pools_first", "specialize", ("memory",), ("max_pool",), pools_first))
