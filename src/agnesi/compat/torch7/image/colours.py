"""Colour spaces of Torch7's ``image``, whose results may come first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi import image as ours
from agnesi.compat.torch7.maths import Tensor, into, new

__all__ = [
    "colormap", "hsl2rgb", "hsv2rgb", "jetColormap", "lab2rgb", "minmax", "rgb2hsl", "rgb2hsv",
    "rgb2lab", "rgb2nrgb", "rgb2y", "rgb2yuv", "y2jet", "yuv2rgb",
]


def _of(compute: Callable[[Any], Any], summary: str) -> Any:
    def call(*args: Any) -> Tensor:
        found = np.asarray(compute(args[-1].array))
        return into(args[0], found) if len(args) > 1 else new(found, args[-1].array.dtype)

    call.__doc__ = f"{summary}: ``([result,] image)``."
    return call


def _to_hsl(image: Any) -> Any:
    hue = np.asarray(ours.rgb_to_hsv(image))[0]
    top, low = image.max(0), image.min(0)
    light, spread = (top + low) / 2, top - low
    room = np.where(light > 0.5, 2 - top - low, top + low)
    return np.stack([hue, np.divide(spread, room, out=np.zeros_like(room), where=spread > 0),
                     light])


def _from_hsl(image: Any) -> Any:
    hue, share, light = image
    value = light + share * np.minimum(light, 1 - light)
    full = np.divide(2 * (value - light), value, out=np.zeros_like(value), where=value > 0)
    return np.asarray(ours.hsv_to_rgb(np.stack([hue, full, value])))


_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169],
                 [0.019334, 0.119193, 0.950227]])
_WHITE = np.array([0.950456, 1.0, 1.088754])[:, None, None]
_EPSILON, _KAPPA = 216 / 24389, 24389 / 27


def _to_lab(image: Any) -> Any:
    light = np.where(image > 0.04045, ((image + 0.055) / 1.055) ** 2.4, image / 12.92)
    ratio = np.tensordot(_XYZ, light, 1) / _WHITE
    x, y, z = np.where(ratio > _EPSILON, np.cbrt(ratio), (_KAPPA * ratio + 16) / 116)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _from_lab(image: Any) -> Any:
    lightness, a, b = image
    y = (lightness + 16) / 116
    root = np.stack([y + a / 500, y, y - b / 200])
    ratio = np.where(root**3 > _EPSILON, root**3, (116 * root - 16) / _KAPPA)
    light = np.tensordot(np.linalg.inv(_XYZ), ratio * _WHITE, 1)
    return np.where(light > 0.0031308, 1.055 * np.maximum(light, 0) ** (1 / 2.4) - 0.055,
                    12.92 * light)


def _normalized(image: Any) -> Any:
    return image / (image.sum(0) + 1e-6)


rgb2yuv = _of(ours.rgb_to_yuv, "Brightness and two differences of colours")
yuv2rgb = _of(ours.yuv_to_rgb, "Red, green and blue of brightness and differences of colours")
rgb2y = _of(ours.rgb_to_grey, "Brightness")
rgb2hsv = _of(ours.rgb_to_hsv, "Hue, saturation and value")
hsv2rgb = _of(ours.hsv_to_rgb, "Red, green and blue of hue, saturation and value")
rgb2hsl = _of(_to_hsl, "Hue, saturation and lightness")
hsl2rgb = _of(_from_hsl, "Red, green and blue of hue, saturation and lightness")
rgb2lab = _of(_to_lab, "Lightness and two axes of colours as CIE 1976 defines them")
lab2rgb = _of(_from_lab, "Red, green and blue of lightness and CIE's axes of colours")
rgb2nrgb = _of(_normalized, "Shares of red, green and blue")


def jetColormap(nbColor: int) -> Tensor:
    """Rows of colours from dark blue over green to dark red."""
    at = np.arange(1, nbColor + 1) / nbColor
    return new(np.stack([np.clip(1.5 - 4 * np.abs(at - middle), 0, 1)
                         for middle in (0.75, 0.5, 0.25)], 1))


def colormap(nbColor: int) -> Tensor:
    """Rows of colours that differ much."""
    k = np.arange(nbColor)
    hsl = np.stack([39 * k % 360 / 360, np.fmod(k / 9, 0.7) + 0.3, np.full(nbColor, 0.5)])
    return new(_from_hsl(hsl[:, None])[:, 0].T)


def y2jet(*args: Any) -> Tensor:
    """Whole numbers from 1 as colours of :func:`jetColormap`: ``([result,] image)``."""
    numbers = args[-1].array
    numbers = numbers[0] if numbers.ndim == 3 else np.atleast_2d(numbers)
    colours = jetColormap(int(numbers.max())).array[numbers.astype(int) - 1]
    found = np.moveaxis(colours, -1, 0)
    return into(args[0], found) if len(args) > 1 else new(found.copy())


def minmax(tensor: Tensor, min: float | None = None, max: float | None = None,
           symm: bool = False, inplace: bool = False, saturate: bool = False) -> Tensor:
    """A tensor stretched so that its least is 0 and its largest 1, or that two numbers are."""
    x = tensor.array.astype(float)
    reach = float(np.abs(x).max())
    low = (-reach if symm else float(x.min())) if min is None else min
    high = (reach if symm else float(x.max())) if max is None else max
    x = (x - low) / (high - low if high != low else 1)
    if saturate and not min is max is None:
        x = np.clip(x, 0, 1)
    return into(tensor, x) if inplace else new(x)
