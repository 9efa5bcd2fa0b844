"""Images: files through Pillow, and folders of them as datasets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.atomic import by_name
from agnesi.core.support.errors import FileFormatError, ShapeError, at
from agnesi.core.tensor import Tensor, wrap
from agnesi.data.dataset import Dataset

_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(at("images need Pillow: pip install 'agnesi[data]'")) from None
    return Image


#: Formats of which a byte holds fewer pixels: deflate's 1032 bytes of 8 pixels, LZW's strings of
#: 4096 in 12 bits, JPEG's blocks of 64 in a bit.
_BOUNDED, _MOST_PIXELS_A_BYTE = ("BMP", "GIF", "JPEG", "PNG", "PPM"), 1 << 14
#: Images up to this many pixels are read whatever their files hold.
_FEW_PIXELS = 1 << 22


#: Modes of Pillow whose pixels have 32 bits.
_WIDE: dict[str, Any] = {"I": np.int32, "F": np.float32}


def read_image(path: str | os.PathLike[str], mode: str = "RGB",
               size: tuple[int, int] | None = None) -> Tensor:
    """An image of a file, by Pillow.

    :param path: The file, of any format that Pillow reads.
    :param mode: How pixels are given: "RGB", "L" (grey), "RGBA", "HSV", ...; "I" and "F" keep the
        values of grey images of 16 and 32 bits, of which others have 8 bits: the upper ones of 16.
    :param size: Height and width to which it is scaled.
    :type size: tuple of int, optional
    :returns: Of shape (channels, height, width): uint8; int32 for "I", float32 for "F".
    :raises ImportError: If Pillow is not installed.
    :raises FileFormatError: If the file is no image, or cut off (a ValueError).
    :raises FileNotFoundError: If there is no such file.
    :raises OSError: If it cannot be read.
    :see: data.write_image, data.ImageFolder

    >>> from agnesi import data
    >>> try:
    ...     image = data.read_image("nowhere.png")
    ... except (ImportError, FileNotFoundError):
    ...     image = None
    """
    pillow = _pillow()
    if not os.path.exists(path):
        raise FileNotFoundError(at(f"there is no file {os.fspath(path)!r}"))
    with open(path, "rb") as file:
        try:
            opened = pillow.open(file)
            _check_size(opened, os.fstat(file.fileno()).st_size, os.fspath(path))
            image = _converted(opened, mode, os.fspath(path))
        except FileFormatError:  # of pixels that the mode cannot keep
            raise
        except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
            raise FileFormatError(at(f"{os.fspath(path)} is no image that Pillow reads: {error}")
                                  ) from None
    if size is not None:
        image = image.resize((size[1], size[0]), pillow.Resampling.BILINEAR)
    pixels = np.array(image, _WIDE.get(mode, np.uint8))
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    return wrap(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def _check_size(image: Any, size: int, path: str) -> None:
    """Refuse a damaged header before there is memory for the pixels that it claims."""
    most = max(_FEW_PIXELS, _MOST_PIXELS_A_BYTE * size)
    if image.format in _BOUNDED and image.width * image.height > most:
        raise FileFormatError(at(
            f"{path} is damaged: it claims {image.width} x {image.height} pixels, which its {size} "
            "bytes cannot hold"))


def _converted(image: Any, mode: str, path: str) -> Any:
    """The image in a mode; Pillow itself would cut values of more than 8 bits off at 255."""
    if mode in _WIDE:
        return image.convert(mode)
    if image.mode.startswith("I;16"):
        image = _pillow().fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in _WIDE:
        raise FileFormatError(at(f"{path} has pixels of 32 bits: mode={image.mode!r} keeps their "
                                 f"values, which {mode!r} cannot"))
    return image.convert(mode)


def write_image(image: TensorLike, path: str | os.PathLike[str]) -> None:
    """Write an image to a file by Pillow, in the format of its ending.

    :param image: Of shape (channels, height, width) with 1, 3 or 4 channels, or (height, width):
        uint8, or floats from 0 to 1.
    :type image: array_like
    :param path: The file.
    :raises ImportError: If Pillow is not installed.
    :raises ShapeError: If it is no image.
    :see: data.read_image

    >>> import agnesi as ag
    >>> from agnesi import data
    >>> try:
    ...     data.write_image(ag.zeros((3, 2, 2)), "/nowhere/black.png")
    ... except (ImportError, OSError):
    ...     pass
    """
    pillow = _pillow()
    pixels = np.asarray(image.array if isinstance(image, Tensor) else image)
    if pixels.ndim == 3 and pixels.shape[0] in (1, 3, 4):
        pixels = pixels.transpose(1, 2, 0)
        pixels = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    elif pixels.ndim != 2:
        raise ShapeError(at(f"an image has shape (channels, height, width) with 1, 3 or 4 "
                            f"channels, or (height, width), not {typed(image)}"))
    if pixels.dtype != np.uint8:
        pixels = np.clip(np.rint(pixels.astype(np.float64) * 255), 0, 255).astype(np.uint8)
    with by_name(path) as name:
        pillow.fromarray(np.ascontiguousarray(pixels)).save(name)


class ImageFolder(Dataset):
    """Images in folders, one for each class, read by Pillow when they are requested.

    Parameters
    ----------
    root : str or os.PathLike
        Its folders' names are the classes.
    size : tuple of int, optional
        Height and width to which images are scaled, so that batches can be made.
    mode : str
        How pixels are given, as :func:`agnesi.data.read_image` takes it.

    Attributes
    ----------
    classes : list of str
        Names of the folders, in order.
    files : list of (pathlib.Path, int)
        Each image and its class.

    Raises
    ------
    FileNotFoundError
        If there are no images.

    See Also
    --------
    data.read_image, data.DataLoader

    Examples
    --------
    >>> from agnesi import data
    >>> try:
    ...     pets = data.ImageFolder("/nowhere", size=(64, 64))
    ... except FileNotFoundError as error:
    ...     print(str(error)[:43])
    ImageFolder: there are no images in folders
    """

    def __init__(self, root: str | os.PathLike[str], size: tuple[int, int] | None = None,
                 mode: str = "RGB") -> None:
        self.root, self.size, self.mode = Path(root), size, mode
        folders = sorted(p for p in self.root.glob("*") if p.is_dir())
        self.classes = [p.name for p in folders]
        self.files = [(file, k) for k, folder in enumerate(folders)
                      for file in sorted(folder.rglob("*")) if file.suffix.lower() in _ENDINGS]
        if not self.files:
            raise FileNotFoundError(at(f"there are no images in folders of {self.root}, one for "
                                       "each class"))

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"ImageFolder({str(self.root)!r}, {len(self)} images of {len(self.classes)} classes)"

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        file, label = self.files[index]
        pixels: Any = read_image(file, self.mode, self.size).array
        return wrap(pixels.astype(np.float32) / np.float32(255)), label
