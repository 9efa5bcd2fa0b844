"""Batching rules: an operation on examples as operations on all of them at once.

``op.batch(node, xs, rows, length)`` gives the result of a node for ``length`` examples, which are
along the first axis of those operands that ``rows`` marks (at least one), and of the result (a
tuple, where there are several); or None, where there is no rule.  ``vmap`` evaluates functions with
these rules, and the compiler takes work out of loops with some of them
(``rewrite/control/rowwise.py``).

Rules of array operations are in this file, those of loops and branches in
``autodiff/batched.py``; a class of a user's may have a method ``batch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.storage.leaves import Copy
from agnesi.core.support import dtypes
from agnesi.core.support.record import replace
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import Unfold
from agnesi.ops.arrays.strided import Strided
from agnesi.ops.base.convert import Cast
from agnesi.ops.base.creation import made
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.base.ensure import Ensure
from agnesi.ops.base.expand import BroadcastTo, SumTo, broadcast_to
from agnesi.ops.base.gather.elements import Index, IndexSum, PickedPut
from agnesi.ops.base.movement import (
    Permute,
    Reshape,
    matrix_transpose,
    moveaxis,
    permute_dims,
    reshape,
)
from agnesi.ops.base.reduce import Reduce, reducer
from agnesi.ops.base.scans import CumProd, CumSum, Recurrence, Shift
from agnesi.ops.base.slices import FULL, Slice, SlicePut, Unslice
from agnesi.ops.contractions.linear import LINEAR, Linear, OverRows
from agnesi.ops.contractions.matmul import MATMUL, MatMul, product_of
from agnesi.ops.convolution.conv import Conv, ConvGradW, ConvGradX
from agnesi.ops.convolution.im2col import Columns, Folded
from agnesi.ops.convolution.pooled import (
    MaxPool,
    PoolTaps,
    TapPick,
    TapSpread,
    WindowSpread,
    WindowSum,
)
from agnesi.ops.elementwise.complexes import AsComplex, AsReal, Complex, Part
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix, PutDiagonal, Triangle
from agnesi.ops.indexing.join import Concat
from agnesi.ops.indexing.ranges import Arange
from agnesi.ops.indexing.scatter import IndexAdd, IndexPut
from agnesi.ops.neural.embedding import Lookup
from agnesi.ops.neural.normalize import Standardize
from agnesi.ops.neural.softmax import (
    LabelLoss,
    LogSoftmax,
    LogSumExp,
    Pick,
    Softmax,
    SoftmaxLessLabel,
)
from agnesi.ops.random.samplers import Sampler
from agnesi.ops.reductions.extremes import CumMax, CumMin
from agnesi.ops.reductions.log_sums import LogCumSum
from agnesi.ops.reductions.positions import ArgReduce
from agnesi.ops.sorting.sort import ArgSort, Partition, SearchSorted, Sort, TopIndices


def aligned(x: Tensor, rank: int) -> Tensor:
    """Rows of fewer axes than ``rank`` get axes of size 1 in front."""
    own = x.shape[1:]
    return x if len(own) >= rank else reshape(x, (x.shape[0], *(1,) * (rank - len(own)), *own))


def _all(xs: Sequence[Tensor], rows: Sequence[bool], length: Any) -> list[Tensor]:
    """Operands that all have rows."""
    return [x if r else broadcast_to(x, (length, *x.shape)) for x, r in zip(xs, rows, strict=True)]


# -- without axes of their own ----------------------------------------------------------------
def pointwise(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    """Operations that broadcast."""
    rank = max(len(n.shape) for n in node.inputs)
    return apply(op, *[aligned(x, rank) if r else x for x, r in zip(xs, rows, strict=True)])


def _sampler(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    """One state for all examples."""
    return apply(op, xs[0], *_all(xs[1:], rows[1:], length))


def _ensure(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    x, condition = xs
    return apply(op, _all(xs, rows, length)[0] if rows[1] else x, condition)


def trailing(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    """Operations that count their axes from the end."""
    return apply(op, *_all(xs, rows, length))


# -- with axes as parameters ------------------------------------------------------------------
def _one_axis(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return apply(replace(op, axis=op.axis + 1), *_all(xs, rows, length))


def _several_axes(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return apply(replace(op, axes=tuple(a + 1 for a in op.axes)), *_all(xs, rows, length))


def _reduce(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return apply(reducer(op.kind, tuple(a + 1 for a in op.axes), op.keepdims, op.combined), xs[0])


def _sum_to(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    axes = tuple(a + 1 for a in op.axes(node.inputs[0].shape))
    total = apply(reducer("add", axes, True), xs[0]) if axes else xs[0]
    return reshape(total, (length, *node.shape))


# -- movement ---------------------------------------------------------------------------------
def _reshape(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return reshape(xs[0], (length, *node.shape))


def _permute(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return permute_dims(xs[0], (0, *(a + 1 for a in op.axes)))


def _broadcast(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return broadcast_to(aligned(xs[0], len(node.shape)), (length, *node.shape))


def _slice(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return apply(Slice((FULL, *op.key)), xs[0])


def _slice_put(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return apply(SlicePut((FULL, *op.key)), *_all(xs, rows, length))


def _unslice(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return apply(Unslice((FULL, *op.key), (length, *op.shape)), xs[0])


# -- products ---------------------------------------------------------------------------------
def _matmul(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    a, b = xs
    if not rows[1] and len(b.shape) == 2:
        return product_of(a, b)
    if not rows[0] and len(a.shape) == 2 and len(b.shape) == 3:  # all columns at once
        n = b.shape[2]
        columns = reshape(permute_dims(b, (0, 2, 1)), (length * n, b.shape[1]))
        found = apply(MATMUL, columns, permute_dims(a, (1, 0)))
        return permute_dims(reshape(found, (length, n, a.shape[0])), (0, 2, 1))
    rank = len(node.shape)
    a, b = (aligned(x, rank) if r else x for x, r in zip(xs, rows, strict=True))
    return apply(MATMUL, a, b)


def _linear(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    x, weight, bias = xs
    if not rows[1] and not rows[2]:
        flat = reshape(x, (product(x.shape[:2]), x.shape[2]))
        return reshape(apply(LINEAR, flat, weight, bias), (length, *node.shape))
    if rows[1]:
        found = apply(MATMUL, x if rows[0] else reshape(x, (1, *x.shape)), matrix_transpose(weight))
    else:
        found = product_of(x, matrix_transpose(weight))
    return found + (reshape(bias, (length, 1, bias.shape[1])) if rows[2] else bias)


def _over_rows(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    return apply(MATMUL, matrix_transpose(xs[0]), xs[1])


# -- indexing ---------------------------------------------------------------------------------
def _indices(op: Any, indices: list[Tensor], rows: list[bool], length: Any) -> list[Tensor]:
    """Index arrays of a batched indexing: the example's number, then the given ones, broadcast to
    one rank."""
    rank = max(len(i.shape) - r for i, r in zip(indices, rows, strict=True))
    numbers = made(Arange(0, 1, length, dtypes.int64), length)
    given = [aligned(i, rank) if r else i for i, r in zip(indices, rows, strict=True)]
    return [reshape(numbers, (length, *(1,) * rank)), *given]


def _further(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


def _index(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    x, *indices = xs
    if not any(rows[1:]):
        return apply(Index(_further(op.axes), op.at + 1), x, *indices)
    numbers, *given = _indices(op, indices, rows[1:], length)
    if rows[0]:
        found = apply(Index((0, *_further(op.axes)), op.at), x, numbers, *given)
    else:
        found = apply(Index(op.axes, op.at), x, *given)
    return moveaxis(found, op.at, 0)


def _index_sum(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    x, *indices = xs
    shape = (length, *op.shape)
    if not any(rows[1:]):
        return apply(IndexSum(_further(op.axes), op.at + 1, shape), x, *indices)
    indices = _indices(op, indices, rows[1:], length)
    x = moveaxis(_all([x], rows[:1], length)[0], 0, op.at)
    return apply(IndexSum((0, *_further(op.axes)), op.at, shape), x, *indices)


def _index_put(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    """``IndexPut``, ``PickedPut`` and ``IndexAdd``."""
    base, new = _all(xs[:2], rows[:2], length)
    indices = xs[2:]
    if not any(rows[2:]):
        return apply(replace(op, axes=_further(op.axes), at=op.at + 1), base, new, *indices)
    indices = _indices(op, indices, rows[2:], length)
    further = replace(op, axes=(0, *_further(op.axes)))
    return apply(further, base, moveaxis(new, 0, op.at), *indices)


def _first_alike(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Any:
    """Operations that treat each element of their last operand alike."""
    return None if rows[0] else apply(op, *xs)


def _searched(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    """Values in a sorted row: of all examples one, or each its own."""
    if not rows[0] and xs[0].ndim == 1:
        return apply(op, *xs)
    row, values = _all(xs, rows, length)
    if row.ndim == 2:
        values = reshape(values, (length, product(values.shape[1:])))
    return reshape(apply(op, row, values), (length, *node.shape))


# -- windows ----------------------------------------------------------------------------------
def _flat(x: Tensor) -> Tensor:
    """Images of all examples as one batch."""
    return reshape(x, (product(x.shape[:2]), *x.shape[2:]))


def _images(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    """Operations on each image of a batch."""
    found = apply(op, *map(_flat, _all(xs, rows, length)))
    return reshape(found, (length, *node.shape))


def _channels(x: Tensor) -> Tensor:
    """The channels of all examples beside each other: (examples, n, c, ...) to (n, all c, ...)."""
    x = moveaxis(x, 0, 1)
    return reshape(x, (x.shape[0], product(x.shape[1:3]), *x.shape[3:]))


def _apart(x: Tensor, length: Any) -> Tensor:
    """The channels of each example again."""
    n, c, *rest = x.shape
    return moveaxis(reshape(x, (n, length, c // length, *rest)), 1, 0)


def _conv(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    """Of one set of filters a batch of all images; else every example's channels are a group."""
    if not rows[1] and type(op) is not ConvGradW:
        if type(op) is ConvGradX:
            op = replace(op, shape=(length * op.shape[0], *op.shape[1:]))
        return reshape(apply(op, _flat(xs[0]), xs[1]), (length, *node.shape))
    a, b = _all(xs, rows, length)
    op = replace(op, groups=op.groups * length)
    if type(op) is ConvGradW:
        op = replace(op, shape=(length * op.shape[0], *op.shape[1:]))
        found = apply(op, _channels(a), _channels(b))
        return reshape(found, (length, *node.shape))
    if type(op) is ConvGradX:
        n, c, *rest = op.shape
        op = replace(op, shape=(n, length * c, *rest))
    return _apart(apply(op, _channels(a), _flat(b)), length)


# -- losses -----------------------------------------------------------------------------------
def _loss(op: Any, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
    found = apply(LabelLoss(False), *_all(xs, rows, length))
    if not op.mean:
        return found
    axes = tuple(range(1, len(found.shape)))
    return apply(reducer("add", axes, False), found) / product(found.shape[1:])


_RULES: dict[Any, tuple[type[Op], ...]] = {
    pointwise: (Elementwise, Cast, Complex, Copy),
    _sampler: (Sampler,),
    _ensure: (Ensure,),
    trailing: (
        Diagonal, DiagonalMatrix, PutDiagonal, Triangle, Pick, SoftmaxLessLabel, Part, AsReal,
        AsComplex, Strided, Unfold,
    ),
    _one_axis: (
        ArgReduce, Concat, CumMax, CumMin, CumSum, CumProd, LogCumSum, Shift, Recurrence, ArgSort,
        Sort, Partition, TopIndices,
    ),
    _several_axes: (LogSumExp, Softmax, LogSoftmax, Standardize),
    _reduce: (Reduce,), _sum_to: (SumTo,), _reshape: (Reshape,), _permute: (Permute,),
    _broadcast: (BroadcastTo,), _slice: (Slice,), _slice_put: (SlicePut,), _unslice: (Unslice,),
    _matmul: (MatMul,), _linear: (Linear,), _over_rows: (OverRows,),
    _index: (Index,), _index_sum: (IndexSum,), _index_put: (PickedPut, IndexPut, IndexAdd),
    _first_alike: (Lookup,), _searched: (SearchSorted,),
    _images: (PoolTaps, MaxPool, TapPick, TapSpread, WindowSum, WindowSpread, Columns, Folded),
    _conv: (Conv, ConvGradX, ConvGradW), _loss: (LabelLoss,),
}
for _rule, _kinds in _RULES.items():
    for _kind in _kinds:
        _kind.batch = _rule
