"""Layers that put a border around images."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from agnesi.core.options import AnyNumber
from agnesi.core.parameter_types import PerAxis
from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.module import Module
from agnesi.nn.layers.convs import sizes_for
from agnesi.ops.convolution.images import as_images


class _Pad(Module):
    """Base: images of ``rank`` axes, with or without a batch, with a border."""

    rank: ClassVar[int]
    mode: ClassVar[str] = "constant"
    value: Any = 0
    #: The least width: negative ones cut off.
    least: ClassVar[int] = 0

    def __init__(self, padding: PerAxis | str) -> None:
        self.padding = sizes_for(self, padding, 2 * self.rank, "padding", self.least)

    def forward(self, x: Tensor) -> Tensor:
        x = as_images(x, self.rank, type(self).__name__)
        return functional.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """Borders of one number."""

    rank = 1
    least = -sys.maxsize

    def __init__(self, padding: PerAxis | str, value: AnyNumber) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"{self.padding}, {self.value}"


class ConstantPad1d(_ConstantPad):
    """Pad rows with a constant.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :param value: What the border holds.
    :type value: number
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ConstantPad1d((1, 2), 7)(ag.tensor([[[1, 2]]]))
    tensor([[[7, 1, 2, 7, 7]]])
    """


class ConstantPad2d(_ConstantPad):
    """Pad images with a constant.

    :like: ConstantPad1d
    :see: nn.ConstantPad1d, nn.ConstantPad3d, nn.ZeroPad2d, nn.ReflectionPad2d, nn.ReplicationPad2d
        nn.CircularPad2d, nn.functional.pad

    >>> ag.nn.ConstantPad2d((1, 0, 2, 0), 7)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 4)
    """

    rank = 2


class ConstantPad3d(_ConstantPad):
    """Pad volumes with a constant.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ConstantPad3d(1, 7)(ag.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    rank = 3


class _ZeroPad(_ConstantPad):
    """Borders of zeros."""

    def __init__(self, padding: PerAxis | str) -> None:
        super().__init__(padding, 0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pad rows with zeros.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ZeroPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[0, 1, 2, 3, 0, 0]]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pad images with zeros.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ZeroPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pad volumes with zeros.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ZeroPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """


class _ReflectionPad(_Pad):
    """Borders that mirror the inside."""

    rank = 1
    mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """Pad rows with their elements mirrored at the edge.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReflectionPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[2, 1, 2, 3, 2, 1]]])
    """


class ReflectionPad2d(_ReflectionPad):
    """Pad images with their elements mirrored at the edge.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReflectionPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    rank = 2


class ReflectionPad3d(_ReflectionPad):
    """Pad volumes with their elements mirrored at the edge.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReflectionPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    rank = 3


class _ReplicationPad(_Pad):
    """Borders of what is at the edge."""

    rank = 1
    mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """Pad rows by repeating their edge elements.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReplicationPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[1, 1, 2, 3, 3, 3]]])
    """


class ReplicationPad2d(_ReplicationPad):
    """Pad images by repeating their edge elements.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReplicationPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    rank = 2


class ReplicationPad3d(_ReplicationPad):
    """Pad volumes by repeating their edge elements.

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReplicationPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    rank = 3


class _CircularPad(_Pad):
    """Borders from the other side of the axis."""

    rank = 1
    mode = "circular"


class CircularPad1d(_CircularPad):
    """Pad rows with the elements of their opposite side (circular padding).

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.CircularPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[3, 1, 2, 3, 1, 2]]])
    """


class CircularPad2d(_CircularPad):
    """Pad images with the elements of their opposite side (circular padding).

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.CircularPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    rank = 2


class CircularPad3d(_CircularPad):
    """Pad volumes with the elements of their opposite side (circular padding).

    :like: ConstantPad1d
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.CircularPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    rank = 3
