"""Directions, and chi-square and F about a center away from 0."""

from __future__ import annotations

import math
from typing import Any

from agnesi.api.draws.common import Draw
from agnesi.api.draws.counts import poisson_of
from agnesi.api.draws.gamma import standard
from agnesi.autodiff.recording import no_grad, stop_gradient
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import remainder, sqrt
from agnesi.ops.base.parameter_checks import not_negative, positive
from agnesi.ops.base.select import maximum, where
from agnesi.ops.random.generators import Generator

#: Concentrations below which directions are as good as uniform.
_MAX_UNIFORM_CONCENTRATION = 1e-6


@planned
@public
def vonmises(mu: TensorLike = 0.0, kappa: TensorLike = 1.0, size: ShapeLike | None = None, *,
             dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
             ) -> Tensor:
    """Directions in [-pi, pi] around ``mu``, after Best and Fisher (1979).

    Gradients flow to ``mu`` only.

    :param mu: The mean direction, in radians.
    :type mu: float or array_like
    :param kappa: How close directions are to it: 0 for uniform ones; not negative.
    :type kappa: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If ``kappa`` is negative, in compiled code too.
    :see: random.normal, random.uniform

    >>> bool((abs(ag.random.vonmises(0.0, 2.0, 9)) <= 3.1416).all())
    True
    """
    (kappa,) = not_negative("vonmises", kappa=kappa)
    d = Draw(size, dtype, generator, mu, kappa, exact=True)
    mu, kappa = d.params
    with no_grad():
        turn = _directions(d, stop_gradient(d.full(kappa)))
    return d.give(remainder(turn + mu + math.pi, 2 * math.pi) - math.pi)


def _directions(d: Draw, kappa: Tensor) -> Tensor:
    """Directions around 0, in float64."""
    k = maximum(kappa, _MAX_UNIFORM_CONCENTRATION)
    tau = 1.0 + sqrt(1.0 + 4.0 * k * k)
    rho = (tau - sqrt(2.0 * tau)) / (2.0 * k)
    # s = (1 + rho²) / (2 rho), which loses digits for small k, is 1 / k there.
    s = where(k < 1e-4, 1.0 / k + k, (1.0 + rho * rho) / (2.0 * rho))

    even = (d.unit() * 2.0 - 1.0) * math.pi
    found = d.stepped("von mises", kappa >= _MAX_UNIFORM_CONCENTRATION, even * 0.0, k, s)
    turn = where(kappa < _MAX_UNIFORM_CONCENTRATION, even, where(d.unit() < 0.5, -found, found))
    return where(kappa >= 0.0, turn, math.nan)


@planned
@public
def noncentral_chisquare(df: TensorLike, nonc: TensorLike, size: ShapeLike | None = None, *,
                         dtype: DTypeLike = None, generator: Generator | None = None,
                         out: Tensor | None = None) -> Tensor:
    """Sums of squares of ``df`` normal numbers whose means' squares sum to ``nonc``.

    They are chi-square numbers of ``df + 2 i`` degrees, ``i`` from the Poisson distribution, for
    any ``df``.  Gradients flow to ``df`` only.

    :param df: Degrees of freedom; positive.
    :type df: float or array_like
    :param nonc: Sum of the squares of the means; not negative.
    :type nonc: float or array_like
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of that shape; gradients flow to the parameters, as far as nothing else is said.
    :raises ValueError: If a parameter is out of its range, in compiled code too.
    :see: random.chisquare, random.noncentral_f, special.chndtr

    >>> bool((ag.random.noncentral_chisquare(3.0, 1.0, 9) > 0).all())
    True
    """
    (df,) = positive("noncentral_chisquare", df=df)
    (nonc,) = not_negative("noncentral_chisquare", nonc=nonc)
    d = Draw(size, dtype, generator, df, nonc, exact=True)
    return d.give(_noncentral(d, *d.params))


def _noncentral(d: Draw, df: Any, nonc: Any) -> Tensor:
    with no_grad():
        i = poisson_of(d, stop_gradient(d.full(nonc)) / 2.0)
        i = where(i < 0.0, math.nan, i)
    return 2.0 * standard(d, df / 2 + i)


@planned
@public
def noncentral_f(dfnum: TensorLike, dfden: TensorLike, nonc: TensorLike,
                 size: ShapeLike | None = None, *, dtype: DTypeLike = None,
                 generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """:func:`f` with a numerator from :func:`noncentral_chisquare`; its gradients, too.

    :like: noncentral_chisquare
    :param dfnum, dfden: Degrees of freedom above and below; positive.
    :type dfnum, dfden: float or array_like
    :param nonc: Noncentrality of the numerator; not negative.
    :type nonc: float or array_like
    :see: random.f, random.noncentral_chisquare, special.ncfdtr

    >>> bool((ag.random.noncentral_f(3.0, 4.0, 1.0, 9) > 0).all())
    True
    """
    dfnum, dfden = positive("noncentral_f", dfnum=dfnum, dfden=dfden)
    (nonc,) = not_negative("noncentral_f", nonc=nonc)
    d = Draw(size, dtype, generator, dfnum, dfden, nonc, exact=True)
    dfnum, dfden, nonc = d.params
    below = 2.0 * standard(d, dfden / 2) / dfden
    return d.give(_noncentral(d, dfnum, nonc) / dfnum / below)
