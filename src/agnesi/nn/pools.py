"""Layers that pool: the greatest, the mean, the sum or the norm of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.module import Module


class _Pool(Module):
    """Base: a function of windows."""

    function: ClassVar[Callable[..., Tensor]]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 **options: Any) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.options = options

    def forward(self, x: Tensor) -> Tensor:
        return type(self).function(
            x, self.kernel_size, stride=self.stride, padding=self.padding, **self.options
        )

    def extra_repr(self) -> str:
        text = str(self.kernel_size)
        text += f", stride={self.stride}" * (self.stride is not None)
        text += f", padding={self.padding}" * bool(self.padding)
        return text + "".join(f", {name}={value}" for name, value in self.options.items())


class MaxPool1d(_Pool):
    """The greatest element of each window of a row; parameters as for :class:`MaxPool2d`.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.MaxPool1d(2)(ag.zeros((1, 1, 6))).shape
    (1, 1, 3)
    """

    function = staticmethod(functional.max_pool1d)


class MaxPool2d(_Pool):
    """The greatest element of each window of an image.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the windows.
    stride, padding
        As for :func:`agnesi.max_pool`, like ``dilation`` and ``cover_all``, given by name.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.MaxPool2d(2)(ag.zeros((1, 1, 4, 6))).shape
    (1, 1, 2, 3)
    """

    function = staticmethod(functional.max_pool2d)


class MaxPool3d(_Pool):
    """The greatest element of each window of a volume; parameters as for :class:`MaxPool2d`.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.MaxPool3d(2)(ag.zeros((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    function = staticmethod(functional.max_pool3d)


class AvgPool1d(_Pool):
    """The mean of each window of a row; parameters as for :class:`AvgPool2d`.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.AvgPool1d(2)(ag.tensor([[[1.0, 3.0]]]))
    tensor([[[2.]]])
    """

    function = staticmethod(functional.avg_pool1d)


class AvgPool2d(_Pool):
    """The mean of each window of an image.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the windows.
    stride, padding
        As for :func:`agnesi.avg_pool`, like ``cover_all`` and ``count_include_pad``, given by name.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.AvgPool2d(2)(ag.ones((1, 1, 2, 2)))
    tensor([[[[1.]]]])
    """

    function = staticmethod(functional.avg_pool2d)


class AvgPool3d(_Pool):
    """The mean of each window of a volume; parameters as for :class:`AvgPool2d`.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.AvgPool3d(2)(ag.zeros((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    function = staticmethod(functional.avg_pool3d)


class LPPool2d(Module):
    """The norm of each window of an image.

    Parameters
    ----------
    p : float
        Exponent of the norm.
    kernel_size, stride, padding
        As for :class:`AvgPool2d`.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.LPPool2d(2, (1, 2))(ag.tensor([[[[3.0, 4.0]]]]))
    tensor([[[[5.]]]])
    """

    def __init__(self, p: float, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        self.p, self.kernel_size, self.stride, self.padding = p, kernel_size, stride, padding

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = functional.lp_pool2d(
            x, self.p, self.kernel_size, stride=self.stride, padding=self.padding
        )
        return found

    def extra_repr(self) -> str:
        return f"{self.p}, {self.kernel_size}"


class _Adaptive(Module):
    """Base: a function of as many windows as are wanted."""

    function: ClassVar[Callable[..., Tensor]]

    def __init__(self, output_size: Any) -> None:
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return type(self).function(x, self.output_size)

    def extra_repr(self) -> str:
        return str(self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """The mean of each of so many windows of nearly equal size.

    Parameters
    ----------
    output_size : int or (int, int)
        Places on each axis.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.AdaptiveAvgPool2d(1)(ag.ones((1, 2, 5, 4))).shape
    (1, 2, 1, 1)
    """

    function = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveMaxPool2d(_Adaptive):
    """The greatest of each of so many windows; parameters as for :class:`AdaptiveAvgPool2d`.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.AdaptiveMaxPool2d((2, 3))(ag.ones((1, 2, 5, 4))).shape
    (1, 2, 2, 3)
    """

    function = staticmethod(functional.adaptive_max_pool2d)
