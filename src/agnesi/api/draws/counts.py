"""Distributions of counts: numbers of events, of successes, of marked things in a sample.

Small means are found by going through the chances one after the other, large ones by rejection;
both in float64.
"""

from __future__ import annotations

import math
from typing import Any

from agnesi.api.draws.common import Draw, accepted, chance, not_negative, positive
from agnesi.api.draws.gamma import standard
from agnesi.api.loops import while_loop
from agnesi.autodiff.recording import no_grad, stop_gradient
from agnesi.core import dtypes
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.arith import abs as abs_
from agnesi.ops.arith import sqrt
from agnesi.ops.compare import logical_not
from agnesi.ops.convert import as_tensor, cast
from agnesi.ops.creation import zeros
from agnesi.ops.explog import exp, log, log1p
from agnesi.ops.random import Generator
from agnesi.ops.reduce import any as any_
from agnesi.ops.select import clip, floor, maximum, minimum, where

#: Means from which rejection is faster.
_LARGE = 10.0
#: Counts after which the chances of small means are nothing any more.
_MOST = 110.0


def _factorial(k: Tensor) -> Tensor:
    """The logarithm of k!, by Stirling's series eight places further on: faster than lgamma."""
    x = k + 9.0
    beyond = math.prod([k + float(i) for i in range(2, 9)], start=k + 1.0)
    r = 1.0 / (x * x)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / x
    return (x - 0.5) * log(x) - x + (0.5 * math.log(2 * math.pi)) + series - log(beyond)


def _one_by_one(d: Draw, first: Tensor, ratio: Any, open_: Tensor) -> Tensor:
    """The count up to which chances sum to a uniform number, where ``open_``.

    ``first`` is the chance of 0, ``ratio(k)`` that of ``k`` divided by that of ``k - 1``.
    """
    def go_on(state: Any) -> Any:
        return any_(state[3]) & (state[4] < _MOST)

    def step(state: Any) -> Any:
        count, rest, chance, left, k = state
        rest = rest - chance
        left = left & (rest >= 0.0)
        return where(left, k, count), rest, chance * ratio(k), left, k + 1.0

    start = zeros(d.sizes, dtype=d.wide), d.unit(), first, open_, as_tensor(1.0, d.wide)
    found: Tensor = while_loop(go_on, step, start)[0]
    return found


# -- Poisson ------------------------------------------------------------------------------------
def poisson_of(d: Draw, lam: Tensor) -> Tensor:
    """Poisson numbers in float64; -1 where there are none."""
    large = lam >= _LARGE
    few = where(large, 1.0, lam)
    small = _one_by_one(d, exp(-few), lambda k: few / k, (lam < _LARGE) & (lam > 0.0))
    many = _poisson_by_rejection(d, where(large, lam, _LARGE), large)
    return where(large, many, where(lam >= 0.0, small, -1.0))


def _poisson_by_rejection(d: Draw, lam: Tensor, open_: Tensor) -> Tensor:
    """PTRS of Hörmann (1993): The transformed rejection method for Poisson variables."""
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2.0)

    def attempt() -> tuple[Tensor, Tensor]:
        u, v = d.unit() - 0.5, d.open()
        us = maximum(0.5 - abs_(u), 1e-300)
        k = floor((2.0 * a / us + b) * u + lam + 0.43)
        weight = log(v * inverse / (a / (us * us) + b))
        fits = weight <= k * log(lam) - lam - _factorial(maximum(k, 0.0))
        good = (us >= 0.07) & (v <= quick) | (k >= 0.0) & ((us >= 0.013) | (v <= us)) & fits
        return k, good

    return accepted(attempt, floor(lam), open_)


@public
def poisson(lam: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
            out: Tensor | None = None) -> Tensor:
    """Numbers of events where ``lam`` are expected: int64.

    Parameters
    ----------
    lam : float or Tensor
    size : int or tuple of int, optional
        Shape of the result; by default that of ``lam``.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If a Python number is negative.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.poisson(0.0, 3)
    tensor([0, 0, 0])
    """
    not_negative(lam=lam)
    d = Draw(size, None, generator, lam, exact=True)
    with no_grad():
        return cast(poisson_of(d, stop_gradient(d.full(d.params[0]))), dtypes.int64)


# -- binomial -----------------------------------------------------------------------------------
def binomial_of(d: Draw, n: Tensor, p: Tensor) -> Tensor:
    """Binomial numbers in float64; -1 where there are none."""
    valid = (n >= 0.0) & (p >= 0.0) & (p <= 1.0)
    turned = p > 0.5
    p = where(valid, where(turned, 1.0 - p, p), 0.0)
    n = where(valid, n, 0.0)
    large = n * p >= _LARGE
    odds = p / (1.0 - p)
    few = where(large, 0.0, n)
    open_ = logical_not(large) & (few * p > 0.0)
    small = _one_by_one(d, exp(few * log1p(-p)), lambda k: (few - k + 1.0) / k * odds, open_)
    many = _binomial_by_rejection(d, where(large, n, 100.0), where(large, p, 0.25), large)
    k = where(large, many, minimum(small, n))
    return where(valid, where(turned, n - k, k), -1.0)


def _binomial_by_rejection(d: Draw, n: Tensor, p: Tensor, open_: Tensor) -> Tensor:
    """BTRS of Hörmann (1993): The generation of binomial random variates."""
    spread = sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = n * p + 0.5
    quick = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    mode = floor((n + 1.0) * p)
    odds = log(p / (1.0 - p))
    height = _factorial(mode) + _factorial(n - mode)

    def attempt() -> tuple[Tensor, Tensor]:
        u, v = d.unit() - 0.5, d.open()
        us = maximum(0.5 - abs_(u), 1e-300)
        k = floor((2.0 * a / us + b) * u + center)
        inside = (k >= 0.0) & (k <= n)
        k = clip(k, 0.0, n)
        weight = log(v * alpha / (a / (us * us) + b))
        fits = weight <= height - _factorial(k) - _factorial(n - k) + (k - mode) * odds
        return k, inside & ((us >= 0.07) & (v <= quick) | fits)

    return accepted(attempt, mode, open_)


@public
def binomial(n: Any, p: Any, size: Any = None, *, generator: Generator | None = None,
             out: Tensor | None = None) -> Tensor:
    """Numbers of successes in ``n`` trials of chance ``p``: int64.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.binomial(9, 1.0, 3)
    tensor([9, 9, 9])
    """
    not_negative(n=n)
    chance(p=p)
    d = Draw(size, None, generator, n, p, exact=True)
    with no_grad():
        n, p = (stop_gradient(d.full(x)) for x in d.params)
        return cast(binomial_of(d, n, p), dtypes.int64)


@public
def negative_binomial(n: Any, p: Any, size: Any = None, *, generator: Generator | None = None,
                      out: Tensor | None = None) -> Tensor:
    """Numbers of failures before ``n`` successes of chance ``p``; ``n`` need not be whole.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.negative_binomial(3, 1.0, 2)
    tensor([0, 0])
    """
    positive(n=n, p=p)
    chance(p=p)
    d = Draw(size, None, generator, n, p, exact=True)
    with no_grad():
        n, p = (stop_gradient(d.full(x)) for x in d.params)
        return cast(poisson_of(d, standard(d, n) * (1.0 - p) / p), dtypes.int64)


# -- hypergeometric -----------------------------------------------------------------------------
def marked(d: Draw, good: Tensor, bad: Tensor, sample: Tensor) -> Tensor:
    """How many of a sample are good: found for the rarer kind and the smaller half."""
    total = good + bad
    valid = (good >= 0.0) & (bad >= 0.0) & (sample >= 0.0) & (sample <= total)
    rare = minimum(good, bad)
    drawn = minimum(sample, total - sample)
    rare, drawn, whole = (where(valid, x, 0.0) for x in (rare, drawn, total))
    large = drawn > _LARGE
    one_by_one = _drawn_singly(d, where(large, 0.0, drawn), rare, whole)
    k = where(large, _ratio_of_uniforms(d, drawn, rare, whole, large), one_by_one)
    k = where(good > bad, drawn - k, k)
    return where(valid, where(drawn < sample, good - k, k), -1.0)


def _drawn_singly(d: Draw, drawn: Tensor, rare: Tensor, total: Tensor) -> Tensor:
    """One thing after the other is drawn, ``drawn`` of them, ten at most."""
    def go_on(state: Any) -> Any:
        return any_(state[1] < drawn)

    def step(state: Any) -> Any:
        left, turn = state
        hit = (turn < drawn) & (d.unit() * (total - turn) < left)
        return where(hit, left - 1.0, left), turn + 1.0

    return rare - while_loop(go_on, step, (rare, as_tensor(0.0, d.wide)))[0]


def _ratio_of_uniforms(d: Draw, drawn: Tensor, rare: Tensor, total: Tensor,
                       open_: Tensor) -> Tensor:
    """HRUA of Stadlober (1990): The ratio of uniforms approach for discrete variates."""
    rare, total = where(open_, rare, 50.0), where(open_, total, 100.0)
    m = where(open_, drawn, 20.0)
    share = rare / total
    common = total - rare
    center = m * share + 0.5
    spread = sqrt((total - m) * m * share * (1.0 - share) / (total - 1.0) + 0.5)
    width = 2.0 * math.sqrt(2 / math.e) * spread + (3 - 2 * math.sqrt(3 / math.e))
    mode = floor((m + 1.0) * (rare + 1.0) / (total + 2.0))

    def height(k: Tensor) -> Tensor:
        parts = (k, rare - k, m - k, common - m + k)
        return sum((_factorial(maximum(x, 0.0)) for x in parts[1:]), _factorial(parts[0]))

    top = height(mode)
    most = minimum(minimum(m, rare) + 1.0, floor(center + 16.0 * spread))

    def attempt() -> tuple[Tensor, Tensor]:
        u, v = d.open(), d.unit()
        x = center + width * (v - 0.5) / u
        inside = (x >= 0.0) & (x < most)
        k = floor(clip(x, 0.0, most - 1.0))
        return k, inside & (2.0 * log(u) <= top - height(k))

    return accepted(attempt, mode, open_)


@public
def hypergeometric(ngood: Any, nbad: Any, nsample: Any, size: Any = None, *,
                   generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """How many of ``nsample`` things are good, drawn from ``ngood`` good and ``nbad`` bad ones.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.hypergeometric(4, 2, 6, 3)
    tensor([4, 4, 4])
    """
    not_negative(ngood=ngood, nbad=nbad, nsample=nsample)
    numbers = all(isinstance(x, (int, float)) for x in (ngood, nbad, nsample))
    if numbers and nsample > ngood + nbad:
        raise ValueError(f"{nsample} things cannot be drawn from {ngood} + {nbad}")
    d = Draw(size, None, generator, ngood, nbad, nsample, exact=True)
    with no_grad():
        good, bad, sample = (stop_gradient(d.full(x)) for x in d.params)
        return cast(marked(d, good, bad, sample), dtypes.int64)


# -- Zipf ---------------------------------------------------------------------------------------
@public
def zipf(a: Any, size: Any = None, *, generator: Generator | None = None,
         out: Tensor | None = None) -> Tensor:
    """Whole numbers from 1 with chances proportional to ``k**-a``, after Devroye (1986), X.6.1.

    Examples
    --------
    >>> import agnesi as ag
    >>> bool((ag.random.zipf(2.0, 9) >= 1).all())
    True
    """
    if isinstance(a, (int, float)) and not a > 1:
        raise ValueError(f"a must be greater than 1, not {a}")
    d = Draw(size, None, generator, a, exact=True)
    with no_grad():
        a = stop_gradient(d.full(d.params[0]))
        valid = a > 1.0
        less = where(valid, a, 2.0) - 1.0
        b = exp(less * math.log(2.0))

        def attempt() -> tuple[Tensor, Tensor]:
            x = floor(exp(minimum(-log(d.open()) / less, 60.0)))
            t = exp(less * log1p(1.0 / x))
            good = d.unit() * x * (t - 1.0) / (b - 1.0) <= t / b
            return x, good & (x < 2.0**62)

        return cast(accepted(attempt, where(valid, a * 0.0 + 1.0, -1.0), valid), dtypes.int64)
