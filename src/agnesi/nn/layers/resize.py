"""Layers without weights that make images larger or smaller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agnesi.core.options import Count, Counts, Positive
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.module import Module


class Upsample(Module):
    """Resize rows, images or volumes by nearest elements or by interpolation.

    :param size: The size wanted on each axis.
    :param scale_factor: How many times as large the images become, instead of ``size``.
    :type scale_factor: float or tuple of float, optional
    :param mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" or "area",
        as for :func:`agnesi.nn.functional.interpolate`.
    :type mode: str
    :param align_corners: Whether the first and last places, and not the borders of the images, are
        upon each other; for modes that interpolate.
    :param recompute_scale_factor: Whether places are as far apart as the sizes say, in the place of
        the ``scale_factor``.
    :raises ValueError: If not exactly one of ``size`` and ``scale_factor`` is given.
    :see: nn.functional.interpolate, nn.PixelShuffle

    >>> ag.nn.Upsample(scale_factor=2, mode="bilinear")(ag.ones((1, 3, 4, 5))).shape
    (1, 3, 8, 10)
    """

    def __init__(self, size: Counts | None = None,
                 scale_factor: Positive | Sequence[Positive] | None = None,
                 mode: Literal["nearest", "nearest-exact", "area", "linear", "bilinear",
                               "trilinear", "bicubic"] = "nearest",
                 align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:
        if (size is None) == (scale_factor is None):
            raise ValueError(at("Upsample: give the size wanted, or a scale_factor, and not both"))
        self.size, self.scale_factor = size, scale_factor
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, x: Tensor) -> Tensor:
        return functional.interpolate(x, self.size, self.scale_factor, self.mode,
                                      self.align_corners, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        shown = {"size": self.size, "scale_factor": self.scale_factor, "mode": repr(self.mode)}
        text = ", ".join(f"{n}={v}" for n, v in shown.items() if v is not None)
        return text + ", align_corners=True" * bool(self.align_corners)


class PixelShuffle(Module):
    """Channels into space: (N, C * r**2, H, W) to (N, C, H * r, W * r) (Shi et al., 2016).

    :param upscale_factor: How many times.
    :see: nn.PixelUnshuffle, nn.functional.pixel_shuffle, nn.Upsample

    >>> ag.nn.PixelShuffle(2)(ag.ones((1, 8, 3, 4))).shape
    (1, 2, 6, 8)
    """

    def __init__(self, upscale_factor: Count) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return functional.pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"{self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearrange space into channels: (N, C, H * r, W * r) becomes (N, C * r**2, H, W).

    :param downscale_factor: How many times less high and wide images become.
    :see: nn.PixelShuffle, nn.functional.pixel_unshuffle

    >>> ag.nn.PixelUnshuffle(2)(ag.ones((1, 2, 6, 8))).shape
    (1, 8, 3, 4)
    """

    def __init__(self, downscale_factor: Count) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return functional.pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"{self.downscale_factor}"
