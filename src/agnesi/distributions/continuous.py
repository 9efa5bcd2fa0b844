"""Distributions of one real number."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.special.incomplete import gammainc
from agnesi.ops.special.normal import ndtri

_EULER = 0.5772156649015329  # the Euler-Mascheroni constant
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class _Located(Distribution):
    """A distribution that is moved and stretched; ``_standard`` draws it at 0 with width 1."""

    arg_constraints: ClassVar = {"loc": C.real, "scale": C.positive}
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool | None = None
                 ) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    support: Any = C.real

    def _standard(self, shape: Any) -> Tensor:
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self.scale * self._standard(self._extended_shape(sample_shape))

    def _z(self, value: Any) -> Tensor:
        return (self._value(value) - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


@described(">>> ag.distributions.Normal(0.0, 1.0).log_prob(0.0)\ntensor(-0.9189385)")
class Normal(_Located):
    """Normal distribution of mean ``loc`` and standard deviation ``scale``.

    Density: ``exp(-((x - loc) / scale)**2 / 2) / (scale * sqrt(2 * pi))``.
    """

    def _standard(self, shape: Any) -> Tensor:
        return random.normal(size=shape, dtype=self.loc.dtype)

    @property
    def variance(self) -> Tensor:
        return F.square(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        return -0.5 * F.square(self._z(value)) - F.log(self.scale) - _HALF_LOG_2PI

    def cdf(self, value: Any) -> Tensor:
        return 0.5 * F.erfc(-self._z(value) * math.sqrt(0.5))

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * ndtri(self._share(value))

    def entropy(self) -> Tensor:
        return 0.5 + _HALF_LOG_2PI + F.log(self.scale)


@described(">>> ag.distributions.Laplace(0.0, 1.0).entropy().round(3)\ntensor(1.693)")
class Laplace(_Located):
    """Laplace distribution: exponential on both sides of ``loc``.

    Density: ``exp(-abs(x - loc) / scale) / (2 * scale)``.
    """

    def _standard(self, shape: Any) -> Tensor:
        return random.laplace(size=shape, dtype=self.loc.dtype)

    @property
    def variance(self) -> Tensor:
        return 2 * F.square(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        return -F.abs(self._z(value)) - F.log(2 * self.scale)

    def cdf(self, value: Any) -> Tensor:
        z = self._z(value)
        low = z < 0
        tail = 0.5 * F.exp(F.where(low, z, -z))
        return F.where(low, tail, 1 - tail)

    def icdf(self, value: Any) -> Tensor:
        p = self._share(value)
        low = p < 0.5
        tail = F.log(2 * F.where(low, p, 1 - p))
        return self.loc + self.scale * F.where(low, tail, -tail)

    def entropy(self) -> Tensor:
        return 1 + F.log(2 * self.scale)


@described(">>> ag.distributions.Cauchy(0.0, 1.0).cdf(0.0)\ntensor(0.5)")
class Cauchy(_Located):
    """Cauchy distribution, which has no mean.

    Density: ``1 / (pi * scale * (1 + ((x - loc) / scale)**2))``.
    """

    def _standard(self, shape: Any) -> Tensor:
        return random.cauchy(size=shape, dtype=self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc * math.nan

    @property
    def variance(self) -> Tensor:
        return F.abs(self.loc) * 0 + math.inf

    def log_prob(self, value: Any) -> Tensor:
        return -math.log(math.pi) - F.log(self.scale) - F.log1p(F.square(self._z(value)))

    def cdf(self, value: Any) -> Tensor:
        return F.atan2(1, -self._z(value)) / math.pi

    def icdf(self, value: Any) -> Tensor:
        p = self._share(value)
        low = p < 0.5
        tail = F.where(low, p, 1 - p)
        far = 1 / F.tan(math.pi * tail)
        z = F.where(tail < 0.25, F.where(low, -far, far), F.tan(math.pi * (p - 0.5)))
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + F.log(self.scale)


@described(">>> ag.distributions.Gumbel(0.0, 1.0).mean.round(3)\ntensor(0.577)")
class Gumbel(_Located):
    """Gumbel distribution, the limit of the maximum of many (type I extreme values).

    Density: ``exp(-(x - loc) / scale - exp(-(x - loc) / scale)) / scale``.
    """

    def _standard(self, shape: Any) -> Tensor:
        return random.gumbel(size=shape, dtype=self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * _EULER

    @property
    def variance(self) -> Tensor:
        return math.pi**2 / 6 * F.square(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        z = self._z(value)
        return -z - F.exp(-z) - F.log(self.scale)

    def cdf(self, value: Any) -> Tensor:
        return F.exp(-F.exp(-self._z(value)))

    def icdf(self, value: Any) -> Tensor:
        return self.loc - self.scale * F.log(-F.log(self._share(value)))

    def entropy(self) -> Tensor:
        return F.log(self.scale) + (1 + _EULER)


@described(">>> ag.distributions.Uniform(0.0, 2.0).log_prob(1.0)\ntensor(-0.6931472)",
           low="array_like\n    Where the numbers begin.", high="array_like\n    Where they end.")
class Uniform(Distribution):
    """Uniform distribution on [low, high).

    Density: ``1 / (high - low)``.
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: TensorLike, high: TensorLike, validate_args: bool | None = None
                 ) -> None:
        self._take(validate_args, low=low, high=high)
        self.high = self.low + self._check("high - low", self.high - self.low, C.positive)

    @property
    def support(self) -> Any:
        return C.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        unit = random.uniform(size=self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + unit * (self.high - self.low)

    @property
    def mean(self) -> Tensor:
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Tensor:
        return self.low * math.nan

    @property
    def variance(self) -> Tensor:
        return F.square(self.high - self.low) / 12

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        inside = (value >= self.low) & (value < self.high)
        return F.where(inside, -F.log(self.high - self.low), -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return F.clip((self._value(value) - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value: Any) -> Tensor:
        return self.low + self._share(value) * (self.high - self.low)

    def entropy(self) -> Tensor:
        return F.log(self.high - self.low)


@described(">>> ag.distributions.Exponential(2.0).mean\ntensor(0.5)",
           rate="array_like\n    1 / mean; positive.")
class Exponential(Distribution):
    """Exponential distribution of mean ``1 / rate``.

    Density: ``rate * exp(-rate * x)``.
    """

    arg_constraints: ClassVar = {"rate": C.positive}
    has_rsample = True
    support: Any = C.nonnegative
    rate: Tensor

    def __init__(self, rate: TensorLike, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return random.exponential(size=shape, dtype=self.rate.dtype) / self.rate

    @property
    def mean(self) -> Tensor:
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate * 0

    @property
    def variance(self) -> Tensor:
        return 1 / F.square(self.rate)

    def log_prob(self, value: Any) -> Tensor:
        return F.log(self.rate) - self.rate * self._value(value)

    def cdf(self, value: Any) -> Tensor:
        return -F.expm1(-self.rate * self._value(value))

    def icdf(self, value: Any) -> Tensor:
        return -F.log1p(-self._share(value)) / self.rate

    def entropy(self) -> Tensor:
        return 1 - F.log(self.rate)


@described(">>> ag.distributions.Gamma(2.0, 4.0).mean\ntensor(0.5)",
           concentration="array_like\n    The shape; positive.",
           rate="array_like\n    1 / scale; positive.")
class Gamma(Distribution):
    """Gamma distribution of shape ``concentration`` and mean ``concentration / rate``.

    Density: ``rate**concentration * x**(concentration - 1) * exp(-rate * x) /
    gamma(concentration)``.
    """

    arg_constraints: ClassVar = {"concentration": C.positive, "rate": C.positive}
    has_rsample = True
    support: Any = C.nonnegative
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: TensorLike, rate: TensorLike,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        exponents: Any = F.broadcast_to(self.concentration, shape)
        drawn = random.standard_gamma(exponents, dtype=exponents.dtype)
        return drawn / self.rate

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return F.clip(self.concentration - 1, min=0) / self.rate

    @property
    def variance(self) -> Tensor:
        return self.concentration / F.square(self.rate)

    def log_prob(self, value: Any) -> Tensor:
        value, a = self._value(value), self.concentration
        return F.xlogy(a, self.rate) + F.xlogy(a - 1, value) - self.rate * value - F.lgamma(a)

    def cdf(self, value: Any) -> Tensor:
        return gammainc(self.concentration, self.rate * self._value(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - F.log(self.rate) + F.lgamma(a) + (1 - a) * F.digamma(a)


@described(">>> ag.distributions.Chi2(3.0).mean\ntensor(3.)",
           df="array_like\n    Degrees of freedom; positive.")
class Chi2(Gamma):
    """Chi-squared distribution, of the sum of ``df`` squared standard normal variables.

    Density: ``x**(df / 2 - 1) * exp(-x / 2) / (2**(df / 2) * gamma(df / 2))``.
    """

    def __init__(self, df: TensorLike, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * as_tensor(df), 0.5, validate_args)
        self._given = ("df",)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2


@described(">>> ag.distributions.StudentT(3.0).variance\ntensor(3.)",
           df="array_like\n    Degrees of freedom; positive.")
class StudentT(Distribution):
    """Student's t distribution, moved by ``loc`` and stretched by ``scale``.

    Density: ``gamma((df + 1) / 2) / (gamma(df / 2) * sqrt(df * pi) * scale) * (1 + ((x - loc) /
    scale)**2 / df)**(-(df + 1) / 2)``.
    """

    arg_constraints: ClassVar = {"df": C.positive, "loc": C.real, "scale": C.positive}
    has_rsample = True
    support: Any = C.real
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, df: TensorLike, loc: TensorLike = 0.0, scale: TensorLike = 1.0,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, df=df, loc=loc, scale=scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, kind = self._extended_shape(sample_shape), self.df.dtype
        half: Any = F.broadcast_to(self.df / 2, shape)
        square = 2 * random.standard_gamma(half, dtype=kind)
        return self.loc + self.scale * random.normal(size=shape, dtype=kind) * F.rsqrt(
            square / self.df)

    @property
    def mean(self) -> Tensor:
        return F.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = F.where(self.df > 2, F.square(self.scale) * self.df / (self.df - 2), math.inf)
        return F.where(self.df > 1, found, math.nan)

    def _constant(self) -> Tensor:
        n = self.df
        return (F.log(self.scale) + 0.5 * F.log(n) + 0.5 * math.log(math.pi) + F.lgamma(n / 2)
                - F.lgamma((n + 1) / 2))

    def log_prob(self, value: Any) -> Tensor:
        z = (self._value(value) - self.loc) / self.scale
        return -0.5 * (self.df + 1) * F.log1p(F.square(z) / self.df) - self._constant()

    def entropy(self) -> Tensor:
        n = self.df
        return 0.5 * (n + 1) * (F.digamma((n + 1) / 2) - F.digamma(n / 2)) + self._constant()


@described(">>> ag.distributions.Weibull(2.0, 1.0).mean\ntensor(2.)",
           scale="array_like\n    The width; positive.",
           concentration="array_like\n    The exponent; positive.")
class Weibull(Distribution):
    """Weibull distribution, of times to a failure.

    Density: ``concentration / scale * (x / scale)**(concentration - 1) * exp(-(x /
    scale)**concentration)``.
    """

    arg_constraints: ClassVar = {"scale": C.positive, "concentration": C.positive}
    has_rsample = True
    support: Any = C.nonnegative
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: TensorLike, concentration: TensorLike,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, scale=scale, concentration=concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = random.exponential(size=self._extended_shape(sample_shape), dtype=self.scale.dtype)
        return self.scale * drawn ** (1 / self.concentration)

    def _moment(self, n: int) -> Tensor:
        return self.scale**n * F.exp(F.lgamma(1 + n / self.concentration))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** (1 / k)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - F.square(self._moment(1))

    def log_prob(self, value: Any) -> Tensor:
        z, k = self._value(value) / self.scale, self.concentration
        return F.log(k / self.scale) + F.xlogy(k - 1, z) - z**k

    def cdf(self, value: Any) -> Tensor:
        return -F.expm1(-((self._value(value) / self.scale) ** self.concentration))

    def icdf(self, value: Any) -> Tensor:
        return self.scale * (-F.log1p(-self._share(value))) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        k = self.concentration
        return _EULER * (1 - 1 / k) + F.log(self.scale / k) + 1


@described(">>> ag.distributions.HalfNormal(1.0).mean.round(3)\ntensor(0.798)")
class HalfNormal(Distribution):
    """Distribution of the absolute value of a normal variable of mean 0.

    Density: ``2 * exp(-(x / scale)**2 / 2) / (scale * sqrt(2 * pi))``.
    """

    arg_constraints: ClassVar = {"scale": C.positive}
    has_rsample = True
    support: Any = C.nonnegative
    scale: Tensor

    def __init__(self, scale: TensorLike, validate_args: bool | None = None) -> None:
        self._take(validate_args, scale=scale)
        self._whole = Normal(0.0, self.scale, False)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return F.abs(self._whole.rsample(sample_shape))

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return self.scale * 0

    @property
    def variance(self) -> Tensor:
        return F.square(self.scale) * (1 - 2 / math.pi)

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        return F.where(value >= 0, self._whole.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return 2 * self._whole.cdf(self._value(value)) - 1

    def icdf(self, value: Any) -> Tensor:
        return self._whole.icdf((self._share(value) + 1) / 2)

    def entropy(self) -> Tensor:
        return self._whole.entropy() - math.log(2)


@described(">>> ag.distributions.LogNormal(0.0, 1.0).mean.round(3)\ntensor(1.649)",
           loc="array_like\n    The mean of the logarithm.",
           scale="array_like\n    The standard deviation of the logarithm; positive.")
class LogNormal(_Located):
    """Distribution of the exponential of a normal variable.

    Density: ``exp(-((log(x) - loc) / scale)**2 / 2) / (x * scale * sqrt(2 * pi))``.
    """

    support: Any = C.positive

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool | None = None
                 ) -> None:
        super().__init__(loc, scale, validate_args)
        self._base = Normal(self.loc, self.scale, False)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return F.exp(self._base.rsample(sample_shape))

    @property
    def mean(self) -> Tensor:
        return F.exp(self.loc + F.square(self.scale) / 2)

    @property
    def mode(self) -> Tensor:
        return F.exp(self.loc - F.square(self.scale))

    @property
    def variance(self) -> Tensor:
        square = F.square(self.scale)
        return F.expm1(square) * F.exp(2 * self.loc + square)

    def log_prob(self, value: Any) -> Tensor:
        logarithm = F.log(self._value(value))
        return self._base.log_prob(logarithm) - logarithm

    def cdf(self, value: Any) -> Tensor:
        return self._base.cdf(F.log(self._value(value)))

    def icdf(self, value: Any) -> Tensor:
        p = self._share(value)
        low = p > 0
        inner = F.exp(self._base.icdf(F.where(low, p, 0.5)))
        return F.where(low, inner, F.sqrt(p))  # as steep at 0, where rules meet 0 times infinity

    def entropy(self) -> Tensor:
        return self._base.entropy() + self.loc
