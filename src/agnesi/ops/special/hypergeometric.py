"""Hypergeometric functions, Fresnel and other integrals, and Faddeeva's function.

SciPy computes them; derivatives are those of DLMF, chapters 6, 7, 13 and 15.
"""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import safe_divide, square
from agnesi.ops.base.compare import logical_and
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.elementwise import Function
from agnesi.ops.base.select import maximum, trunc, where
from agnesi.ops.elementwise.complexes import complex as complex_of
from agnesi.ops.elementwise.explog import exp, log
from agnesi.ops.elementwise.formula import IN_STEPS, MOST_STEPS, fixed, horner, scipy_rows, scipys
from agnesi.ops.elementwise.hyperbolic import cosh, sinh
from agnesi.ops.elementwise.trig import cos, sin

__all__ = [
    "dawsn", "erfi", "expn", "fresnel", "hyp0f1", "hyp1f1", "hyp2f1", "hyperu",
    "log_wright_bessel", "modfresnelm", "modfresnelp", "shichi", "spence", "voigt_profile",
    "wofz", "wright_bessel",
]


_documented = scipy_rows(__name__)


#: The greatest operand of Kummer's function, for which SciPy takes 10 ms; at 1e14 minutes.
_MOST_KUMMER = 1e10


def _is_polynomial(a: TensorLike, b: TensorLike, c: TensorLike) -> Tensor:
    """Return where Kummer's series ends after few terms."""
    first = as_tensor(a)
    return logical_and(logical_and(first <= 0, first >= -MOST_STEPS), first == trunc(first))


# -- hypergeometric functions -------------------------------------------------------------------
hyp0f1: Function = _documented(
    "hyp0f1", "Confluent limit function 0F1 of parameter ``x1`` (DLMF 16.2.1).",
    "[1.0], [0.0]", "[1.]",
    *fixed("hyp0f1", 1), lambda g, a, b: g * hyp0f1(a + 1, b) / a)
hyp1f1: Function = _documented(
    "hyp1f1", "Kummer's function 1F1 of parameters ``x1`` and ``x2`` (DLMF 13.2.2).",
    "[1.0], [2.0], [0.0]",
    "[1.]",
    *fixed("hyp1f1", 2), lambda g, a, b, c: g * a / b * hyp1f1(a + 1, b + 1, c),
    most={2: (-math.inf, _MOST_KUMMER)}, but=_is_polynomial)
hyperu: Function = _documented(
    "hyperu", "Tricomi's function U of parameters ``x1`` and ``x2`` (DLMF 13.2.6).",
    "[1.0], [2.0], [1.0]",
    "[1.]",
    *fixed("hyperu", 2), lambda g, a, b, c: -g * a * hyperu(a + 1, b + 1, c),
    most={0: IN_STEPS, 1: IN_STEPS}, nanoseconds=1 << 14)  # of as many steps
hyp2f1: Function = _documented(
    "hyp2f1", "Gauss' function 2F1 of parameters ``x1``, ``x2`` and ``x3`` (DLMF 15.2.1).",
    "[1.0], [1.0], [2.0], [0.0]", "[1.]",
    *fixed("hyp2f1", 3), lambda g, a, b, c, d: g * a * b / c * hyp2f1(a + 1, b + 1, c + 1, d))
wright_bessel: Function = _documented(
    "wright_bessel", "Wright's generalized Bessel function of ``x1`` and ``x2`` at ``x3`` (DLMF "
    "10.46.1).",
    "[0.0], [1.0], [0.0]", "[1.]",
    *fixed("wright_bessel", 2), lambda g, a, b, c: g * wright_bessel(a, a + b, c))
log_wright_bessel: Function = _documented(
    "log_wright_bessel", "Logarithm of :func:`wright_bessel`.", "[0.0], [1.0], [0.0]", "[-0.]",
    *fixed("log_wright_bessel", 2),
    lambda g, a, b, c, y: g * exp(log_wright_bessel(a, a + b, c) - y))

# -- integrals ----------------------------------------------------------------------------------
def _expn_below(a: Any, b: Any) -> Any:
    """The exponential integral of order ``a - 1``, for the derivative by ``b``; order 0 has a
    closed form."""
    return where(a == 0, exp(-b) * (1 + b) / square(b), expn(where(a == 0, 1.0, a) - 1, b))


_ROOT_PI = math.sqrt(math.pi)
erfi: Function = _documented(
    "erfi",
    "Imaginary error function, ``-1j * erf(1j * x)``.",
    "[0.0]",
    "[0.]",
    lambda g, x: g * exp(square(x)) * (2 / _ROOT_PI),
)
#: -2 x^2 D'(x) of Dawson's integral D in t = 50 / x^2 - 1 for x >= 5, relative error 5e-19.
_DAWSN_SLOPES = (
    1.0316156491859887, 0.03335898552045296, 0.0018846764610393636, 0.0001568795717069038,
    1.7753545996195268e-05, 2.612108019208581e-06, 4.869422194991118e-07, 1.1352717009593169e-07,
    3.308196406947692e-08, 1.224112502574101e-08, 5.879505956205379e-09, 3.5552525388745995e-09,
    2.3325719200224205e-09, 9.567554687587106e-10, -1.033386535392545e-09, -2.2938942222483257e-09,
    -1.0384160802097545e-09, 1.1572534370680688e-09, 1.1388472846775626e-09,
    -3.19401094093778e-10, -5.663975798917489e-10, 4.716554302864495e-11, 1.5983378833199258e-10,
    -2.397003996370636e-12, -2.0557742855486093e-11,
)  # fmt: skip


def _dawsn_slope(x: Tensor, y: Tensor) -> Tensor:
    """``1 - 2 * x * y``, which loses all digits where x is large."""
    size = magnitude(x)
    inverse = 1 / maximum(size, 5)
    far = horner(50 * square(inverse) - 1, _DAWSN_SLOPES) * (-0.5 * inverse) * inverse
    return where(size < 5, 1 - 2 * x * y, far)


dawsn: Function = _documented("dawsn", "Dawson's integral: ``exp(-x**2)`` times the integral of "
    "``exp(t**2)`` from 0 to x (DLMF 7.2.5).", "[0.0]", "[0.]",
                        lambda g, x, y: g * _dawsn_slope(x, y))
expn: Function = _documented(
    "expn", "Generalized exponential integral: the integral of ``exp(-x2 * t) / t**x1`` from 1 on "
    "(DLMF 8.19.3).", "[2.0], [0.0]", "[1.]",
    *fixed("expn", 1),
    lambda g, a, b: -g * _expn_below(trunc(a), b))
spence: Function = _documented(
    "spence", "Spence's function, the dilogarithm of ``1 - x`` (DLMF 25.12.1).", "[1.0]", "[0.]",
    lambda g, x: g * where(x == 1, -1.0, log(x) / where(x == 1, 1.0, 1 - x)))
_shi = _documented("shichi", "", "", "", lambda g, x: g * where(
    x == 0, 1.0, safe_divide(sinh(x), x)), own="shi", output=0)
_chi = _documented(
    "shichi", "", "", "", lambda g, x: safe_divide(g * cosh(x), x), own="chi", output=1
)
_fresnel_s = _documented("fresnel", "", "", "", lambda g, x: g * sin(square(x) * (0.5 * math.pi)),
                   own="fresnel_s", output=0)
_fresnel_c = _documented("fresnel", "", "", "", lambda g, x: g * cos(square(x) * (0.5 * math.pi)),
                   own="fresnel_c", output=1)


@public
def shichi(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Hyperbolic sine and cosine integrals Shi and Chi (DLMF 6.2.15, 6.2.16).

    :param x: Real numbers; integers become the default float dtype.
    :returns Shi, Chi: Of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: special.sici, special.expi

    >>> ag.special.shichi(ag.tensor([0.0]))
    (tensor([0.]), tensor([-inf]))
    """
    return _shi(x), _chi(x)


@public
def fresnel(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Fresnel integrals: ``sin`` and ``cos`` of ``pi * t**2 / 2`` from 0 to x (DLMF 7.2.7-8).

    :param x: Real numbers; integers become the default float dtype.
    :returns S, C: Of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: special.modfresnelp, special.fresnel_zeros, special.sici

    >>> ag.special.fresnel(ag.tensor([0.0]))
    (tensor([0.]), tensor([0.]))
    """
    return _fresnel_s(x), _fresnel_c(x)


@public
def modfresnelp(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Modified Fresnel integrals F+ and K+ of real numbers, as complex numbers (DLMF 7.2).

    :param x: Real numbers; integers become the default float dtype.
    :returns F, K: Complex, of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: special.modfresnelm, special.fresnel

    >>> ag.special.modfresnelp(ag.tensor([0.0]))[0].real
    tensor([0.62665707])
    """
    return _modified(x, 1.0)


@public
def modfresnelm(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Modified Fresnel integrals F- and K- of real numbers, as complex numbers.

    :like: modfresnelp
    :see: special.modfresnelp, special.fresnel

    >>> ag.special.modfresnelm(ag.tensor([0.0]))[0].imag
    tensor([-0.62665707])
    """
    return _modified(x, -1.0)


def _modified(x: Any, sign: float) -> tuple[Tensor, Tensor]:
    """``F = integral of exp(sign i t^2)`` from x on, and ``K`` of it, by Faddeeva's function."""
    x = as_tensor(x)
    rotation = complex(math.cos(math.pi / 4), sign * math.sin(math.pi / 4))  # sqrt(sign * i)
    root = complex_of(cast(x, x.dtype), x * 0)
    # F = sqrt(pi)/2 rotation erfc(conj(rotation) x), and erfc(z) = exp(-z^2) w(i z).
    w = wofz(root * (1j * rotation.conjugate()))
    phase = square(x)
    whole = complex_of(cos(phase), sin(phase) * sign) * w * (0.5 * _ROOT_PI * rotation)
    return whole, 0.5 * w


# -- Faddeeva's function ------------------------------------------------------------------------
_wofz = scipys("wofz", (lambda g, x, y: g * (2j / _ROOT_PI - 2 * x * y),), __name__, kinds="c")


@public
def wofz(z: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Faddeeva's function, ``exp(-z**2) * erfc(-1j * z)``, of complex numbers (DLMF 7.2.3).

    :param z: Complex numbers; real ones are taken as complex.
    :returns: Complex, of the shape of ``z``.
    :see: special.erfcx, special.dawsn, special.voigt_profile

    >>> ag.special.wofz(ag.tensor([0.0])).real
    tensor([1.])
    """
    z = as_tensor(z)
    return _wofz(z if z.dtype.kind == "c" else complex_of(z, 0.0))


def _slope_of_voigt(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both parts of the derivative along z = (x + i gamma) / (sigma sqrt(2)), and of z times it."""
    z = complex_of(a, c) / (b * math.sqrt(2))
    slope = 2j / _ROOT_PI - 2 * z * wofz(z)
    scale = 1 / (2 * square(b) * _ROOT_PI)
    return slope.real * scale, slope.imag * scale, (z * slope).real


voigt_profile: Function = _documented(
    "voigt_profile", "Voigt profile at ``x1``: a normal distribution of deviation ``x2`` convolved "
    "with a Cauchy distribution of half width ``x3``.", "[0.0], [1.0], [0.0]", "[0.3989423]",
    lambda g, a, b, c: g * _slope_of_voigt(a, b, c)[0],
    lambda g, a, b, c, y: -g * (y / b + _slope_of_voigt(a, b, c)[2]
                                / (square(b) * math.sqrt(2 * math.pi))),
    lambda g, a, b, c: -g * _slope_of_voigt(a, b, c)[1])
