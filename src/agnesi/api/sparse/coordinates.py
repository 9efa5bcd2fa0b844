"""Sparse tensors by coordinates, made as in PyTorch."""

from __future__ import annotations

import numpy as np

from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import explain_errors, on_host
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.sparse.coordinates import COO

__all__ = ["sparse_coo_tensor"]


@explain_errors
def sparse_coo_tensor(indices: TensorLike, values: TensorLike, size: ShapeLike | None = None, *,
                      dtype: DTypeLike = None, device: str | None = None,
                      requires_grad: bool = False, is_coalesced: bool = False) -> COO:
    """A sparse tensor from values and the place of each (PyTorch's).

    :param indices: Of shape (axes with places, values): where each value is.  Values at one place
        count together.
    :type indices: array_like of int
    :param values: Of shape (values, *other axes).
    :param size: The shape; by default the least that has all places.
    :type size: tuple of int, optional
    :param dtype: Of the values; theirs by default.
    :param device: "cpu".
    :param requires_grad: Whether the values are a leaf of their own that gets a gradient.
    :param is_coalesced: Whether places are in order, none twice.
    :returns: Gradients flow to ``values``.
    :raises ShapeError, DTypeError, IndexError: Where they do not make a tensor of this shape.
    :see: sparse.csr, sparse.coo

    >>> A = ag.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> A.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    on_host(device)
    found = as_tensor(values)
    if dtype is not None:
        found = found.astype(dtype)
    if requires_grad:
        found = found.detach().clone().requires_grad_()
    if size is None:
        places = np.asarray(as_tensor(indices).array)
        least = [int(row.max()) + 1 if row.size else 0 for row in places]
        size = (*least, *found.shape[1:])
    return COO(indices, found, size, is_coalesced)
