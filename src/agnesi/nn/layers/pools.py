"""Layers that pool: the greatest, the mean or the norm of each window; and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from agnesi.core.options import Counts, Order, Sizes
from agnesi.core.parameter_types import ShapeLike
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.aliases import also
from agnesi.nn.base.module import Module
from agnesi.ops.convolution.windows import listed


def _each(value: Any, rank: int) -> Any:
    """One size as that of each axis."""
    return (value,) * rank if isinstance(value, int) else value


class _Pool(Module):
    """Base: a function of windows, with options of its own."""

    function: ClassVar[Callable[..., Tensor]]
    usual: ClassVar[dict[str, Any]]

    def _keep(self, kernel_size: Any, stride: Any, padding: Any) -> None:
        self.kernel_size, self.padding = listed(kernel_size), listed(padding)
        self.stride = self.kernel_size if stride is None else listed(stride)

    def forward(self, x: Tensor) -> Tensor:
        options = {name: getattr(self, name) for name in self.usual}
        return type(self).function(
            x, self.kernel_size, stride=self.stride, padding=self.padding, **options
        )

    def extra_repr(self) -> str:
        none = (0,) if isinstance(self.padding, tuple) else 0
        usual = {"stride": self.kernel_size, "padding": none, **self.usual}
        return str(self.kernel_size) + "".join(
            f", {n}={getattr(self, n)!r}" for n, v in usual.items() if getattr(self, n) != v
        )


class _MaxPool(_Pool):
    """Base: the greatest."""

    ceil_mode = also("cover_all")
    usual: ClassVar = {"dilation": 1, "cover_all": False, "return_indices": False}

    def __init__(self, kernel_size: Counts, stride: Counts | None = None,
                 padding: Sizes | Literal["valid", "same"] = 0, dilation: Counts = 1,
                 return_indices: bool = False, cover_all: bool = False) -> None:
        self._keep(kernel_size, stride, padding)
        self.dilation, self.cover_all, self.return_indices = dilation, cover_all, return_indices


class _AvgPool(_Pool):
    """Base: the mean."""

    ceil_mode = also("cover_all")
    usual: ClassVar = {"cover_all": False, "count_include_pad": True, "divisor_override": None}

    def __init__(self, kernel_size: Counts, stride: Counts | None = None,
                 padding: Sizes | Literal["valid", "same"] = 0, cover_all: bool = False,
                 count_include_pad: bool = True, divisor_override: float | None = None) -> None:
        self._keep(kernel_size, stride, padding)
        self.cover_all, self.count_include_pad = cover_all, count_include_pad
        self.divisor_override = divisor_override


class MaxPool1d(_MaxPool):
    """The greatest element of each window of a row.

    :param kernel_size: Size of the windows.
    :param stride: Steps between windows; by default those of the kernel.
    :param padding: Border, which never is the greatest.
    :type padding: int, tuple, "valid" or "same"
    :param dilation: Steps between the elements of a window.
    :param return_indices: Whether to return indices of the maxima, too, for :class:`MaxUnpool2d`.
    :param cover_all: Whether a last, smaller window takes what is left over; also written
        ``ceil_mode``.
    :see: nn.MaxPool2d, max_pool

    >>> ag.nn.MaxPool1d(2)(ag.zeros((1, 1, 6))).shape
    (1, 1, 3)
    """

    function = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPool):
    """The greatest element of each window of an image.

    :like: MaxPool1d
    :see: nn.MaxPool1d, nn.MaxPool3d, nn.MaxUnpool2d, nn.AvgPool2d, max_pool

    >>> ag.nn.MaxPool2d(2)(ag.zeros((1, 1, 4, 6))).shape
    (1, 1, 2, 3)
    """

    function = staticmethod(functional.max_pool2d)


class MaxPool3d(_MaxPool):
    """The greatest element of each window of a volume.

    :like: MaxPool1d
    :see: nn.MaxPool2d, max_pool

    >>> ag.nn.MaxPool3d(2)(ag.zeros((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    function = staticmethod(functional.max_pool3d)


class AvgPool1d(_AvgPool):
    """The mean of each window of a row.

    :like: MaxPool1d
    :param padding: Border of zeros.
    :type padding: int, tuple, "valid" or "same"
    :param cover_all: Whether a last, smaller window takes what is left over; it is divided by what
        it holds.
    :param count_include_pad: Whether the border counts.
    :param divisor_override: What sums are divided by, in the place of the numbers of elements.
    :see: nn.AvgPool2d, avg_pool

    >>> ag.nn.AvgPool1d(2)(ag.tensor([[[1.0, 3.0]]]))
    tensor([[[2.]]])
    """

    function = staticmethod(functional.avg_pool1d)

    def _keep(self, kernel_size: Any, stride: Any, padding: Any) -> None:
        super()._keep(_each(kernel_size, 1), _each(stride, 1), _each(padding, 1))


class AvgPool2d(_AvgPool):
    """The mean of each window of an image.

    :like: AvgPool1d
    :see: nn.AvgPool1d, nn.AvgPool3d, nn.MaxPool2d, nn.LPPool2d, nn.AdaptiveAvgPool2d, avg_pool

    >>> ag.nn.AvgPool2d(2)(ag.ones((1, 1, 2, 2)))
    tensor([[[[1.]]]])
    """

    function = staticmethod(functional.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window of a volume.

    :like: AvgPool1d
    :see: nn.AvgPool2d, avg_pool

    >>> ag.nn.AvgPool3d(2)(ag.zeros((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    function = staticmethod(functional.avg_pool3d)


class _MaxUnpool(Module):
    """Base: images of zeros with what max-pooling found."""

    function: ClassVar[Callable[..., Tensor]]
    rank: ClassVar[int]

    def __init__(self, kernel_size: Counts, stride: Counts | None = None, padding: Sizes = 0
                 ) -> None:
        self.kernel_size, self.padding = _each(kernel_size, self.rank), _each(padding, self.rank)
        self.stride = self.kernel_size if stride is None else _each(stride, self.rank)

    def forward(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return type(self).function(
            x, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        text = str(self.kernel_size) + f", stride={self.stride}" * (self.stride != self.kernel_size)
        return text + f", padding={self.padding}" * (self.padding != (0,) * self.rank)


class MaxUnpool1d(_MaxUnpool):
    """Undo max pooling of rows: maxima at their indices, zeros elsewhere.

    :param kernel_size: Size of the windows of the pooling.
    :param stride: Steps between them; by default those of the kernel.
    :param padding: Border of the pooling. The call takes its values, its indices and, where that is
        not the least, the ``output_size``.
    :see: nn.MaxUnpool2d, nn.functional.max_unpool

    >>> pool, back = ag.nn.MaxPool1d(2, return_indices=True), ag.nn.MaxUnpool1d(2)
    >>> back(*pool(ag.tensor([[[1.0, 3.0, 2.0, 0.0]]])))
    tensor([[[0., 3., 2., 0.]]])
    """

    function = staticmethod(functional.max_unpool1d)
    rank = 1


class MaxUnpool2d(_MaxUnpool):
    """Undo max pooling: maxima at their indices, zeros elsewhere (Zeiler and Fergus, 2014).

    :like: MaxUnpool1d
    :see: nn.MaxPool2d, nn.functional.max_unpool

    >>> pool, back = ag.nn.MaxPool2d(2, return_indices=True), ag.nn.MaxUnpool2d(2)
    >>> back(*pool(ag.tensor([[[[1.0, 3.0], [2.0, 0.0]]]])))
    tensor([[[[0., 3.],
              [0., 0.]]]])
    """

    function = staticmethod(functional.max_unpool2d)
    rank = 2


class MaxUnpool3d(_MaxUnpool):
    """Undo max pooling of volumes: maxima at their indices, zeros elsewhere.

    :like: MaxUnpool1d
    :see: nn.MaxUnpool2d, nn.functional.max_unpool

    >>> pool, back = ag.nn.MaxPool3d(2, return_indices=True), ag.nn.MaxUnpool3d(2)
    >>> back(*pool(ag.ones((1, 1, 4, 4, 4)))).shape
    (1, 1, 4, 4, 4)
    """

    function = staticmethod(functional.max_unpool3d)
    rank = 3


class _LPPool(Module):
    """Base: the norm of each window."""

    function: ClassVar[Callable[..., Tensor]]
    ceil_mode, norm_type = also("cover_all"), also("p")

    def __init__(self, p: Order, kernel_size: Counts, stride: Counts | None = None,
                 cover_all: bool = False, padding: Sizes | Literal["valid", "same"] = 0) -> None:
        self.p, self.kernel_size, self.stride, self.padding = p, kernel_size, stride, padding
        self.cover_all = cover_all

    def forward(self, x: Tensor) -> Tensor:
        return type(self).function(
            x, self.p, self.kernel_size, stride=self.stride, padding=self.padding,
            cover_all=self.cover_all,
        )

    def extra_repr(self) -> str:
        return f"{self.p}, {self.kernel_size}"


class LPPool1d(_LPPool):
    """The p-norm of each window of a row.

    :like: AvgPool1d
    :param p: Exponent of the norm, above 0.
    :param cover_all: Whether a last, smaller window takes what is left over.
    :see: nn.LPPool2d, nn.functional.lp_pool

    >>> ag.nn.LPPool1d(2, 2)(ag.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    function = staticmethod(functional.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of an image.

    :like: LPPool1d
    :see: nn.LPPool1d, nn.LPPool3d, nn.AvgPool2d, nn.functional.lp_pool

    >>> ag.nn.LPPool2d(2, (1, 2))(ag.tensor([[[[3.0, 4.0]]]]))
    tensor([[[[5.]]]])
    """

    function = staticmethod(functional.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of a volume.

    :like: LPPool1d
    :see: nn.LPPool2d, nn.functional.lp_pool

    >>> ag.nn.LPPool3d(2, 2)(ag.ones((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    function = staticmethod(functional.lp_pool3d)


class _Adaptive(Module):
    """Base: a function of as many windows as are wanted."""

    function: ClassVar[Callable[..., Tensor]]

    def __init__(self, output_size: ShapeLike) -> None:
        sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
        if any(isinstance(n, int) and n < 0 for n in sizes):
            raise ValueError(at(f"{type(self).__name__}: output_size must not be negative, not "
                                f"{output_size}"))
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return type(self).function(x, self.output_size)

    def extra_repr(self) -> str:
        return str(self.output_size)


class AdaptiveAvgPool1d(_Adaptive):
    """Average pooling of rows to a given output size, as in :class:`AdaptiveAvgPool2d`.

    :param output_size: Places on each axis.
    :type output_size: int
    :see: nn.AdaptiveAvgPool2d, nn.functional.adaptive_avg_pool

    >>> ag.nn.AdaptiveAvgPool1d(2)(ag.ones((1, 2, 5))).shape
    (1, 2, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """Average pooling to a given output size, by nearly equal windows (He et al., 2014).

    :param output_size: Places on each axis.
    :type output_size: int or (int, int)
    :see: nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool3d, nn.AdaptiveMaxPool2d, nn.AvgPool2d
        nn.functional.adaptive_avg_pool

    >>> ag.nn.AdaptiveAvgPool2d(1)(ag.ones((1, 2, 5, 4))).shape
    (1, 2, 1, 1)
    """

    function = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_Adaptive):
    """Average pooling of volumes to a given output size, as in :class:`AdaptiveAvgPool2d`.

    :param output_size: Places on each axis.
    :type output_size: int or (int, int, int)
    :see: nn.AdaptiveAvgPool2d, nn.functional.adaptive_avg_pool

    >>> ag.nn.AdaptiveAvgPool3d(2)(ag.ones((1, 2, 5, 5, 5))).shape
    (1, 2, 2, 2, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool3d)


class _AdaptiveMax(_Adaptive):
    """Base: the greatest of each window."""

    def __init__(self, output_size: ShapeLike, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Any:
        return type(self).function(x, self.output_size, return_indices=self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Max pooling of rows to a given output size, as in :class:`AdaptiveMaxPool2d`.

    :param output_size: Places on each axis.
    :type output_size: int
    :param return_indices: Whether to return their indices, too, as :func:`agnesi.max_pool` does.
    :see: nn.AdaptiveMaxPool2d, nn.functional.adaptive_max_pool

    >>> ag.nn.AdaptiveMaxPool1d(2)(ag.ones((1, 2, 5))).shape
    (1, 2, 2)
    """

    function = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Max pooling of images to a given output size, by windows of nearly equal size.

    :like: AdaptiveMaxPool1d
    :see: nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool3d, nn.AdaptiveAvgPool2d, nn.MaxPool2d
        nn.functional.adaptive_max_pool

    >>> ag.nn.AdaptiveMaxPool2d((2, 3))(ag.ones((1, 2, 5, 4))).shape
    (1, 2, 2, 3)
    """

    function = staticmethod(functional.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Max pooling of volumes to a given output size, as in :class:`AdaptiveMaxPool2d`.

    :like: AdaptiveMaxPool1d
    :see: nn.AdaptiveMaxPool2d, nn.functional.adaptive_max_pool

    >>> ag.nn.AdaptiveMaxPool3d(2)(ag.ones((1, 2, 5, 5, 5))).shape
    (1, 2, 2, 2, 2)
    """

    function = staticmethod(functional.adaptive_max_pool3d)
