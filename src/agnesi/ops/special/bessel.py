"""Bessel functions.

Modified ones of order 0 and 1 are generated code, from power series near 0, and from Chebyshev
series as in Clenshaw (NPL Mathematical Tables 5, 1962) beyond; those were fitted in 40 digits.
Others are SciPy's, whose C functions compiled code calls.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import sign, sqrt, square
from agnesi.ops.base.elementwise import Function
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.elementwise.formula import (
    binary,
    chebyshev,
    horner,
    no_slope,
    power_series,
    row,
    scipy_rows,
    unary,
)

__all__ = [
    "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1", "jn", "jv", "k0", "k0e", "k1", "k1e", "kv",
    "kve", "y0", "y1", "yv",
]

#: Of Hankel's expansion, which it needs from 25 on.
_RATE_TERMS = 26
#: I0(x) and 2 I1(x) / x on [0, 8], power series in (x / 8)^2; sqrt(x) exp(-x) I0(x) from there in
#: 16 / x - 1.
_I0_NEAR = tuple([16.0**k / math.factorial(k) ** 2 for k in range(24)])
_I1_NEAR = tuple([c / (k + 1) for k, c in enumerate(_I0_NEAR)])
_I0_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13,
    1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15,
    3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17,
    -4.830504485944182e-18, -7.233180487874754e-18, 9.921475412173699e-19,
    1.193650890845982e-18,
)  # fmt: skip
#: The same of I1(x).
_I1_FAR = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09,
    -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11,
    1.4125807436613782e-11, 2.0356285441470896e-12, -7.198551776245908e-13,
    -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15,
    3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17,
    -4.6503053684893586e-17, 4.414348323071708e-18, 7.517296310842105e-18,
    -9.314178867326884e-19, -1.242193275194891e-18,
)  # fmt: skip
#: K0(x) + log(x / 2) I0(x) on [0, 2], a power series in (x / 2)^2; sqrt(x) exp(x) K0(x) from there
#: in 4 / x - 1.
_DIGAMMA = tuple([sum([1.0 / j for j in range(1, k + 1)]) - 0.5772156649015329 for k in range(14)])
_K0_NEAR = tuple([d / math.factorial(k) ** 2 for k, d in enumerate(_DIGAMMA)])
_K0_FAR = (
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802,
    1.39498137188765e-05, -1.8317555227191195e-06, 2.766813639445015e-07,
    -4.660489897687948e-08, 8.574034017414225e-09, -1.6975345093890614e-09,
    3.5773972814003283e-10, -7.957489244477396e-11, 1.8559491149549264e-11,
    -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13,
    8.032890775068375e-14, -2.2275133267462965e-14, 6.340076476276646e-15,
    -1.848593377920907e-15, 5.5120559994043335e-16, -1.6782311257549006e-16,
    5.2103917776435543e-17, -1.6475805939842632e-17, 5.3004337711773354e-18,
    -1.7331712005821001e-18,
)  # fmt: skip
#: The same of x (K1(x) - log(x / 2) I1(x)), and of K1.
_K1_NEAR = (1.0, *[-(c + d) / (math.factorial(k) * math.factorial(k + 1))
                   for k, (c, d) in enumerate(itertools.pairwise(_DIGAMMA))])
_K1_FAR = (
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162,
    -1.936197974166083e-05, 2.406484947837217e-06, -3.5019606030878126e-07,
    5.7410841254500495e-08, -1.0345762465678097e-08, 2.0150497551970347e-09,
    -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11,
    5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13,
    -8.976705182010146e-14, 2.4771544242195988e-14, -7.0198370892147685e-15,
    2.038703166239861e-15, -6.057047270643018e-16, 1.8380935752430455e-16,
    -5.689462849193648e-17, 1.7940510478863572e-17, -5.7567444820733025e-18,
    1.8778651901623268e-18,
)  # fmt: skip
#: x^1.5 times the slopes of i0e and i1e on [2, 8], powers of (x - 5) / 3.
_SLOPE_OF_I0E = (
    -0.2187829916363515, 0.015833851407177305, -0.01321569492847121, 0.010311414925131464,
    -0.0068011653072483115, 0.00326433903101131, -0.0005334009240963544, -0.0009709122847660793,
    0.0013959843549375985, -0.0011913080083381883, 0.000784428396154552, -0.00042420663928549303,
    0.0001899237974088267, -6.733490836504918e-05, 1.5089030943187058e-05, 2.039850924254956e-06,
    -5.118793795810545e-06, 4.02478708681825e-06, -2.4071400163037288e-06, 1.278232739291665e-06,
    -6.975859637098505e-07, 3.506566834095725e-07, -6.784667948225286e-08, 1.0304090290740983e-08,
    -1.236716475979798e-07, 8.060900999576235e-08, 6.625223268180979e-08, -4.655890115409005e-08,
    -4.384914521882039e-08, 2.8378399290999608e-08, 1.417070758533757e-08, -8.960869539738878e-09,
    -2.7388495012935113e-09, 1.6426127964314265e-09,
)  # fmt: skip
_SLOPE_OF_I1E = (
    -0.14787014367638696, -0.03710770579516667, 0.02753908482521964, -0.020116248859200013,
    0.013495415361401666, -0.007695373897118947, 0.0032969040036460976, -0.0006144737960315675,
    -0.0005770231076346107, 0.0008202955936817515, -0.0006444297786034514, 0.00038681259962400415,
    -0.0001896327301455286, 7.593280212529363e-05, -2.2948343237057274e-05, 3.121658213291542e-06,
    2.191300344177903e-06, -2.4991763016732396e-06, 1.6627148879414181e-06,
    -9.227143490317073e-07, 5.030933742922021e-07, -2.5083334916330674e-07,
    5.9559419339732304e-08, -1.4685144164515636e-08, 7.697702453834845e-08, -4.91436494206712e-08,
    -3.871566418757176e-08, 2.7203587818520505e-08, 2.6198524401106658e-08,
    -1.6833288762272757e-08, -8.417224723065795e-09, 5.293515952119809e-09, 1.640727113104307e-09,
    -9.774329523575304e-10,
)  # fmt: skip


# -- formulas -----------------------------------------------------------------------------------
def _i(order: int, scaled: bool) -> Any:
    near_series, far_series = ((_I0_NEAR, _I0_FAR), (_I1_NEAR, _I1_FAR))[order]

    def formula(m: Any, x: Any) -> Any:
        size = m.abs(x)
        if m.eager and not scaled:  # SciPy's take half as long as so many steps of NumPy's
            half = m.exp(0.5 * size)
            return m.where(m.isinf(x), x if order == 1 else size,
                           half * (m.i1e(x) if order == 1 else m.i0e(x)) * half)
        near, far = m.minimum(size, 8.0) * 0.125, m.maximum(size, 8.0)
        small = power_series(m, near * near, near_series)
        large = chebyshev(m, 16.0 / far - 1.0, far_series) / m.sqrt(far)
        if scaled:
            small = small * m.exp(-size)
        else:
            half = m.exp(0.5 * far)  # the product overflows later than exp(far)
            large = half * large * half
        if order == 1:
            small, large = small * (0.5 * x), m.copysign(large, x)
        found = m.where(size < 8.0, small, large)
        if not scaled:
            found = m.where(m.isinf(x), x if order == 1 else size, found)
        # of -0.0, too, as SciPy
        return m.where(m.equal(x, 0.0), 0.0, found) if order == 1 else found

    return formula


def _k(order: int, scaled: bool) -> Any:
    near_series, far_series = ((_K0_NEAR, _K0_FAR), (_K1_NEAR, _K1_FAR))[order]

    def formula(m: Any, x: Any) -> Any:
        near, far = m.minimum(x, 2.0), m.maximum(x, 2.0)
        small = power_series(m, near * near * 0.25, near_series)
        logarithm = m.log(0.5 * near)
        if order == 0:
            small = small - logarithm * m.i0(near)
        else:
            small = small / near + logarithm * m.i1(near)
        large = chebyshev(m, 4.0 / far - 1.0, far_series) / m.sqrt(far)
        if scaled:
            small = small * m.exp(near)
        else:
            half = m.exp(-0.5 * far)
            large = half * large * half
        found = m.where(x <= 2.0, small, large)
        found = m.where(m.equal(x, 0.0), np.inf, m.where(m.equal(x, np.inf), 0.0, found))
        return m.where(x < 0.0, np.nan, found)

    return formula


# -- rows ---------------------------------------------------------------------------------------
def _over(y: Tensor, x: Tensor) -> Tensor:
    """``y / x`` for an odd function whose slope at 0 is 1/2."""
    near = magnitude(x) < 1e-20  # quotients of subnormal numbers are no good
    return where(near, 0.5, y / where(near, 1, x))


@functools.cache
def _bend(series: tuple[float, ...]) -> list[float]:
    """The derivative of a Chebyshev series, as a polynomial."""
    basis = np.polynomial.chebyshev
    return list(basis.cheb2poly(basis.chebder(series)).tolist())


def _falling(x: Tensor, y: Tensor, scale: float, series: tuple[float, ...]) -> Tensor:
    """The slope of ``y = C(scale / x - 1) / sqrt(x)`` for x beyond half the scale.

    The differences of Bessel functions that it is lose as many digits as ``x`` has.
    """
    size = maximum(x, 0.5 * scale)
    bend = horner(scale / size - 1, _bend(series)) * scale
    return (0.5 * y + bend / size / sqrt(size)) / -size


def _slope_of_i1(x: Tensor, y: Tensor) -> Tensor:
    size = i0(x)
    return where(size == np.inf, size, size - _over(y, x))


def _slope_between(size: Tensor, near: Tensor, far: Tensor, powers: tuple[float, ...]) -> Tensor:
    """Slopes that are ``near`` below 2, ``far`` from 8 on, and a polynomial between them."""
    inside = maximum(minimum(size, 8), 2)
    found = horner((inside - 5) / 3, powers) / (inside * sqrt(inside))
    return where(size < 2, near, where(size < 8, found, far))


def _slope_of_i0e(x: Tensor, y: Tensor) -> Tensor:
    size, side = magnitude(x), sign(x)
    far = _falling(size, y, 16, _I0_FAR)
    return side * _slope_between(size, i1e(size) - y, far, _SLOPE_OF_I0E)


def _slope_of_i1e(x: Tensor, y: Tensor) -> Tensor:
    size, side = magnitude(x), sign(x)
    near = i0e(x) - side * y - _over(y, x)
    return _slope_between(size, near, _falling(size, side * y, 16, _I1_FAR), _SLOPE_OF_I1E)


def _slope_of_k0e(x: Tensor, y: Tensor) -> Tensor:
    return where(x <= 2, y - k1e(x), _falling(x, y, 4, _K0_FAR))


def _slope_of_k1e(x: Tensor, y: Tensor) -> Tensor:
    return where(x <= 2, y - k0e(x) - y / x, _falling(x, y, 4, _K1_FAR))


def _rate(sign: float) -> Any:
    """``x f'(x) / f(x)`` of a scaled Bessel function far out, by Hankel's expansion."""
    def formula(m: Any, v: Any, x: Any) -> Any:
        term, fourfold = x * 0.0 + 1.0, 4.0 * v * v
        total, rise = term, x * 0.0
        for k in range(1, _RATE_TERMS):
            term = term * (fourfold - (2.0 * k - 1.0) ** 2) / (sign * 8.0 * k * x)
            total, rise = total + term, rise + k * term
        return -0.5 - rise / total

    return formula


def _far_out(v: Tensor, x: Tensor) -> Tensor:
    """Where the expansion has all digits, and loses few."""
    return x >= maximum(25, square(v) / 3)


def _slope_of_ive(v: Tensor, x: Tensor, y: Tensor) -> Tensor:
    far = _far_out(v, x)
    safe = where(far, x, 1e9)
    near = 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - sign(x) * y
    return where(far, y / safe * rate_of_ive(v, safe), near)


def _slope_of_kve(v: Tensor, x: Tensor, y: Tensor) -> Tensor:
    far = _far_out(v, x)
    safe = where(far, x, 1e9)
    near = 0.5 * (kve(v - 1, x) + kve(v + 1, x))
    return where(far, y / safe * rate_of_kve(v, safe), where(near == np.inf, -near, y - near))


#: SciPy's are NaN at infinity and overflow early.
I0 = row("i0", _i(0, False), (lambda g, x: g * i1(x),), __name__)
I1 = row("i1", _i(1, False), (lambda g, x, y: g * _slope_of_i1(x, y),), __name__, wide_slopes=True)
I0E = row("i0e", _i(0, True), (lambda g, x, y: g * _slope_of_i0e(x, y),), __name__,
          scipy="i0e", wide_slopes=True)
I1E = row("i1e", _i(1, True), (lambda g, x, y: g * _slope_of_i1e(x, y),), __name__,
          scipy="i1e", wide_slopes=True)
K0 = row("k0", _k(0, False), (lambda g, x: -g * k1(x),), __name__, scipy="k0")
K1 = row("k1", _k(1, False), (lambda g, x, y: -g * (k0(x) + y / x),), __name__,
         scipy="k1", wide_slopes=True)
K0E = row("k0e", _k(0, True), (lambda g, x, y: g * _slope_of_k0e(x, y),), __name__,
          scipy="k0e", wide_slopes=True)
K1E = row("k1e", _k(1, True), (lambda g, x, y: g * _slope_of_k1e(x, y),), __name__,
          scipy="k1e", wide_slopes=True)
#: By the differential equations that they satisfy.
RATE_OF_IVE = row("rate_of_ive", _rate(-1.0), (
    no_slope("ive", "its order"),
    lambda g, a, b, y: g * (square(a) - b - 2 * b * y - square(y)) / b), __name__, wide_slopes=True)
RATE_OF_KVE = row("rate_of_kve", _rate(1.0), (
    no_slope("kve", "its order"),
    lambda g, a, b, y: g * (square(a) + b + 2 * b * y - square(y)) / b), __name__, wide_slopes=True)


_documented = scipy_rows(__name__)


i0: Function = unary(I0, "Modified Bessel function I of order 0 (DLMF 10.25.2).", "[0.0]", "[1.]")
i1: Function = unary(I1, "Modified Bessel function I of order 1 (DLMF 10.25.2).", "[0.0]", "[0.]")
i0e: Function = unary(I0E, "``exp(-abs(x)) * i0(x)``.", "[0.0]", "[1.]")
i1e: Function = unary(I1E, "``exp(-abs(x)) * i1(x)``.", "[0.0]", "[0.]")
k0: Function = unary(
    K0, "Modified Bessel function of the second kind K of order 0 (DLMF 10.27.4).", "[0.0]", "[inf]"
)
k1: Function = unary(
    K1, "Modified Bessel function of the second kind K of order 1 (DLMF 10.27.4).", "[0.0]", "[inf]"
)
k0e: Function = unary(K0E, "``exp(x) * k0(x)``.", "[0.0]", "[inf]")
k1e: Function = unary(K1E, "``exp(x) * k1(x)``.", "[0.0]", "[inf]")
j0: Function = _documented(
    "j0", "Bessel function J of order 0 (DLMF 10.2.2).", "[0.0]", "[1.]",
    lambda g, x: -g * j1(x))
j1: Function = _documented(
    "j1", "Bessel function J of order 1 (DLMF 10.2.2).", "[0.0]", "[0.]",
    lambda g, x: g * 0.5 * (j0(x) - jv(2.0, x)))
y0: Function = _documented(
    "y0", "Bessel function of the second kind Y of order 0 (DLMF 10.2.3).", "[0.0]", "[-inf]",
    lambda g, x: -g * y1(x))
y1: Function = _documented(
    "y1", "Bessel function of the second kind Y of order 1 (DLMF 10.2.3).", "[0.0]", "[-inf]",
    lambda g, x: g * 0.5 * (y0(x) - yv(2.0, x)))
jv: Function = _documented(
    "jv", "Bessel function J of real order ``x1`` (DLMF 10.2.2).", "[0.0], [0.0]", "[1.]",
    no_slope("jv", "its order"), lambda g, a, b: g * 0.5 * (jv(a - 1, b) - jv(a + 1, b)))
yv: Function = _documented(
    "yv", "Bessel function of the second kind Y of real order ``x1`` (DLMF 10.2.3).",
    "[0.0], [0.0]", "[-inf]",
    no_slope("yv", "its order"), lambda g, a, b: g * 0.5 * (yv(a - 1, b) - yv(a + 1, b)))
iv: Function = _documented(
    "iv", "Modified Bessel function I of real order ``x1`` (DLMF 10.25.2).", "[0.0], [0.0]", "[1.]",
    no_slope("iv", "its order"), lambda g, a, b: g * 0.5 * (iv(a - 1, b) + iv(a + 1, b)))
kv: Function = _documented(
    "kv", "Modified Bessel function of the second kind K of real order ``x1`` (DLMF 10.27.4).",
    "[0.0], [0.0]",
    "[inf]",
    no_slope("kv", "its order"), lambda g, a, b: g * -0.5 * (kv(a - 1, b) + kv(a + 1, b)))
ive: Function = _documented(
    "ive", "``exp(-abs(x2)) * iv(x1, x2)``.", "[0.0], [0.0]", "[1.]",
    no_slope("ive", "its order"),
    lambda g, a, b, y: g * _slope_of_ive(a, b, y))
kve: Function = _documented(
    "kve", "``exp(x2) * kv(x1, x2)``.", "[0.0], [0.0]", "[inf]",
    no_slope("kve", "its order"),
    lambda g, a, b, y: g * _slope_of_kve(a, b, y))
rate_of_ive: Function = binary(RATE_OF_IVE)
rate_of_kve: Function = binary(RATE_OF_KVE)
jn = jv
