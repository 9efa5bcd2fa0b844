"""Pooling of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnesi as ag
from agnesi.compat.chainer.formula import applied
from agnesi.compat.chainer.function import Function
from agnesi.nn import functional as nn

__all__ = [  # the classes are in chainer.functions.pooling_2d only
    "average_pooling_2d", "max_pooling_2d", "spatial_pyramid_pooling_2d", "unpooling_2d",
]


def max_pooling_2d(x: Any, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True,
                   use_cudnn: bool = True) -> Any:
    """The largest of each window; ``cover_all`` lets the last ones run over the border."""
    return applied("MaxPooling2D", lambda x: nn.max_pool(
        x, ksize, stride, pad, cover_all=cover_all), x)


def average_pooling_2d(x: Any, ksize: Any, stride: Any = None, pad: Any = 0,
                       use_cudnn: bool = True) -> Any:
    """The mean of each window, in which the border is zero."""
    return applied("AveragePooling2D", lambda x: nn.avg_pool2d(x, ksize, stride, pad), x)


class MaxPooling2D(Function):
    """:func:`max_pooling_2d` as a function with options, as Chainer 1.0 had it."""

    form: Callable[..., Any] = staticmethod(max_pooling_2d)

    def __init__(self, ksize: Any, stride: Any = None, pad: Any = 0, *more: Any, **named: Any
                 ) -> None:
        self.options, self.named = (ksize, stride, pad, *more), named

    def __call__(self, x: Any) -> Any:
        return self.form(x, *self.options, **self.named)


class AveragePooling2D(MaxPooling2D):
    """:func:`average_pooling_2d` as a function with options, as Chainer 1.0 had it."""

    form = staticmethod(average_pooling_2d)


def unpooling_2d(x: Any, ksize: int, stride: Any = None, pad: int = 0, outsize: Any = None,
                 cover_all: bool = True) -> Any:
    """Every element in all places of its window."""
    if stride not in (None, ksize) or pad or outsize is not None:
        raise NotImplementedError("unpooling_2d has windows that do not overlap, without pad")
    return applied("Unpooling2D", lambda x: ag.repeat(ag.repeat(x, ksize, 2), ksize, 3), x)


def spatial_pyramid_pooling_2d(x: Any, pyramid_height: int, pooling_class: Any = None,
                               use_cudnn: bool = True) -> Any:
    """The largest of the image, of its quarters, and so on, beside each other."""
    def compute(x: Any) -> Any:
        found = []
        for level in range(pyramid_height):
            parts = 2**level
            sizes = [-(-n // parts) for n in x.shape[2:]]
            pads = [(size * parts - n + 1) // 2 for size, n in zip(sizes, x.shape[2:], strict=True)]
            y = nn.max_pool(x, tuple(sizes), tuple(sizes), tuple(pads), cover_all=True)
            found.append(y[:, :, :parts, :parts].reshape(x.shape[0], -1, 1, 1))
        return ag.concatenate(found, 1)

    return applied("SpatialPyramidPooling2D", compute, x)
