"""The logarithm of the gamma function and its derivative."""

from __future__ import annotations

import math

from agnesi.codegen.vmath.explog import log
from agnesi.codegen.vmath.lane import Lane, mad, poly, select, through_double, two_product, two_sum
from agnesi.codegen.vmath.power import log_pair
from agnesi.codegen.vmath.rounding import round as round_even
from agnesi.codegen.vmath.trig import cotangent_of, sine_of
from agnesi.core.ir.coefficients import LGAMMA_AT_ONE, LGAMMA_AT_TWO

# x (lgamma(x) - (x-1/2) log x + x - log(2 pi)/2) in 1/x^2 for x >= 8, error 2^-67.5 of the whole.
_STIRLING = (
    0.08333333333333333, -0.002777777777766729, 0.0007936507860057576, -0.0005952357552553416,
    0.0008413808349401898, -0.001885771358467932, 0.0049742488297057,
)  # fmt: skip
_HALF_LOG_TWO_PI = (0.9189385332046728, -3.878294158067242e-17)
# digamma(root + t)/t for root + t in [1, 2.5], relative error 2^-54.3.
_AT_ROOT = (
    0.9676722454476212, -0.44276316898359225, 0.25849976095563443, -0.16394270544236322,
    0.10782405069255495, -0.07219956126055892, 0.048804288129968044, -0.03316112632116767,
    0.02259764849773762, -0.015424768498875282, 0.01053879477213098, -0.0072045165084989125,
    0.004926708493056667, -0.0033697803889818525, 0.0023056058102490186,
    -0.001577965429645724, 0.0010781632667681506, -0.0007327340578315762,
    0.0004991535887780388, -0.00035197751671925035, 0.0002589043756468336,
    -0.00018125844515652092, 0.00010399692364914655, -4.2544094669390435e-05,
    1.068100825786939e-05, -1.2232269228481447e-06,
)  # fmt: skip
_ROOT = (
    0.9676722454476212, -0.44276316898359375, 0.2584997609556397, -0.16394270544199505,
    0.10782405069194717, -0.07219956128491163, 0.04880428816785913, -0.03316112560854387,
    0.02259764714804523, -0.01542477939561571, 0.010538821652344271, -0.007204427838316915,
    0.0049264025451494576, -0.0033700848584952343, 0.0023075932201488173,
    -0.001578582618308628, 0.001071383589706132, -0.0007238144292427479,
    0.0005068441003908223, -0.00037840165443714266, 0.00027447071262364046,
    -0.0001634157581011193, 6.881904016903465e-05, -1.763605484605961e-05,
    2.048441832743489e-06,
)  # fmt: skip
_DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)
# x^2 (log x - 1/(2x) - digamma(x)) in 1/x^2 for x >= 10, error 2^-70.3 of the whole.
_DIGAMMA = (
    0.08333333333333333, -0.0083333333333169, 0.003968253951814113, -0.00416665931136637,
    0.007574037699118164, -0.02087289436146939, 0.0685198845003345,
)  # fmt: skip


def _stirling(x: Lane) -> Lane:
    """``lgamma`` for ``x >= 8``."""
    l_high, l_low = log_pair(x)
    factor = x - 0.5
    product, low = two_product(factor, l_high)
    # Far out the error term is nothing, and without fusion it would overflow.
    low = select(x < 1e200, mad(factor, l_low, low), 0.0)
    total, rest = two_sum(product, -x)
    inverse = 1.0 / x
    tail = mad(inverse, poly(inverse * inverse, _STIRLING), _HALF_LOG_TWO_PI[0])
    return total + (rest + low + tail)


def _middle(x: Lane) -> Lane:
    """``lgamma`` for ``0 < x < 8``: polynomials at 1 and 2, and the recurrence."""
    below = x < 0.7
    z, product = x, x.like(1.0)
    for _ in range(6):
        more = z >= 2.5
        z = select(more, z - 1.0, z)
        product = select(more, product * z, product)
    # Below 1/2 the polynomial at 1 serves x + 1, from there to 0.7 that at 2 does.
    d_one = select(x < 0.5, x, z - 1.0)
    d_two = select(below, x - 1.0, z - 2.0)
    one = (x < 0.5) | (~below & (z < 1.5))
    at = select(one, d_one * poly(d_one, LGAMMA_AT_ONE), d_two * poly(d_two, LGAMMA_AT_TWO))
    logarithm = log(select(below, x, product))
    return at + select(below, -logarithm, logarithm)


def lgamma(x: Lane) -> Lane:
    """``log |gamma(x)|``."""
    if not x.double:
        return through_double(lgamma, x)
    size = x.abs()
    large = size >= 8.0
    inside = select(large, 1.0, size)
    positive = select(large, _stirling(select(large, size, 8.0)), _middle(inside))
    # Where x log x overflows, and at infinity.
    positive = select(size < 2.5e305, positive, math.inf)
    r = size - round_even(size)
    s = (size * sine_of(r * math.pi, r * 1.2246467991473532e-16)).abs()
    reflected = 1.1447298858494002 - log(s) - positive
    reflected = select(s > 0.0, reflected, math.inf)
    reflected = select(size < 1e-20, positive, reflected)  # the square of the size may vanish
    result = select(x < 0.0, reflected, positive)
    result = select(x.eq(0.0) | size.eq(math.inf), size.like(math.inf), result)
    return select(x.isnan(), x, result)


def _digamma_positive(x: Lane) -> Lane:
    """``digamma`` for ``x > 0``."""
    large = x >= 10.0
    far = select(large, x, 10.0)
    inverse = 1.0 / far
    square = inverse * inverse
    asymptotic = log(far) - (inverse * 0.5 + square * poly(square, _DIGAMMA))
    below = x < 1.0
    z = select(large, 1.5, select(below, x + 1.0, x))
    numerator, denominator = z.like(0.0), z.like(1.0)
    for _ in range(8):
        more = z >= 2.5
        z = select(more, z - 1.0, z)
        numerator = select(more, mad(numerator, z, denominator), numerator)
        denominator = select(more, denominator * z, denominator)
    numerator = select(below, -1.0, numerator)
    denominator = select(below, x, denominator)
    t = (z - _DIGAMMA_ROOT[0]) - _DIGAMMA_ROOT[1]
    near = mad(t, poly(t, _AT_ROOT), numerator / denominator)
    return select(large, asymptotic, near)


def digamma(x: Lane) -> Lane:
    if not x.double:
        return through_double(digamma, x)
    negative = x < 0.0
    positive = _digamma_positive(select(negative, 1.0 - x, x))
    r = x - round_even(x)
    reflected = positive - math.pi * cotangent_of(r * math.pi, r * 1.2246467991473532e-16)
    reflected = select(r.abs().eq(0.5), positive, reflected)  # the tangent is infinite there
    # Next to zero the cotangent may overflow.
    reflected = select(x > -1e-20, -1.0 / x, reflected)
    result = select(negative, reflected, positive)
    # Poles: signed at zero, no value at the negative integers, as in SciPy.
    result = select(r.eq(0.0) & negative, result.like(math.nan), result)
    result = select(x.eq(0.0), result.like(-math.inf).copysign(-x), result)
    result = select(x.eq(-math.inf), result.like(math.nan), result)
    return select(x.eq(math.inf), x, result)
