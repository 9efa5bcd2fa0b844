"""Torch7's ``image``: images are tensors (planes, height, width) of numbers from 0 to 1."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import FUNCTIONS, Tensor, new

_YUV = np.array([[0.299, 0.587, 0.114], [-0.14713, -0.28886, 0.436], [0.615, -0.51499, -0.10001]])


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
    options: dict[str, Any] = {} if mode in ("nearest", "simple") else {"align_corners": True}
    found = ag.nn.functional.interpolate(
        np.ascontiguousarray(array)[None], size=(height, width),
        mode="nearest" if mode in ("nearest", "simple") else mode, **options)
    array = np.asarray(found)[0]
    return new(array if image.array.ndim == 3 else array[0])


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
    array = image.array
    h, w = array.shape[-2:]
    rows, columns = np.mgrid[:h, :w].astype(float)
    y, x = rows - (h - 1) / 2, columns - (w - 1) / 2
    at_y = np.round(np.cos(angle) * y + np.sin(angle) * x + (h - 1) / 2, 9)
    at_x = np.round(np.cos(angle) * x - np.sin(angle) * y + (w - 1) / 2, 9)
    if mode != "bilinear":
        at_y, at_x = np.rint(at_y), np.rint(at_x)
    top, left = np.floor(at_y).astype(int), np.floor(at_x).astype(int)
    down, right = at_y - top, at_x - left
    padded = np.pad(array, [(0, 0)] * (array.ndim - 2) + [(1, 2), (1, 2)])

    def pixel(dy: int, dx: int) -> Any:
        return padded[..., np.clip(top + dy + 1, 0, h + 2), np.clip(left + dx + 1, 0, w + 2)]

    return new((1 - down) * ((1 - right) * pixel(0, 0) + right * pixel(0, 1))
               + down * ((1 - right) * pixel(1, 0) + right * pixel(1, 1)))


def rgb2yuv(image: Tensor) -> Tensor:
    """Brightness and two colour differences of red, green and blue."""
    return new(np.tensordot(_YUV, image.array, 1))


def yuv2rgb(image: Tensor) -> Tensor:
    """Red, green and blue again."""
    return new(np.tensordot(np.linalg.inv(_YUV), image.array, 1))


def rgb2y(image: Tensor) -> Tensor:
    """Brightness alone."""
    return new(np.tensordot(_YUV[:1], image.array, 1))


def rgb2hsv(image: Tensor) -> Tensor:
    """Hue, saturation and value, each from 0 to 1."""
    r, g, b = image.array
    top, low = image.array.max(0), image.array.min(0)
    span = np.where(top == low, 1, top - low)
    hue = np.where(top == r, (g - b) / span % 6,
                   np.where(top == g, (b - r) / span + 2, (r - g) / span + 4)) / 6
    return new(np.stack([np.where(top == low, 0, hue), np.where(top > 0, (top - low) / np.where(
        top > 0, top, 1), 0), top]))


def hsv2rgb(image: Tensor) -> Tensor:
    """Red, green and blue again."""
    h, s, v = image.array
    planes = []
    for n in (5, 3, 1):
        k = (n + h * 6) % 6
        planes.append(v - v * s * np.clip(np.minimum(k, 4 - k), 0, 1))
    return new(np.stack(planes))


def gaussian(size: int = 3, sigma: float = 0.25, amplitude: float = 1,
             normalize: bool = False) -> Tensor:
    """A kernel of normal density; ``sigma`` is a share of the size."""
    line = np.exp(-(((np.arange(size) + 1 - (size + 1) / 2) / (sigma * size)) ** 2) / 2)
    found = amplitude * np.outer(line, line)
    return new(found / found.sum() if normalize else found)


def laplacian(size: int = 3, sigma: float = 0.25) -> Tensor:
    """A kernel of the Laplacian of a normal density, whose sum is 0."""
    at = (np.arange(size) + 1 - (size + 1) / 2) / (sigma * size)
    square = (at[:, None] ** 2 + at[None] ** 2) / 2
    found = (1 - square) * np.exp(-square)
    return new(found - found.mean())


def convolve(image: Tensor, kernel: Tensor, mode: str = "valid") -> Tensor:
    """Each plane convolved with a kernel: "valid", "full" or "same"."""
    planes = image.array if image.array.ndim == 3 else image.array[None]
    full = [FUNCTIONS["conv2"](new(p), kernel, "V" if mode == "valid" else "F").array
            for p in planes]
    if mode == "same":
        (kh, kw), (h, w) = kernel.array.shape, planes.shape[-2:]
        full = [p[(kh - 1) // 2:(kh - 1) // 2 + h, (kw - 1) // 2:(kw - 1) // 2 + w] for p in full]
    return new(np.stack(full) if image.array.ndim == 3 else full[0])
