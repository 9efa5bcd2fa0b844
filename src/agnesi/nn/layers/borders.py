"""Layers that put a border around images."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from agnesi.core.accepted import PerAxis
from agnesi.core.options import AnyNumber
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


class ConstantPad1d(_Pad):
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

    rank = 1
    least = -sys.maxsize

    def __init__(self, padding: PerAxis | str, value: AnyNumber) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"{self.padding}, {self.value}"


class ConstantPad2d(ConstantPad1d):
    """Pad images with a constant.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :param value: What the border holds.
    :type value: number
    :see: nn.ConstantPad1d, nn.ConstantPad3d, nn.ZeroPad2d, nn.ReflectionPad2d, nn.ReplicationPad2d
        nn.CircularPad2d, nn.functional.pad

    >>> ag.nn.ConstantPad2d((1, 0, 2, 0), 7)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 4)
    """

    rank = 2


class ConstantPad3d(ConstantPad1d):
    """Pad volumes with a constant.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :param value: What the border holds.
    :type value: number
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ConstantPad3d(1, 7)(ag.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    rank = 3


class ZeroPad1d(_Pad):
    """Pad rows with zeros.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ZeroPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[0, 1, 2, 3, 0, 0]]])
    """

    rank = 1
    least = -sys.maxsize


class ZeroPad2d(ZeroPad1d):
    """Pad images with zeros.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ZeroPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    rank = 2


class ZeroPad3d(ZeroPad1d):
    """Pad volumes with zeros.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ZeroPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    rank = 3


class ReflectionPad1d(_Pad):
    """Pad rows with their elements mirrored at the edge.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReflectionPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[2, 1, 2, 3, 2, 1]]])
    """

    rank = 1
    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Pad images with their elements mirrored at the edge.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReflectionPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    rank = 2


class ReflectionPad3d(ReflectionPad1d):
    """Pad volumes with their elements mirrored at the edge.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReflectionPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    rank = 3


class ReplicationPad1d(_Pad):
    """Pad rows by repeating their edge elements.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReplicationPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[1, 1, 2, 3, 3, 3]]])
    """

    rank = 1
    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Pad images by repeating their edge elements.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReplicationPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    rank = 2


class ReplicationPad3d(ReplicationPad1d):
    """Pad volumes by repeating their edge elements.

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.ReplicationPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    rank = 3


class CircularPad1d(_Pad):
    """Pad rows with the elements of their opposite side (circular padding).

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.CircularPad1d((1, 2))(ag.tensor([[[1, 2, 3]]]))
    tensor([[[3, 1, 2, 3, 1, 2]]])
    """

    rank = 1
    mode = "circular"


class CircularPad2d(CircularPad1d):
    """Pad images with the elements of their opposite side (circular padding).

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.CircularPad2d(1)(ag.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    rank = 2


class CircularPad3d(CircularPad1d):
    """Pad volumes with the elements of their opposite side (circular padding).

    :param padding: Width of the border: one, or those before and behind each axis, the last axis
        first; negative ones cut off.
    :type padding: int or tuple of int
    :see: nn.ConstantPad2d, nn.functional.pad

    >>> ag.nn.CircularPad3d(1)(ag.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    rank = 3
