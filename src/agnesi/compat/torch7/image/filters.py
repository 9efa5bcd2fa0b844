"""Filters of Torch7's ``image``: kernels, convolutions, and the shapes of bright places."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi import image as ours
from agnesi.compat.torch7.image.places import scale
from agnesi.compat.torch7.maths import Tensor, into, new
from agnesi.compat.torch7.nn.norms import SpatialContrastiveNormalization

__all__ = ["convolve", "dilate", "erode", "gaussian", "gaussian1D", "gaussianpyramid", "laplacian",
           "lcn"]


def gaussian(size: int = 3, sigma: float = 0.25, amplitude: float = 1,
             normalize: bool = False) -> Tensor:
    """A kernel of normal density; ``sigma`` is a share of the size."""
    found = ours.gaussian_kernel(size, sigma, normalize=normalize, dtype="float64")
    return new(amplitude * np.asarray(found))


def gaussian1D(size: int = 3, sigma: float = 0.25, amplitude: float = 1, normalize: bool = False,
               mean: float = 0.5, tensor: Tensor | None = None) -> Tensor:
    """A vector of normal density; ``sigma`` and ``mean`` are shares of the size."""
    size = size if tensor is None else tensor.size(1)
    off = (np.arange(1, size + 1) - mean * size - 0.5) / (sigma * size)
    found = amplitude * np.exp(-off * off / 2)
    found = found / found.sum() if normalize else found
    return new(found) if tensor is None else into(tensor, found)


def laplacian(size: int = 3, sigma: float = 0.25) -> Tensor:
    """A kernel of the Laplacian of a normal density, whose sum is 0."""
    return new(np.asarray(ours.laplacian_kernel(size, sigma, dtype="float64")))


def convolve(*args: Any) -> Tensor:
    """Each plane convolved with a kernel: ``([result,] image, kernel, "valid", "full" or
    "same")``."""
    *front, image, kernel = [a for a in args if not isinstance(a, str)]
    mode = next((a for a in args if isinstance(a, str)), "valid")
    planes = image.array if image.array.ndim == 3 else image.array[None]
    found = np.asarray(ours.convolve(planes, kernel.array, mode))
    found = found if image.array.ndim == 3 else found[0]
    return into(front[0], found) if front else new(found)


def gaussianpyramid(*args: Any) -> list[Tensor]:
    """The image in several sizes, smoothed between them: ``([results,] image, scales)``."""
    *front, image, scales = args
    kernel, found, source = gaussian(3, normalize=True), [], image
    for factor in scales:
        high, wide = (int(n * factor) for n in image.array.shape[-2:])
        level = source.clone() if factor == 1 else scale(source, wide, high, "simple")
        found.append(level)
        source = convolve(level, kernel, "same")
    if not front:
        return found
    front[0][:] = [into(t, f.array) for t, f in zip(front[0], found, strict=True)]
    return list(front[0])


def lcn(im: Tensor, ker: Tensor | None = None) -> Tensor:
    """An image normalized by its neighbourhoods: less their means, over their deviations."""
    kernel = gaussian1D(9, normalize=True) if ker is None else ker
    planes = im.array.shape[0] if im.dim() == 3 else 1
    found = SpatialContrastiveNormalization(planes, kernel).forward(
        new(im.array if im.dim() == 3 else im.array[None]))
    return new(found.array.copy() if im.dim() == 3 else found.array[0].copy())


def _extremes(im: Tensor, kern: Tensor | None, pad: float, most: bool) -> Tensor:
    """The least of the pixels under the ones of a kernel that is turned round, or the most."""
    kernel = np.ones((3, 3), bool) if kern is None else kern.array.astype(bool)
    kernel = kernel if most else kernel[::-1, ::-1]
    high, wide = kernel.shape
    padded = np.pad(im.array, [(high // 2, (high - 1) // 2), (wide // 2, (wide - 1) // 2)],
                    constant_values=pad)
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape)[..., kernel]
    return new(windows.max(-1) if most else windows.min(-1), im.array.dtype)


def erode(im: Tensor, kern: Tensor | None = None, pad: float = 1) -> Tensor:
    """The least pixel under the ones of a kernel around each pixel of a black and white image."""
    return _extremes(im, kern, pad, most=False)


def dilate(im: Tensor, kern: Tensor | None = None, pad: float = 0) -> Tensor:
    """The largest pixel under the ones of a kernel around each pixel of a black and white image."""
    return _extremes(im, kern, pad, most=True)
