"""What two or more sparse tensors by coordinates make: products, and one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.shapes import axis_of
from agnesi.core.support.errors import ShapeError, TraceError, at
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.arith import add, multiply
from agnesi.ops.base.convert import pair
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.indexing.join import concat, stack
from agnesi.ops.sparse.patterns import is_known


def _known(name: str, *tensors: Any) -> list[np.ndarray]:
    """The indices of sparse tensors, which decide how many values the result has."""
    if not all(is_known(t._coordinates) for t in tensors):
        raise TraceError(at(f"{name} of two sparse tensors has as many values as their places say, "
                            "which compiled code does not know: make them outside of the function, "
                            "or write b.to_dense() for one of them"))
    return [t._coordinates.array for t in tensors]


def matrix_product(a: Any, b: Any) -> Any:
    """The product of two sparse matrices, a sparse one: each value of ``a`` with each one of ``b``
    in the row that its column says."""
    if [a.sparse_dim(), b.sparse_dim()] != [2, 2] or a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"sparse matrices are multiplied, not {typed(a)} by {typed(b)}")
    if a.shape[1] != b.shape[0]:
        raise ShapeError(f"inner sizes differ: {a.shape[1]} (last axis of {a.shape}) and "
                         f"{b.shape[0]} (first axis of {b.shape})")
    (rows, inner), (own, columns) = _known("the product", a, b)
    order = np.argsort(own, kind="stable")
    first, last = (np.searchsorted(own[order], inner, side) for side in ("left", "right"))
    counts = last - first
    left = np.repeat(np.arange(len(inner)), counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[np.repeat(first, counts) + within]
    x, y = pair(a._entries, b._entries)
    coordinates = wrap(np.stack([rows[left], columns[right]]))
    return type(a)._made(coordinates, x[wrap(left)] * y[wrap(right)],
                         (a.shape[0], b.shape[1])).coalesce()


def elementwise_product(a: Any, b: Any) -> Any:
    """The product of two sparse tensors, which has values where both have."""
    if a.shape != b.shape or a.sparse_dim() != b.sparse_dim():
        raise ShapeError(at(f"multiply: sparse tensors of shapes {a.shape} and {b.shape} with "
                            f"{a.sparse_dim()} and {b.sparse_dim()} axes of places"))
    _known("the product", a, b)
    a, b = a.coalesce(), b.coalesce()
    sizes = a.shape[: a.sparse_dim()]
    one, two = (np.ravel_multi_index(tuple(t._coordinates.array), sizes) for t in (a, b))
    _, left, right = np.intersect1d(one, two, assume_unique=True, return_indices=True)
    x, y = pair(a._entries, b._entries)
    common = wrap(a._coordinates.array[:, left])
    return type(a)._made(common, x[wrap(left)] * y[wrap(right)], a.shape, True)


def batched_product(a: Any, x: Tensor) -> Tensor:
    """Products of the matrices of a sparse (batch, n, k) and a dense (batch, k, m) tensor: of the
    one matrix that has those of ``a`` along its diagonal."""
    batch, n, k = a.shape
    x = of_shape("matmul", x, (batch, k, x.shape[2]),
                 f"batches or inner sizes differ: {typed(a)} and {typed(x)}")
    coordinates = stack([add(multiply(a._coordinates[0], n), a._coordinates[1]),
                    add(multiply(a._coordinates[0], k), a._coordinates[2])])
    whole = type(a)._made(coordinates, a._entries, (batch * n, batch * k))
    return reshape(whole.matmul(reshape(x, (batch * k, x.shape[2]))), (batch, n, x.shape[2]))


def joined(tensors: Sequence[Any], axis: int) -> Any:
    """Sparse tensors one behind the other along an axis that has indices."""
    first = tensors[0]
    if not all(isinstance(t, type(first)) for t in tensors):
        raise TypeError(at("cat takes sparse tensors or dense ones, not both: to_dense() makes "
                           "dense ones"))
    axis = axis_of(axis, first.ndim)
    rests = {(t.sparse_dim(), *t.shape[:axis], *t.shape[axis + 1:]) for t in tensors}
    if len(rests) > 1:
        raise ShapeError(at(f"cat: shapes differ: {', '.join(map(typed, tensors))}"))
    if axis >= first.sparse_dim():
        raise IndexError(at(f"cat: axis {axis} has no places in {typed(first)}"))
    parts, total = [], 0
    for t in tensors:
        parts.append(stack([row + total if k == axis else row
                            for k, row in enumerate(
                                t._coordinates[k] for k in range(t.sparse_dim()))]))
        total += t.shape[axis]
    shape = (*first.shape[:axis], total, *first.shape[axis + 1:])
    return type(first)._made(concat(parts, 1), concat([t._entries for t in tensors]), shape)
