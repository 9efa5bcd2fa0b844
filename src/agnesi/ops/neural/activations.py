"""Functions between layers that are made of others: gelu, silu, leaky_relu, elu, relu6."""

from __future__ import annotations

import math

import numpy as np

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.composites import composite
from agnesi.ops.elementwise.explog import expm1, sigmoid
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.ops.special.special import erf, erfc

_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)


@planned
@public
def gelu(x: TensorLike, /, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """``x`` times the chance that a normal number is below it (Hendrycks and Gimpel 2016).

    :param x: Real numbers.
    :param approximate: "tanh" is their approximation by a hyperbolic tangent, which some models
        were trained with.
    :type approximate: {"none", "tanh"}
    :returns: Of the shape of ``x``, floating.
    :raises ValueError: If ``approximate`` is another.
    :see: nn.GELU, nn.functional.silu, relu

    >>> ag.nn.functional.gelu(ag.tensor([0.0, 10.0]))
    tensor([ 0., 10.])
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")
    return _gelu(as_tensor(x), how=(approximate,))


@composite
def _gelu(x: Tensor, *, how: tuple[str]) -> Tensor:
    if how == ("tanh",):
        scaled = tanh((x + x * x * x * 0.044715) * _ROOT_TWO_OVER_PI) + 1
    elif x.dtype == np.float64:
        scaled = erfc(x * -math.sqrt(0.5))  # erf + 1 loses the tail; slow in float32
    else:
        scaled = erf(x * math.sqrt(0.5)) + 1
    result: Tensor = x * (scaled * 0.5)
    return result


@planned
@public
def silu(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``x * sigmoid(x)``, also called swish.

    :param x: Real numbers.
    :returns: Of the shape of ``x``, floating.
    :see: nn.SiLU, nn.functional.gelu, sigmoid

    >>> ag.nn.functional.silu(ag.tensor([0.0, 20.0]))
    tensor([ 0., 20.])
    """
    return _silu(as_tensor(x), how=())


@composite
def _silu(x: Tensor, *, how: tuple[()]) -> Tensor:
    result: Tensor = x * sigmoid(x)
    return result


def limited(x: Tensor, low: float, high: float) -> Tensor:
    """``x`` between two bounds, at which the slope is 0, as PyTorch's is."""
    return where(x <= low, low, where(x >= high, high, x))


@planned
@public
def relu6(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``x`` limited to [0, 6].

    :param x: Real numbers.
    :returns: Of the shape and dtype of ``x``.
    :see: relu, clip

    >>> ag.nn.functional.relu6(ag.tensor([-1.0, 3.0, 8.0]))
    tensor([0., 3., 6.])
    """
    return limited(as_tensor(x), 0, 6)


@planned
@public
def leaky_relu(x: TensorLike, /, negative_slope: float = 0.01, *, out: Tensor | None = None
               ) -> Tensor:
    """Each element, or ``negative_slope`` times it where it is not positive.

    :param x: Real numbers.
    :param negative_slope: Slope on the negative side.
    :returns: Of the shape of ``x``.
    :see: nn.LeakyReLU, nn.functional.elu, relu

    >>> ag.nn.functional.leaky_relu(ag.tensor([-2.0, 2.0]), 0.5)
    tensor([-1.,  2.])
    """
    return _leaky_relu(as_tensor(x), how=(negative_slope,))


@composite
def _leaky_relu(x: Tensor, *, how: tuple[float]) -> Tensor:
    return where(x > 0, x, x * how[0])


@planned
@public
def elu(x: TensorLike, /, alpha: float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """Each element, or ``alpha * (exp(x) - 1)`` where it is not positive (Clevert et al. 2016).

    :param x: Real numbers.
    :param alpha: The negative limit, with its sign changed.
    :returns: Of the shape of ``x``, floating.
    :see: nn.ELU, nn.functional.leaky_relu, relu

    >>> ag.nn.functional.elu(ag.tensor([-100.0, 2.0]))
    tensor([-1.,  2.])
    """
    return _elu(as_tensor(x), how=(alpha,))


@composite
def _elu(x: Tensor, *, how: tuple[float]) -> Tensor:
    below = where(x > 0, 0, x)  # no infinity in what is not chosen
    return where(x > 0, x, expm1(below) * how[0])
