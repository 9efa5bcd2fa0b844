"""Distributions of counts: numbers of events, of successes, of marked things in a sample.

Small means are found by going through the chances one after the other, large ones by rejection;
both in float64.
"""

from __future__ import annotations

from agnesi.api.draws.common import Draw
from agnesi.api.draws.gamma import standard
from agnesi.autodiff.recording import no_grad, stop_gradient
from agnesi.core.parameter_types import ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import logical_not
from agnesi.ops.base.convert import cast
from agnesi.ops.base.parameter_checks import countable, demanded, integral, probability
from agnesi.ops.base.select import floor, minimum, where
from agnesi.ops.elementwise.explog import exp, log1p
from agnesi.ops.random.generators import Generator

#: Means from which rejection is faster.
_MIN_REJECTION_MEAN = 10.0
#: Counts after which the chances of small means are nothing any more.
_MAX_SMALL_COUNT = 110.0


# -- Poisson ------------------------------------------------------------------------------------
def poisson_of(d: Draw, lam: Tensor) -> Tensor:
    """Poisson numbers in float64; -1 where there are none."""
    large = lam >= _MIN_REJECTION_MEAN
    few = where(large, 1.0, lam)
    small = d.stepped(
        "few events", (lam < _MIN_REJECTION_MEAN) & (lam > 0.0), d.unit(), exp(-few), few
    )
    lam_ = where(large, lam, _MIN_REJECTION_MEAN)
    many = d.stepped("poisson", large, floor(lam_), lam_)
    return where(large, many, where(lam >= 0.0, small, -1.0))


@planned
@public
def poisson(lam: TensorLike = 1.0, size: ShapeLike | None = None, *,
            generator: Generator | None = None,
            out: Tensor | None = None) -> Tensor:
    """Numbers of events where ``lam`` are expected: int64.

    :param lam: The mean; not negative.
    :type lam: float or Tensor
    :param size: Shape of the result; by default that of ``lam``.
    :returns: int64, of that shape; no gradient flows.
    :raises ValueError: If ``lam`` is negative, NaN, or too large for an integer, in compiled code
        too.
    :see: random.binomial, random.exponential, special.pdtr

    >>> ag.random.poisson(0.0, 3)
    tensor([0, 0, 0])
    """
    (lam,) = countable("poisson", lam=lam)
    (lam,) = integral("poisson", lam=lam)
    d = Draw(size, None, generator, lam, exact=True)
    with no_grad():
        return cast(poisson_of(d, stop_gradient(d.full(d.params[0]))), dtypes.int64)


# -- binomial -----------------------------------------------------------------------------------
def binomial_of(d: Draw, n: Tensor, p: Tensor, most: float | None = None) -> Tensor:
    """Binomial numbers in float64; -1 where there are none.  ``most`` trials there may be, if that
    is known."""
    valid = (n >= 0.0) & (p >= 0.0) & (p <= 1.0)
    turned = p > 0.5
    p = where(valid, where(turned, 1.0 - p, p), 0.0)
    n = where(valid, n, 0.0)
    if most == 1.0:
        k = where(d.unit() >= 1.0 - p, n, 0.0)
        d.skip("few successes", "binomial")
        return where(valid, where(turned, n - k, k), -1.0)
    large = n * p >= _MIN_REJECTION_MEAN
    odds = p / (1.0 - p)
    few = where(large, 0.0, n)
    open_ = logical_not(large) & (few * p > 0.0)
    small = d.stepped("few successes", open_, d.unit(), exp(few * log1p(-p)), few, odds)
    if most is not None and 0.5 * most < _MIN_REJECTION_MEAN:
        k = minimum(small, n)
        d.skip("binomial")
        return where(valid, where(turned, n - k, k), -1.0)
    n_, p_ = where(large, n, 100.0), where(large, p, 0.25)
    many = d.stepped("binomial", large, floor((n_ + 1.0) * p_), n_, p_)
    k = where(large, many, minimum(small, n))
    return where(valid, where(turned, n - k, k), -1.0)


@planned
@public
def binomial(n: TensorLike, p: TensorLike, size: ShapeLike | None = None, *,
             generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Numbers of successes in ``n`` trials of chance ``p``: int64.

    :param n: Number of trials; not negative.
    :type n: int or array_like
    :param p: Chance of a success.
    :type p: float or array_like
    :returns: int64, of that shape; no gradient flows.
    :raises ValueError: If ``n`` is negative or too large for an integer, or ``p`` not in [0, 1],
        in compiled code too.
    :see: random.bernoulli, random.multinomial, random.poisson, special.bdtr

    >>> ag.random.binomial(9, 1.0, 3)
    tensor([9, 9, 9])
    """
    (n,) = integral("binomial", n=countable("binomial", n=n)[0])
    (p,) = probability("binomial", p=p)
    most = float(n) if isinstance(n, (int, float)) else None
    d = Draw(size, None, generator, n, p, exact=True)
    with no_grad():
        n, p = (stop_gradient(d.full(x)) for x in d.params)
        return cast(binomial_of(d, n, p, most), dtypes.int64)


@planned
@public
def negative_binomial(n: TensorLike, p: TensorLike, size: ShapeLike | None = None, *,
                      generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Numbers of failures before ``n`` successes of chance ``p``; ``n`` need not be whole.

    :param n: Number of successes; positive.
    :type n: float or array_like
    :param p: Chance of a success; positive.
    :type p: float or array_like
    :returns: int64, of that shape; no gradient flows.
    :raises ValueError: If ``n`` is not positive, ``p`` not in (0, 1], or the mean too large for an
        integer, in compiled code too.
    :see: random.poisson, random.geometric, special.nbdtr

    >>> ag.random.negative_binomial(3, 1.0, 2)
    tensor([0, 0])
    """
    (n,) = demanded("negative_binomial", "n must be positive", lambda n: n > 0, n=n)
    (p,) = demanded("negative_binomial", "p must be in (0, 1]", lambda p: (p > 0) & (p <= 1), p=p)
    n, p = demanded("negative_binomial", "the mean n * (1 - p) / p must be less than 2**62",
                    lambda n, p: n * (1 - p) < p * 2.0**62, n=n, p=p)
    d = Draw(size, None, generator, n, p, exact=True)
    with no_grad():
        n, p = (stop_gradient(d.full(x)) for x in d.params)
        return cast(poisson_of(d, standard(d, n) * (1.0 - p) / p), dtypes.int64)


# -- hypergeometric -----------------------------------------------------------------------------
def marked(d: Draw, good: Tensor, bad: Tensor, sample: Tensor) -> Tensor:
    """Hypergeometric counts, drawn for the rarer kind and the smaller half of the population."""
    total = good + bad
    valid = (good >= 0.0) & (bad >= 0.0) & (sample >= 0.0) & (sample <= total)
    rare = minimum(good, bad)
    drawn = minimum(sample, total - sample)
    rare, drawn, whole = (where(valid, x, 0.0) for x in (rare, drawn, total))
    large = drawn > _MIN_REJECTION_MEAN
    few = where(large, 0.0, drawn)
    left = d.stepped("single draws", few > 0.0, rare, few, whole)
    k = where(large, _ratio_of_uniforms(d, drawn, rare, whole, large), rare - left)
    k = where(good > bad, drawn - k, k)
    return where(valid, where(drawn < sample, good - k, k), -1.0)


def _ratio_of_uniforms(d: Draw, drawn: Tensor, rare: Tensor, total: Tensor,
                       open_: Tensor) -> Tensor:
    rare, total = where(open_, rare, 50.0), where(open_, total, 100.0)
    m = where(open_, drawn, 20.0)
    mode = floor((m + 1.0) * (rare + 1.0) / (total + 2.0))
    return d.stepped("hypergeometric", open_, mode, m, rare, total)


@planned
@public
def hypergeometric(ngood: TensorLike, nbad: TensorLike, nsample: TensorLike,
                   size: ShapeLike | None = None, *, generator: Generator | None = None,
                   out: Tensor | None = None) -> Tensor:
    """How many of ``nsample`` things are good, drawn from ``ngood`` good and ``nbad`` bad ones.

    :param ngood, nbad: How many good and bad ones there are.
    :type ngood, nbad: int or array_like
    :param nsample: How many are drawn, none twice.
    :type nsample: int or array_like
    :returns: int64, of that shape; no gradient flows.
    :raises ValueError: If a number is negative or too large for an integer, or ``nsample`` greater
        than both together, in compiled code too.
    :see: random.multivariate_hypergeometric, random.binomial

    >>> ag.random.hypergeometric(4, 2, 6, 3)
    tensor([4, 4, 4])
    """
    ngood, nbad, nsample = countable("hypergeometric", ngood=ngood, nbad=nbad, nsample=nsample)
    ngood, nbad, nsample = integral("hypergeometric", ngood=ngood, nbad=nbad, nsample=nsample)
    ngood, nbad, nsample = demanded(
        "hypergeometric", "nsample <= ngood + nbad must hold",
        lambda ngood, nbad, nsample: nsample <= ngood + nbad,
        ngood=ngood, nbad=nbad, nsample=nsample,
    )
    d = Draw(size, None, generator, ngood, nbad, nsample, exact=True)
    with no_grad():
        good, bad, sample = (stop_gradient(d.full(x)) for x in d.params)
        return cast(marked(d, good, bad, sample), dtypes.int64)


# -- Zipf ---------------------------------------------------------------------------------------
@planned
@public
def zipf(a: TensorLike, size: ShapeLike | None = None, *, generator: Generator | None = None,
         out: Tensor | None = None) -> Tensor:
    """Whole numbers from 1 with chances proportional to ``k**-a``, after Devroye (1986), X.6.1.

    :param a: The exponent; above 1.
    :type a: float or array_like
    :returns: int64, of that shape; no gradient flows.
    :raises ValueError: If ``a`` is not above 1, in compiled code too.
    :see: random.pareto, random.logseries

    >>> bool((ag.random.zipf(2.0, 9) >= 1).all())
    True
    """
    (a,) = demanded("zipf", "a must be greater than 1", lambda a: a > 1, a=a)
    d = Draw(size, None, generator, a, exact=True)
    with no_grad():
        a = stop_gradient(d.full(d.params[0]))
        valid = a > 1.0
        less = where(valid, a, 2.0) - 1.0
        start = where(valid, a * 0.0 + 1.0, -1.0)
        return cast(d.stepped("zipf", valid, start, less), dtypes.int64)
