"""Images seen through a grid of places, as of an affine map."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from agnesi.api import functions as F
from agnesi.core.integers import known_integer
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import fits
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, beside
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import sized
from agnesi.ops.base.parameter_checks import of_shape

_MODES, _BORDERS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
#: Keys' parameter, as PyTorch has it.
_CUBIC = -0.75


@planned
@public
def affine_grid(theta: TensorLike, size: Sequence[Any], align_corners: bool = False) -> Tensor:
    """The places that affine maps bring the places of images to, for :func:`grid_sample`.

    :param theta: (batch, 2, 3) for images, (batch, 3, 4) for volumes: matrices and, last, shifts.
    :param size: Of the images wanted, (batch, channels, height, width) or with a depth before them.
    :type size: sequence of int
    :param align_corners: Whether -1 and 1 are the middles of the first and last elements, not their
        borders.
    :returns: (batch, height, width, 2) or (batch, depth, height, width, 3): x, y and z.
    :raises ShapeError: If the sizes do not fit.
    :see: nn.functional.grid_sample

    >>> theta = ag.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> ag.nn.functional.affine_grid(theta, (1, 1, 1, 2))
    tensor([[[[0., 0.],
              [1., 0.]]]])
    """
    theta, sizes = as_tensor(theta), tuple(known_integer(n, "a size") for n in size)
    rank = len(sizes) - 2
    text = (f"theta must be (batch, 2, 3) with a size of 4, or (batch, 3, 4) with a size of 5, not "
            f"{typed(theta)} with {sizes}")
    if rank not in (2, 3):
        raise ShapeError(text)
    theta = of_shape("affine_grid", theta, (sizes[0], rank, rank + 1), text)
    axes = [_places(n, align_corners) for n in sizes[2:]]
    grid = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(sizes[2:])], -1)
    flat = as_tensor(grid.reshape(-1, rank + 1).astype(theta.dtype))
    found = F.matmul(flat, F.swapaxes(theta, 1, 2))
    return F.reshape(found, (sizes[0], *sizes[2:], rank))


def _places(n: int, corners: bool) -> np.ndarray:
    """The middles of ``n`` elements, between -1 and 1."""
    if corners:
        return np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
    return (2 * np.arange(n) + 1) / max(n, 1) - 1


@planned
@public
def grid_sample(input: TensorLike, grid: TensorLike, mode: str = "bilinear",
                padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Images at the places of a grid, between their elements.

    :like: affine_grid
    :param input: (batch, channels, height, width), or volumes (batch, channels, depth, height,
        width).
    :param grid: (batch, ..., 2) or (batch, ..., 3): x, y and z of each place, from -1 to 1.
    :param mode: How elements are mixed; "bicubic" for images only.
    :type mode: {"bilinear", "nearest", "bicubic"}
    :param padding_mode: What is outside: zeros, the nearest element, or the image mirrored.
    :returns: (batch, channels, ...), of the grid's places.
    :raises ValueError: If there is no such mode.
    :see: nn.functional.affine_grid, nn.functional.interpolate

    >>> image = ag.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    >>> ag.nn.functional.grid_sample(image, ag.zeros((1, 1, 1, 2)))
    tensor([[[[1.5]]]])
    """
    x, grid = beside(input, grid), beside(grid, input)
    rank = x.ndim - 2
    if rank not in (2, 3) or grid.ndim != x.ndim or not fits(
            grid.shape[-1:], (rank,)):
        raise ShapeError(f"images are (batch, channels, height, width) with a grid (batch, height, "
                         f"width, 2), volumes have an axis and a place more, not {typed(x)} with "
                         f"{typed(grid)}")
    if not fits(grid.shape[:1], x.shape[:1]):
        raise ShapeError(f"as many grids as images are needed: {typed(x)} with {typed(grid)}")
    if mode not in _MODES or padding_mode not in _BORDERS or (mode == "bicubic" and rank == 3):
        raise ValueError(f"there is no mode {mode!r} with {padding_mode!r} for {typed(x)}")
    empty = f"images must have elements along each axis, not {typed(x)}"
    if any(type(n) is int and n == 0 for n in x.shape[2:]):
        raise ShapeError(empty)
    x = ensured_sizes("grid_sample", x, x.shape[2:], (1,) * rank, empty, "at least")
    sizes, grid = x.shape[2:], sized(sized(grid, -1, rank), 0, x.shape[0])
    places = [_unscaled(grid[..., rank - 1 - a], n, bool(align_corners))
              for a, n in enumerate(sizes)]
    if mode != "bicubic":
        places = [_bounded(p, n, padding_mode, bool(align_corners))
                  for p, n in zip(places, sizes, strict=True)]
    total: Any = 0
    for taps in itertools.product(*(_taps(p, mode) for p in places)):
        weight: Any = 1.0
        corner = []
        for (place, share), n in zip(taps, sizes, strict=True):
            if mode == "bicubic":
                place = _bounded(place, n, padding_mode, bool(align_corners))
            corner.append(place)
            weight = weight * share
        total = total + _picked(x, corner) * F.expand_dims(weight, -1)
    found: Tensor = F.moveaxis(total, -1, 1)
    return found


def _unscaled(t: Tensor, n: Any, corners: bool) -> Tensor:
    """Places from -1 to 1 as numbers of elements."""
    return (t + 1) * ((n - 1) / 2) if corners else ((t + 1) * n - 1) / 2


def _bounded(t: Tensor, n: Any, border: str, corners: bool) -> Tensor:
    """Places inside of the image, but for zeros outside."""
    if border == "zeros":
        return t
    if border == "reflection":
        low, span = (0.0, float(n - 1)) if corners else (-0.5, float(n))
        if span == 0:
            return t * 0
        off = F.abs(t - low) % (2 * span)
        t = F.where(off < span, off, 2 * span - off) + low
    return F.clip(t, 0, n - 1)


def _taps(t: Tensor, mode: str) -> list[tuple[Tensor, Any]]:
    """The elements that a place along an axis takes from, and their shares."""
    if mode == "nearest":
        return [(F.round(t), F.ones_like(t))]
    low = F.floor(t)
    rest = t - low
    if mode == "bilinear":
        return [(low, 1 - rest), (low + 1, rest)]
    return [(low + k, _keys(F.abs(rest - k))) for k in range(-1, 3)]


def _keys(d: Tensor) -> Tensor:
    """The share of an element at a distance (Keys, 1981)."""
    a = _CUBIC
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return F.where(d <= 1, near, far)


def _picked(x: Tensor, corner: list[Tensor]) -> Tensor:
    """The elements at whole places, zeros outside: (batch, ..., channels)."""
    inside: Any = True
    index: list[Any] = [F.reshape(F.arange(x.shape[0]), (-1, *(1,) * (corner[0].ndim - 1)))]
    index.append(slice(None))
    for place, n in zip(corner, x.shape[2:], strict=True):
        within = (place >= 0) & (place <= n - 1)  # false for NaN, which is no index
        inside = inside & within
        index.append(F.astype(F.where(within, place, 0), "int64"))
    return F.where(F.expand_dims(inside, -1), x[tuple(index)], 0.0)
