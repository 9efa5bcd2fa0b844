"""Normalisations taken into the layers before them, for networks that are trained."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn.base.module import Module

M = TypeVar("M", bound=Module)


def _scaled(w: Any, b: Any, mean: Any, var: Any, eps: float, weight: Any, bias: Any, axis: int
            ) -> tuple[Tensor, Tensor]:
    """A weight and bias whose outputs, along an axis of the weight, are normalised."""
    w, mean, var = (np.asarray(t) for t in (w, mean, var))
    b = np.zeros_like(mean) if b is None else np.asarray(b)
    factor = (1.0 if weight is None else np.asarray(weight)) / np.sqrt(var + eps)
    shape = [1] * w.ndim
    shape[axis] = -1
    shift = (b - mean) * factor + (0.0 if bias is None else np.asarray(bias))
    made = (w * factor.reshape(shape), shift)
    one, two = (wrap(np.array(t, w.dtype)).requires_grad_() for t in made)
    return one, two


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor,
                         bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None,
                         transpose: bool = False) -> tuple[Tensor, Tensor]:
    """Weight and bias of a convolution into which a batch normalisation is folded.

    :param conv_w, conv_b: Of the convolution.
    :param bn_rm, bn_rv: Running mean and variance.
    :param bn_eps: Added to the variance.
    :param bn_w, bn_b: Of the normalisation; None for none.
    :param transpose: Whether the convolution is a transposed one.
    :returns weight, bias: New parameters.
    :see: nn.utils.fuse_conv_bn_eval

    >>> one = ag.ones(1)
    >>> ag.nn.utils.fuse_conv_bn_weights(ag.ones((1, 1, 1, 1)), None, one, one, 0.0, one, one)[1]
    tensor([0.], requires_grad=True)
    """
    return _scaled(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor,
                           bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None
                           ) -> tuple[Tensor, Tensor]:
    """Weight and bias of a linear layer into which a batch normalisation is folded.

    :like: fuse_conv_bn_weights
    :param linear_w, linear_b: Of the layer.
    :see: nn.utils.fuse_linear_bn_eval

    >>> one = ag.ones(1)
    >>> ag.nn.utils.fuse_linear_bn_weights(ag.ones((1, 2)), None, one, one, 0.0, one, one)[1]
    tensor([0.], requires_grad=True)
    """
    return _scaled(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fused(name: str, layer: M, bn: Any, axis: int) -> M:
    if layer.training or bn.training:
        raise ValueError(at(f"{name}: both layers must be in evaluation mode: call eval()"))
    if bn.running_mean is None:
        raise ValueError(at(f"{name}: {typed(bn)} has no running statistics"))
    made: Any = deepcopy(layer)
    given: Any = layer
    made.weight, made.bias = _scaled(given.weight, given.bias, bn.running_mean, bn.running_var,
                                     bn.eps, bn.weight, bn.bias, axis)
    found: M = made
    return found


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """Fold a batch normalisation into the convolution before it, for evaluation.

    :param conv: The convolution.
    :param bn: The normalisation.
    :param transpose: Whether the convolution is a transposed one.
    :returns: A new convolution, which gives what both gave in evaluation mode.
    :raises ValueError: If one is in training mode, or there are no running statistics.
    :see: nn.utils.fuse_linear_bn_eval

    >>> conv, bn = ag.nn.Conv2d(3, 4, 3).eval(), ag.nn.BatchNorm2d(4).eval()
    >>> x = ag.ones((1, 3, 5, 5))
    >>> bool(ag.allclose(ag.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5))
    True
    """
    return _fused("fuse_conv_bn_eval", conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """Fold a batch normalisation into the linear layer before it, for evaluation.

    :param linear: The layer.
    :param bn: The normalisation.
    :returns: A new layer, which gives what both gave in evaluation mode.
    :raises ValueError: If one is in training mode, or there are no running statistics.
    :see: nn.utils.fuse_conv_bn_eval

    >>> linear, bn = ag.nn.Linear(3, 4).eval(), ag.nn.BatchNorm1d(4).eval()
    >>> x = ag.ones((2, 3))
    >>> bool(ag.allclose(ag.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5))
    True
    """
    return _fused("fuse_linear_bn_eval", linear, bn, 0)
