"""Torch7's ``image``: images are tensors (planes, height, width) of numbers from 0 to 1."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from agnesi import image as ours
from agnesi.compat.torch7.maths import Tensor, new


def load(path: str, depth: int | None = None) -> Tensor:
    """An image file, through Pillow."""
    picture = importlib.import_module("PIL.Image").open(path)
    picture = picture.convert("L" if depth == 1 else "RGB" if depth == 3 else picture.mode)
    array = np.asarray(picture, float) / 255
    return new(array[None] if array.ndim == 2 else np.moveaxis(array, 2, 0).copy())


def save(path: str, image: Tensor) -> None:
    """Write an image file, through Pillow."""
    array = np.clip(np.rint(image.array * 255), 0, 255).astype(np.uint8)
    array = array[0] if array.ndim == 3 and len(array) == 1 else (
        np.moveaxis(array, 0, 2) if array.ndim == 3 else array)
    importlib.import_module("PIL.Image").fromarray(np.ascontiguousarray(array)).save(path)


def scale(image: Tensor, width: Any, height: Any = None, mode: str = "bilinear") -> Tensor:
    """The image in another size: width and height, or "WxH"."""
    if isinstance(width, str):
        mode = height or mode
        width, height = map(int, width.split("x"))
    array = image.array if image.array.ndim == 3 else image.array[None]
    mode = "nearest" if mode in ("nearest", "simple") else mode
    found = np.asarray(ours.scale(np.ascontiguousarray(array), height, width, mode))
    return new(found if image.array.ndim == 3 else found[0])


def crop(image: Tensor, x1: int, y1: int, x2: int, y2: int) -> Tensor:
    """A rectangle, from column and row x1, y1 (from 0) to before x2, y2."""
    return new(image.array[..., y1:y2, x1:x2].copy())


def translate(image: Tensor, x: int, y: int) -> Tensor:
    """The image moved to the right and down; what is empty is 0."""
    found = np.zeros_like(image.array)
    h, w = image.array.shape[-2:]
    found[..., max(y, 0):h + min(y, 0), max(x, 0):w + min(x, 0)] = image.array[
        ..., max(-y, 0):h - max(y, 0), max(-x, 0):w - max(x, 0)]
    return new(found)


def hflip(image: Tensor) -> Tensor:
    """Left and right exchanged."""
    return new(image.array[..., ::-1].copy())


def vflip(image: Tensor) -> Tensor:
    """Top and bottom exchanged."""
    return new(image.array[..., ::-1, :].copy())


def rotate(image: Tensor, angle: float, mode: str = "bilinear") -> Tensor:
    """The image turned about its centre by radians, against the clock; what is empty is 0."""
    array = image.array if image.array.ndim == 3 else image.array[None]
    found = np.asarray(ours.rotate(array, angle, "bilinear" if mode == "bilinear" else "nearest"))
    return new(found if image.array.ndim == 3 else found[0])


def _of(function: Any) -> Any:
    def call(image: Tensor) -> Tensor:
        return new(np.asarray(function(image.array)))

    call.__doc__ = function.__doc__.partition("\n")[0]
    return call


rgb2yuv, yuv2rgb, rgb2y = map(_of, (ours.rgb_to_yuv, ours.yuv_to_rgb, ours.rgb_to_grey))
rgb2hsv, hsv2rgb = map(_of, (ours.rgb_to_hsv, ours.hsv_to_rgb))


def gaussian(size: int = 3, sigma: float = 0.25, amplitude: float = 1,
             normalize: bool = False) -> Tensor:
    """A kernel of normal density; ``sigma`` is a share of the size."""
    found = ours.gaussian_kernel(size, sigma, normalize=normalize, dtype="float64")
    return new(amplitude * np.asarray(found))


def laplacian(size: int = 3, sigma: float = 0.25) -> Tensor:
    """A kernel of the Laplacian of a normal density, whose sum is 0."""
    return new(np.asarray(ours.laplacian_kernel(size, sigma, dtype="float64")))


def convolve(image: Tensor, kernel: Tensor, mode: str = "valid") -> Tensor:
    """Each plane convolved with a kernel: "valid", "full" or "same"."""
    planes = image.array if image.array.ndim == 3 else image.array[None]
    found = np.asarray(ours.convolve(planes, kernel.array, mode))
    return new(found if image.array.ndim == 3 else found[0])
