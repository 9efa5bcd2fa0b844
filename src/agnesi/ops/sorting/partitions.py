"""Orders by several keys, and orders that are right at some positions only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.integers import known_integer
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.foreign import attribute_of
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.sorting.sort import Partition, argsort, flat_or_axis, sort

__all__ = ["argpartition", "lexsort", "partition"]


def _checked(x: Any, kth: Any, axis: int | None) -> tuple[Tensor, list[Any]]:
    """The operand and the positions, which are in range."""
    x = as_tensor(x)
    n: Any = x.size if axis is None else x.shape[shapes.axis_of(axis, x.ndim)]
    several = isinstance(kth, (list, tuple)) or attribute_of(kth, "ndim")
    positions = [known_integer(k, "kth") for k in (kth if several else (kth,))]
    for k in positions:
        if not -n <= k < n:
            raise ValueError(f"kth = {k} is out of range for {n} elements")
    return x, [k % n for k in positions]


@planned
@public
def partition(x: TensorLike, kth: TensorLike, axis: int | None = -1, *, out: Tensor | None = None
              ) -> Tensor:
    """The element that order puts at ``kth`` is there, smaller ones before, greater ones behind.

    :param x: At least one axis.
    :param kth: Positions in the order.
    :type kth: int or sequence of int
    :param axis: The axis; None takes the flat elements. Also written ``dim``.
    :type axis: int or None
    :returns: Elements before and behind these positions are in any order.
    :raises ValueError: If a position is out of range.
    :raises IndexError: If the axis is out of range.
    :see: argpartition, sort, kthvalue

    >>> ag.partition(ag.tensor([3, 1, 2]), 0)[0]
    tensor(1)
    """
    x, positions = _checked(x, kth, axis)
    if not positions or not all(isinstance(k, int) for k in positions):
        return sort(x, axis)
    x, axis = flat_or_axis(x, axis)
    return apply(Partition(axis, False, min(positions), max(positions)), x)


@planned
@public
def argpartition(x: TensorLike, kth: TensorLike, axis: int | None = -1, *, out: Tensor | None = None
                 ) -> Tensor:
    """The indices of :func:`partition`.

    :like: partition
    :returns: int64, of the shape of ``x``; all elements are in order.
    :see: partition, argsort, topk

    >>> ag.argpartition(ag.tensor([3, 1, 2]), 0)[0]
    tensor(1)
    """
    return argsort(_checked(x, kth, axis)[0], axis)


@planned
@public
def lexsort(keys: Sequence[Any] | np.ndarray | Tensor, axis: int = -1, *, out: Tensor | None = None
            ) -> Tensor:
    """Indices that put the last key in order, equal ones by the key before it, and so on.

    :param keys: Of one shape; the last one decides first.
    :type keys: sequence of array_like
    :param axis: An axis, counted from the end where negative; also written ``dim``.
    :returns: int64, of the shape of a key.
    :raises TypeError: If there are no keys.
    :raises ShapeError: If the shapes differ.
    :see: argsort, sort

    >>> ag.lexsort(([3, 1, 2], [0, 0, -1]))
    tensor([2, 1, 0])
    """
    tensors = [as_tensor(k) for k in keys]
    if not tensors:
        raise TypeError("lexsort needs keys")
    if len({k.shape for k in tensors}) > 1:
        raise ShapeError(f"keys have shapes {', '.join(str(k.shape) for k in tensors)}")
    order = argsort(tensors[0], axis)
    for key in tensors[1:]:
        next_order = argsort(take_along_axis(key, order, axis), axis)
        order = take_along_axis(order, next_order, axis)
    return order
