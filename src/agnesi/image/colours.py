"""Colours: red, green and blue, brightness and colour differences, hue and saturation."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.image.operands import checked
from agnesi.ops.base.arith import remainder
from agnesi.ops.base.reduce import max as largest
from agnesi.ops.base.reduce import min as least
from agnesi.ops.base.select import clip, minimum, where
from agnesi.ops.contractions.matmul import tensordot
from agnesi.ops.indexing.join import stack

_YUV = np.array([[0.299, 0.587, 0.114], [-0.14713, -0.28886, 0.436], [0.615, -0.51499, -0.10001]])


def _mixed(name: str, image: Any, matrix: np.ndarray) -> Tensor:
    x = checked(name, image, 3)
    return tensordot(matrix.astype(x.dtype), x, 1)


def rgb_to_yuv(image: TensorLike) -> Tensor:
    """Convert images from red, green and blue to brightness and two colour differences (YUV).

    :param image: (3, height, width).
    :returns: (3, height, width).
    :raises ShapeError: If it is no image of three channels.
    :see: image.yuv_to_rgb, image.rgb_to_grey

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> image.rgb_to_yuv(ag.ones((3, 1, 1)))[0]
    tensor([[1.]])
    """
    return _mixed("rgb_to_yuv", image, _YUV)


def yuv_to_rgb(image: TensorLike) -> Tensor:
    """Convert images from brightness and two colour differences (YUV) to red, green and blue.

    :like: rgb_to_yuv
    :see: image.rgb_to_yuv

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> x = ag.arange(3.0).reshape(3, 1, 1)
    >>> bool((abs(image.yuv_to_rgb(image.rgb_to_yuv(x)) - x) < 1e-5).all())
    True
    """
    return _mixed("yuv_to_rgb", image, np.linalg.inv(_YUV))


def rgb_to_grey(image: TensorLike) -> Tensor:
    """Convert images from red, green and blue to grey, one channel of brightness.

    :param image: (3, height, width).
    :returns: (1, height, width).
    :raises ShapeError: If it is no image of three channels.
    :see: image.rgb_to_yuv

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> image.rgb_to_grey(ag.ones((3, 1, 2))).shape
    (1, 1, 2)
    """
    return _mixed("rgb_to_grey", image, _YUV[:1])


def rgb_to_hsv(image: TensorLike) -> Tensor:
    """Convert images from red, green and blue to hue, saturation and value, all from 0 to 1.

    :like: rgb_to_yuv
    :see: image.hsv_to_rgb

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> image.rgb_to_hsv(ag.tensor([0.0, 0.5, 0.0]).reshape(3, 1, 1)).ravel()
    tensor([0.33333334, 1.        , 0.5       ])
    """
    x = checked("rgb_to_hsv", image, 3)
    r, g, b = x[0], x[1], x[2]
    top, low = largest(x, 0), least(x, 0)
    grey = top == low
    span = where(grey, 1, top - low)
    hue = where(top == r, remainder((g - b) / span, 6),
                where(top == g, (b - r) / span + 2, (r - g) / span + 4)) / 6
    saturation = where(top > 0, (top - low) / where(top > 0, top, 1), 0)
    return stack([where(grey, 0, hue), saturation, top])


def hsv_to_rgb(image: TensorLike) -> Tensor:
    """Convert images from hue, saturation and value to red, green and blue.

    :like: rgb_to_yuv
    :see: image.rgb_to_hsv

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> image.hsv_to_rgb(ag.tensor([0.5, 1.0, 1.0]).reshape(3, 1, 1)).ravel()
    tensor([0., 1., 1.])
    """
    x = checked("hsv_to_rgb", image, 3)
    h, s, v = x[0], x[1], x[2]
    planes = []
    for n in (5, 3, 1):
        k = remainder(n + h * 6, 6)
        planes.append(v - v * s * clip(minimum(k, 4 - k), 0, 1))
    return stack(planes)
