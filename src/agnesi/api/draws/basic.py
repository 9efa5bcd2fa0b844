"""Uniform, normal, exponential and Gumbel numbers, with NumPy's arguments in NumPy's order."""

from __future__ import annotations

from typing import Any

from agnesi.core import shapes
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.random import random
from agnesi.ops.random.generators import Generator


def _sizes(size: Any, *params: Any) -> Any:
    """The shape requested, or that which the parameters have together."""
    if size is not None:
        return size
    if all(isinstance(p, (int, float)) for p in params):
        return ()
    return shapes.broadcast((), *[as_tensor(p).shape for p in params])


@planned
@public
def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: ShapeLike | None = None, *,
            dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
            ) -> Tensor:
    """Uniform numbers in [low, high).

    :param low, high: The bounds, of which ``high`` is never drawn.
    :type low, high: float or array_like
    :param size: The shape; by default that of ``low`` and ``high``.
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``low`` is greater than ``high``, or they are infinite.
    :see: rand, random.integers, random.triangular, nn.init.uniform_

    >>> ag.random.uniform(-1.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    return random.uniform(_sizes(size, low, high), low, high, dtype=dtype, generator=generator)


@planned
@public
def normal(loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
           dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
           ) -> Tensor:
    """Normal numbers with mean ``loc`` and deviation ``scale``.

    :param loc: The mean.
    :type loc: float or array_like
    :param scale: The standard deviation; not negative.
    :type scale: float or array_like
    :param size: The shape; by default that of ``loc`` and ``scale``.
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``scale`` is negative, in compiled code too.
    :see: randn, random.truncated_normal, random.multivariate_normal, nn.init.normal_

    >>> ag.random.normal(0, 1, 3).shape
    (3,)
    """
    return random.normal(_sizes(size, loc, scale), loc, scale, dtype=dtype, generator=generator)


@planned
@public
def exponential(scale: TensorLike = 1.0, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Exponentially distributed numbers with mean ``scale``.

    :param scale: The mean; not negative.
    :type scale: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``scale`` is negative, in compiled code too.
    :see: random.gamma, random.weibull, random.poisson

    >>> bool((ag.random.exponential(size=9) >= 0).all())
    True
    """
    return random.exponential(_sizes(size, scale), scale, dtype=dtype, generator=generator)


@planned
@public
def gumbel(loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
           dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
           ) -> Tensor:
    """Gumbel numbers; the argmax of logits plus standard ones is a draw of their softmax.

    :like: exponential
    :param loc: Where the density is greatest.
    :type loc: float or array_like
    :param scale: How wide it is; not negative.
    :type scale: float or array_like
    :see: random.categorical, random.logistic, random.weibull

    >>> ag.random.gumbel(size=3).shape
    (3,)
    """
    return random.gumbel(_sizes(size, loc, scale), loc, scale, dtype=dtype, generator=generator)
