"""Images in another size, and turned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.image.operands import checked
from agnesi.nn import functional as F


def scale(image: TensorLike, height: int, width: int, mode: str = "bilinear") -> Tensor:
    """Resize images by interpolation, with aligned corners.

    :param image: (channels, height, width).
    :param height, width: The size wanted.
    :param mode: How elements are mixed.
    :type mode: {"bilinear", "bicubic", "nearest"}
    :returns: (channels, height, width) of floats.
    :raises ShapeError: If it is no image.
    :raises ValueError: If there is no such mode.
    :see: image.rotate, nn.functional.interpolate

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> image.scale(ag.tensor([[[0.0, 2.0]]]), 1, 3)
    tensor([[[0., 1., 2.]]])
    """
    x = checked("scale", image)
    corners: Any = None if mode == "nearest" else True
    return F.interpolate(x[None], size=(height, width), mode=mode, align_corners=corners)[0]


def rotate(image: TensorLike, angle: float, mode: str = "bilinear") -> Tensor:
    """Rotate images about their centre, counterclockwise; empty places become 0.

    :like: scale
    :param angle: In radians.
    :returns: Of the image's shape, of floats.
    :see: image.scale, nn.functional.grid_sample

    >>> import agnesi as ag, math
    >>> from agnesi import image
    >>> image.rotate(ag.tensor([[[1.0, 2.0], [3.0, 4.0]]]), math.pi / 2)
    tensor([[[2., 4.],
             [1., 3.]]])
    """
    x = checked("rotate", image)
    h, w = x.shape[1:]
    y_at, x_at = (np.arange(n) - (n - 1) / 2 for n in (h, w))
    rows, columns = np.meshgrid(y_at, x_at, indexing="ij")
    cos, sin = math.cos(angle), math.sin(angle)
    from_x, from_y = cos * columns - sin * rows, cos * rows + sin * columns
    places = np.round(np.stack([2 * from_x / max(w - 1, 1), 2 * from_y / max(h - 1, 1)], -1), 12)
    return F.grid_sample(x[None], places[None].astype(x.dtype), mode, align_corners=True)[0]
