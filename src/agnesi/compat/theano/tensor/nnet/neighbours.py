"""Patches of images as rows, and back."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import _shape, as_tensor_variable
from agnesi.compat.theano.variable import Variable, wrapped


def images2neibs(ten4: Any, neib_shape: Any, neib_step: Any = None,
                 mode: str = "valid") -> Variable:
    """The patches of images, each as a row, image by image.

    Parameters
    ----------
    ten4 : Variable
        (images, channels, rows, columns)
    neib_shape, neib_step : pair of int
        Size of a patch, and distance of patches (the size by default).
    mode : {"valid", "ignore_borders"}
    """
    x = as_tensor_variable(ten4)._value
    (r, c), (a, b) = neib_shape, neib_step or neib_shape
    if mode not in ("valid", "ignore_borders"):
        raise NotImplementedError(f"images2neibs: mode {mode!r}")
    rows, columns = ((x.shape[2] - r) // a) + 1, ((x.shape[3] - c) // b) + 1
    i = (F.arange(rows) * a)[:, None] + F.arange(r)[None, :]
    j = (F.arange(columns) * b)[:, None] + F.arange(c)[None, :]
    found = x[:, :, i[:, None, :, None], j[None, :, None, :]]
    return wrapped(F.reshape(found, (-1, r * c)))


def neibs2images(neibs: Any, neib_shape: Any, original_shape: Any, mode: str = "valid") -> Variable:
    """The inverse of :func:`images2neibs` for patches side by side."""
    x, (r, c) = as_tensor_variable(neibs)._value, neib_shape
    n, channels, height, width = _shape(original_shape)
    parts = F.reshape(x, (n, channels, height // r, width // c, r, c))
    return wrapped(F.reshape(F.permute_dims(parts, (0, 1, 2, 4, 3, 5)),
                             (n, channels, height, width)))
