"""Attention: values mixed by how well their keys answer to queries."""

from __future__ import annotations

import math
from typing import Any

from agnesi.core import shapes
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import repeat
from agnesi.ops.base.arith import add, multiply
from agnesi.ops.base.compare import greater, greater_equal, logical_and, logical_not
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import matrix_transpose, reshape
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.select import where
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.neural.softmax import softmax
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.random import growth, survivors


def _check_mask(mask: Tensor, scores: Tensor) -> None:
    """Refuse a mask that does not broadcast to the scores, which nothing else knows of."""
    try:
        fits_all = shapes.broadcast(mask.shape, scores.shape) == scores.shape
    except ShapeError:
        fits_all = False
    if not fits_all:
        raise ShapeError(f"attn_mask must broadcast to the scores' shape (..., queries, keys), "
                         f"{scores.shape}, which {typed(mask)} does not")


def attention_weights(query: Tensor, key: Tensor, mask: Any, is_causal: bool,
                      scale: float | None) -> Tensor:
    """How much each query takes of each key's value; a mask is True where that may be anything."""
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = multiply(matmul(query, matrix_transpose(key)), factor)
    if is_causal:
        rows, columns = (arange(n) for n in scores.shape[-2:])
        scores = where(greater_equal(reshape(rows, (-1, 1)), columns), scores, -math.inf)
    if mask is not None:
        mask = as_tensor(mask)
        _check_mask(mask, scores)
        scores = where(mask, scores, -math.inf) if mask.dtype.kind == "b" else add(scores, mask)
    return softmax(scores, -1)


def _shared_heads(query: Tensor, x: Tensor) -> Tensor:
    """Keys or values with as many heads as queries have: each comes several times."""
    if min(query.ndim, x.ndim) < 3 or query.shape[-3] % x.shape[-3]:
        raise ShapeError("with enable_gqa, the heads of queries (axis -3) are a multiple of those "
                         f"of keys and values: {typed([query, x])}")
    return repeat(x, query.shape[-3] // x.shape[-3], -3)


def _blind(mask: Tensor, sizes: Any, is_causal: bool) -> Tensor:
    """Which queries may look at no key: their weights would be 0 / 0."""
    open_ = mask if mask.dtype.kind == "b" else greater(mask, -math.inf)
    if is_causal:
        rows, columns = (arange(n) for n in sizes)
        open_ = logical_and(open_, greater_equal(reshape(rows, (-1, 1)), columns))
    return logical_not(any_of(open_, -1, keepdims=True))


@planned
@public
def scaled_dot_product_attention(query: TensorLike, key: TensorLike, value: TensorLike,
                                 attn_mask: TensorLike | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False, *, generator: Generator | None = None,
                                 out: Tensor | None = None) -> Tensor:
    """``softmax(query @ key.T * scale) @ value`` (PyTorch's).

    :param query: Of shape (..., queries, features).
    :param key, value: Of shapes (..., keys, features) and (..., keys, values).
    :param attn_mask: Of a shape that broadcasts to (..., queries, keys): bool, True where a query
        may look, or numbers that are added to the scores.
    :param dropout_p: Share of the weights that become zero; the others grow accordingly.
    :param is_causal: Whether query i looks at the keys 0 to i only.
    :param scale: ``1 / sqrt(features)`` by default.
    :param enable_gqa: Whether several heads of queries, of axis -3, share one of keys and values.
    :param generator: Source of dropout's randomness.
    :returns: Of shape (..., queries, values); 0 for queries whose mask lets them look nowhere.
    :raises ShapeError: If an operand has fewer than 2 axes, or they do not fit.
    :see: nn.MultiheadAttention, softmax

    >>> attend = ag.nn.functional.scaled_dot_product_attention
    >>> x = ag.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> attend(x, x, x, is_causal=True)[0]
    tensor([1., 0.])
    """
    query, key, value = map(as_tensor, (query, key, value))
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ShapeError(
            f"queries, keys and values have at least 2 axes: {typed([query, key, value])}"
        )
    for one, other, what, axis in ((query, key, "query and key: features", -1),
                                   (key, value, "key and value: lengths", -2)):
        if not shapes.fits(one.shape[axis:][:1], other.shape[axis:][:1]):
            raise ShapeError(f"{what} on axis {axis} differ, {one.shape[axis]} and "
                             f"{other.shape[axis]}: key is (..., keys, features), as query, and "
                             "value (..., keys, values)")
    few = min(query.ndim, key.ndim) - 2
    before, behind = query.shape[-2 - few:-2], key.shape[-2 - few:-2]
    if not enable_gqa and any(n != m and 1 not in (n, m) and not shapes.fits((n,), (m,))
                              for n, m in zip(before, behind, strict=True)):
        raise ShapeError(f"the axes of batch and heads differ: {tuple(query.shape[:-2])} of query, "
                         f"{tuple(key.shape[:-2])} of key; enable_gqa=True shares heads of keys")
    if enable_gqa:
        key, value = (_shared_heads(query, x) for x in (key, value))
    mask, blind = attn_mask, None
    if attn_mask is not None:
        mask = as_tensor(attn_mask)
        blind = _blind(mask, (query.shape[-2], key.shape[-2]), is_causal)
        mask = where(blind, mask.dtype.kind == "b", mask)
    weights = attention_weights(query, key, mask, is_causal, scale)
    if blind is not None:
        weights = where(blind, 0, weights)
    if dropout_p:
        kept = survivors(weights.shape, dropout_p, generator)
        weights = where(kept, multiply(weights, growth(dropout_p, weights.dtype)), 0)
    return matmul(weights, value)
