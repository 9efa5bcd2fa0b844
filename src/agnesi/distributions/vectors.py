"""Distributions of vectors, of one part of a whole, and of independent numbers as one event."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.core.options import Size
from agnesi.core.parameter_types import TensorLike
from agnesi.core.shapes import fits
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.distributions.discrete import Categorical
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import expand_dims, reshape
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.linalg.cholesky import cholesky
from agnesi.ops.linalg.solve import inv
from agnesi.ops.linalg.triangular import solve_triangular


@described(">>> ag.distributions.Dirichlet(ag.tensor([1.0, 3.0])).mean\ntensor([0.25, 0.75])",
           concentration="array_like\n    Of shape (..., n); positive.")
class Dirichlet(Distribution):
    """Dirichlet distribution of vectors of n numbers that are not negative and sum up to 1.

    Density: ``gamma(sum(concentration)) * prod(x**(concentration - 1) / gamma(concentration))``.
    """

    arg_constraints: ClassVar = {"concentration": C.positive}
    has_rsample = True
    support: Any = C.simplex
    _inner: ClassVar = {"concentration": 1}
    concentration: Tensor

    def __init__(self, concentration: TensorLike, validate_args: bool | None = None) -> None:
        if as_tensor(concentration).ndim == 0:
            raise ValueError(at("Dirichlet: concentration must have one axis or more"))
        self._take(validate_args, concentration=concentration)
        self._event_shape = self.concentration.shape[-1:]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        exponents: Any = F.broadcast_to(self.concentration, shape)
        drawn = random.standard_gamma(exponents, dtype=exponents.dtype)
        return drawn / F.sum(drawn, -1, keepdims=True)

    def _total(self) -> Tensor:
        return F.sum(self.concentration, -1, keepdims=True)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self._total()

    @property
    def variance(self) -> Tensor:
        total, a = self._total(), self.concentration
        return a * (total - a) / (F.square(total) * (total + 1))

    @property
    def mode(self) -> Tensor:
        a = self.concentration
        above = F.clip(a - 1, min=0)
        corner = F.astype(F.arange(a.shape[-1]) == 0, a.dtype)
        inside = above / F.sum(above, -1, keepdims=True)
        return F.where((a < 1).all(-1, keepdims=True), corner, inside)

    def log_prob(self, value: Any) -> Tensor:
        a = self.concentration
        return (F.sum(F.xlogy(a - 1, self._value(value)), -1) + F.lgamma(F.sum(a, -1))
                - F.sum(F.lgamma(a), -1))

    def entropy(self) -> Tensor:
        a, n = self.concentration, self.concentration.shape[-1]
        total = F.sum(a, -1)
        return (F.sum(F.lgamma(a), -1) - F.lgamma(total) - (n - total) * F.digamma(total)
                - F.sum((a - 1) * F.digamma(a), -1))


@described(">>> ag.distributions.Beta(1.0, 3.0).mean\ntensor(0.25)",
           concentration1="array_like\n    The exponent of the number; positive.",
           concentration0="array_like\n    That of the rest; positive.")
class Beta(Distribution):
    """Beta distribution on [0, 1], of mean ``concentration1 / (concentration1 + concentration0)``.

    Density: ``x**(concentration1 - 1) * (1 - x)**(concentration0 - 1) / beta(concentration1,
    concentration0)``.
    """

    arg_constraints: ClassVar = {"concentration1": C.positive, "concentration0": C.positive}
    has_rsample = True
    support: Any = C.unit_interval
    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: TensorLike, concentration0: TensorLike,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration1=concentration1, concentration0=concentration0)
        both = F.stack([self.concentration1, self.concentration0], -1)
        self._both = Dirichlet(both, False)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._both.rsample(sample_shape)[..., 0]

    @property
    def mean(self) -> Tensor:
        return self._both.mean[..., 0]

    @property
    def mode(self) -> Tensor:
        return self._both.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        return self._both.variance[..., 0]

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        return self._both.log_prob(F.stack([value, 1 - value], -1))

    def entropy(self) -> Tensor:
        return self._both.entropy()


@described(">>> d = ag.distributions.MultivariateNormal(ag.zeros(2), ag.eye(2))\n"
           ">>> d.log_prob(ag.zeros(2)).round(3)\ntensor(-1.838)",
           loc="array_like\n    The means, of shape (..., n).",
           covariance_matrix="array_like, optional\n    Positive definite, of shape (..., n, n).",
           precision_matrix="array_like, optional\n    Its inverse, in its place.",
           scale_tril="array_like, optional\n    Its lower Cholesky factor, in its place.")
class MultivariateNormal(Distribution):
    """Multivariate normal distribution of given mean and covariance.

    Density: ``exp(-(x - loc) @ inv(covariance_matrix) @ (x - loc) / 2) / sqrt(det(2 * pi *
    covariance_matrix))``.
    """

    arg_constraints: ClassVar = {"loc": C.real_vector, "scale_tril": C.lower_cholesky}
    has_rsample = True
    support: Any = C.real_vector
    _inner: ClassVar = {"loc": 1, "scale_tril": 2}
    loc: Tensor
    scale_tril: Tensor

    def __init__(self, loc: TensorLike, covariance_matrix: TensorLike | None = None,
                 precision_matrix: TensorLike | None = None, scale_tril: TensorLike | None = None,
                 validate_args: bool | None = None) -> None:
        given = [covariance_matrix, precision_matrix, scale_tril]
        if sum(m is not None for m in given) != 1:
            raise ValueError(at("MultivariateNormal takes one of covariance_matrix, "
                                "precision_matrix and scale_tril"))
        Distribution.__init__(self, (), (), validate_args)
        for name, m in zip(("covariance_matrix", "precision_matrix"), given, strict=False):
            if m is not None:
                self._check(name, as_tensor(m), C.positive_definite)
        if scale_tril is None:
            scale_tril = cholesky(as_tensor(covariance_matrix) if precision_matrix is None
                                  else inv(precision_matrix))
        self._take(validate_args, loc=loc, scale_tril=scale_tril)
        text = (f"loc is {typed(self.loc)}, but the matrix is {typed(self.scale_tril)}; they must "
                "have one size")
        if not fits(self.loc.shape[-1:], self.scale_tril.shape[-1:]):
            raise ValueError(at(f"MultivariateNormal: {text}"))
        self.loc = ensured_sizes("MultivariateNormal", self.loc, self.loc.shape[-1:],
                                 self.scale_tril.shape[-1:], text, error="ValueError")
        self._event_shape = self.loc.shape[-1:]

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return matmul(self.scale_tril, self.scale_tril.mT)

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        return inv(self.covariance_matrix)

    def _product(self, noise: Tensor) -> Tensor:
        return matmul(self.scale_tril, expand_dims(noise, -1))[..., 0]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = random.normal(size=self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + self._product(noise)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return F.sum(F.square(self.scale_tril), -1)

    def half_log_det(self) -> Tensor:
        """Half the logarithm of the covariances' determinant.

        :returns: Of the batch's shape.
        """
        return F.sum(F.log(F.diagonal(self.scale_tril, 0, -2, -1)), -1)

    def log_prob(self, value: Any) -> Tensor:
        distance = self._value(value) - self.loc
        n = distance.shape[-1]
        factor = F.broadcast_to(self.scale_tril, (*distance.shape[:-1], n, n))
        z = solve_triangular(factor, expand_dims(distance, -1), lower=True)[..., 0]
        return (-0.5 * (n * math.log(2 * math.pi) + F.sum(F.square(z), -1)) - self.half_log_det())

    def entropy(self) -> Tensor:
        n = self.loc.shape[-1]
        return 0.5 * n * (1 + math.log(2 * math.pi)) + self.half_log_det()


@described(">>> d = ag.distributions.Independent(ag.distributions.Normal(ag.zeros(3), 1.0), 1)\n"
           ">>> d.batch_shape, d.event_shape\n((), (3,))",
           base_distribution="Distribution\n    What is drawn.",
           reinterpreted_batch_ndims="int\n    How many axes of its batch, the last ones.")
class Independent(Distribution):
    """Axes of another one's batch as axes of one event."""

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: Size,
                 validate_args: bool | None = None) -> None:
        batch, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if not 0 <= count <= len(batch):
            raise ValueError(at(f"Independent: the batch {batch} has no {count} axes"))
        cut = len(batch) - count
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        self.has_rsample = base_distribution.has_rsample

    @property
    def support(self) -> Any:
        return self.base_dist.support

    def _summed(self, x: Tensor) -> Tensor:
        count = self.reinterpreted_batch_ndims
        return F.sum(x, tuple(range(-count, 0))) if count else x

    def expand(self, batch_shape: Any) -> Any:
        inner = self.base_dist.batch_shape[len(self._batch_shape):]
        return Independent(self.base_dist.expand((*batch_shape, *inner)),
                           self.reinterpreted_batch_ndims)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._summed(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


@described(">>> D = ag.distributions\n"
           ">>> mix, parts = D.Categorical(ag.ones(2)), D.Normal(ag.tensor([-1.0, 3.0]), 1.0)\n"
           ">>> D.MixtureSameFamily(mix, parts).mean\ntensor(1.)",
           mixture_distribution="Categorical\n    Which part is drawn.",
           component_distribution="Distribution\n    The parts, on the last axis of its batch.")
class MixtureSameFamily(Distribution):
    """One of several distributions of a family, chosen at random."""

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        parts = component_distribution
        count = mixture_distribution.probs.shape[-1:]
        if not fits(count, parts.batch_shape[-1:]):
            raise ValueError(at(f"MixtureSameFamily: there are {count[0]} weights, but the batch "
                                f"of components is {tuple(parts.batch_shape)}: its last axis must "
                                "have one for each"))
        super().__init__(parts.batch_shape[:-1], parts.event_shape, validate_args)
        self.mixture_distribution: Any = mixture_distribution
        self.component_distribution = parts

    @property
    def support(self) -> Any:
        return self.component_distribution.support

    def expand(self, batch_shape: Any) -> Any:
        shape, parts = tuple(batch_shape), self.component_distribution
        return type(self)(self.mixture_distribution.expand(shape),
                          parts.expand((*shape, parts.batch_shape[-1])), self._validate_args)

    def _weighted(self, x: Tensor) -> Tensor:
        inner = len(self._event_shape)
        weights = self.mixture_distribution.probs
        weights = reshape(weights, (*weights.shape, *(1,) * inner))
        return F.sum(weights * x, -1 - inner)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, inner = self._extended_shape(sample_shape), len(self._event_shape)
        cut = len(shape) - inner
        lead = shape[: cut - len(self._batch_shape)]
        drawn = self.component_distribution.sample(lead)
        places = F.broadcast_to(self.mixture_distribution.sample(lead), shape[:cut])
        places = reshape(places, (*shape[:cut], 1, *(1,) * inner))
        places = F.broadcast_to(places, (*shape[:cut], 1, *self._event_shape))
        return F.squeeze(F.take_along_axis(drawn, places, cut), cut)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        means, inner = self.component_distribution.mean, len(self._event_shape)
        apart = F.square(means - expand_dims(self.mean, -1 - inner))
        return self._weighted(self.component_distribution.variance) + self._weighted(apart)

    def _beside(self, value: Any) -> Tensor:
        return expand_dims(as_tensor(value), -1 - len(self._event_shape))

    def log_prob(self, value: Any) -> Tensor:
        parts = self.component_distribution.log_prob(self._beside(value))
        return F.logsumexp(parts + self.mixture_distribution.logits, -1)

    def cdf(self, value: Any) -> Tensor:
        parts = self.component_distribution.cdf(self._beside(value))
        return F.sum(parts * self.mixture_distribution.probs, -1)
