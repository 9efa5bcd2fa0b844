"""Distributions of whole numbers: trials, counts and categories."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.core.options import Size
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.errors import at
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.neural.likelihoods import entr


class _Chance(Distribution):
    """A distribution of one probability, or of its logit."""

    arg_constraints: ClassVar = {"probs": C.unit_interval, "logits": C.real}

    def _chance(self, probs: Any, logits: Any, validate_args: Any, **others: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(at(f"{type(self).__name__} takes probs or logits, and one of them"))
        self._logits_given = probs is None
        self._take(validate_args, **others,
                   **({"logits": logits} if probs is None else {"probs": probs}))

    def __getattr__(self, name: str) -> Any:
        known = vars(self)
        if name == "probs" and "logits" in known:
            return F.sigmoid(self.logits)
        if name == "logits" and "probs" in known:
            return F.log(self.probs) - F.log1p(-self.probs)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _log_odds(self, value: Tensor) -> Tensor:
        """``value * log(p) + (1 - value) * log(1 - p)``."""
        if self._logits_given:
            return value * self.logits - F.softplus(self.logits)
        return F.xlogy(value, self.probs) + F.xlogy(1 - value, 1 - self.probs)

    @property
    def _type(self) -> Any:
        return getattr(self, self._given[-1]).dtype


@described(">>> ag.distributions.Bernoulli(0.25).mean\ntensor(0.25)")
class Bernoulli(_Chance):
    """Bernoulli distribution: 1 with probability ``probs``, otherwise 0.

    Probability: ``probs**x * (1 - probs)**(1 - x)``.
    """

    has_enumerate_support = True
    support: Any = C.boolean

    def __init__(self, probs: TensorLike | None = None, logits: TensorLike | None = None,
                 validate_args: bool | None = None) -> None:
        self._chance(probs, logits, validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return random.bernoulli(self.probs.detach(), shape, dtype=self._type)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return F.where(self.probs == 0.5, math.nan, F.astype(self.probs >= 0.5, self._type))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Tensor:
        return self._log_odds(self._value(value))

    def entropy(self) -> Tensor:
        return -self._log_odds(self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(F.arange(2, dtype=self._type), expand)


@described(">>> ag.distributions.Geometric(0.25).mean\ntensor(3.)")
class Geometric(_Chance):
    """Geometric distribution, of the number of failures before the first success.

    Probability: ``(1 - probs)**x * probs``.
    """

    support: Any = C.nonnegative_integer

    def __init__(self, probs: TensorLike | None = None, logits: TensorLike | None = None,
                 validate_args: bool | None = None) -> None:
        self._chance(probs, logits, validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = random.geometric(F.broadcast_to(self.probs.detach(), shape))
        return F.astype(drawn - 1, self._type)

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return self.probs * 0

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def log_prob(self, value: Any) -> Tensor:
        return F.xlogy(self._value(value), 1 - self.probs) + F.log(self.probs)

    def entropy(self) -> Tensor:
        return -self._log_odds(self.probs) / self.probs


@described(">>> ag.distributions.Binomial(4, 0.25).mean\ntensor(1.)",
           total_count="array_like of int\n    The number of trials.")
class Binomial(_Chance):
    """Binomial distribution, of the number of successes in ``total_count`` trials.

    Probability: ``binom(total_count, x) * probs**x * (1 - probs)**(total_count - x)``.
    """

    has_enumerate_support = True
    total_count: Tensor

    def __init__(self, total_count: TensorLike = 1, probs: TensorLike | None = None,
                 logits: TensorLike | None = None, validate_args: bool | None = None) -> None:
        self._chance(probs, logits, validate_args, total_count=total_count)
        self.total_count = self._check("total_count", self.total_count, C.nonnegative_integer)

    @property
    def support(self) -> Any:
        return C.integer_interval(0, self.total_count)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        trials = F.astype(self.total_count, "int64")
        drawn = random.binomial(trials, self.probs.detach(), self._extended_shape(sample_shape))
        return F.astype(drawn, self._type)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return F.minimum(F.floor((self.total_count + 1) * self.probs), self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Tensor:
        return self._log_mass(self._value(value))

    def entropy(self) -> Tensor:
        n, value = self.total_count, self._counts()
        mass = F.exp(self._log_mass(F.minimum(value, n)))
        return F.sum(F.where(value <= n, entr(mass), 0), axis=0)

    def _counts(self) -> Tensor:
        """All numbers of successes, along a first axis."""
        counts = F.arange(F.astype(F.max(self.total_count, initial=0), "int64") + 1)
        return F.reshape(F.astype(counts, self._type), (-1, *(1,) * len(self._batch_shape)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.total_count
        if is_known(n) and not bool(F.all(n == F.max(n, initial=0))):
            raise NotImplementedError(at("Binomial.enumerate_support: the numbers of trials differ "
                                         f"within the batch: {n.tolist()}"))
        return self._enumerated(F.reshape(self._counts(), (-1,)), expand)

    def _log_mass(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = F.lgamma(n + 1) - F.lgamma(value + 1) - F.lgamma(n - value + 1)
        if self._logits_given:
            return ways + value * self.logits - n * F.softplus(self.logits)
        return ways + F.xlogy(value, self.probs) + F.xlogy(n - value, 1 - self.probs)


@described(">>> ag.distributions.Poisson(2.0).log_prob(0.0)\ntensor(-2.)",
           rate="array_like\n    The mean; not negative.")
class Poisson(Distribution):
    """Poisson distribution of counts of mean ``rate``.

    Probability: ``rate**x * exp(-rate) / gamma(x + 1)``.
    """

    arg_constraints: ClassVar = {"rate": C.nonnegative}
    support: Any = C.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: TensorLike, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = random.poisson(self.rate.detach(), self._extended_shape(sample_shape))
        return F.astype(drawn, self.rate.dtype)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return F.floor(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        return F.xlogy(value, self.rate) - self.rate - F.lgamma(value + 1)


@described(">>> ag.distributions.NegativeBinomial(3, 0.5).mean\ntensor(3.)",
           total_count="array_like\n    At how many failures the trials end; not negative.")
class NegativeBinomial(_Chance):
    """Negative binomial distribution, of the number of successes before ``total_count`` failures.

    Probability: ``gamma(total_count + x) / (gamma(x + 1) * gamma(total_count)) * (1 -
    probs)**total_count * probs**x``.
    """

    arg_constraints: ClassVar = {**_Chance.arg_constraints, "total_count": C.nonnegative}
    support: Any = C.nonnegative_integer
    total_count: Tensor

    def __init__(self, total_count: TensorLike, probs: TensorLike | None = None,
                 logits: TensorLike | None = None, validate_args: bool | None = None) -> None:
        self._chance(probs, logits, validate_args, total_count=total_count)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        failures: Any = F.broadcast_to(self.total_count.detach(), shape)
        rates = random.standard_gamma(failures, dtype=self._type) * F.exp(self.logits.detach())
        return F.astype(random.poisson(rates, shape), self._type)

    @property
    def mean(self) -> Tensor:
        return self.total_count * F.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return F.clip(F.floor((self.total_count - 1) * F.exp(self.logits)), min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / F.sigmoid(-self.logits)

    def log_prob(self, value: Any) -> Tensor:
        value, n, odds = self._value(value), self.total_count, self.logits
        ways = F.lgamma(n + value) - F.lgamma(1 + value) - F.lgamma(n)
        ways = F.where(n + value == 0, 0, ways)
        return ways - n * F.softplus(odds) - value * F.softplus(-odds)


class _Categories(Distribution):
    """A distribution of categories, given by weights or by logits on the last axis."""

    arg_constraints: ClassVar = {"probs": C.nonnegative_vector, "logits": C.real_vector}
    has_enumerate_support = True
    _inner: ClassVar = {"probs": 1, "logits": 1}
    probs: Tensor
    logits: Tensor

    def _categories(self, probs: Any, logits: Any, validate_args: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(at(f"{type(self).__name__} takes probs or logits, and one of them"))
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if as_tensor(given).ndim == 0:
            raise ValueError(at(f"{type(self).__name__}: {name} must have an axis of categories"))
        self._take(validate_args, **{name: given})
        if probs is None:
            logits = F.log_softmax(self.logits, -1)
            found = {"logits": logits, "probs": F.exp(logits)}
        else:
            probs = self.probs / F.sum(self.probs, -1, keepdims=True)
            found = {"probs": probs, "logits": F.log(probs)}
        vars(self).update(found)  # which need no checks
        self._count = self.probs.shape[-1]

    def _drawn(self, sample_shape: Any) -> Tensor:
        """Numbers of categories."""
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return random.categorical(self.logits.detach(), (*shape,))

    def entropy(self) -> Tensor:
        return -F.sum(F.xlogy(self.probs, self.probs), -1)


@described(">>> ag.distributions.Categorical(ag.tensor([1.0, 3.0])).probs\ntensor([0.25, 0.75])",
           probs="array_like, optional\n    Weights of shape (..., n), which need not sum up to 1.",
           logits="array_like, optional\n    Their logarithms, in their place.")
class Categorical(_Categories):
    """Categorical distribution over the integers from 0 to n - 1.

    Probability: ``probs[x]``.
    """

    def __init__(self, probs: TensorLike | None = None, logits: TensorLike | None = None,
                 validate_args: bool | None = None) -> None:
        self._categories(probs, logits, validate_args)

    @property
    def support(self) -> Any:
        return C.integer_interval(0, self._count - 1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._drawn(sample_shape)

    @property
    def mean(self) -> Tensor:
        return self.probs[..., 0] * math.nan

    @property
    def variance(self) -> Tensor:
        return self.probs[..., 0] * math.nan

    @property
    def mode(self) -> Tensor:
        return F.argmax(self.probs, -1)

    def log_prob(self, value: Any) -> Tensor:
        places = self._check("value", as_tensor(value), self.support)
        places, rows = cast(places, dtypes.int64), self.logits
        if places.shape != self._batch_shape:
            shape = F.broadcast_shapes(places.shape, self._batch_shape)
            places = F.broadcast_to(places, shape)
            rows = F.broadcast_to(rows, (*shape, self._count))
        places = expand_dims(places, -1)
        return F.take_along_axis(rows, places, -1)[..., 0]

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(F.arange(self._count), expand)


@described(">>> ag.distributions.OneHotCategorical(ag.tensor([0.0, 3.0])).sample()\n"
           "tensor([0., 1.])",
           probs="array_like, optional\n    Weights of shape (..., n), which need not sum up to 1.",
           logits="array_like, optional\n    Their logarithms, in their place.")
class OneHotCategorical(_Categories):
    """Categorical distribution over n categories, each a vector with one 1.

    Probability: ``prod(probs**x)``.
    """

    support: Any = C.one_hot

    def __init__(self, probs: TensorLike | None = None, logits: TensorLike | None = None,
                 validate_args: bool | None = None) -> None:
        self._categories(probs, logits, validate_args)
        self._event_shape = (self._count,)

    def _vectors(self, places: Tensor) -> Tensor:
        return F.astype(expand_dims(places, -1) == F.arange(self._count), self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._vectors(self._drawn(sample_shape))

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vectors(F.argmax(self.probs, -1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Tensor:
        return F.sum(F.where(self._value(value) > 0, self.logits, 0), -1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(self._vectors(F.arange(self._count)), expand)


@described(">>> D = ag.distributions\n"
           ">>> D.OneHotCategoricalStraightThrough(ag.tensor([0.0, 3.0])).rsample()\n"
           "tensor([0., 1.])",
           probs="array_like, optional\n    Weights of shape (..., n), which need not sum up to 1.",
           logits="array_like, optional\n    Their logarithms, in their place.")
class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One of n categories, as a vector with a 1 whose gradient is that of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


@described(">>> ag.distributions.Multinomial(4, ag.tensor([1.0, 3.0])).mean\ntensor([1., 3.])",
           total_count="int\n    The number of draws.",
           probs="array_like, optional\n    Weights of shape (..., n), which need not sum up to 1.",
           logits="array_like, optional\n    Their logarithms, in their place.")
class Multinomial(_Categories):
    """Multinomial distribution, of how often each of n categories comes in ``total_count`` trials.

    Probability: ``gamma(total_count + 1) * prod(probs**x / gamma(x + 1))``.
    """

    has_enumerate_support = False
    support: Any = C.nonnegative_vector

    def __init__(self, total_count: Size = 1, probs: TensorLike | None = None,
                 logits: TensorLike | None = None, validate_args: bool | None = None) -> None:
        self._categories(probs, logits, validate_args)
        self.total_count, self._event_shape = total_count, (self._count,)

    def expand(self, batch_shape: Any) -> Any:
        rows = F.broadcast_to(self.logits, (*batch_shape, self._count))
        return Multinomial(self.total_count, logits=rows, validate_args=self._validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        places = random.categorical(self.logits.detach(), (self.total_count, *shape))
        hits = expand_dims(places, -1) == F.arange(self._count)
        return F.sum(F.astype(hits, self.probs.dtype), 0)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        if self._validate_args:
            value = F.ensure(value, F.sum(value, -1) == self.total_count, "Multinomial: the counts "
                             f"of value must sum to total_count={self.total_count}")
        ways = F.lgamma(F.sum(value, -1) + 1) - F.sum(F.lgamma(value + 1), -1)
        return ways + F.sum(F.where(value == 0, 0, value * self.logits), -1)

    def entropy(self) -> Tensor:
        n = self.total_count
        each = Binomial(n, self.probs)
        counts = each._counts()
        ways = F.lgamma(F.astype(as_tensor(n + 1), self.probs.dtype))
        inner = F.sum(F.exp(each._log_mass(counts)) * F.lgamma(counts + 1), (0, -1))
        return n * F.sum(entr(self.probs), -1) - ways + inner
