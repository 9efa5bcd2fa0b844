"""Divergences between families: the entropy of one, and the other's expected log-density."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnesi.api import functions as F
from agnesi.api.torch.numbers import mvlgamma
from agnesi.core.tensor import Tensor
from agnesi.distributions import continuous as c
from agnesi.distributions import discrete as d
from agnesi.distributions import matrices as m
from agnesi.distributions import relaxed as r
from agnesi.distributions import tails as t
from agnesi.distributions import vectors as v
from agnesi.distributions.divergences import _normal_vectors, kl_divergence, register_kl
from agnesi.distributions.scalar_transforms import TransformedDistribution
from agnesi.ops.linalg.triangular import solve_triangular

_EULER = 0.5772156649015329  # the Euler-Mascheroni constant


@register_kl(c.Weibull, c.Weibull)
def _weibull(p: Any, q: Any) -> Tensor:
    k, j = p.concentration, q.concentration
    mean_log = F.log(p.scale) - _EULER / k
    power = F.exp(j * (F.log(p.scale) - F.log(q.scale)) + F.lgamma(j / k + 1))
    return (F.log(k / j) - k * F.log(p.scale) + j * F.log(q.scale) + (k - j) * mean_log + power - 1)


@register_kl(m.Wishart, m.Wishart)
def _wishart(p: Any, q: Any) -> Tensor:
    n, half = p._size, p.df / 2
    inner = solve_triangular(q.scale_tril, p.scale_tril, lower=True)
    trace = F.sum(F.square(inner), (-2, -1))
    places = F.arange(n, dtype=p.df.dtype) / 2
    return (q.df * (q._half_log_det() - p._half_log_det()) + half * (trace - n)
            + mvlgamma(q.df / 2, n) - mvlgamma(half, n)
            + (half - q.df / 2) * F.sum(F.digamma(half[..., None] - places), -1))


#: The bounds of values; None where there is none.
_BOUNDS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    v.Beta: lambda p: (0.0, 1.0), r.ContinuousBernoulli: lambda p: (0.0, 1.0),
    c.Uniform: lambda p: (p.low, p.high), c.Exponential: lambda p: (0.0, None),
    c.Gamma: lambda p: (0.0, None), t.Pareto: lambda p: (p.scale, None),
    c.Normal: lambda p: (None, None), c.Laplace: lambda p: (None, None),
    c.Gumbel: lambda p: (None, None),
}
#: The expected logarithm of values.
_LOG: dict[type, Callable[[Any], Tensor]] = {
    v.Beta: lambda p: F.digamma(p.concentration1) - F.digamma(
        p.concentration1 + p.concentration0),
    c.Exponential: lambda p: -_EULER - F.log(p.rate),
    c.Gamma: lambda p: F.digamma(p.concentration) - F.log(p.rate),
    c.Uniform: lambda p: (F.xlogy(p.high, p.high) - F.xlogy(p.low, p.low)) / (p.high - p.low) - 1,
    t.Pareto: lambda p: F.log(p.scale) + 1 / p.alpha,
}
#: The expected exponential of values times a negative number.
_LAPLACE: dict[type, Callable[[Any, Any], Tensor]] = {
    c.Normal: lambda p, s: F.exp(-p.loc * s + F.square(p.scale * s) / 2),
    c.Exponential: lambda p, s: p.rate / (p.rate + s),
    c.Gamma: lambda p, s: (1 + s / p.rate) ** -p.concentration,
    c.Uniform: lambda p, s: (F.exp(-p.low * s) - F.exp(-p.high * s)) / (s * (p.high - p.low)),
    c.Gumbel: lambda p, s: F.exp(-p.loc * s + F.lgamma(1 + p.scale * s)),
}


def _of(table: dict[type, Any], p: Any) -> Any:
    """The entry of the class of a distribution, or of one that it extends."""
    return next(table[kind] for kind in type(p).__mro__ if kind in table)


def _of_normal(p: Any, q: Any) -> Tensor:
    square = p.variance + F.square(p.mean - q.loc)
    return -F.log(q.scale) - 0.5 * math.log(2 * math.pi) - square / (2 * F.square(q.scale))


def _of_exponential(p: Any, q: Any) -> Tensor:
    return F.log(q.rate) - q.rate * p.mean


def _of_gamma(p: Any, q: Any) -> Tensor:
    a = q.concentration
    return F.xlogy(a, q.rate) - F.lgamma(a) + (a - 1) * _of(_LOG, p)(p) - q.rate * p.mean


def _of_gumbel(p: Any, q: Any) -> Tensor:
    late = F.exp(q.loc / q.scale) * _of(_LAPLACE, p)(p, 1 / q.scale)
    return -F.log(q.scale) - (p.mean - q.loc) / q.scale - late


def _of_pareto(p: Any, q: Any) -> Tensor:
    return F.log(q.alpha) + q.alpha * F.log(q.scale) - (q.alpha + 1) * _of(_LOG, p)(p)


def _of_uniform(p: Any, q: Any) -> Tensor:
    return -F.log(q.high - q.low) + 0 * p.mean


def _of_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return p.mean * q.logits + F.log1p(-q.probs) + q._log_norm()


def _of_beta(p: Any, q: Any) -> Tensor:
    """Of a uniform distribution, whose mirror image has the logarithms of what is left."""
    left = _LOG[c.Uniform](c.Uniform(1 - p.high, 1 - p.low, False))
    a, b = q.concentration1, q.concentration0
    return (F.lgamma(a + b) - F.lgamma(a) - F.lgamma(b) + (a - 1) * _LOG[c.Uniform](p)
            + (b - 1) * left)


_OTHERS: dict[type, Callable[[Any, Any], Tensor]] = {
    c.Normal: _of_normal, c.Exponential: _of_exponential, c.Gamma: _of_gamma,
    c.Gumbel: _of_gumbel, t.Pareto: _of_pareto, c.Uniform: _of_uniform,
    r.ContinuousBernoulli: _of_continuous_bernoulli, v.Beta: _of_beta,
}
#: Divergences by formulas of their own, and those for which there is none.
_OWN = {(a, a) for a in _BOUNDS} - {(a, a) for a in (c.Gumbel, t.Pareto, r.ContinuousBernoulli)}
_NONE = {(v.Beta, c.Gumbel), (r.ContinuousBernoulli, c.Gumbel), (t.Pareto, c.Gumbel),
         (c.Laplace, c.Gumbel), (r.ContinuousBernoulli, c.Gamma), (r.ContinuousBernoulli, v.Beta)}


def _outside(p: Any, q: Any) -> Any:
    """Where values of the first one are none of the second one's: a bool, or several."""
    (low, high), (least, most) = (_of(_BOUNDS, x)(x) for x in (p, q))
    if isinstance(q, t.Pareto) and isinstance(low, float):
        return True  # its values begin above 0
    wide: Any = False
    if least is not None:
        wide = True if low is None else F.asarray(low < least)
    if most is not None and wide is not True:
        wide = True if high is None else wide | F.asarray(high > most)
    return wide


def _crossed(p: Any, q: Any) -> Tensor:
    wide = _outside(p, q)
    if wide is True:
        batch = F.broadcast_shapes(p.batch_shape, q.batch_shape)
        return F.full(batch, math.inf, dtype=p.mean.dtype)
    return F.where(wide, math.inf, -p.entropy() - _of(_OTHERS, q)(p, q))


for _p in _BOUNDS:
    for _q in _OTHERS:
        if (_p, _q) not in _OWN | _NONE:
            register_kl(_p, _q)(_crossed)


@register_kl(c.Normal, c.Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    z = (p.loc - q.loc) / (p.scale * math.sqrt(2))
    away = p.scale * math.sqrt(2) * (F.exp(-F.square(z)) / math.sqrt(math.pi) + z * F.erf(z))
    return -p.entropy() + F.log(2 * q.scale) + away / q.scale


@register_kl(d.Bernoulli, d.Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - F.xlogy(p.probs, q.rate) + q.rate


@register_kl(d.Poisson, d.Bernoulli)
@register_kl(d.Poisson, d.Binomial)
def _poisson_bounded(p: Any, q: Any) -> Tensor:
    return F.full(F.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf, dtype=p.rate.dtype)


@register_kl(m.LowRankMultivariateNormal, m.LowRankMultivariateNormal)
@register_kl(m.LowRankMultivariateNormal, v.MultivariateNormal)
@register_kl(v.MultivariateNormal, m.LowRankMultivariateNormal)
def _few_parts(p: Any, q: Any) -> Tensor:
    return _normal_vectors(p, q)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("the divergence of transformed distributions needs equal "
                                  "transforms")
    inner = kl_divergence(p.base_dist, q.base_dist)
    count = inner.ndim - len(p.batch_shape)
    return F.sum(inner, tuple(range(-count, 0))) if count > 0 else inner
