"""Powers and roots."""

from __future__ import annotations

import math

from agnesi.codegen.vmath import avx512
from agnesi.codegen.vmath.explog import (
    EXP,
    EXP2,
    LN2,
    LOG2E,
    exp_by_table,
    one_plus,
    power_of_two,
    scale,
    small_float,
    split,
    to_nearest,
)
from agnesi.codegen.vmath.lane import (
    Lane,
    mad,
    poly,
    poly_by_pairs,
    quick_sum,
    rarely,
    residual,
    select,
    through_double,
    two_product,
)
from agnesi.codegen.vmath.rounding import trunc
from agnesi.codegen.vmath.tables import SHORT_LOGS, SHORT_LOGS_ERROR, SHORT_RECIPROCALS

# (atanh(s)/s - 1 - z/3) / z^2 in z = s^2 on [0, 1/25], error 2^-75.6 of the whole.
_ATANH = (
    0.2, 0.1428571428571341, 0.11111111111359631, 0.09090909055061852, 0.0769231069409013,
    0.0666651201790351, 0.058873214522588584, 0.051664839124515034, 0.05792378319407598,
)  # fmt: skip
_THIRD = (0.3333333333333333, 1.850371707708594e-17)
# 2 atanh(s) / (s ln 2) in z = s^2 on [0, 1/25], relative error 2^-42.4.
_LOG2 = (
    2.88539008177742, 0.9617966948321032, 0.5770777540561461, 0.4122262956539219,
    0.3192811258567856, 0.29087459040379343,
)  # fmt: skip


# (log(1+r) - r + r^2/2) / r^3 on [-0.0372, 1/16], error 2^-63.0 of the whole.
_LOG = (
    0.33333333333333315, -0.249999999999998, 0.20000000000097995, -0.16666666668196514,
    0.14285714102856462, -0.12499996338125678, 0.11111236483915594, -0.10003358927102973,
    0.09073638762166474, -0.07304906815980713,
)  # fmt: skip


def _log_pair_by_table(a: Lane) -> tuple[Lane, Lane]:
    m = avx512.significand(a)
    e = avx512.exponent(a) - avx512.exponent(m)
    index = m.bits().lshr(48)
    r = mad(m, avx512.lookup(index, SHORT_RECIPROCALS), -1.0)
    high, low = LN2["double"]
    base = mad(e, high, avx512.lookup(index, SHORT_LOGS))
    rest = mad(e, low, avx512.lookup(index, SHORT_LOGS_ERROR))
    square, square_low = two_product(r, r)
    first, first_low = quick_sum(base, r)
    second = mad(square, -0.5, first)
    second_low = mad(square, -0.5, first - second)
    rest = mad(square_low, -0.5, rest) + (first_low + second_low)
    return quick_sum(second, mad(r * square, poly_by_pairs(r, square, _LOG), rest))


def log_pair(a: Lane) -> tuple[Lane, Lane]:
    """``log a`` as a sum of two float64 with some 63 correct bits, for finite positive ``a``."""
    if a.avx512:
        return _log_pair_by_table(a)
    e, m = split(a)
    f = m - 1.0
    g, g_low = quick_sum(f.like(2.0), f)
    y = 1.0 / g
    s = f * y
    s_low = y * (residual(s, g, f) - s * g_low)
    z, z_low = two_product(s, s)
    z_low = mad(s + s, s_low, z_low)
    q, q_low = quick_sum(z.like(_THIRD[0]), z * poly(z, _ATANH))
    w, w_low = two_product(z, q)
    w_low = mad(z, q_low + _THIRD[1], mad(z_low, q, w_low))
    v, v_low = two_product(s, w)
    v_low = mad(s, w_low, mad(s_low, w, v_low))
    hi, lo = quick_sum(s, v)
    lo = lo + (s_low + v_low)
    total, rest = quick_sum(e * LN2["double"][0], hi + hi)
    return quick_sum(total, mad(e, LN2["double"][1], rest + (lo + lo)))


def _exponential(p: Lane, low: Lane) -> Lane:
    """``exp(p + low)`` where this is a normal number."""
    if p.avx512:
        return exp_by_table(p, low)
    n, whole = to_nearest(p, LOG2E)
    big, small = LN2["double"]
    r = mad(n, -small, mad(n, -big, p)) + low
    return scale(poly(r, (1.0, 1.0, *EXP["double"])), n, whole)


def _general_log(a: Lane, log: Lane) -> Lane:
    """Put in the logarithms of zero and infinity."""
    return select(a.eq(0.0), log.like(-math.inf), select(a.eq(math.inf), a, log))


def _bounded(p: Lane, limit: float) -> Lane:
    return p.most_of(-limit).least_of(limit)


def _magnitude(a: Lane, y: Lane, ordinary: bool) -> tuple[Lane, Lane]:
    """``a ** y`` in float64 for ``a >= 0``, and its logarithm.

    ``ordinary`` promises a finite positive ``a`` and a normal result.
    """
    log, low = log_pair(a)
    if not ordinary:
        log = _general_log(a, log)
    p, rest = two_product(log, y)
    rest = mad(low, y, rest)
    if ordinary:
        return _exponential(p, rest), p
    bounded = _bounded(p, 750.0)
    return _exponential(bounded, select(bounded.eq(p), rest, 0.0)), p


def _magnitude_single(a: Lane, y: Lane, ordinary: bool) -> tuple[Lane, Lane]:
    """``a ** y`` in float32 for ``a >= 0``, and its logarithm; both are computed in float64."""
    wide = a.cast("fpext", "double")
    e, m = split(wide)
    f = m - 1.0
    s = f / (f + 2.0)
    log = mad(s, poly(s * s, _LOG2), e)
    if not ordinary:
        log = _general_log(wide, log)
    p = log * y.cast("fpext", "double")
    t = p if ordinary else _bounded(p, 160.0)
    n, _ = to_nearest(t)
    fraction, n = (t - n).cast("fptrunc", "float"), n.cast("fptrunc", "float")
    _, whole = to_nearest(n)
    return scale(one_plus(fraction, EXP2["float"]), n, whole), p


def _special(x: Lane, y: Lane, result: Lane) -> Lane:
    """Put in the sign, and the cases in which the result is one or NaN."""
    whole = trunc(y).eq(y)
    half = y * 0.5
    odd = whole & trunc(half).ne(half) & (y.abs() < math.inf)
    result = select(odd & (x.bits() < 0), -result, result)
    result = select((x < 0.0) & (x > -math.inf) & ~whole, result.like(math.nan), result)
    result = select(x.isnan() | y.isnan(), x + y, result)
    return select(y.eq(0.0) | x.eq(1.0), result.like(1.0), result)


# Larger exponents give the same result; clamping avoids 0 * inf = NaN for bases of 1.
_LARGEST_EXPONENT = 2.0**80


def _power_general(x: Lane, y: Lane) -> Lane:
    magnitude = _magnitude if x.double else _magnitude_single
    result, _ = magnitude(x.abs(), _bounded(y, _LARGEST_EXPONENT), False)
    return _special(x, y, result)


def power(x: Lane, y: Lane) -> Lane:
    magnitude, limit = (_magnitude, 700.0) if x.double else (_magnitude_single, 120.0)
    result, log = magnitude(x, y, True)
    ordinary = log.abs() < limit
    if not x.avx512:
        # Elsewhere the logarithms of zero, infinity and negative numbers do not show what they are,
        # and without fusion the product with a large exponent has no exact error.
        ordinary = ordinary & (x > 0.0) & (x < math.inf) & (y.abs() < _LARGEST_EXPONENT)
    return rarely("power.general", ~ordinary, result, _power_general, x, y)


def rsqrt(x: Lane) -> Lane:
    if x.double:
        return 1.0 / x.sqrt()
    # Away from both ends of the range, where the residuals would underflow or overflow.
    small, large = x < 2.0**-64, x > 2.0**64
    factor = select(small, x.like(2.0**64), select(large, x.like(2.0**-64), 1.0))
    back = select(small, x.like(2.0**32), select(large, x.like(2.0**-32), 1.0))
    x = x * factor
    root = x.sqrt()
    y = 1.0 / root
    # What the root and the quotient rounded away; infinite and zero roots have nothing.
    rest = residual(y, root, y.like(1.0)) - residual(root, root, x) * y * y * 0.5
    ordinary = (root > 0.0) & (root < math.inf)
    return select(ordinary, mad(y, rest, y), y) * back


# cbrt(m) on [1/2, 1], relative error 2^-19.6.
_CBRT = (
    0.37568222125652634, 1.3305000395144564, -1.4897182595821963,
    1.2875670170669185, -0.6398757663558677, 0.1358459761325924,
)  # fmt: skip


def cbrt(x: Lane) -> Lane:
    if not x.double:
        return through_double(cbrt, x)
    size = x.abs()
    tiny = size < x.least
    bits = select(tiny, size * 2.0**54, size).bits()
    e = small_float(bits.lshr(52), x) - select(tiny, x.like(1022.0 + 54.0), 1022.0)
    m = ((bits & ((1 << 52) - 1)) | (1022 << 52)).real()
    third, whole = to_nearest(e, 1.0 / 3.0)
    rest = e - third * 3.0
    factor = select(rest.eq(0.0), x.like(1.0), select(rest > 0.0, x.like(2.0), 0.5))
    up, down = 1.2599210498948732, 0.7937005259840998
    root = select(rest.eq(0.0), x.like(1.0), select(rest > 0.0, x.like(up), down))
    y = poly(m, _CBRT) * root
    m = m * factor
    # Two steps of Newton's method; the last with the rounding of the square.
    y = y - (y - m / (y * y)) * (1.0 / 3.0)
    square, low = two_product(y, y)
    y = y + (residual(square, y, m) - low * y) / (square * 3.0)
    result = (y * power_of_two(whole)).copysign(x)
    return select((size > 0.0) & (size < math.inf), result, x)


def hypot(x: Lane, y: Lane) -> Lane:
    a, c = x.abs(), y.abs()
    infinite = a.eq(math.inf) | c.eq(math.inf)
    if x.double:
        larger = select(a > c, a, c)
        # Powers of two that keep the squares away from both ends.
        high, low = larger > 2.0**500, larger < 2.0**-500
        down = select(high, larger.like(2.0**-600), select(low, larger.like(2.0**600), 1.0))
        up = select(high, larger.like(2.0**600), select(low, larger.like(2.0**-600), 1.0))
        result = mad(a * down, a * down, (c * down) * (c * down)).sqrt() * up
    else:
        result = through_double(lambda p, q: mad(p, p, q * q).sqrt(), a, c)
    return select(infinite, result.like(math.inf), result)
