"""Image files of Torch7's ``image``, through Pillow."""

from __future__ import annotations

import importlib
import io
import os
from typing import Any

import numpy as np

from agnesi import image as ours
from agnesi.compat.torch7.image.colours import minmax
from agnesi.compat.torch7.maths import Tensor, new
from agnesi.core.support.atomic import by_name, file_error

__all__ = [
    "compressJPG", "compressPNG", "decompress", "decompressJPG", "decompressPNG", "display",
    "getJPGsize", "getPNGsize", "getPPMsize", "getSize", "is_supported", "load", "loadJPG",
    "loadPNG", "loadPPM", "save", "saveJPG", "savePGM", "savePNG", "savePPM",
    "supported_filetypes", "toDisplayTensor",
]


def _opened(file: Any, depth: int | None, tensortype: str = "float") -> Tensor:
    try:
        picture = importlib.import_module("PIL.Image").open(file)
    except OSError as error:
        raise file_error(error, f"load: {str(file)!r} cannot be read") from None
    wanted = {1: "L", 3: "RGB", 4: "RGBA"}.get(depth or 0, picture.mode)
    array = np.asarray(picture.convert("RGB" if wanted == "P" else wanted))
    array = array[None] if array.ndim == 2 else np.moveaxis(array, 2, 0).copy()
    return new(array, "uint8") if tensortype == "byte" else new(array / 255.0)


def _picture(image: Tensor) -> Any:
    array = image.array
    if array.dtype != np.uint8:
        array = np.clip(np.rint(array * 255), 0, 255).astype(np.uint8)
    array = array[0] if array.ndim == 3 and len(array) == 1 else (
        np.moveaxis(array, 0, 2) if array.ndim == 3 else array)
    return importlib.import_module("PIL.Image").fromarray(np.ascontiguousarray(array))


def load(path: Any, depth: int | None = None, tensortype: str = "float") -> Tensor:
    """An image file with ``depth`` planes, by default as many as it has; numbers from 0 to 1, or
    to 255 for the type "byte"."""
    return _opened(path, depth, tensortype)


def save(path: Any, image: Tensor, quality: int = 75) -> None:
    """Write an image file; the end of its name is the format."""
    options = {"quality": quality} if str(path).lower().endswith((".jpg", ".jpeg")) else {}
    with by_name(path) as name:
        _picture(image).save(name, **options)


loadPNG = loadJPG = loadPPM = load
savePNG = saveJPG = savePPM = savePGM = save


def decompress(data: Any, depth: int | None = None, tensortype: str = "float") -> Tensor:
    """An image of a file's bytes, which a ByteTensor holds."""
    return _opened(io.BytesIO(np.asarray(data).astype(np.uint8).tobytes()), depth, tensortype)


decompressPNG = decompressJPG = decompress


def _compressed(image: Tensor, form: str, **options: Any) -> Tensor:
    memory = io.BytesIO()
    _picture(image).save(memory, form, **options)
    return new(np.frombuffer(memory.getvalue(), np.uint8).copy(), "uint8")


def compressPNG(image: Tensor) -> Tensor:
    """The bytes of a PNG file."""
    return _compressed(image, "PNG")


def compressJPG(image: Tensor, quality: int = 75) -> Tensor:
    """The bytes of a JPEG file."""
    return _compressed(image, "JPEG", quality=quality)


def getSize(path: Any) -> Tensor:
    """Planes, height and width of an image file."""
    picture = importlib.import_module("PIL.Image").open(path)
    return new([len(picture.getbands()), picture.height, picture.width], "int64")


getPNGsize = getJPGsize = getPPMsize = getSize
#: The ends of names of files that can be read.
supported_filetypes = ("jpg", "jpeg", "png", "ppm", "pgm")


def is_supported(suffix: str) -> bool:
    """Return whether files with this end of the name can be read."""
    return suffix.lower().removeprefix(".") in supported_filetypes


def toDisplayTensor(input: Any, padding: int = 0, nrow: int = 6, scaleeach: bool = False,
                    min: float | None = None, max: float | None = None,
                    symmetric: bool = False) -> Tensor:
    """Several images, (count, planes, height, width) or a list, as a grid from 0 to 1."""
    array = np.stack([t.array for t in input]) if isinstance(input, (list, tuple)) else (
        input.array.astype(float))
    if array.ndim == 2 or (array.ndim == 3 and len(array) in (1, 3)):
        return minmax(new(array), min, max, symmetric, saturate=True)
    pictures = array[:, None] if array.ndim == 3 else array
    if scaleeach:
        pictures = np.stack([minmax(new(p), min, max, symmetric, saturate=True).array
                             for p in pictures])
    count, planes, high, wide = pictures.shape
    columns = count if count < nrow else nrow
    rows = -(-count // columns)
    grid = np.full((planes, rows * (high + padding), columns * (wide + padding)), pictures.max())
    for k, picture in enumerate(pictures):
        y = k // columns * (high + padding) + padding // 2
        x = k % columns * (wide + padding) + padding // 2
        grid[:, y:y + high, x:x + wide] = picture
    found = new(grid if array.ndim == 4 else grid[0])
    return found if scaleeach else minmax(found, min, max, symmetric, saturate=True)


def display(image: Any, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """Draw an image, or several as a grid, with matplotlib: into a file if there is a path."""
    grid = toDisplayTensor(image, **options).array
    return ours.imshow(grid if grid.ndim == 3 else grid[None], path)
