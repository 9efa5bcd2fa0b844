"""Images of Torch7's ``image`` moved, turned, cut, in other sizes, and drawn into."""

from __future__ import annotations

import importlib
from typing import Any, Literal

import numpy as np

from agnesi import image as ours
from agnesi.compat.torch7.maths import Tensor, into, new
from agnesi.compat.torch7.tensor import View
from agnesi.nn import functional as F

__all__ = ["affinetransform", "crop", "drawRect", "drawText", "flip", "hflip", "logpolar", "polar",
           "rotate", "scale", "translate", "vflip", "warp"]

_MODES = {"simple": "nearest", "nearest": "nearest", "bilinear": "bilinear", "bicubic": "bicubic"}


def _split(args: Any, operands: int = 1) -> tuple[Any, Any, list[Any]]:
    """A tensor for the result, or None; the operands; and what is no tensor."""
    count = next((i for i, a in enumerate(args) if not isinstance(a, View)), len(args))
    target = args[0] if count > operands else None
    at = count - operands
    return target, args[at:count], list(args[count:])


def _given(target: Any, found: Any, like: Any) -> Tensor:
    found = np.asarray(found)
    found = found if like.array.ndim == 3 else found[0]
    return new(found, like.array.dtype) if target is None else into(target, found)


def _filled(given: list[Any], *defaults: Any) -> list[Any]:
    return [*given, *defaults[len(given):]]


def _planes(image: Any) -> Any:
    array = image.array if image.array.ndim == 3 else image.array[None]
    return np.ascontiguousarray(array)


def _mode(name: str) -> str:
    if name not in _MODES:
        raise ValueError(f"interpolation {name!r} is none of {', '.join(_MODES)}")
    return _MODES[name]


def _sampled(planes: Any, y: Any, x: Any, mode: str = "bilinear", clamp: str = "clamp",
             pad: float = 0) -> Any:
    """Planes at rows y and columns x, from 0; outside is the border, or a number."""
    high, wide = planes.shape[1:]
    grid = np.stack([2 * x / max(wide - 1, 1) - 1, 2 * y / max(high - 1, 1) - 1], -1)
    border: Literal["border", "zeros"] = "border" if clamp == "clamp" else "zeros"
    shift = 0 if clamp == "clamp" else pad
    found = F.grid_sample(planes[None].astype(float) - shift, np.round(grid, 12)[None],
                          _mode(mode), border, align_corners=True)
    return np.asarray(found)[0] + shift


def scale(*args: Any) -> Tensor:
    """The image in another size: ``(image, width, height)``, ``(image, "WxH")``, ``(image,
    "^size")`` or ``"size"`` for the smaller or larger side, ``"*factor"``, or ``(result, image)``;
    then how elements are mixed."""
    target, (image,), others = _split(args)
    high, wide = image.array.shape[-2:]
    modes = [o for o in others if o in _MODES or o == "simple"]
    sizes = [o for o in others if o not in modes]
    if target is not None:
        height, width = target.array.shape[-2:]
    elif isinstance(sizes[0], str):
        width, height = _named(sizes[0], wide, high)
    else:
        width, height = sizes[0], sizes[1] if len(sizes) > 1 else sizes[0]
    found = ours.scale(_planes(image), int(height), int(width),
                       _mode(modes[0] if modes else "bilinear"))
    return _given(target, found, image)


def _named(size: str, wide: int, high: int) -> tuple[int, int]:
    if "x" in size:
        width, height = map(int, size.split("x"))
        return width, height
    if size[0] == "*":
        factor = 1 / float(size[2:]) if size[1] == "/" else float(size[1:])
    else:
        side = min(wide, high) if size[0] == "^" else max(wide, high)
        factor = float(size.removeprefix("^")) / side
    return int(wide * factor + 0.5), int(high * factor + 0.5)


def crop(*args: Any) -> Tensor:
    """A rectangle, from column and row x1, y1 (from 0) to before x2, y2: ``([result,] image, x1,
    y1, x2, y2)``; or one of a size in the middle or a corner: ``([result,] image, "c", width,
    height)``, "tl", "tr", "bl", "br"."""
    target, (image,), others = _split(args)
    if isinstance(others[0], str):
        high, wide = image.array.shape[-2:]
        corner, width, height = others
        if corner not in ("c", "tl", "tr", "bl", "br"):
            raise ValueError(f"the place is 'c', 'tl', 'tr', 'bl' or 'br', not {corner!r}")
        x = {"c": (wide - width) // 2, "l": 0, "r": wide - width}[corner[-1]]
        y = {"c": (high - height) // 2, "t": 0, "b": high - height}[corner[0]]
        others = [x, y, x + width, y + height]
    x1, y1, x2, y2 = others if len(others) == 4 else (*others, *(
        o + n for o, n in zip(others, target.array.shape[:-3:-1], strict=True)))
    high, wide = image.array.shape[-2:]
    if not (0 <= x1 < x2 <= wide and 0 <= y1 < y2 <= high):
        raise IndexError(f"the rectangle from ({x1}, {y1}) to ({x2}, {y2}) is no part of an image "
                         f"of width {wide} and height {high}")
    found = image.array[..., y1:y2, x1:x2]
    return new(found.copy()) if target is None else into(target, found)


def translate(*args: Any) -> Tensor:
    """The image moved to the right and down; what is empty is 0: ``([result,] image, x, y)``."""
    target, (image,), (x, y) = _split(args)
    found = np.zeros_like(image.array)
    h, w = image.array.shape[-2:]
    found[..., max(y, 0):h + min(y, 0), max(x, 0):w + min(x, 0)] = image.array[
        ..., max(-y, 0):h - max(y, 0), max(-x, 0):w - max(x, 0)]
    return new(found) if target is None else into(target, found)


def flip(*args: Any) -> Tensor:
    """An axis, from 1, turned round: ``([result,] image, axis)``."""
    target, (image,), (axis,) = _split(args)
    found = np.flip(image.array, axis - 1).copy()
    return new(found) if target is None else into(target, found)


def hflip(*args: Any) -> Tensor:
    """Left and right exchanged: ``([result,] image)``."""
    return flip(*args, args[-1].dim())


def vflip(*args: Any) -> Tensor:
    """Top and bottom exchanged: ``([result,] image)``."""
    return flip(*args, args[-1].dim() - 1)


def rotate(*args: Any) -> Tensor:
    """The image turned about its centre by radians, against the clock; what is empty is 0:
    ``([result,] image, angle, mode)``."""
    target, (image,), (angle, *modes) = _split(args)
    found = ours.rotate(_planes(image), angle, _mode(modes[0] if modes else "bilinear"))
    return _given(target, found, image)


def warp(*args: Any) -> Tensor:
    """The image at other places: ``([result,] image, field, mode, offset, clamp, pad)``.

    ``field`` (rows and columns, height, width) gives them by the place of each pixel, or from
    the first one if ``offset`` is False.  Outside is the border, or with "pad" a number.
    """
    target, (image, field), others = _split(args, 2)
    mode, offset, clamp, pad = _filled(others, "bilinear", True, "clamp", 0)
    y, x = field.array
    if offset:
        rows, columns = np.indices(y.shape)
        y, x = y + rows, x + columns
    return _given(target, _sampled(_planes(image), y, x, mode, clamp, pad), image)


def affinetransform(*args: Any) -> Tensor:
    """The image seen through a matrix of rows and columns about its middle: ``([result,] image,
    matrix, mode, translation, clamp, pad)``."""
    target, (image, matrix), others = _split(args, 2)
    mode, shift, clamp, pad = _filled(others, "bilinear", None, "clamp", 0)
    planes = _planes(image)
    middle = (np.array(planes.shape[1:]) - 1) / 2
    off = np.indices(planes.shape[1:]) - middle[:, None, None]
    move = np.zeros(2) if shift is None else np.asarray(shift).reshape(2)
    at = np.tensordot(matrix.array, off, 1) + (middle + move)[:, None, None]
    return _given(target, _sampled(planes, at[0], at[1], mode, clamp, pad), image)


def _circled(args: Any, distances: Any) -> Tensor:
    target, (image,), others = _split(args)
    interp, mode = _filled(others, "simple", "valid")
    planes = _planes(image)
    high, wide = planes.shape[1:]
    shape = (max(high, wide),) * 2 if target is None else target.array.shape[-2:]
    reach = np.hypot(high, wide) / 2 if mode == "full" else min(high, wide) / 2
    angle = 2 * np.pi * np.arange(shape[0])[:, None] / shape[0]
    away = distances(np.arange(shape[1]) / shape[1], reach)
    y, x = (high - 1) / 2 + away * np.sin(angle), (wide - 1) / 2 + away * np.cos(angle)
    return _given(target, _sampled(planes, y, x, interp, "pad"), image)


def polar(*args: Any) -> Tensor:
    """Angles as rows and distances from the middle as columns: ``([result,] image, "simple" or
    "bilinear", "valid" or "full")``."""
    return _circled(args, lambda share, reach: share * reach)


def logpolar(*args: Any) -> Tensor:
    """:func:`polar` with logarithms of distances."""
    return _circled(args, lambda share, reach: (reach + 1) ** share - 1)


def drawRect(src: Tensor, x1: int, y1: int, x2: int, y2: int, opts: Any = None) -> Tensor:
    """A copy (or the image itself with ``inplace``) with the border of a rectangle, corners from
    1: ``color`` (255, 0, 0) and ``lineWidth`` 1."""
    opts = opts or {}
    out = src if opts.get("inplace") else src.clone()
    colour = np.array(opts.get("color", (255, 0, 0)), float)
    colour = colour if out.array.dtype == np.uint8 else colour / 255
    width = opts.get("lineWidth", 1)
    mask = np.zeros(out.array.shape[1:], bool)
    mask[max(y1 - 1, 0):y2, max(x1 - 1, 0):x2] = True
    mask[y1 - 1 + width:y2 - width, x1 - 1 + width:x2 - width] = False
    out.array[:, mask] = colour[:, None]
    return out


def drawText(src: Tensor, text: str, x: int = 1, y: int = 1, opts: Any = None) -> Tensor:
    """A copy (or the image itself with ``inplace``) with text from a pixel on, counted from 1, by
    Pillow's font: ``color`` (255, 0, 0), ``bg`` behind it, ``size`` 1."""
    opts = opts or {}
    out = src if opts.get("inplace") else src.clone()
    drawing = importlib.import_module("PIL.ImageDraw")
    canvas = importlib.import_module("PIL.Image").new("L", out.array.shape[:0:-1])
    font = importlib.import_module("PIL.ImageFont").load_default(10 * opts.get("size", 1))
    pen = drawing.Draw(canvas)
    unit = 1 if out.array.dtype == np.uint8 else 255
    behind = np.array(opts.get("bg", (-1, -1, -1)), float)
    if (behind >= 0).all():
        left, top, right, low = map(int, pen.textbbox((x - 1, y - 1), text, font))
        out.array[:, top:low, left:right] = (behind / unit)[:, None, None]
    pen.text((x - 1, y - 1), text, 255, font)
    share = np.asarray(canvas) / 255.0
    colour = np.array(opts.get("color", (255, 0, 0)), float)[:, None, None] / unit
    out.array[...] = out.array * (1 - share) + colour * share
    return out
