"""Orders by several keys, and orders that are right at some places only."""

from __future__ import annotations

import operator
from typing import Any

from agnesi.core import shapes
from agnesi.core.accepted import TensorLike
from agnesi.core.public import public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.sorting.sort import argsort, sort

__all__ = ["argpartition", "lexsort", "partition"]


def _checked(x: Any, kth: Any, axis: int | None) -> Tensor:
    x = as_tensor(x)
    n = x.size if axis is None else x.shape[shapes.axis_of(axis, x.ndim)]
    for k in kth if isinstance(kth, (list, tuple)) else (kth,):
        if not -n <= operator.index(k) < n:
            raise ValueError(f"kth = {k} is out of range for {n} elements")
    return x


@public
def partition(x: TensorLike, kth: Any, axis: int | None = -1, *, out: Tensor | None = None
              ) -> Tensor:
    """The element that order puts at ``kth`` is there, smaller ones before, greater ones behind.

    Parameters
    ----------
    x : array_like
        At least one axis.
    kth : int or sequence of int
        Places in the order.
    axis : int or None
        The axis; None takes the flat elements. Also written ``dim``.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        All elements are in order: native sorts are as fast.

    Raises
    ------
    ValueError
        If a place is out of range.
    IndexError
        If the axis is out of range.

    See Also
    --------
    argpartition, sort, kthvalue

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.partition(ag.tensor([3, 1, 2]), 0)[0]
    tensor(1)
    """
    return sort(_checked(x, kth, axis), axis)


@public
def argpartition(x: TensorLike, kth: Any, axis: int | None = -1, *, out: Tensor | None = None
                 ) -> Tensor:
    """The indices of :func:`partition`.

    Parameters
    ----------
    x : array_like
        At least one axis.
    kth : int or sequence of int
        Places in the order.
    axis : int or None
        The axis; None takes the flat elements. Also written ``dim``.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        int64, of the shape of ``x``; all elements are in order.

    Raises
    ------
    ValueError
        If a place is out of range.
    IndexError
        If the axis is out of range.

    See Also
    --------
    partition, argsort, topk

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.argpartition(ag.tensor([3, 1, 2]), 0)[0]
    tensor(1)
    """
    return argsort(_checked(x, kth, axis), axis)


@public
def lexsort(keys: Any, axis: int = -1, *, out: Tensor | None = None) -> Tensor:
    """Indices that put the last key in order, equal ones by the key before it, and so on.

    Parameters
    ----------
    keys : sequence of array_like
        Of one shape; the last one decides first.
    axis : int
        An axis, counted from the end where negative; also written ``dim``.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        int64, of the shape of a key.

    Raises
    ------
    TypeError
        If there are no keys.
    ShapeError
        If the shapes differ.

    See Also
    --------
    argsort, sort

    Examples
    --------
    >>> import agnesi as ag
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
