"""``theano.tensor.nnet.abstract_conv``: convolutions, their transposes, what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api.symbolic import variable
from agnesi.compat.theano.tensor.creation import as_tensor_variable, zeros
from agnesi.compat.theano.tensor.derivatives import grad
from agnesi.compat.theano.tensor.nnet.conv import conv2d as conv2d
from agnesi.compat.theano.tensor.nnet.conv import conv3d as conv3d
from agnesi.compat.theano.tensor.shaping import concatenate
from agnesi.compat.theano.types import constant
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core.dispatch import current
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.substitution import substituted
from agnesi.core.support.config import config
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.value_sizes import size_of

_CONVOLUTIONS: dict[int, Callable[..., Variable]] = {2: conv2d, 3: conv3d}


# -- transposes ---------------------------------------------------------------------------------
def _sizes(shape: Any, like: Sequence[Any], what: str) -> list[Any]:
    """Sizes from what is given, which are numbers, None or scalars; ``like`` where that is None."""
    sizes = list(like) if shape is None else list(shape)
    if len(sizes) != len(like):
        raise ValueError(at(f"{what} must have {len(like)} sizes, not {len(sizes)}: {shape}"))
    found = []
    for n, m in zip(sizes, like, strict=True):
        size = m if n is None else bare(n)
        if size is None:
            raise ValueError(at(f"{what} must tell the sizes of rows and columns, not {shape}"))
        found.append(size_of(size, what) if isinstance(size, Tensor) else size)
    return found


def _pulled(convolved: Callable[[Variable], Variable], sizes: Sequence[Any], dtype: Any,
            g: Variable) -> Variable:
    """What the argument of a linear map is worth, by what its result is."""
    x = variable(None, dtype, sizes)
    found = grad((convolved(wrapped(x)) * g).sum(), wrapped(x))._value
    nothing = F.zeros(tuple(sizes), dtype=dtype)  # no value of a linear map's argument is read
    return wrapped(symbol(substituted([current(found)], {current(x): current(nothing)})[0]))


def _grad_wrt_inputs(rank: int, output_grad: Any, filters: Any, input_shape: Any,
                     filter_shape: Any, **settings: Any) -> Variable:
    g, w = as_tensor_variable(output_grad), as_tensor_variable(filters)
    channels = w._value.shape[1] * settings.get("num_groups", 1)
    like = [g._value.shape[0], channels, *(None for _ in range(rank))]
    sizes = _sizes(input_shape, like, "input_shape")

    def convolved(x: Variable) -> Variable:
        return _CONVOLUTIONS[rank](x, w, None, filter_shape, **settings)

    return _pulled(convolved, sizes, w.dtype, g)


def _grad_wrt_weights(rank: int, input: Any, output_grad: Any, filter_shape: Any,
                      input_shape: Any, **settings: Any) -> Variable:
    x, g = as_tensor_variable(input), as_tensor_variable(output_grad)
    groups = settings.get("num_groups", 1)
    like = [g._value.shape[1], x._value.shape[1] // groups, *(None for _ in range(rank))]
    sizes = _sizes(filter_shape, like, "filter_shape")

    def convolved(w: Variable) -> Variable:
        return _CONVOLUTIONS[rank](x, w, input_shape, None, **settings)

    return _pulled(convolved, sizes, x.dtype, g)


def conv2d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any,
                           filter_shape: Any = None, border_mode: Any = "valid",
                           subsample: Any = (1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1), num_groups: int = 1,
                           unshared: bool = False) -> Variable:
    """The gradient of :func:`conv2d` to its images, of ``input_shape``."""
    return _grad_wrt_inputs(
        2, output_grad, filters, input_shape, filter_shape, border_mode=border_mode,
        subsample=subsample, filter_flip=filter_flip, filter_dilation=filter_dilation,
        num_groups=num_groups, unshared=unshared)


def conv3d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any,
                           filter_shape: Any = None, border_mode: Any = "valid",
                           subsample: Any = (1, 1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1, 1), num_groups: int = 1) -> Variable:
    """The gradient of :func:`conv3d` to its volumes, of ``input_shape``."""
    return _grad_wrt_inputs(
        3, output_grad, filters, input_shape, filter_shape, border_mode=border_mode,
        subsample=subsample, filter_flip=filter_flip, filter_dilation=filter_dilation,
        num_groups=num_groups)


def conv2d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any,
                            input_shape: Any = None, border_mode: Any = "valid",
                            subsample: Any = (1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1), num_groups: int = 1,
                            unshared: bool = False) -> Variable:
    """The gradient of :func:`conv2d` to its filters, of ``filter_shape``."""
    return _grad_wrt_weights(
        2, input, output_grad, filter_shape, input_shape, border_mode=border_mode,
        subsample=subsample, filter_flip=filter_flip, filter_dilation=filter_dilation,
        num_groups=num_groups, unshared=unshared)


def conv3d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any,
                            input_shape: Any = None, border_mode: Any = "valid",
                            subsample: Any = (1, 1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1, 1), num_groups: int = 1) -> Variable:
    """The gradient of :func:`conv3d` to its filters, of ``filter_shape``."""
    return _grad_wrt_weights(
        3, input, output_grad, filter_shape, input_shape, border_mode=border_mode,
        subsample=subsample, filter_flip=filter_flip, filter_dilation=filter_dilation,
        num_groups=num_groups)


def conv2d_transpose(input: Any, filters: Any, output_shape: Any, filter_shape: Any = None,
                     border_mode: Any = "valid", input_dilation: Any = (1, 1),
                     filter_flip: bool = True, filter_dilation: Any = (1, 1),
                     num_groups: int = 1, unshared: bool = False) -> Variable:
    """The transpose of the linear map :func:`conv2d`, whose result has ``output_shape``."""
    return conv2d_grad_wrt_inputs(input, filters, output_shape, filter_shape, border_mode,
                                  input_dilation, filter_flip, filter_dilation, num_groups,
                                  unshared)


# -- operations ---------------------------------------------------------------------------------
class _Convolution:
    """A convolution, or a gradient of one, as an operation that is made and then called."""

    rank = 2

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid",
                 subsample: Any = None, filter_flip: bool = True, filter_dilation: Any = None,
                 num_groups: int = 1, unshared: bool = False) -> None:
        ones = (1,) * self.rank
        self.imshp, self.kshp, self.border_mode = imshp, kshp, border_mode
        self.subsample, self.filter_flip = subsample or ones, filter_flip
        self.filter_dilation, self.num_groups = filter_dilation or ones, num_groups
        self.unshared = unshared

    @property
    def _settings(self) -> dict[str, Any]:
        names = ("border_mode", "subsample", "filter_flip", "filter_dilation", "num_groups")
        return {name: getattr(self, name) for name in names} | {"unshared": self.unshared}

    def _whole_shape(self, shape: Any, given: Any, channels: Any) -> Any:
        """A whole shape, from one that was given before, or from the sizes of rows and columns."""
        if given is None:
            return shape
        return [*(channels if shape is None else shape[:2]), *(given[k] for k in range(self.rank))]


class AbstractConv2d(_Convolution):
    """:func:`conv2d` with settings of its own."""

    def __call__(self, img: Any, kern: Any) -> Variable:
        return _CONVOLUTIONS[self.rank](img, kern, self.imshp, self.kshp, **self._settings)


class AbstractConv2d_gradWeights(_Convolution):  # noqa: N801 - Theano's name
    """:func:`conv2d_grad_wrt_weights` with settings of its own."""

    def __call__(self, img: Any, topgrad: Any, shape: Any = None) -> Variable:
        sizes = self._whole_shape(self.kshp, shape, (None, None))
        return _grad_wrt_weights(self.rank, img, topgrad, sizes, self.imshp, **self._settings)


class AbstractConv2d_gradInputs(_Convolution):  # noqa: N801 - Theano's name
    """:func:`conv2d_grad_wrt_inputs` with settings of its own."""

    def __call__(self, kern: Any, topgrad: Any, shape: Any = None) -> Variable:
        sizes = self._whole_shape(self.imshp, shape, (None, None))
        return _grad_wrt_inputs(self.rank, topgrad, kern, sizes, self.kshp, **self._settings)


class AbstractConv3d(AbstractConv2d):
    """:func:`conv3d` with settings of its own."""

    rank = 3


class AbstractConv3d_gradWeights(AbstractConv2d_gradWeights):  # noqa: N801 - Theano's name
    """:func:`conv3d_grad_wrt_weights` with settings of its own."""

    rank = 3


class AbstractConv3d_gradInputs(AbstractConv2d_gradInputs):  # noqa: N801 - Theano's name
    """:func:`conv3d_grad_wrt_inputs` with settings of its own."""

    rank = 3


# -- sizes --------------------------------------------------------------------------------------
def get_conv_shape_1axis(image_shape: Any, kernel_shape: Any, border_mode: Any, subsample: int,
                         dilation: int = 1) -> Any:
    """The size of a convolution's result along an axis; None where sizes are."""
    if image_shape is None or kernel_shape is None:
        return None
    spread = (kernel_shape - 1) * dilation + 1
    known = {"valid": 0, "half": 2 * (spread // 2), "full": 2 * (spread - 1)}
    if isinstance(border_mode, str):
        more = known[border_mode]
    else:
        more = sum(border_mode) if isinstance(border_mode, tuple) else 2 * border_mode
    return (image_shape + more - spread) // subsample + 1


def get_conv_output_shape(image_shape: Any, kernel_shape: Any, border_mode: Any, subsample: Any,
                          filter_dilation: Any = None) -> tuple[Any, ...]:
    """The shape of a convolution's result; None where sizes are."""
    rank = len(image_shape) - 2
    dilation = filter_dilation or (1,) * rank
    borders = border_mode if isinstance(border_mode, (tuple, list)) else (border_mode,) * rank
    return (image_shape[0], kernel_shape[0], *(
        get_conv_shape_1axis(*sizes) for sizes in
        zip(image_shape[2:], kernel_shape[2:], borders, subsample, dilation, strict=True)))


# -- what is made of convolutions ---------------------------------------------------------------
def separable_conv2d(input: Any, depthwise_filters: Any, pointwise_filters: Any,
                     num_channels: int, input_shape: Any = None,
                     depthwise_filter_shape: Any = None, pointwise_filter_shape: Any = None,
                     border_mode: Any = "valid", subsample: Any = (1, 1),
                     filter_flip: bool = True, filter_dilation: Any = (1, 1)) -> Variable:
    """A convolution of each channel by itself, then one of single elements over the channels."""
    apart = conv2d(input, depthwise_filters, input_shape, depthwise_filter_shape, border_mode,
                   subsample, filter_flip, None, filter_dilation, num_channels)
    return conv2d(apart, pointwise_filters, None, pointwise_filter_shape)


def causal_conv1d(input: Any, filters: Any, filter_shape: Any, input_shape: Any = None,
                  subsample: int = 1, filter_flip: bool = True, filter_dilation: int = 1,
                  num_groups: int = 1, unshared: bool = False) -> Variable:
    """A convolution along time, of (batch, channels, time), in which no step sees later ones."""
    x, w = as_tensor_variable(input), as_tensor_variable(filters)
    before = (filter_shape[2] - 1) * filter_dilation
    x = concatenate([zeros((x.shape[0], x.shape[1], before), dtype=x.dtype), x], axis=2)
    found = conv2d(x.dimshuffle(0, 1, 2, "x"), w.dimshuffle(0, 1, 2, "x"), None, None, "valid",
                   (subsample, 1), filter_flip, None, (filter_dilation, 1), num_groups, unshared)
    return found.flatten(3) if found.ndim == 3 else found[:, :, :, 0]


def bilinear_kernel_1D(ratio: int, normalize: bool = True) -> Variable:  # noqa: N802
    """A triangle of ``2 * ratio - 1`` elements; its peak is 1, or ``ratio`` if not normalized."""
    rising = np.arange(1, ratio + 1)
    found = np.concatenate([rising, rising[-2::-1]]).astype(config.symbolic_float)
    return constant(found / found.dtype.type(ratio) if normalize else found)


def bilinear_kernel_2D(ratio: int, normalize: bool = True) -> Variable:  # noqa: N802
    """The outer product of two of :func:`bilinear_kernel_1D`."""
    kern = bilinear_kernel_1D(ratio, normalize)
    return kern.dimshuffle(0, "x") * kern.dimshuffle("x", 0)


def bilinear_upsampling(input: Any, ratio: int | None = None, frac_ratio: Any = None,
                        batch_size: Any = None, num_input_channels: Any = None,
                        use_1D_kernel: bool = True) -> Variable:
    """Images with ``ratio`` times as many rows and columns, interpolated linearly."""
    if ratio is None or frac_ratio is not None:
        raise NotImplementedError(at(
            "bilinear_upsampling: only an integer ratio is here; for others use "
            "ag.nn.functional.interpolate(mode='bilinear')"))
    x = as_tensor_variable(input)
    if x.dtype.startswith("float"):
        kern = bilinear_kernel_1D(ratio).astype(x.dtype)
    else:
        kern = bilinear_kernel_1D(ratio)
    rows, columns = x.shape[2], x.shape[3]
    up = x.reshape((-1, 1, rows, columns))
    up = concatenate([up[:, :, :1], up, up[:, :, -1:]], axis=2)
    up = concatenate([up[:, :, :, :1], up, up[:, :, :, -1:]], axis=3)
    pad = 2 * ratio - (ratio - 1) // 2 - 1
    up = conv2d_grad_wrt_inputs(up, kern.dimshuffle("x", "x", 0, "x"),
                                (None, 1, rows * ratio, columns + 2), None, (pad, 0), (ratio, 1))
    up = conv2d_grad_wrt_inputs(up, kern.dimshuffle("x", "x", "x", 0),
                                (None, 1, rows * ratio, columns * ratio), None, (0, pad),
                                (1, ratio))
    return up.reshape((x.shape[0], x.shape[1], rows * ratio, columns * ratio))


_strictly(__name__)
