"""Borders around images and volumes, and other sizes of them."""

from __future__ import annotations

from typing import Any

from agnesi.compat.torch7.nn.layers import batched
from agnesi.compat.torch7.nn.module import Module
from agnesi.nn import functional as F

__all__ = [
    "PixelShuffle", "SpatialReflectionPadding", "SpatialReplicationPadding",
    "SpatialUpSamplingBilinear", "SpatialUpSamplingNearest", "SpatialZeroPadding", "UpSampling",
    "VolumetricReplicationPadding",
]


class _Padding(Module):
    """Borders of widths, the first of which stands for those that are not given."""

    mode, axes = "replicate", 4

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.widths = [*widths, *[widths[0]] * (2 * (self.axes - 2) - len(widths))]

    def compute(self, x: Any) -> Any:
        return batched(lambda x: F.pad(x, self.widths, self.mode), x, self.axes)


class SpatialZeroPadding(_Padding):
    """Zeros around images; negative widths cut."""

    mode = "constant"


class SpatialReflectionPadding(_Padding):
    """Images mirrored at their borders, which are not repeated."""

    mode = "reflect"


class SpatialReplicationPadding(_Padding):
    """Borders of images repeated."""


class VolumetricReplicationPadding(_Padding):
    """Borders of volumes repeated: left, right, top, bottom, front, back."""

    axes = 5


class UpSampling(Module):
    """Images or volumes in larger sizes, "nearest" or "linear"; ends stay ends in the latter.

    ``params`` is a factor, or for "linear" a dict of ``owidth``, ``oheight`` and ``odepth``.
    """

    def __init__(self, params: Any, mode: str = "nearest") -> None:
        super().__init__()
        self.mode = "linear" if mode in ("linear", "bilinear", "trilinear") else "nearest"
        if self.mode == "nearest" and isinstance(params, dict):
            raise ValueError('UpSampling(params, "nearest") takes a factor, no sizes')
        self.params = params

    def _sizes(self, sizes: Any) -> list[int]:
        if isinstance(self.params, dict):
            return [self.params[n] for n in ("odepth", "oheight", "owidth")[-len(sizes):]]
        if self.mode == "nearest":
            return [n * self.params for n in sizes]
        return [(n - 1) * (self.params - 1) + n for n in sizes]

    def compute(self, x: Any) -> Any:
        axes = x.ndim - 2
        mode = {2: "bilinear", 3: "trilinear"}[axes] if self.mode == "linear" else "nearest"
        return F.interpolate(x, self._sizes(x.shape[2:]), mode=mode,
                             align_corners=True if self.mode == "linear" else None)


class SpatialUpSamplingNearest(UpSampling):
    """Each element of images several times."""

    def __init__(self, scale: int) -> None:
        super().__init__(scale)

    def compute(self, x: Any) -> Any:
        return batched(super().compute, x, 4)


class SpatialUpSamplingBilinear(SpatialUpSamplingNearest):
    """Images in larger sizes, linear between their elements."""

    def __init__(self, params: Any) -> None:
        UpSampling.__init__(self, params, "linear")


class PixelShuffle(Module):
    """Groups of planes as blocks of pixels."""

    def __init__(self, upscaleFactor: int) -> None:
        super().__init__()
        self.upscaleFactor = upscaleFactor

    def compute(self, x: Any) -> Any:
        return F.pixel_shuffle(x, self.upscaleFactor)
