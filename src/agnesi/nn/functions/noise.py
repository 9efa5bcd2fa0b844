"""Noise that keeps mean and variance of what SELU gives, and leaks of random slopes."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.core.op import typed
from agnesi.core.options import Share
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.overwriting import Overwriting
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.parameter_checks import probability
from agnesi.ops.neural.activations import leaky_relu
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.random import survivors, uniform

#: What SELU gives for large negative numbers.
_LEAST = -1.7580993408473766


def _dropped(name: str, x: Any, p: float, training: bool, shape: Any,
             generator: Generator | None) -> Tensor:
    share: Any
    (share,) = probability(name, p=p)
    x = as_tensor(x)
    known = not isinstance(share, Tensor)
    if not training or (known and share == 0):
        return x
    if known and share == 1:
        return x * 0
    scale = ((_LEAST**2 * share + 1) * (1 - share)) ** -0.5
    shift = scale * _LEAST * share
    if not known:
        scale, shift = F.astype(scale, x.dtype), F.astype(shift, x.dtype)
    kept = F.where(survivors(shape, share, generator), x, _LEAST)
    return scale * kept - shift


@public
def alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False, *,
                  generator: Generator | None = None) -> Tensor:
    """Dropout to SELU's least value, with mean and variance kept (Klambauer et al., 2017).

    :param input: Of any shape.
    :param p: Chance of an element to be dropped.
    :param training: Otherwise ``input`` stays as it is.
    :returns: Of the shape of ``input``.
    :raises ValueError: If ``p`` is not in [0, 1].
    :see: nn.AlphaDropout, nn.functional.feature_alpha_dropout, nn.functional.selu

    >>> ag.nn.functional.alpha_dropout(ag.ones(3), 0.5)
    tensor([1., 1., 1.])
    """
    x = as_tensor(input)
    return _dropped("alpha_dropout", x, p, training, x.shape, generator)


@public
def feature_alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False, *,
                          generator: Generator | None = None) -> Tensor:
    """:func:`alpha_dropout` of whole channels.

    :like: alpha_dropout
    :param input: (batch, channels, ...).
    :param p: Chance of a channel to be dropped.
    :raises ShapeError: If there are no channels.
    :see: nn.FeatureAlphaDropout, nn.functional.alpha_dropout

    >>> y = ag.nn.functional.feature_alpha_dropout(ag.ones((4, 3, 2)), 0.5, training=True)
    >>> bool((y[..., 0] == y[..., 1]).all())
    True
    """
    x = as_tensor(input)
    if x.ndim < 2 and training and p:
        raise ShapeError(f"the input must be (batch, channels, ...), not {typed(x)}")
    shape = (*x.shape[:2], *(1,) * (x.ndim - 2))
    return _dropped("feature_alpha_dropout", x, p, training, shape, generator)


@public
def rrelu(input: TensorLike, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
          *, generator: Generator | None = None) -> Tensor:
    """``x``, and a random share of it where it is negative (Xu et al., 2015).

    :param input: Real numbers.
    :param lower, upper: The shares are drawn between these; their mean is taken unless in training.
    :param training: Whether shares are random, one for each element.
    :returns: Of the shape of ``input``.
    :raises ValueError: If ``lower`` is larger than ``upper``.
    :see: nn.RReLU, nn.functional.leaky_relu

    >>> ag.nn.functional.rrelu(ag.tensor([-4.0, 1.0]), 0.25, 0.75)
    tensor([-2.,  1.])
    """
    x = as_tensor(input)
    if not lower <= upper:
        raise ValueError(f"lower must not be larger than upper, but {lower} is than {upper}")
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    slopes = uniform(x.shape, lower, upper, dtype=x.dtype, generator=generator)
    return F.where(x < 0, x * slopes, x)


class _AlphaDropout(Overwriting):
    """Dropout that keeps mean and variance."""

    def __init__(self, p: Share = 0.5, inplace: bool = False) -> None:
        super().__init__(inplace)
        if not 0 <= p <= 1:
            raise ValueError(at(f"{type(self).__name__}: p must be in [0, 1], not {p}"))
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return self._given(x, alpha_dropout(x, self.p, self.training))

    def extra_repr(self) -> str:
        return self._shown(f"p={self.p}")


class AlphaDropout(_AlphaDropout):
    """Dropout to SELU's least value, with mean and variance kept (Klambauer et al., 2017).

    :param p: Chance of an element to be dropped in training.
    :raises ValueError: If ``p`` is not in [0, 1].
    :see: nn.functional.alpha_dropout, nn.Dropout, nn.SELU

    >>> ag.nn.AlphaDropout(0.5).eval()(ag.ones(3))
    tensor([1., 1., 1.])
    """


class FeatureAlphaDropout(_AlphaDropout):
    """:class:`AlphaDropout` of whole channels.

    :param p: Chance of a channel to be dropped in training.
    :raises ValueError: If ``p`` is not in [0, 1].
    :see: nn.functional.feature_alpha_dropout, nn.AlphaDropout

    >>> ag.nn.FeatureAlphaDropout(0.5).eval()(ag.ones((1, 3)))
    tensor([[1., 1., 1.]])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self._given(x, feature_alpha_dropout(x, self.p, self.training))


class RReLU(Overwriting):
    """Leaky ReLU whose slope for negative elements is random in training (Xu et al., 2015).

    :param lower, upper: The shares are drawn between these; their mean is taken unless in training.
    :see: nn.functional.rrelu, nn.LeakyReLU

    >>> ag.nn.RReLU(0.25, 0.75).eval()(ag.tensor([-4.0, 1.0]))
    tensor([-2.,  1.])
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor) -> Tensor:
        return self._given(x, rrelu(x, self.lower, self.upper, self.training))

    def extra_repr(self) -> str:
        return self._shown(f"lower={self.lower}, upper={self.upper}")
