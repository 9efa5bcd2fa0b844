"""Kullback-Leibler divergences between distributions, by their classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnesi.api import functions as F
from agnesi.core.shapes import broadcast
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.distributions import continuous as c
from agnesi.distributions import discrete as d
from agnesi.distributions import tails as t
from agnesi.distributions import vectors as v
from agnesi.distributions.base import Distribution
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.linalg.triangular import solve_triangular

Formula = Callable[[Any, Any], Tensor]

_FORMULAS: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator of the formula of a divergence.

    :param type_p, type_q: Classes of distributions.
    :returns: It takes the formula, a function of both, and gives it back.
    :see: distributions.kl_divergence

    >>> D = ag.distributions
    >>> class Coin(D.Bernoulli):
    ...     pass
    >>> @D.register_kl(Coin, Coin)
    ... def formula(p, q):
    ...     return ag.abs(p.probs - q.probs)
    """

    def decorate(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The expected value, under ``p``, of the difference of the log-probabilities.

    :param p, q: Of batches that broadcast.
    :returns: Of the batch's shape.
    :raises NotImplementedError: If there is no formula for these classes.
    :raises ShapeError: If the batches do not broadcast.
    :see: distributions.register_kl

    >>> D = ag.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5)
    """
    _check_batches(p, q)
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _FORMULAS:
                return _FORMULAS[a, b](p, q)
    raise NotImplementedError(at(
        f"there is no formula for the divergence of {type(p).__name__} from {type(q).__name__}; "
        "give one with register_kl"))


def _check_batches(p: Distribution, q: Distribution) -> None:
    """Refuse distributions whose batches do not broadcast, by what the user knows of them."""
    try:
        broadcast(p.batch_shape, q.batch_shape)
    except ShapeError:
        raise ShapeError(at(f"kl_divergence: the batch {p.batch_shape} of {type(p).__name__} and "
                            f"the batch {q.batch_shape} of {type(q).__name__} do not broadcast"
                            )) from None


@register_kl(c.Normal, c.Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = F.square(p.scale / q.scale)
    return 0.5 * (ratio + F.square((p.loc - q.loc) / q.scale) - 1 - F.log(ratio))


@register_kl(c.LogNormal, c.LogNormal)
def _log_normal(p: Any, q: Any) -> Tensor:
    return _normal(p, q)


@register_kl(c.HalfNormal, c.HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    ratio = F.square(p.scale / q.scale)
    return 0.5 * (ratio - 1 - F.log(ratio))


@register_kl(c.Laplace, c.Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    away = F.abs(p.loc - q.loc)
    return (-F.log(p.scale / q.scale) + away / q.scale
            + p.scale / q.scale * F.exp(-away / p.scale) - 1)


@register_kl(c.Uniform, c.Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    found = F.log((q.high - q.low) / (p.high - p.low))
    return F.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(c.Cauchy, c.Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    apart = F.square(p.scale + q.scale) + F.square(p.loc - q.loc)
    return F.log(apart / (4 * p.scale * q.scale))


@register_kl(c.Exponential, c.Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -F.log(ratio) + ratio - 1


@register_kl(t.HalfCauchy, t.HalfCauchy)
def _half_cauchy(p: Any, q: Any) -> Tensor:
    return F.log(F.square(p.scale + q.scale) / (4 * p.scale * q.scale))


@register_kl(t.InverseGamma, t.InverseGamma)  # as of the numbers that are inverted
@register_kl(c.Gamma, c.Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    return (b * F.log(p.rate / q.rate) + F.lgamma(b) - F.lgamma(a) + (a - b) * F.digamma(a)
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(v.Dirichlet, v.Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = F.sum(a, -1, keepdims=True)
    return (F.lgamma(total[..., 0]) - F.lgamma(F.sum(b, -1)) - F.sum(F.lgamma(a) - F.lgamma(b), -1)
            + F.sum((a - b) * (F.digamma(a) - F.digamma(total)), -1))


@register_kl(v.Beta, v.Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._both, q._both)


@register_kl(v.MultivariateNormal, v.MultivariateNormal)
def _normal_vectors(p: Any, q: Any) -> Tensor:
    n = p.loc.shape[-1]
    both = F.concat([p.scale_tril + 0 * q.scale_tril, expand_dims(q.loc - p.loc, -1)
                     + 0 * p.scale_tril[..., :1] + 0 * q.scale_tril[..., :1]], -1)
    lead = both.shape[:-2]
    z = solve_triangular(F.broadcast_to(q.scale_tril, (*lead, n, n)), both, lower=True)
    return (q.half_log_det() - p.half_log_det() + 0.5 * (F.sum(F.square(z), (-2, -1)) - n))


@register_kl(v.Independent, v.Independent)
def _independent(p: Any, q: Any) -> Tensor:
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


@register_kl(d.Bernoulli, d.Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q._log_odds(p.probs)


@register_kl(d.Binomial, d.Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    found = F.xlogy(p.probs, p.probs / q.probs) + F.xlogy(
        1 - p.probs, (1 - p.probs) / (1 - q.probs))
    return F.where(p.total_count > q.total_count, math.inf, p.total_count * found)


@register_kl(d.Geometric, d.Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - F.log1p(-q.probs) / p.probs - q.logits


@register_kl(d.Poisson, d.Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return F.xlogy(p.rate, p.rate / q.rate) - (p.rate - q.rate)


@register_kl(d._Categories, d._Categories)
def _categories(p: Any, q: Any) -> Tensor:
    found = F.where(p.probs == 0, 0, p.probs * (p.logits - q.logits))
    return F.sum(F.where((q.probs == 0) & (p.probs > 0), math.inf, found), -1)
