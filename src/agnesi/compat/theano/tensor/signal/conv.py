"""``theano.tensor.signal.conv``: convolution of matrices or stacks of them."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.nnet import conv2d as of_stacks
from agnesi.compat.theano.variable import Variable
from agnesi.core.keywords import strictly as _strictly


def conv2d(input: Any, filters: Any, image_shape: Any = None,
           filter_shape: Any = None, border_mode: str = "valid", subsample: Any = (1, 1),
           **ignored: Any) -> Variable:
    """Every matrix of the input with every filter."""
    x, w = as_tensor_variable(input), as_tensor_variable(filters)
    images = x.dimshuffle("x", "x", 0, 1) if x.ndim == 2 else x.dimshuffle(0, "x", 1, 2)
    kernels = w.dimshuffle("x", "x", 0, 1) if w.ndim == 2 else w.dimshuffle(0, "x", 1, 2)
    found = of_stacks(images, kernels, border_mode=border_mode, subsample=subsample)
    if w.ndim == 2:
        found = found[:, 0]
    return found[0] if x.ndim == 2 else found


_strictly(__name__)
