"""Filters: kernels, and images convolved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.options import Count
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.config import config
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor, wrap
from agnesi.image.operands import checked
from agnesi.nn import functional as F
from agnesi.ops.base.arith import square
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.elementwise.explog import exp


def _squares(size: int, sigma: TensorLike) -> Tensor:
    """Half the squared distances of the elements from the middle, in units of ``sigma``, a share of
    the size."""
    return square(wrap((np.arange(size) - (size - 1) / 2) / size) / sigma) * 0.5


def _kernel(values: Tensor, dtype: DTypeLike) -> Tensor:
    return cast(values, dtypes.as_dtype(config.default_float if dtype is None else dtype))


def gaussian_kernel(size: Count = 3, sigma: TensorLike = 0.25, *, normalize: bool = True,
                    dtype: DTypeLike = None) -> Tensor:
    """A square kernel of normal density.

    :param size: Of each side.
    :param sigma: Standard deviation, as a share of the size.
    :type sigma: float or Tensor
    :param normalize: Whether the sum is 1; else the density in the middle is.
    :param dtype: Float type; ``config.default_float`` by default.
    :returns: (size, size).
    :see: image.convolve, image.laplacian_kernel

    >>> from agnesi import image
    >>> kernel = image.gaussian_kernel(3)
    >>> kernel.shape, round(float(kernel.sum()), 5)
    ((3, 3), 1.0)
    """
    line = exp(-_squares(size, sigma))
    found = line[:, None] * line
    return _kernel(found / found.sum() if normalize else found, dtype)


def laplacian_kernel(size: Count = 3, sigma: TensorLike = 0.25, *, dtype: DTypeLike = None
                     ) -> Tensor:
    """A square kernel of the negative Laplacian of a normal density, whose sum is 0.

    :like: gaussian_kernel
    :see: image.convolve, image.gaussian_kernel

    >>> from agnesi import image
    >>> abs(float(image.laplacian_kernel(5).sum())) < 1e-5
    True
    """
    squares = _squares(size, sigma)
    total = squares[:, None] + squares
    found = (1 - total) * exp(-total)
    return _kernel(found - found.mean(), dtype)


def convolve(image: TensorLike, kernel: TensorLike, mode: str = "same") -> Tensor:
    """Convolve each channel with a kernel, which is flipped as in mathematics.

    :param image: (channels, height, width).
    :param kernel: (rows, columns).
    :param mode: Whether the result has the image's size, only what needs no border, or all.
    :type mode: {"same", "valid", "full"}
    :returns: (channels, height, width) of floats.
    :raises ShapeError: If the image or the kernel has another number of axes.
    :raises ValueError: If there is no such mode.
    :see: image.gaussian_kernel, nn.functional.conv2d

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> image.convolve(ag.ones((1, 2, 2)), ag.ones((2, 2)), "full")
    tensor([[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]])
    """
    x = checked("convolve", image)
    w = as_tensor(kernel, x.dtype)
    if w.ndim != 2:
        raise ShapeError(at(f"convolve: a kernel is (rows, columns), not {typed(w)}"))
    if mode not in ("same", "valid", "full"):
        raise ValueError(at(f"convolve: mode is 'same', 'valid' or 'full', not {mode!r}"))
    rows, columns = w.shape
    border: Any = {
        "valid": 0, "full": (rows - 1, columns - 1),
        "same": ((rows // 2, (rows - 1) // 2), (columns // 2, (columns - 1) // 2)),
    }[mode]
    return F.conv2d(x[:, None], w[None, None], padding=border, flip=True)[:, 0]
