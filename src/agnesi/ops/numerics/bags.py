"""Bags of rows of a table: their sum, mean or maximum."""

from __future__ import annotations

from typing import Any

from agnesi.core.op import typed
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.reduce import max as max_of
from agnesi.ops.base.reduce import sum as sum_of
from agnesi.ops.base.select import maximum, where
from agnesi.ops.indexing.index import as_index
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import index_add
from agnesi.ops.neural.embedding import embedding
from agnesi.ops.numerics.scatter_reduce import index_reduce
from agnesi.ops.sorting.sort import searchsorted

MODES = ("mean", "sum", "max")


def bags(ids: Any, weight: Tensor, offsets: Any, *, mode: str, per_sample_weights: Any,
         padding_idx: int | None, sparse: bool, scale_grad_by_freq: bool,
         include_last_offset: bool) -> Tensor:
    """What becomes of the rows in each bag, as ``nn.functional.embedding_bag`` describes it."""
    ids = as_index(ids)
    if include_last_offset and offsets is not None:
        offsets = as_index(offsets)[:-1]
    _refuse(ids, offsets, mode, per_sample_weights)
    found = embedding(ids, weight, padding_idx, sparse=sparse,
                      scale_grad_by_freq=scale_grad_by_freq)
    if per_sample_weights is not None:
        found = found * expand_dims(as_tensor(per_sample_weights, found.dtype), -1)
    if offsets is None and padding_idx is None and mode == "mean":
        return found.mean(1)
    kept = _kept(ids, weight, padding_idx)
    if mode == "max" and offsets is not None:
        return _most_by_bag(found, kept, offsets)
    if mode == "max":
        most = max_of(found if kept is None else where(kept, found, -float("inf")), 1)
        return most if kept is None else where(any_of(kept, 1), most, 0)
    dtype = found.dtype
    if dtype in dtypes.HALVES:
        found = cast(found, dtypes.float32)
    if kept is not None:
        found = where(kept, found, 0)
    counted = cast(as_tensor(True) if kept is None else kept, found.dtype)
    if offsets is None:
        total, count = sum_of(found, 1), sum_of(counted, 1) if kept is not None else counted
    else:
        total, count = _by_bag(found, counted, offsets)
    summed = total if mode == "sum" else total / maximum(count, 1)
    return cast(summed, dtype) if dtype in dtypes.HALVES else summed


def _refuse(ids: Tensor, offsets: Any, mode: str, factors: Any) -> None:
    if mode not in MODES:
        raise ValueError(f"mode must be 'mean', 'sum' or 'max', not {mode!r}")
    if factors is not None and mode != "sum":
        raise ValueError(f"per_sample_weights need mode='sum', not {mode!r}")
    if ids.ndim != (2 if offsets is None else 1):
        expected = ("(bags, size of a bag)" if offsets is None
                    else "one behind the other, with offsets")
        raise ShapeError(f"indices must be {expected}, not {typed(ids)}")


def _kept(ids: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor | None:
    """Which of the ids count, with an axis for the features; None where all do."""
    if padding_idx is None:
        return None
    row = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
    return expand_dims(not_equal(ids, row), -1)


def _bags(count: Any, offsets: Any) -> tuple[Tensor, Any]:
    """The bag of each row, by where bags begin, and how many bags there are."""
    starts: Any = as_index(offsets)
    if starts.ndim != 1:
        raise ShapeError(f"offsets must be (bags,), not {typed(starts)}")
    (starts,) = demanded(
        "embedding_bag", "offsets must begin with 0 and not fall",
        lambda o: (o[:1] == 0).all() & (o[1:] >= o[:-1]).all(), offsets=starts,
    )
    return searchsorted(starts, arange(count), side="right") - 1, starts.shape[0]


def _most_by_bag(found: Tensor, kept: Tensor | None, offsets: Any) -> Tensor:
    """The largest of each feature in the bags that begin at ``offsets``; 0 in empty ones."""
    bag, bags = _bags(found.shape[0], offsets)
    low = -float("inf")
    most = index_reduce(zeros((bags, found.shape[1]), found.dtype) + low, 0, bag,
                        found if kept is None else where(kept, found, low), "amax")
    return where(most > low, most, 0)


def _by_bag(found: Tensor, counted: Tensor, offsets: Any) -> tuple[Tensor, Tensor]:
    """Sums over the bags that begin at ``offsets``, and how many rows each holds."""
    rows = found.shape[0]
    bag, bags = _bags(rows, offsets)
    total = index_add(zeros((bags, found.shape[1]), found.dtype), 0, bag, found)
    ones = counted if counted.ndim else zeros((rows, 1), found.dtype) + 1
    return total, index_add(zeros((bags, 1), found.dtype), 0, bag, ones)
