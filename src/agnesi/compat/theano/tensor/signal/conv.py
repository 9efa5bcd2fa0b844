"""``theano.tensor.signal.conv``: convolution of matrices or stacks of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from agnesi.autodiff.vmap import vmap
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.nnet import conv2d as of_stacks
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core import shapes
from agnesi.core.keywords import strictly as _strictly
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.convolution.convolve import convolve


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


def convolve1d(in1: Any, in2: Any, mode: str = "full") -> Variable:
    """Convolution of vectors, or of the rows of stacks of them, as PyTensor has it.

    :param mode: With "same" as many elements as ``in1`` has, from the middle.
    :type mode: {"full", "same", "valid"}
    """
    x, w = (as_tensor(bare(as_tensor_variable(v))) for v in (in1, in2))
    each = shapes.broadcast(x.shape[:-1], w.shape[:-1])
    if not each:
        return wrapped(_of_vectors(x, w, mode))
    x, w = (broadcast_to(v, (*each, v.shape[-1])) for v in (x, w))
    many: Any = partial(_of_vectors, mode=mode)
    for _ in each:
        many = vmap(many)
    return wrapped(many(x, w))


def _of_vectors(x: Any, w: Any, mode: str) -> Any:
    """A convolution of two vectors, by SciPy's rule for "same"."""
    if mode != "same":
        return convolve(x, w, mode)
    begin = (w.shape[0] - 1) // 2
    return convolve(x, w, "full")[begin: begin + x.shape[0]]


def convolve2d(in1: Any, in2: Any, mode: str = "full") -> Variable:
    """Convolution of two matrices, with zeros around, as PyTensor has it; modes as for
    :func:`convolve1d`."""
    x, w = as_tensor_variable(in1), as_tensor_variable(in2)
    if mode != "same":
        return conv2d(x, w, border_mode=mode)
    begins = [(w.shape[i] - 1) // 2 for i in (0, 1)]
    whole = conv2d(x, w, border_mode="full")
    return whole[tuple(slice(b, b + x.shape[i]) for i, b in enumerate(begins))]


_strictly(__name__)
