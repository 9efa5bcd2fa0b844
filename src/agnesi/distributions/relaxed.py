"""Distributions of numbers between 0 and 1, such as smooth stand-ins for what is drawn whole."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.distributions.continuous import Normal
from agnesi.distributions.discrete import _Categories, _Chance
from agnesi.distributions.scalar_transforms import TransformedDistribution
from agnesi.distributions.vector_transforms import StickBreakingTransform
from agnesi.ops.base.convert import as_tensor

_EULER = 0.5772156649015329  # the Euler-Mascheroni constant


@described(">>> ag.distributions.Kumaraswamy(1.0, 1.0).mean\ntensor(0.5)",
           concentration1="array_like\n    The exponent of the value; positive.",
           concentration0="array_like\n    The exponent of what is left; positive.")
class Kumaraswamy(Distribution):
    """Kumaraswamy's distribution on [0, 1], like beta's with a closed inverse (Kumaraswamy, 1980).

    Density: ``concentration1 * concentration0 * x**(concentration1 - 1) * (1 -
    x**concentration1)**(concentration0 - 1)``.
    """

    arg_constraints: ClassVar = {"concentration1": C.positive, "concentration0": C.positive}
    has_rsample = True
    support: Any = C.unit_interval
    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: TensorLike, concentration0: TensorLike,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration1=concentration1, concentration0=concentration0)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(random.uniform(size=self._extended_shape(sample_shape),
                                        dtype=self.concentration1.dtype))

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * F.exp(F.lgamma(a) + F.lgamma(b) - F.lgamma(a + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        found = F.exp((F.log1p(-1 / a) - F.log(b - 1 / a)) / a)
        return F.where((a < 1) | (b < 1), math.nan, found)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - F.square(self._moment(1))

    def log_prob(self, value: Any) -> Tensor:
        value, a, b = self._value(value), self.concentration1, self.concentration0
        return F.log(a) + F.log(b) + F.xlogy(a - 1, value) + F.xlogy(b - 1, 1 - value**a)

    def cdf(self, value: Any) -> Tensor:
        return 1 - (1 - self._value(value)**self.concentration1)**self.concentration0

    def icdf(self, value: Any) -> Tensor:
        left = F.log1p(-self._share(value)) / self.concentration0
        return (-F.expm1(left))**(1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = F.digamma(b + 1) + _EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - F.log(a) - F.log(b)


@described(">>> ag.distributions.ContinuousBernoulli(0.5).mean\ntensor(0.5)",
           lims="pair of float\n    Between which chances series are used in place of formulas.")
class ContinuousBernoulli(_Chance):
    """Continuous Bernoulli distribution on [0, 1] (Loaiza-Ganem and Cunningham, 2019).

    Density: ``2 * arctanh(1 - 2 * probs) / (1 - 2 * probs) * probs**x * (1 - probs)**(1 - x)``.
    """

    has_rsample = True
    support: Any = C.unit_interval

    def __init__(self, probs: TensorLike | None = None, logits: TensorLike | None = None,
                 lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
                 ) -> None:
        self._chance(probs, logits, validate_args)
        self._lims = lims

    def _middle(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where chances are near a half; chances that are not; the distances from a half."""
        p = self.probs
        near = (p > self._lims[0]) & (p <= self._lims[1])
        return near, F.where(near, self._lims[0], p), p - 0.5

    def _log_norm(self) -> Tensor:
        near, p, d = self._middle()
        far = F.log(F.abs(F.log1p(-p) - F.log(p))) - F.log(F.abs(1 - 2 * p))
        square = F.square(d)
        return F.where(near, math.log(2) + (4 / 3 + 104 / 45 * square) * square, far)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(random.uniform(size=self._extended_shape(sample_shape), dtype=self._type))

    @property
    def mean(self) -> Tensor:
        near, p, d = self._middle()
        far = p / (2 * p - 1) + 1 / (F.log1p(-p) - F.log(p))
        return F.where(near, 0.5 + (1 / 3 + 16 / 45 * F.square(d)) * d, far)

    @property
    def variance(self) -> Tensor:
        near, p, d = self._middle()
        far = p * (p - 1) / F.square(1 - 2 * p) + 1 / F.square(F.log1p(-p) - F.log(p))
        square = F.square(d)
        return F.where(near, 1 / 12 - (1 / 15 - 128 / 945 * square) * square, far)

    def log_prob(self, value: Any) -> Tensor:
        return self._log_odds(self._value(value)) + self._log_norm()

    def cdf(self, value: Any) -> Tensor:
        near, p, _ = self._middle()
        x = self._value(value)
        found = F.where(near, x, (p**x * (1 - p)**(1 - x) + p - 1) / (2 * p - 1))
        return F.clip(found, 0, 1)

    def icdf(self, value: Any) -> Tensor:
        near, p, _ = self._middle()
        x = self._share(value)
        far = (F.log1p(-p + x * (2 * p - 1)) - F.log1p(-p)) / (F.log(p) - F.log1p(-p))
        return F.where(near, x, far)

    def entropy(self) -> Tensor:
        zero, one = F.log1p(-self.probs), F.log(self.probs)
        return self.mean * (zero - one) - self._log_norm() - zero


@described(">>> ag.distributions.RelaxedBernoulli(0.5, 0.5).log_prob(0.5).round(3)\ntensor(-0.693)",
           temperature="array_like\n    How far draws are from 0 and 1; positive.")
class RelaxedBernoulli(_Chance):
    """Binary concrete distribution: differentiable draws near 0 and 1 (Maddison et al., 2017)."""

    has_rsample = True
    support: Any = C.unit_interval

    def __init__(self, temperature: TensorLike, probs: TensorLike | None = None,
                 logits: TensorLike | None = None, validate_args: bool | None = None) -> None:
        self._chance(probs, logits, validate_args, temperature=temperature)
        self.temperature: Tensor

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = random.logistic(size=self._extended_shape(sample_shape), dtype=self._type)
        return F.sigmoid((self.logits + noise) / self.temperature)

    def log_prob(self, value: Any) -> Tensor:
        value, kind = self._value(value), F.finfo(self._type)
        value = F.clip(value, kind.tiny, 1 - kind.eps)  # 0 and 1 are what draws are rounded to
        logit = F.log(value) - F.log1p(-value)
        away = self.logits - logit * self.temperature
        inner = F.log(self.temperature) + away - 2 * F.softplus(away)
        return inner + F.softplus(-logit) + F.softplus(logit)


@described(">>> D = ag.distributions\n"
           ">>> D.RelaxedOneHotCategorical(1.0, ag.ones(2)).log_prob(ag.tensor([0.5, 0.5]))\n"
           "tensor(0.)",
           temperature="array_like\n    How far draws are from vectors with a 1; positive.",
           probs="array_like, optional\n    Weights of shape (..., n), which need not sum up to 1.",
           logits="array_like, optional\n    Their logarithms, in their place.")
class RelaxedOneHotCategorical(_Categories):
    """Concrete, or Gumbel-softmax, distribution near one-hot vectors (Maddison et al., 2017)."""

    has_rsample = True
    has_enumerate_support = False
    support: Any = C.simplex

    def __init__(self, temperature: TensorLike, probs: TensorLike | None = None,
                 logits: TensorLike | None = None, validate_args: bool | None = None) -> None:
        self._categories(probs, logits, validate_args)
        self.temperature = F.astype(as_tensor(temperature), self.probs.dtype)
        self._event_shape = (self._count,)

    def expand(self, batch_shape: Any) -> Any:
        rows = F.broadcast_to(self.logits, (*batch_shape, self._count))
        return type(self)(self.temperature, logits=rows, validate_args=self._validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = random.gumbel(size=self._extended_shape(sample_shape), dtype=self.logits.dtype)
        return F.softmax((self.logits + noise) / self.temperature, -1)

    def log_prob(self, value: Any) -> Tensor:
        logarithm, n, t = F.log(self._value(value)), self._count, self.temperature
        score = self.logits - logarithm * t
        score = F.sum(score - F.logsumexp(score, -1, keepdims=True), -1)
        return score + math.lgamma(n) + (n - 1) * F.log(t) - F.sum(logarithm, -1)

    def entropy(self) -> Tensor:
        raise self._absent("entropy")


@described(">>> ag.distributions.LogisticNormal(ag.zeros(2), ag.ones(2)).sample().shape\n(3,)",
           loc="array_like\n    Of shape (..., n).",
           scale="array_like\n    The widths, of shape (..., n); positive.")
class LogisticNormal(TransformedDistribution):
    """Logistic normal distribution: normal vectors made shares of 1 by stick breaking."""

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool | None = None
                 ) -> None:
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """Where the normal numbers are."""
        base: Any = self.base_dist
        return base.loc

    @property
    def scale(self) -> Tensor:
        """How wide they are."""
        base: Any = self.base_dist
        return base.scale
