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


def unpooling_2d(x: Any, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None,
                 cover_all: bool = True) -> Any:
    """Every element in all places of its window; where windows overlap, their sum.

    ``cover_all`` says that the pooling let its last windows run over the border, which is the
    smallest size that ``outsize`` may have; other sizes are given by it.
    """
    sizes, steps, margins = (_pair(n) for n in (ksize, ksize if stride is None else stride, pad))

    def compute(x: Any) -> Any:
        whole = [s * (n - 1) + k for n, k, s in zip(x.shape[2:], sizes, steps, strict=True)]
        size = outsize or [n - 2 * p - (s - 1 if cover_all else 0)
                           for n, p, s in zip(whole, margins, steps, strict=True)]
        spread = nn.conv_transpose2d(x.reshape(-1, 1, *x.shape[2:]),
                                     ag.ones((1, 1, *sizes), dtype=x.dtype), stride=steps)
        more = [max(p + n - w, 0) for p, n, w in zip(margins, size, whole, strict=True)]
        spread = ag.pad(spread, [(0, 0), (0, 0), *[(0, n) for n in more]])
        (top, left), (rows, columns) = margins, size
        return spread[:, :, top:top + rows, left:left + columns].reshape(
            *x.shape[:2], rows, columns)

    return applied("Unpooling2D", compute, x)


def _pair(x: Any) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else tuple(x)


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
