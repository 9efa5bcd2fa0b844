"""Distributions in closed form: functions of uniform, normal and exponential noise."""

from __future__ import annotations

import math

from agnesi.api.draws.common import Draw
from agnesi.autodiff.recording import no_grad, stop_gradient
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.convert import cast
from agnesi.ops.base.parameter_checks import demanded, not_negative, positive
from agnesi.ops.base.select import clip, floor, where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p
from agnesi.ops.elementwise.trig import tan
from agnesi.ops.random.generators import Generator
from agnesi.ops.special.special import erf, erfinv

_ROOT2 = math.sqrt(2)


@planned
@public
def cauchy(loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
           dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
           ) -> Tensor:
    """Cauchy numbers with median ``loc``; half of them are within ``scale`` of it.

    :param loc: The median.
    :type loc: float or array_like
    :param scale: Half the distance between the quartiles; not negative.
    :type scale: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``scale`` is negative, in compiled code too.
    :see: random.standard_cauchy, random.standard_t

    >>> ag.random.cauchy(size=3).shape
    (3,)
    """
    (scale,) = not_negative("cauchy", scale=scale)
    d = Draw(size, dtype, generator, loc, scale)
    loc, scale = d.params
    return d.give(loc + scale * tan((d.unit() - 0.5) * math.pi))


@planned
@public
def laplace(loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
            dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
            ) -> Tensor:
    """Laplace numbers: exponential ones of mean ``scale`` on either side of ``loc``.

    :like: cauchy
    :param loc: Where the density is greatest.
    :type loc: float or array_like
    :param scale: How wide it is; not negative.
    :type scale: float or array_like
    :see: random.exponential, random.normal

    >>> ag.random.laplace(size=3).shape
    (3,)
    """
    (scale,) = not_negative("laplace", scale=scale)
    d = Draw(size, dtype, generator, loc, scale)
    loc, scale = d.params
    x = d.exponential()
    return d.give(loc + scale * where(d.unit() < 0.5, -x, x))


@planned
@public
def logistic(loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
             dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
             ) -> Tensor:
    """Logistic numbers around ``loc``: ``log(u / (1 - u))`` of uniform ones, times ``scale``.

    :like: laplace
    :see: random.gumbel, special.expit

    >>> ag.random.logistic(size=3).shape
    (3,)
    """
    (scale,) = not_negative("logistic", scale=scale)
    d = Draw(size, dtype, generator, loc, scale)
    loc, scale = d.params
    x = d.exponential()  # -log(u) + log(1 - u), without a difference near 1
    return d.give(loc + scale * (x + log(-expm1(-x))))


@planned
@public
def lognormal(mean: TensorLike = 0.0, sigma: TensorLike = 1.0, size: ShapeLike | None = None, *,
              dtype: DTypeLike = None, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:
    """Exponentials of normal numbers.

    :param mean: Mean of the logarithms.
    :type mean: float or array_like
    :param sigma: Deviation of the logarithms; not negative.
    :type sigma: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``sigma`` is negative, in compiled code too.
    :see: random.normal

    >>> bool((ag.random.lognormal(size=9) > 0).all())
    True
    """
    (sigma,) = not_negative("lognormal", sigma=sigma)
    d = Draw(size, dtype, generator, mean, sigma)
    mean, sigma = d.params
    return d.give(exp(mean + sigma * d.normal()))


@planned
@public
def pareto(a: TensorLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
           generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Pareto II (Lomax) numbers of shape ``a``; plus one, they are classical Pareto numbers.

    :param a: The shape; positive.
    :type a: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``a`` is not positive, in compiled code too.
    :see: random.power, random.zipf

    >>> bool((ag.random.pareto(3.0, 9) >= 0).all())
    True
    """
    (a,) = positive("pareto", a=a)
    d = Draw(size, dtype, generator, a)
    return d.give(expm1(d.exponential() / d.params[0]))


@planned
@public
def power(a: TensorLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
          generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Numbers in [0, 1] with density ``a * x**(a - 1)``.

    :like: pareto
    :see: random.pareto, random.beta

    >>> bool((ag.random.power(2.0, 9) <= 1).all())
    True
    """
    (a,) = positive("power", a=a)
    d = Draw(size, dtype, generator, a)
    return d.give(exp(-d.exponential() / d.params[0]))


@planned
@public
def rayleigh(scale: TensorLike = 1.0, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
             generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Lengths of vectors of two normal numbers with deviation ``scale``.

    :like: cauchy
    :param scale: Deviation of each component; not negative.
    :type scale: float or array_like
    :see: random.rice, random.weibull

    >>> bool((ag.random.rayleigh(size=9) >= 0).all())
    True
    """
    (scale,) = not_negative("rayleigh", scale=scale)
    d = Draw(size, dtype, generator, scale)
    return d.give(d.params[0] * sqrt(2.0 * d.exponential()))


@planned
@public
def rice(nu: TensorLike, sigma: TensorLike = 1.0, size: ShapeLike | None = None, *,
         dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
         ) -> Tensor:
    """Lengths of vectors of two normal numbers with deviation ``sigma``, ``nu`` from the origin.

    :param nu: Length of the mean; not negative.
    :type nu: float or array_like
    :param sigma: Deviation of each component; not negative.
    :type sigma: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If a parameter is negative, in compiled code too.
    :see: random.rayleigh

    >>> bool((ag.random.rice(1.0, size=9) >= 0).all())
    True
    """
    nu, sigma = not_negative("rice", nu=nu, sigma=sigma)
    d = Draw(size, dtype, generator, nu, sigma)
    nu, sigma = d.params
    x, y = nu + sigma * d.normal(), sigma * d.normal()
    return d.give(sqrt(x * x + y * y))


@planned
@public
def weibull(a: TensorLike, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
            generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Weibull numbers of shape ``a`` and scale 1: exponential ones to the power ``1 / a``.

    :like: pareto
    :see: random.exponential, random.gumbel

    >>> bool((ag.random.weibull(2.0, 9) >= 0).all())
    True
    """
    (a,) = positive("weibull", a=a)
    d = Draw(size, dtype, generator, a)
    return d.give(exp(log(d.exponential()) / d.params[0]))


@planned
@public
def triangular(left: TensorLike, mode: TensorLike, right: TensorLike, size: ShapeLike | None = None,
               *, dtype: DTypeLike = None, generator: Generator | None = None,
               out: Tensor | None = None) -> Tensor:
    """Numbers in [left, right] whose density rises straight up to ``mode`` and then falls.

    :param left, mode, right: Where the density begins, is greatest and ends.
    :type left, mode, right: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: Unless ``left <= mode <= right`` and ``left < right``, in compiled code too.
    :see: random.uniform, random.beta

    >>> bool((ag.random.triangular(-1.0, 0.0, 3.0, 9) >= -1).all())
    True
    """
    left, mode, right = demanded(
        "triangular", "left <= mode <= right and left < right must hold",
        lambda left, mode, right: (left <= mode) & (mode <= right) & (left < right),
        left=left, mode=mode, right=right,
    )
    d = Draw(size, dtype, generator, left, mode, right)
    left, mode, right = map(d.full, d.params)
    u, span = d.unit(), right - left
    rises = u * span < mode - left
    area = where(rises, u * (mode - left), (1.0 - u) * (right - mode)) * span
    return d.give(where(rises, left + sqrt(area), right - sqrt(area)))


@planned
@public
def wald(mean: TensorLike, scale: TensorLike, size: ShapeLike | None = None, *,
         dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
         ) -> Tensor:
    """Wald (inverse Gaussian) numbers, as Michael, Schucany and Haas (1976) make them.

    Which of two roots a number is depends on the parameters, so no gradients flow to them.

    :param mean: The mean; positive.
    :type mean: float or array_like
    :param scale: The shape; positive.
    :type scale: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If a parameter is not positive, in compiled code too.
    :see: random.normal, random.gamma

    >>> bool((ag.random.wald(1.0, 2.0, 9) > 0).all())
    True
    """
    mean, scale = positive("wald", mean=mean, scale=scale)
    d = Draw(size, dtype, generator, mean, scale)
    with no_grad():
        mean, scale = (stop_gradient(d.full(p)) for p in d.params)
        y = d.normal()
        ratio = mean * y * y / (2.0 * scale)
        # 1 + r - sqrt(2r + r²) as a quotient, since the difference would lose all digits.
        small = mean / (1.0 + ratio + sqrt(ratio * (2.0 + ratio)))
        return d.give(where(d.unit() * (mean + small) <= mean, small, mean * mean / small))


@planned
@public
def truncated_normal(low: TensorLike, high: TensorLike, loc: TensorLike = 0.0,
                     scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
                     dtype: DTypeLike = None, generator: Generator | None = None,
                     out: Tensor | None = None) -> Tensor:
    """Normal numbers that are in [low, high].

    They are made by the inverse of the distribution function, in float64; more than 8 deviations
    from ``loc`` it has no digits left.  Gradients flow to all parameters.

    :param low, high: The bounds; they may be infinite.
    :type low, high: float or array_like
    :param loc: The mean of the whole distribution.
    :type loc: float or array_like
    :param scale: Its standard deviation; positive.
    :type scale: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``scale`` is not positive or ``low`` greater than ``high``, in compiled
        code too.
    :see: random.normal, clip

    >>> bool((abs(ag.random.truncated_normal(-2.0, 2.0, size=99)) <= 2).all())
    True
    """
    (scale,) = positive("truncated_normal", scale=scale)
    low, high = demanded("truncated_normal", "low <= high must hold",
                         lambda low, high: low <= high, low=low, high=high)
    d = Draw(size, dtype, generator, low, high, loc, scale, exact=True)
    low, high, loc, scale = map(d.full, d.params)
    a, b = (low - loc) / scale, (high - loc) / scale
    turned = a + b > 0
    a, b = where(turned, -b, a), where(turned, -a, b)
    start, stop = erf(a / _ROOT2), erf(b / _ROOT2)
    inside = clip(start + (stop - start) * d.unit(), -1.0 + 2.0**-53, 1.0 - 2.0**-53)
    x = erfinv(inside) * _ROOT2
    return d.give(clip(loc + scale * where(turned, -x, x), low, high))


@planned
@public
def geometric(p: TensorLike, size: ShapeLike | None = None, *, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:
    """How many trials of chance ``p`` it takes to the first success: int64, at least 1.

    :param p: Chance of a success; positive.
    :type p: float or array_like
    :returns: int64, of that shape; no gradient flows.
    :raises ValueError: If ``p`` is not in (0, 1], in compiled code too.
    :see: random.negative_binomial, random.exponential

    >>> ag.random.geometric(1.0, 3)
    tensor([1, 1, 1])
    """
    (p,) = demanded("geometric", "p must be in (0, 1]", lambda p: (p > 0) & (p <= 1), p=p)
    d = Draw(size, None, generator, p, exact=True)
    p = d.full(d.params[0])
    turns = floor(-d.exponential() / log1p(-p)) + 1.0
    return cast(where((p > 0) & (p <= 1), clip(turns, 1.0, 2.0**62), -1.0), dtypes.int64)


@planned
@public
def logseries(p: TensorLike, size: ShapeLike | None = None, *, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:
    """Whole numbers from 1 with chances proportional to ``p**k / k``, after Kemp (1981).

    :param p: In [0, 1).
    :type p: float or array_like
    :returns: int64, of that shape; no gradient flows.
    :raises ValueError: If ``p`` is not in [0, 1), in compiled code too.
    :see: random.zipf, random.geometric

    >>> bool((ag.random.logseries(0.5, 9) >= 1).all())
    True
    """
    (p,) = demanded("logseries", "p must be in [0, 1)", lambda p: (p >= 0) & (p < 1), p=p)
    d = Draw(size, None, generator, p, exact=True)
    p = d.full(d.params[0])
    v = d.open()
    q = -expm1(log1p(-p) * d.open())
    many = floor(1.0 + log(v) / log(q))
    k = where(v >= p, 1.0, where(v <= q * q, many, where(v >= q, 1.0, 2.0)))
    return cast(where((p >= 0) & (p < 1), clip(k, 1.0, 2.0**62), -1.0), dtypes.int64)


@planned
@public
def standard_cauchy(size: ShapeLike | None = None, *, dtype: DTypeLike = None,
                    generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """:func:`cauchy` numbers with median 0 and scale 1.

    :param size: Shape of the result; one number by default.
    :param dtype: A float type; ``config.default_float`` by default.
    :returns: Of that shape.
    :see: random.cauchy

    >>> ag.random.standard_cauchy(3).shape
    (3,)
    """
    return cauchy(size=size, dtype=dtype, generator=generator)
