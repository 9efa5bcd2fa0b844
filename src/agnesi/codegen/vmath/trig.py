"""Circular functions and their inverses."""

from __future__ import annotations

import math

from agnesi.codegen.vmath import avx512
from agnesi.codegen.vmath.lane import (
    Lane,
    mad,
    poly,
    quick_sum,
    rarely,
    residual,
    select,
    through_double,
)
from agnesi.codegen.vmath.reduction import Reduced, is_huge, reduce_far, reduce_near
from agnesi.codegen.vmath.tables import SINES, SINES_ERROR

# (sin r - r) / r^3 in z = r^2: float32 on |r| <= pi/4, relative error 2^-27.8;
# float64 on |r| <= pi/2, relative error 2^-61.7.
_SIN_SINGLE = (-0.16666653752326965, 0.008332106284797192, -0.00019507882825564593)
SIN = (
    -0.16666666666666666, 0.008333333333333217, -0.00019841269841219496, 2.755731921339562e-06,
    -2.5052107147890516e-08, 1.6058959257645042e-10, -7.643798239687884e-13,
    2.739082066267471e-15, -1.6534587521935087e-18,
)  # fmt: skip
# (cos r - 1 + z/2) / z^2 in z = r^2 on |r| <= pi/4, relative error 2^-32.9.
_COS_SINGLE = (0.04166664555668831, -0.001388730714097619, 2.4431881683995016e-05)
# (tan r - r) / r^3 in z = r^2 on |r| <= pi/4, relative error 2^-55.7.
_TAN = (
    0.3333333333333276, 0.13333333333417108, 0.05396825392548136, 0.021869489637379707,
    0.00886321876567066, 0.003592292664425432, 0.0014547363169408764, 0.0005951546531307673,
    0.00022212062008691212, 0.00013704193086523146, -2.708224752266325e-05,
    9.005727526342862e-05, -4.5181972352357695e-05, 2.0931211487420353e-05,
)  # fmt: skip
# (asin x - x) / x^3 in z = x^2 on |x| <= 1/2, relative error 2^-55.8.
_ASIN = (
    0.16666666666665372, 0.07500000000346115, 0.044642856820506505, 0.03038195947072656,
    0.022371749806828038, 0.01735983238090799, 0.013883944914536242, 0.012177868614103717,
    0.006489788314245678, 0.019634706329523476, -0.016394180474125403, 0.032030652255355646,
)  # fmt: skip
# (atan x - x) / x^3 in z = x^2 on |x| <= 1/2, relative error 2^-61.8.
_ATAN = (
    -0.3333333333333331, 0.199999999999924, -0.14285714284873344, 0.11111111064156229,
    -0.09090907540287435, 0.0769227466637032, -0.06666189080716334, 0.058775188836057334,
    -0.05228363913775491, 0.045831013526901256, -0.03696157264654485, 0.023428870164130484,
    -0.008221995067312696,
)  # fmt: skip
# The same, relative error 2^-31.8.
_ATAN_SHORT = (
    -0.33333326909913374, 0.19999488823149003, -0.14272057711260255,
    0.1094079886658992, -0.07983336539806749, 0.03871261209761924,
)  # fmt: skip
# The sine likewise and (cos r - 1) / z on |r| <= pi/16, relative error 2^-30 and 2^-36.
_SIN_NEAR = (-0.16666653752326965, 0.008322669193148613)
_COS_NEAR = (-0.5, 0.041666626930236816, -0.0013870496768504381)
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)


def sine_of(r: Lane, low: Lane) -> Lane:
    """``sin(r + low)`` in float64 for ``|r| <= pi/2``."""
    z = r * r
    return r + mad(r * z, poly(z, SIN), low)


def cotangent_of(r: Lane, low: Lane) -> Lane:
    """``1 / tan(r + low)`` in float64 for ``|r| <= pi/2``."""
    outer = r.abs() > math.pi / 4
    half, half_low = quick_sum(r.like(_HALF_PI[0]), -r.abs())
    sign = r.sign_bits()
    low = low.flip(sign)
    # The tangent of the complement, or with an odd quadrant -1 / tan(-|r|).
    inner = select(outer, half, -r.abs())
    low = select(outer, half_low + _HALF_PI[1] - low, -low)
    return _tangent(Reduced(inner, low, (~outer).cast("zext", "i64"))).flip(sign)


def _sine(reduced: Reduced) -> Lane:
    """``(-1)^n sin(r)`` in float64, for a reduction by pi."""
    r = reduced.r
    z = r * r
    s = mad(r * z, poly(z, SIN), r)
    return s.flip(reduced.n << 63)


def _quadrant_sine(reduced: Reduced, ahead: int) -> Lane:
    """``sin(r + low + (n + ahead) pi/2)`` in float32: two short polynomials keep to one ulp."""
    r, low, n = reduced
    n = n + ahead
    z = mad(r, r, (low + low) * r)
    s = r + mad(r * z, poly(z, _SIN_SINGLE), low)
    c = mad(z, mad(z, poly(z, _COS_SINGLE), -0.5), 1.0)
    return select((n & 1).ne(0), c, s).flip((n << 30) & -(1 << 31))


def _sine_by_table(x: Lane, ahead: int) -> Lane:
    """``sin(x + ahead pi/2)`` in float32, as the sine of a multiple of pi/8 plus ``r``."""
    r, low, n = reduce_near(x, 0.125)
    sine, error, cosine = (
        avx512.lookup(n, (*table[shift:], *table[:shift]))
        for table, shift in ((SINES, 4 * ahead), (SINES_ERROR, 4 * ahead), (SINES, 4 * ahead + 4))
    )
    z = r * r
    odd = mad(r * z, mad(z, _SIN_NEAR[1], _SIN_NEAR[0]), low)
    even = z * poly(z, _COS_NEAR)
    return sine + mad(cosine, r, mad(sine, even, mad(cosine, odd, error)))


def _sine_single(x: Lane, ahead: int) -> Lane:
    """``sin(x + ahead pi/2)`` in float32 for ``x`` that is not huge."""
    if x.avx512:
        return _sine_by_table(x, ahead)
    return _quadrant_sine(reduce_near(x, 0.5), ahead)


def sine_far(size: Lane) -> Lane:
    """``sin(size)`` for any ``size`` that is not negative."""
    if not size.double:
        return through_double(sine_far, size)
    return _sine(reduce_far(size, 1.0))


def cosine_far(size: Lane) -> Lane:
    """``cos(size)`` likewise."""
    if not size.double:
        return through_double(cosine_far, size)
    return -_sine(reduce_far(size, 1.0, 0.5))


def sin(x: Lane) -> Lane:
    size = x.abs()
    near = _sine(reduce_near(size, 1.0)) if x.double else _sine_single(size, 0)
    return rarely("sin.far", is_huge(size), near, sine_far, size).flip(x.sign_bits())


def cos(x: Lane) -> Lane:
    size = x.abs()
    near = -_sine(reduce_near(size, 1.0, 0.5)) if x.double else _sine_single(size, 1)
    return rarely("cos.far", is_huge(size), near, cosine_far, size)


def _tangent(reduced: Reduced) -> Lane:
    r, low, n = reduced
    z = r * r
    # The derivative of the tangent is 1 + tan^2, here about 1 + z.
    t, rest = quick_sum(r, mad(r * z, poly(z, _TAN), mad(low, z, low)))
    inverse = -1.0 / t
    # One step of Newton's method takes in what t had to round away.
    error = mad(inverse, rest, residual(-inverse, t, t.like(1.0)))
    return select((n & 1).ne(0), mad(inverse, error, inverse), t)


def tan(x: Lane) -> Lane:
    if not x.double:
        return through_double(tan, x)
    size = x.abs()
    near = _tangent(reduce_near(size, 0.5))
    far = rarely("tan.far", is_huge(size), near, lambda s: _tangent(reduce_far(s, 0.5)), size)
    return far.flip(x.sign_bits())


def _arc(x: Lane) -> tuple[Lane, Lane, Lane, Lane]:
    """``size > 1/2``, ``t``, ``low`` and ``q`` with ``asin(t + low) = t + low + q``.

    ``t`` is the size itself, or above 1/2 the square root of ``(1 - size) / 2``.
    """
    size = x.abs()
    big = size > 0.5
    z = select(big, 0.5 - size * 0.5, size * size)
    root = z.sqrt()
    t = select(big, root, size)
    low = residual(root, root, z) / (root + root)
    low = select(big & (z > 0.0), low, 0.0)
    return big, t, low, t * z * poly(z, _ASIN)


def asin(x: Lane) -> Lane:
    if not x.double:
        return through_double(asin, x)
    big, t, low, q = _arc(x)
    base = (_HALF_PI[0] - (t + t)) - ((low + q) * 2.0 - _HALF_PI[1])
    return select(big, base, t + q).copysign(x)


def acos(x: Lane) -> Lane:
    if not x.double:
        return through_double(acos, x)
    big, t, low, q = _arc(x)
    double = t + t + (low + q) * 2.0
    sign = x.sign_bits()
    middle = _HALF_PI[0] - (t.flip(sign) + (q.flip(sign) - _HALF_PI[1]))
    left = 2.0 * _HALF_PI[0] - (t + t) - ((low + q) * 2.0 - 2.0 * _HALF_PI[1])
    return select(big, select(x < 0.0, left, double), middle)


def _arc_tangent(top: Lane, bottom: Lane) -> Lane:
    """``atan(top / bottom)`` for two numbers that are not negative."""
    low, high = top * 2.0 <= bottom, top > bottom * 2.0
    numerator = select(low, top, select(high, -bottom, top - bottom))
    denominator = select(low, bottom, select(high, top, top + bottom))
    t = numerator / denominator
    z = t * t
    base = select(low, t.like(0.0), select(high, t.like(_HALF_PI[0]), _HALF_PI[0] / 2.0))
    rest = select(low, t.like(0.0), select(high, t.like(_HALF_PI[1]), _HALF_PI[1] / 2.0))
    total, error = quick_sum(base, t)
    total, error = select(low, t, total), select(low, t.like(0.0), error)
    return total + mad(t * z, poly(z, _ATAN), rest + error)


def _short_arc_tangent(top: Lane, bottom: Lane) -> Lane:
    """``atan(top / bottom)`` to float32's digits, in float64; neither is beyond 2^600."""
    low, high = top * 2.0 <= bottom, top > bottom * 2.0
    numerator = select(low, top, select(high, -bottom, top - bottom))
    denominator = select(low, bottom, select(high, top, top + bottom))
    if top.avx512:
        y = avx512.inverse(denominator)
        t = numerator * mad(y, mad(-denominator, y, 1.0), y)
    else:
        t = numerator / denominator
    base = select(low, t.like(0.0), select(high, t.like(_HALF_PI[0]), _HALF_PI[0] / 2.0))
    z = t * t
    return base + mad(t * z, poly(z, _ATAN_SHORT), t)


def _short_atan(x: Lane) -> Lane:
    return _short_arc_tangent(x.abs().least_of(2.0**600), x.like(1.0)).copysign(x)


def _short_atan2(y: Lane, x: Lane) -> Lane:
    top, bottom = y.abs().least_of(2.0**600), x.abs().least_of(2.0**600)
    angle = _short_arc_tangent(top, select(top.eq(0.0) & bottom.eq(0.0), 1.0, bottom))
    angle = select(x.bits() < 0, 2.0 * _HALF_PI[0] - angle, angle)
    return select(x.isnan() | y.isnan(), x + y, angle.copysign(y))


def atan(x: Lane) -> Lane:
    if not x.double:
        return through_double(_short_atan, x)
    return _arc_tangent(x.abs(), x.like(1.0)).copysign(x)


def atan2(y: Lane, x: Lane) -> Lane:
    if not x.double:
        return through_double(_short_atan2, y, x)
    top, bottom = y.abs(), x.abs()
    both = top.eq(math.inf) & bottom.eq(math.inf)
    none = top.eq(0.0) & bottom.eq(0.0)
    # Equal infinities are at 45 degrees; large and small pairs are scaled away from the ends.
    top, bottom = select(both, 1.0, top), select(both | none, 1.0, bottom)
    larger = select(top > bottom, top, bottom)
    small, large = larger < 2.0**-900, larger > 2.0**1000
    factor = select(large, larger.like(2.0**-60), select(small, larger.like(2.0**200), 1.0))
    angle = _arc_tangent(top * factor, bottom * factor)
    reflected = 2.0 * _HALF_PI[0] - (angle - 2.0 * _HALF_PI[1])
    angle = select(x.bits() < 0, reflected, angle)
    return select(x.isnan() | y.isnan(), x + y, angle.copysign(y))
