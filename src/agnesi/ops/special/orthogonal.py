"""Values of orthogonal polynomials and Legendre functions, which SciPy computes.

Orders may be real; derivatives to x are those of DLMF 18.9 and 14.10.
"""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import logical_or
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.elementwise import Function, Rule
from agnesi.ops.base.literals import whole_numbers
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise.complexes import complex as complex_of
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.elementwise.formula import IN_STEPS, MOST_STEPS, no_slope, scipys
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.ops.special.gammas import binom
from agnesi.ops.special.special import lgamma

__all__ = [
    "assoc_laguerre", "assoc_legendre_p", "eval_chebyc", "eval_chebys", "eval_chebyt",
    "eval_chebyu", "eval_gegenbauer", "eval_genlaguerre", "eval_hermite", "eval_hermitenorm",
    "eval_jacobi", "eval_laguerre", "eval_legendre", "eval_sh_chebyt", "eval_sh_chebyu",
    "eval_sh_jacobi", "eval_sh_legendre", "legendre_p", "lpmv", "sph_harm_y", "sph_legendre_p",
]


def _documented(name: str, summary: str, args: str, rule: Rule, result: str, orders: int = 1,
          **keywords: Any) -> Function:
    """The function of orders (or whole numbers) and of x, to which there is a derivative."""
    still = None if keywords.get("whole") else no_slope(name, "its orders")
    return scipys(name, (still,) * orders + (rule,), __name__, summary, args, result, **keywords)


def _unless_zero(n: Tensor, value: Tensor) -> Tensor:
    """The derivative of a polynomial of degree n, which is 0 for n = 0."""
    return where(n == 0, 0, value)


eval_legendre: Function = _documented(
    "eval_legendre", "Legendre polynomial of degree ``x1`` (DLMF 18.5.7 and 14.3).", "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, eval_gegenbauer(a - 1, 1.5, b)), "[-0.125]")
eval_sh_legendre: Function = _documented(
    "eval_sh_legendre", "Shifted Legendre polynomial of degree ``x1`` on [0, 1], ``P(2 * x2 - "
    "1)`` (DLMF 18.7.10).", "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, 2 * eval_gegenbauer(a - 1, 1.5, 2 * b - 1)), "[-0.5]")
eval_chebyt: Function = _documented(
    "eval_chebyt", "Chebyshev polynomial T of degree ``x1``: ``cos(x1 * arccos(x2))`` on [-1, 1] "
    "(DLMF 18.5.1).", "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, a * eval_chebyu(a - 1, b)), "[-0.5]")
eval_chebyu: Function = _documented(
    "eval_chebyu", "Chebyshev polynomial U of degree ``x1``: ``sin((x1 + 1) * t) / sin(t)`` at "
    "``x2 = cos(t)`` (DLMF 18.5.2).", "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, 2 * eval_gegenbauer(a - 1, 2.0, b)), "[1.6653345e-16]")
eval_chebyc: Function = _documented(
    "eval_chebyc", "Chebyshev polynomial C of degree ``x1`` on [-2, 2], ``2 * T(x2 / 2)``.",
    "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, a * eval_chebyu(a - 1, b * 0.5)), "[-1.75]")
eval_chebys: Function = _documented(
    "eval_chebys", "Chebyshev polynomial S of degree ``x1`` on [-2, 2], ``U(x2 / 2)``.",
    "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, eval_gegenbauer(a - 1, 2.0, b * 0.5)), "[-0.75]")
eval_sh_chebyt: Function = _documented(
    "eval_sh_chebyt", "Shifted Chebyshev polynomial T of degree ``x1`` on [0, 1], ``T(2 * x2 - "
    "1)`` (DLMF 18.7.7).",
    "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, 2 * a * eval_chebyu(a - 1, 2 * b - 1)), "[-1.]")
eval_sh_chebyu: Function = _documented(
    "eval_sh_chebyu", "Shifted Chebyshev polynomial U of degree ``x1`` on [0, 1], ``U(2 * x2 - "
    "1)`` (DLMF 18.7.8).",
    "[2.0], [0.5]",
    lambda g, a, b: g * _unless_zero(a, 4 * eval_gegenbauer(a - 1, 2.0, 2 * b - 1)), "[-1.]")
eval_laguerre: Function = _documented(
    "eval_laguerre", "Laguerre polynomial of degree ``x1`` (DLMF 18.5.12).", "[2.0], [0.5]",
    lambda g, a, b: -g * _unless_zero(a, eval_genlaguerre(a - 1, 1.0, b)), "[0.125]",
    two_loops=True, most={0: (-MOST_STEPS, math.inf)})
eval_genlaguerre: Function = _documented(
    "eval_genlaguerre", "Generalized Laguerre polynomial of degree ``x1`` and parameter ``x2`` "
    "(DLMF 18.5.12).",
    "[2.0], [1.0], [0.5]",
    lambda g, a, b, c: -g * _unless_zero(a, eval_genlaguerre(a - 1, b + 1, c)), "[1.625]", 2,
    most={0: (-MOST_STEPS, math.inf)},
    two_loops=True)  # that of floats loses a fifth of degree 32 at 60
eval_gegenbauer: Function = _documented(
    "eval_gegenbauer", "Gegenbauer polynomial of degree ``x1`` and parameter ``x2`` (DLMF 18.5.9).",
    "[2.0], [1.0], [0.25]",
    lambda g, a, b, c: g * _unless_zero(a, 2 * b * eval_gegenbauer(a - 1, b + 1, c)), "[-0.75]", 2)
eval_jacobi: Function = _documented(
    "eval_jacobi", "Jacobi polynomial of degree ``x1`` and parameters ``x2`` and ``x3`` (DLMF "
    "18.5.7).",
    "[2.0], [1.0], [1.0], [0.5]",
    lambda g, a, b, c, d: g * _unless_zero(
        a, 0.5 * (a + b + c + 1) * eval_jacobi(a - 1, b + 1, c + 1, d)), "[0.1875]", 3)
eval_sh_jacobi: Function = _documented(
    "eval_sh_jacobi", "Shifted Jacobi polynomial of degree ``x1``, parameters ``x2`` and ``x3``.",
    "[2.0], [2.0], [1.0], [0.5]",
    lambda g, a, b, c, d: g * _unless_zero(
        a, (a + b) * eval_jacobi(a - 1, b - c + 1, c, 2 * d - 1) / binom(2 * a + b - 1, a)),
    "[-0.05]", 3)
eval_hermite: Function = _documented(
    "eval_hermite", "Hermite polynomial H of whole degree ``x1``, the physicists' (DLMF 18.5.13).",
    "[2], [0.5]",
    lambda g, a, b: g * _unless_zero(a, 2 * a * eval_hermite(maximum(a - 1, 0), b)), "[-1.]",
    whole=1, most={0: IN_STEPS})
eval_hermitenorm: Function = _documented(
    "eval_hermitenorm", "Hermite polynomial He of whole degree ``x1``, the probabilists' (DLMF "
    "18.5.13, 18.7.11).", "[2], [0.5]",
    lambda g, a, b: g * _unless_zero(a, a * eval_hermitenorm(maximum(a - 1, 0), b)), "[-0.75]",
    whole=1, most={0: IN_STEPS})
lpmv: Function = _documented(
    "lpmv", "Associated Legendre function of order ``x1`` and degree ``x2``, on [-1, 1].",
    "[1.0], [2.0], [0.5]",
    lambda g, a, b, c, y: g * ((a - b - 1) * lpmv(a, b + 1, c) + (b + 1) * c * y) / (1 - c * c),
    "[-1.299038]", 2, most={0: IN_STEPS, 1: IN_STEPS})


@public
def assoc_laguerre(x: TensorLike, n: TensorLike, k: TensorLike = 0.0, *, out: Tensor | None = None
                   ) -> Tensor:
    """Generalized Laguerre polynomial of degree ``n`` and parameter ``k``.

    :param x: Where.
    :param n, k: Degree and parameter; all three broadcast.
    :returns: Of the broadcast shape, floating.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.eval_genlaguerre, special.eval_laguerre

    >>> ag.special.assoc_laguerre(ag.tensor([0.5]), 2)
    tensor([0.125])
    """
    return eval_genlaguerre(n, k, x)


def _associated(n: Any, m: Any, x: Any, norm: bool) -> Tensor:
    found = lpmv(m, n, x)
    if not norm:
        return found
    n, m = (cast(as_tensor(v), found.dtype) for v in (n, m))
    beyond = logical_or(m > n, m < -n)  # where all derivatives of the polynomial are 0
    under, over = (where(beyond, 1, k) for k in (n - m + 1, n + m + 1))
    scaled = found * exp(0.5 * (lgamma(under) - lgamma(over))) * (n + 0.5) ** 0.5
    return where(beyond, 0, scaled)


def _on_sphere(n: Any, m: Any, theta: Any) -> Tensor:
    return _associated(n, m, cos(theta), True) * (2 * math.pi) ** -0.5


@public
def legendre_p(n: TensorLike, x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Legendre polynomial of degree ``n``, behind an axis for derivatives, as in SciPy.

    :param n: The degree.
    :param x: Where; both broadcast.
    :returns: Of the broadcast shape, with an axis of size 1 in front.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.eval_legendre, special.assoc_legendre_p

    >>> ag.special.legendre_p(2, ag.tensor([0.5]))
    tensor([[-0.125]])
    """
    return eval_legendre(n, x)[None]


@public
def assoc_legendre_p(n: TensorLike, m: TensorLike, x: TensorLike, /, *, norm: bool = False,
                     out: Tensor | None = None) -> Tensor:
    """Associated Legendre function of degree ``n`` and order ``m`` on [-1, 1], as in SciPy behind
    an axis for derivatives.

    With ``norm``, the integral of its square is 1.  It is 0 where the order exceeds the degree.

    :param n, m: Degree and order.
    :type n, m: array_like of int
    :param x: In [-1, 1]; all three broadcast.
    :param norm: Whether the function is normalised.
    :returns: Of the broadcast shape, with an axis of size 1 in front.
    :raises ShapeError: If the shapes do not broadcast.
    :raises DTypeError: If degree or order is no whole number.
    :see: special.legendre_p, special.sph_legendre_p, special.lpmv

    >>> ag.special.assoc_legendre_p(2, 1, ag.tensor([0.5]))
    tensor([[-1.299038]])
    """
    n, m = (whole_numbers("assoc_legendre_p", k) for k in (n, m))
    return _associated(n, m, x, norm)[None]


@public
def sph_legendre_p(n: TensorLike, m: TensorLike, theta: TensorLike, /, *, out: Tensor | None = None
                   ) -> Tensor:
    """Spherical Legendre function of degree ``n`` and order ``m`` at a polar angle, as in SciPy
    behind an axis for derivatives.

    :like: assoc_legendre_p
    :param theta: Angle from the pole, in [0, pi]; all three broadcast.
    :see: special.sph_harm_y, special.assoc_legendre_p

    >>> ag.special.sph_legendre_p(2, 1, ag.tensor([0.5]))
    tensor([[-0.32503858]])
    """
    n, m = (whole_numbers("sph_legendre_p", k) for k in (n, m))
    return _on_sphere(n, m, theta)[None]


@public
def sph_harm_y(n: TensorLike, m: TensorLike, theta: TensorLike, phi: TensorLike, /, *,
               out: Tensor | None = None) -> Tensor:
    """Spherical harmonic of degree ``n``, order ``m`` at polar and azimuthal angle (DLMF 14.30.1).

    :like: assoc_legendre_p
    :param theta: Angle from the pole, in [0, pi].
    :param phi: Angle around it; all four broadcast.
    :returns: Complex, of the broadcast shape.
    :see: special.sph_legendre_p, special.lpmv

    >>> ag.special.sph_harm_y(2, 1, ag.tensor([0.5]), 0.5).real
    tensor([-0.2852482])
    """
    n, m = (whole_numbers("sph_harm_y", k) for k in (n, m))
    azimuth = cast(as_tensor(m), as_tensor(theta).dtype) * phi
    return _on_sphere(n, m, theta) * complex_of(cos(azimuth), sin(azimuth))
