"""Distributions of positive numbers, some without a mean: powers, ratios, half of Cauchy's."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.ops.special.incomplete import gammaincc


def _above(bound: float, x: Tensor, value: Any, otherwise: float = math.inf) -> Tensor:
    """A moment that there is where a parameter is above a bound."""
    return F.where(x > bound, value, otherwise)


@described(">>> ag.distributions.Pareto(1.0, 3.0).mean\ntensor(1.5)",
           scale="array_like\n    The smallest value; positive.",
           alpha="array_like\n    The exponent; positive.")
class Pareto(Distribution):
    """Pareto distribution: a power law from ``scale`` on.

    Density: ``alpha * scale**alpha / x**(alpha + 1)``.
    """

    arg_constraints: ClassVar = {"scale": C.positive, "alpha": C.positive}
    has_rsample = True
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: TensorLike, alpha: TensorLike, validate_args: bool | None = None
                 ) -> None:
        self._take(validate_args, scale=scale, alpha=alpha)

    @property
    def support(self) -> Any:
        return C.greater_than_eq(self.scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = random.exponential(size=self._extended_shape(sample_shape), dtype=self.scale.dtype)
        return self.scale * F.exp(drawn / self.alpha)

    @property
    def mean(self) -> Tensor:
        return _above(1, self.alpha, self.scale * self.alpha / (self.alpha - 1))

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha
        return _above(2, a, F.square(self.scale / (a - 1)) * a / (a - 2))

    def log_prob(self, value: Any) -> Tensor:
        value, a = self._value(value), self.alpha
        return F.log(a) + a * F.log(self.scale) - (a + 1) * F.log(value)

    def cdf(self, value: Any) -> Tensor:
        return -F.expm1(self.alpha * F.log(self.scale / self._value(value)))

    def icdf(self, value: Any) -> Tensor:
        return self.scale * F.exp(-F.log1p(-F.asarray(value)) / self.alpha)

    def entropy(self) -> Tensor:
        return F.log(self.scale / self.alpha) + 1 + 1 / self.alpha


@described(">>> ag.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean\ntensor(2.)",
           concentration="array_like\n    The shape; 0 makes it exponential.")
class GeneralizedPareto(Distribution):
    """Generalized Pareto distribution, of the excess over a high threshold (Pickands, 1975).

    Density: ``(1 + concentration * (x - loc) / scale)**(-1 / concentration - 1) / scale``.
    """

    arg_constraints: ClassVar = {"loc": C.real, "scale": C.positive, "concentration": C.real}
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(self, loc: TensorLike, scale: TensorLike, concentration: TensorLike,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    @property
    def support(self) -> Any:
        c = self.concentration
        return C.interval(self.loc, F.where(c < 0, self.loc - self.scale / F.where(c < 0, c, -1),
                                            math.inf))

    def _hazard(self, value: Any) -> Tensor:
        """``log(1 + c z) / c``, which is z where c is 0."""
        z, c = (self._value(value) - self.loc) / self.scale, self.concentration
        flat = F.abs(c) < 1e-10
        return F.where(flat, z, F.log1p(c * z) / F.where(flat, 1.0, c))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._of_hazard(random.exponential(size=self._extended_shape(sample_shape),
                                                  dtype=self.loc.dtype))

    def _of_hazard(self, hazard: Tensor) -> Tensor:
        c = self.concentration
        flat = F.abs(c) < 1e-10
        z = F.where(flat, hazard, F.expm1(c * hazard) / F.where(flat, 1.0, c))
        return self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        return _above(-1, -c, self.loc + self.scale / (1 - c))

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return _above(-0.5, -c, F.square(self.scale / (1 - c)) / (1 - 2 * c))

    def log_prob(self, value: Any) -> Tensor:
        return -F.log(self.scale) - (1 + self.concentration) * self._hazard(value)

    def cdf(self, value: Any) -> Tensor:
        return -F.expm1(-self._hazard(value))

    def icdf(self, value: Any) -> Tensor:
        return self._of_hazard(-F.log1p(-F.asarray(value)))

    def entropy(self) -> Tensor:
        return F.log(self.scale) + self.concentration + 1


@described(">>> ag.distributions.HalfCauchy(1.0).cdf(1.0)\ntensor(0.5)")
class HalfCauchy(Distribution):
    """Distribution of the absolute value of a Cauchy variable around 0.

    Density: ``2 / (pi * scale * (1 + (x / scale)**2))``.
    """

    arg_constraints: ClassVar = {"scale": C.positive}
    has_rsample = True
    support: Any = C.nonnegative
    scale: Tensor

    def __init__(self, scale: TensorLike, validate_args: bool | None = None) -> None:
        self._take(validate_args, scale=scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.scale * F.abs(random.cauchy(size=self._extended_shape(sample_shape),
                                                dtype=self.scale.dtype))

    @property
    def mean(self) -> Tensor:
        return self.scale * math.inf

    @property
    def mode(self) -> Tensor:
        return self.scale * 0

    @property
    def variance(self) -> Tensor:
        return self.scale * math.inf

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        found = math.log(2 / math.pi) - F.log(self.scale) - F.log1p(F.square(value / self.scale))
        return F.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return 2 / math.pi * F.atan(self._value(value) / self.scale)

    def icdf(self, value: Any) -> Tensor:
        return self.scale * F.tan(math.pi / 2 * F.asarray(value))

    def entropy(self) -> Tensor:
        return math.log(2 * math.pi) + F.log(self.scale)


@described(">>> ag.distributions.InverseGamma(3.0, 4.0).mean\ntensor(2.)",
           concentration="array_like\n    The shape; positive.",
           rate="array_like\n    The scale of the inverse; positive.")
class InverseGamma(Distribution):
    """Distribution of the reciprocal of a gamma variable.

    Density: ``rate**concentration * x**(-concentration - 1) * exp(-rate / x) /
    gamma(concentration)``.
    """

    arg_constraints: ClassVar = {"concentration": C.positive, "rate": C.positive}
    has_rsample = True
    support: Any = C.positive
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: TensorLike, rate: TensorLike,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        exponents: Any = F.broadcast_to(self.concentration, self._extended_shape(sample_shape))
        return self.rate / random.standard_gamma(exponents, dtype=exponents.dtype)

    @property
    def mean(self) -> Tensor:
        return _above(1, self.concentration, self.rate / (self.concentration - 1))

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return _above(2, a, F.square(self.rate / (a - 1)) / (a - 2))

    def log_prob(self, value: Any) -> Tensor:
        value, a = self._value(value), self.concentration
        return F.xlogy(a, self.rate) - F.lgamma(a) - (a + 1) * F.log(value) - self.rate / value

    def cdf(self, value: Any) -> Tensor:
        return gammaincc(self.concentration, self.rate / self._value(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + F.log(self.rate) + F.lgamma(a) - (1 + a) * F.digamma(a)


@described(">>> ag.distributions.FisherSnedecor(3.0, 6.0).mean\ntensor(1.5)",
           df1="array_like\n    Degrees of freedom of what is divided; positive.",
           df2="array_like\n    Degrees of freedom of what divides; positive.")
class FisherSnedecor(Distribution):
    """F distribution, of the ratio of two means of squared standard normal variables.

    Density: ``sqrt((df1 * x)**df1 * df2**df2 / (df1 * x + df2)**(df1 + df2)) / (x * beta(df1 / 2,
    df2 / 2))``.
    """

    arg_constraints: ClassVar = {"df1": C.positive, "df2": C.positive}
    has_rsample = True
    support: Any = C.positive
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: TensorLike, df2: TensorLike, validate_args: bool | None = None) -> None:
        self._take(validate_args, df1=df1, df2=df2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        squares = []
        for n in (self.df1, self.df2):
            half: Any = F.broadcast_to(n / 2, shape)
            squares.append(random.standard_gamma(half, dtype=half.dtype) / half)
        return squares[0] / squares[1]

    @property
    def mean(self) -> Tensor:
        return _above(2, self.df2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        m, n = self.df1, self.df2
        return _above(2, m, (m - 2) / m * n / (n + 2), math.nan)

    @property
    def variance(self) -> Tensor:
        m, n = self.df1, self.df2
        found = 2 * F.square(n / (n - 2)) * (m + n - 2) / (m * (n - 4))
        return _above(4, n, found, math.nan)

    def log_prob(self, value: Any) -> Tensor:
        value, a, b = self._value(value), self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        return (F.lgamma(a + b) - F.lgamma(a) - F.lgamma(b) + a * F.log(ratio)
                + (a - 1) * F.log(value) - (a + b) * F.log1p(ratio * value))
