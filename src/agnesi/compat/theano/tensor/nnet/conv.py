"""Convolutions: filters are flipped, unless ``filter_flip`` is false."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable, floats, wrapped
from agnesi.core.integers import is_integer
from agnesi.core.support.errors import at, typed


def conv2d(input: Any, filters: Any, input_shape: Any = None,
           filter_shape: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1),
           filter_flip: bool = True, image_shape: Any = None, filter_dilation: Any = (1, 1),
           num_groups: int = 1, unshared: bool = False, **ignored: Any) -> Variable:
    """Convolution of images with filters.

    Parameters
    ----------
    input : Variable
        (images, channels, rows, columns)
    filters : Variable
        (filters, channels, rows, columns)
    border_mode : {"valid", "full", "half"} or int or pair
        Where filters are: inside, wherever they touch, centred, or with so many zeros around.
    subsample, filter_dilation : pair of int
    filter_flip : bool
        Convolution (true) or cross-correlation.
    """
    if unshared:
        raise NotImplementedError(at("conv2d: filters of each place's own (unshared) are not here; "
                                     "use images2neibs and a product"))
    with floats():
        return _convolved(F.conv2d, 2, input, filters, border_mode, subsample, filter_flip,
                          filter_dilation, num_groups, input_shape or image_shape, filter_shape)


def conv3d(input: Any, filters: Any, input_shape: Any = None,
           filter_shape: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1, 1),
           filter_flip: bool = True, filter_dilation: Any = (1, 1, 1), num_groups: int = 1,
           **ignored: Any) -> Variable:
    """Convolution of volumes with filters; see :func:`conv2d`."""
    with floats():
        return _convolved(F.conv3d, 3, input, filters, border_mode, subsample, filter_flip,
                          filter_dilation, num_groups, input_shape, filter_shape)


def _convolved(function: Any, rank: int, x: Any, w: Any, border: Any, stride: Any, flip: bool,
               dilation: Any, groups: int, x_shape: Any, w_shape: Any) -> Variable:
    for value in map(as_tensor_variable, (x, w)):
        if value.ndim != rank + 2:
            raise TypeError(at(f"conv{rank}d: input and filters must have {rank + 2} axes each, "
                               f"not {value.ndim}: {value.type}"))
    for name, given in (("subsample", stride), ("filter_dilation", dilation)):
        if not isinstance(given, (tuple, list)) or len(given) != rank:
            raise ValueError(at(f"conv{rank}d: {name} must be {rank} numbers, as {(1,) * rank}, "
                                f"not {typed(given)}"))
    for name, shape in (("input_shape", x_shape), ("filter_shape", w_shape)):
        if shape is not None and not (isinstance(shape, (tuple, list)) and len(shape) == rank + 2):
            raise ValueError(at(f"conv{rank}d: {name} must be {rank + 2} sizes, None where one is "
                                f"not known, not {typed(shape)}"))
    x, w = _sized(x, x_shape), _sized(w, w_shape)
    sizes = w.shape[-rank:]
    spread = [(n - 1) * d + 1 for n, d in zip(sizes, dilation, strict=True)]
    if border == "valid":
        padding: Any = 0
    elif border == "full":
        padding = tuple(n - 1 for n in spread)
    elif border == "half":
        padding = tuple(n // 2 for n in spread)
    else:
        if not is_integer(border) and not isinstance(border, (tuple, list)):
            raise ValueError(at(f"conv{rank}d: border_mode must be 'valid', 'full', 'half', a "
                                f"number or {rank} of them, not {border!r}"
                                + "; 'half' gives the same size with odd filters" * bool(
                                    border == "same")))
        padding = int(border) if is_integer(border) else tuple(border)
    if x.dtype != w.dtype:
        kind = F.result_type(x, w)
        x, w = F.astype(x, kind), F.astype(w, kind)
    return wrapped(function(x, w, stride=tuple(stride), padding=padding, dilation=tuple(dilation),
                            groups=groups, flip=flip))


def _sized(x: Any, shape: Any) -> Any:
    """A tensor with the sizes that are given."""
    value = as_tensor_variable(x)._value
    if shape is None:
        return value
    sizes = [n if isinstance(n, int) else None for n in shape]
    if all(n is None or n == m for n, m in zip(sizes, value.shape, strict=True)):
        return value
    return F.reshape(value, tuple(m if n is None else n
                                  for n, m in zip(sizes, value.shape, strict=True)))
