"""The gamma distribution and what is made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.api.draws.common import Draw
from agnesi.autodiff.recording import no_grad, stop_gradient
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import checked_sizes
from agnesi.ops.base.parameter_checks import not_negative, positive
from agnesi.ops.base.reduce import amax
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp, log
from agnesi.ops.implicit import gamma_path
from agnesi.ops.random.generators import Generator


def _at_least_one(d: Draw, a: Tensor) -> Tensor:
    """Standard gamma numbers of shapes of at least 1, by Marsaglia and Tsang (2000)."""
    third = a - 1.0 / 3.0
    return d.stepped("gamma", a >= 1.0, third, third)


def _raised(d: Draw, a: Tensor) -> tuple[Tensor, Tensor]:
    """Gamma numbers of shapes raised to at least 1, and logarithms of what makes up for that.

    A number of shape a + 1 times u**(1/a) has shape a, and so have the derivatives.
    """
    small = a < 1.0
    with no_grad():
        fixed = stop_gradient(a)
        raised = where(small, fixed + 1.0, fixed)
        z = _at_least_one(d, raised)
        z = where(raised >= 1.0, z, np.nan)  # 0, negative or not a number
        boost = -d.exponential()
    path = gamma_path(z, where(small, a + 1.0, a))
    return path, where(small, boost / where(small, a, 1.0), 0.0)


def _log_gamma(d: Draw, a: Tensor) -> Tensor:
    """Logarithms of standard gamma numbers: of small shapes, numbers themselves would be 0."""
    path, boost = _raised(d, a)
    return log(path) + boost


def standard(d: Draw, a: Any) -> Tensor:
    """Standard gamma numbers; 0 where the shape is."""
    a = d.full(a)
    path, boost = _raised(d, where(a == 0.0, 1.0, a))
    return where(a == 0.0, 0.0, path * exp(boost))


@planned
@public
def standard_gamma(shape: ShapeLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
                   generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Gamma numbers of a shape (alpha) and scale 1.

    Gradients flow to the shape implicitly (``ops/implicit.py``).

    :param shape: Not negative.
    :type shape: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``shape`` is negative, in compiled code too.
    :see: random.gamma

    >>> bool((ag.random.standard_gamma(2.0, 9) > 0).all())
    True
    """
    (shape,) = not_negative("standard_gamma", shape=shape)
    d = Draw(size, dtype, generator, shape)
    return d.give(standard(d, d.params[0]))


@planned
@public
def gamma(shape: ShapeLike, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
          dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
          ) -> Tensor:
    """Gamma numbers of a shape (alpha) and a scale; gradients flow to both.

    :param shape, scale: Not negative; the mean is their product.
    :type shape, scale: float or Tensor
    :param size: Shape of the result; by default that of the parameters.
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If a parameter is negative, in compiled code too.
    :see: random.standard_gamma, random.chisquare, random.beta, special.gammainc

    >>> bool((ag.random.gamma(2.0, 3.0, 9) > 0).all())
    True
    """
    shape, scale = not_negative("gamma", shape=shape, scale=scale)
    d = Draw(size, dtype, generator, shape, scale)
    return d.give(standard(d, d.params[0]) * d.params[1])


@planned
@public
def chisquare(df: TensorLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
              generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Sums of squares of ``df`` normal numbers.

    :param df: Degrees of freedom; positive, not only whole.
    :type df: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``df`` is not positive, in compiled code too.
    :see: random.noncentral_chisquare, random.gamma, special.chdtr

    >>> bool((ag.random.chisquare(3.0, 9) > 0).all())
    True
    """
    (df,) = positive("chisquare", df=df)
    d = Draw(size, dtype, generator, df)
    return d.give(2.0 * standard(d, d.params[0] / 2))


@planned
@public
def beta(a: TensorLike, b: TensorLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
         generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Numbers in [0, 1] with density proportional to ``x**(a-1) * (1-x)**(b-1)``.

    :param a, b: The shapes; positive.
    :type a, b: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If a parameter is not positive, in compiled code too.
    :see: random.dirichlet, random.gamma, special.betainc

    >>> bool((ag.random.beta(2.0, 0.5, 9) <= 1).all())
    True
    """
    a, b = positive("beta", a=a, b=b)
    d = Draw(size, dtype, generator, a, b)
    first, second = (_log_gamma(d, d.full(p)) for p in d.params)
    return d.give(1.0 / (1.0 + exp(second - first)))


@planned
@public
def f(dfnum: TensorLike, dfden: TensorLike, size: ShapeLike | None = None, *,
      dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
      ) -> Tensor:
    """Ratios of the means of ``dfnum`` and ``dfden`` squares of normal numbers (Fisher's F).

    :like: beta
    :param dfnum, dfden: Degrees of freedom above and below; positive.
    :type dfnum, dfden: float or array_like
    :see: random.noncentral_f, random.chisquare, special.fdtr

    >>> bool((ag.random.f(3.0, 4.0, 9) > 0).all())
    True
    """
    dfnum, dfden = positive("f", dfnum=dfnum, dfden=dfden)
    d = Draw(size, dtype, generator, dfnum, dfden)
    above, below = (standard(d, n / 2) / n for n in d.params)
    return d.give(above / below)


@planned
@public
def standard_t(df: TensorLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
               generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Student's t with ``df`` degrees of freedom.

    :like: chisquare
    :param df: Degrees of freedom; positive.
    :type df: float or array_like
    :see: random.cauchy, random.normal, special.stdtr

    >>> ag.random.standard_t(3.0, 4).shape
    (4,)
    """
    (df,) = positive("standard_t", df=df)
    d = Draw(size, dtype, generator, df)
    n = d.params[0]
    return d.give(d.normal() / sqrt(standard(d, n / 2) * 2.0 / n))


@planned
@public
def dirichlet(alpha: TensorLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
              generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Shares that sum to 1: gamma numbers of shapes ``alpha``, divided by their sum.

    :param alpha: Of shape (..., k).
    :type alpha: array_like
    :param size: Shape of the result without its last axis; by default that of ``alpha``.
    :type size: int or tuple of int, optional
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of shape (\\*size, k).
    :raises ShapeError: If ``alpha`` is a number.
    :raises ValueError: If ``alpha`` is negative, in compiled code too.
    :see: random.beta, random.gamma, random.multinomial

    >>> import agnesi as ag
    >>> ag.random.dirichlet([1.0, 2.0, 3.0], 4).shape
    (4, 3)
    """
    alpha = as_tensor(alpha)
    if alpha.ndim == 0:
        raise ShapeError("alpha needs an axis: one shape for each share")
    (shares,) = not_negative("dirichlet", alpha=alpha)
    sizes = alpha.shape if size is None else (*checked_sizes(size), alpha.shape[-1])
    d = Draw(sizes, dtype, generator, shares)
    x = _log_gamma(d, d.full(d.params[0]))
    x = exp(x - stop_gradient(amax(x, -1, keepdims=True)))
    return d.give(x / sum_(x, -1, keepdims=True))
