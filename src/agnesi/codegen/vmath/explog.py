"""Exponentials and logarithms."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from agnesi.codegen.vmath import avx512
from agnesi.codegen.vmath.lane import (
    Lane,
    mad,
    poly,
    poly_by_pairs,
    quick_sum,
    select,
    through_double,
    two_product,
)
from agnesi.codegen.vmath.tables import RECIPROCAL_LOGS, RECIPROCALS, ROOTS, ROOTS_ERROR

LOG2E = 1.4426950408889634
LN_2 = 0.6931471805599453
# ln 2 in two parts; the first has trailing zeros, so its product with an exponent is exact.
LN2 = {
    "float": (0.693145751953125, 1.4286068202862268e-06),
    "double": (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
# log10 2 in two parts likewise.
LOG10_2 = (0.30102999560767785, 5.630334806675098e-11)
# 1.5 * 2^mantissa: adding it rounds to an integer, which then stands in the low bits.
MAGIC = {"float": 12582912.0, "double": 6755399441055744.0}

# (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, error relative to e^r 2^-28.2 and 2^-57.1.
EXP = {
    "float": (
        0.4999999403953552, 0.16666515171527863, 0.041668083518743515,
        0.008369353599846363, 0.0013840681640431285,
    ),
    "double": (
        0.5000000000000011, 0.16666666666665705, 0.041666666666519594, 0.008333333333977951,
        0.0013888888947504836, 0.00019841268413435295, 2.4801488300927296e-05,
        2.755859175737916e-06, 2.763215984108957e-07, 2.4675389846295177e-08,
    ),
}  # fmt: skip
# (2^f - 1) / f on |f| <= 1/2, error relative to 2^f 2^-28.3 and 2^-57.7.
EXP2 = {
    "float": (
        0.6931471824645996, 0.24022647738456726, 0.055503591895103455,
        0.009618491865694523, 0.0013391135726124048, 0.00015332196198869497,
    ),
    "double": (
        0.6931471805599453, 0.2402265069591011, 0.055504108664821784, 0.009618129107600461,
        0.0013333558146520765, 0.00015403530450400603, 1.5252733663308271e-05,
        1.3215438203901736e-06, 1.0178147101741196e-07, 7.0733340960890475e-09,
        4.4408249429685913e-10,
    ),
}  # fmt: skip
# (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, error relative to e^r - 1 2^-31.1 and 2^-61.5.
_EXPM1 = {
    "float": (
        0.5, 0.1666666567325592, 0.04166649281978607,
        0.008333543315529823, 0.0013932365691289306, 0.00019764326862059534,
    ),
    "double": (
        0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333321875,
        0.0013888888888887558, 0.00019841269885107957, 2.4801587288752977e-05,
        2.7557245365759746e-06, 2.7557322730035675e-07, 2.5108627365429777e-08,
        2.0895683937412865e-09,
    ),
}  # fmt: skip
# (e^r - 1 - r) / r^2 on |r| <= ln(2)/32, error relative to e^r 2^-56.2.
_EXP_NEAR = (
    0.5000000000000006, 0.16666666664417173, 0.0416666666599058, 0.008333471944851237,
    0.0013889124270140259,
)  # fmt: skip
# The same, error relative to e^r - 1 2^-31.4 and 2^-58.9.
EXPM1_NEAR = {
    "float": (0.5, 0.16666986048221588, 0.041667550802230835),
    "double": (
        0.5000000000000003, 0.16666666666666674, 0.04166666666187642, 0.008333333332459851,
        0.001388909283349597, 0.00019841547081114516,
    ),
}  # fmt: skip
# (log(1+f) - f + f^2/2) / f^3 on [-1/4, 1/2], relative error 2^-27.5.
_LOG = (
    0.3333345055580139, -0.25000104308128357, 0.19990822672843933, -0.166464701294899,
    0.14476893842220306, -0.13171738386154175, 0.10501021891832352, -0.04541186988353729,
)  # fmt: skip
# (log(1+r) - r) / r^2 on [-1/32, 1/16], relative error of the logarithm 2^-28.1 and 2^-56.3.
_LOG_NEAR = {
    "float": (-0.5, 0.3333444893360138, -0.2500668466091156, 0.18854166567325592),
    "double": (
        -0.5000000000000002, 0.33333333333347587, -0.2499999999986424, 0.19999999927724987,
        -0.1666666614731335, 0.1428581975401745, -0.12501877211947457, 0.11071565739988684,
        -0.08745600655228748,
    ),
}  # fmt: skip
# (log((1+s)/(1-s)) - 2s) / s^3 in z = s^2 on [0, 1/25], error relative to 2s 2^-55.9.
_ATANH = (
    0.6666666666667281, 0.39999999996105207, 0.2857142940549735, 0.22222137664131003,
    0.18186390465727145, 0.152494989040737, 0.15373564375602727,
)  # fmt: skip


#: Exponents of numbers below 2 that are nearer to zero than to the least number.
_ALWAYS_ZERO = {"float": -151.0, "double": -1076.0}


def power_of_two(n: Lane) -> Lane:
    """``2 ** n`` for integer lanes ``n`` inside the range of normal numbers."""
    double = n.element == "i64"
    return ((n + (1023 if double else 127)) << (52 if double else 23)).real()


def to_nearest(x: Lane, factor: float = 1.0) -> tuple[Lane, Lane]:
    """``x * factor`` rounded to an integer, as a float and as integer lanes; small values only."""
    magic = MAGIC[x.element]
    shifted = x + magic if factor == 1.0 else mad(x, factor, magic)
    return shifted - magic, shifted.bits() - shifted.like(magic).bits()


def scale(x: Lane, n: Lane, whole: Lane) -> Lane:
    """``x * 2 ** n``, also where it is subnormal or infinite; ``whole`` is ``n`` as integer."""
    if x.avx512:
        return avx512.scalef(x, n, ~(n <= _ALWAYS_ZERO[x.element]))
    half = whole >> 1
    return x * power_of_two(half) * power_of_two(whole - half)


def reduced(x: Lane) -> tuple[Lane, Lane, Lane]:
    """``r, n, n`` as integer, with ``x = n ln 2 + r``."""
    n, whole = to_nearest(x, LOG2E)
    high, low = LN2[x.element]
    return mad(n, -low, mad(n, -high, x)), n, whole


def one_plus(r: Lane, coefficients: tuple[float, ...]) -> Lane:
    """``1 + r c0 + r^2 c1 + ...``, with a sum that rounds no more than once without fusion."""
    if r.fused:
        return poly(r, (1.0, *coefficients))
    return poly(r, coefficients[1:]) * (r * r) + r * coefficients[0] + 1.0


def exp(x: Lane) -> Lane:
    # Beyond these bounds the result is infinite or zero; a NaN passes both.
    low, high = (-746.0, 710.0) if x.double else (-105.0, 89.0)
    return exp_bounded(x.most_of(low).least_of(high))


def to_sixteenth(x: Lane) -> tuple[Lane, Lane]:
    """``x / ln 2`` rounded to a multiple of 1/16, and integer lanes that hold 16 times this.

    Only the low bits of the integers count, as many as a mantissa has.
    """
    magic = MAGIC[x.element] / 16
    shifted = mad(x, LOG2E, magic)
    return shifted - magic, shifted.bits()


def exp_by_table(x: Lane, rest: Lane | float | None = None) -> Lane:
    """``exp(x + rest)`` in float64 by AVX-512, to 0.6 units; without ``rest``, to 1.1."""
    n, index = to_sixteenth(x)
    high, low = LN2["double"]
    near = mad(n, -high, x)
    if rest is None:
        r = mad(n, -low, near)
    else:
        error = mad(n, -low, avx512.lookup(index, ROOTS_ERROR["double"]))
        r = near + (error + rest if isinstance(rest, Lane) else error)
    root = avx512.lookup(index, ROOTS["double"])
    square = r * r
    q = mad(square, poly_by_pairs(r, square, _EXP_NEAR), r)
    return avx512.scalef(mad(root, q, root), n, ~(n <= _ALWAYS_ZERO["double"]))


def exp_bounded(x: Lane) -> Lane:
    """``exp`` of arguments that :func:`exp` would not have to bound."""
    if x.avx512 and x.double:
        return exp_by_table(x)
    r, n, whole = reduced(x)
    return scale(one_plus(r, (1.0, *EXP[x.element])), n, whole)


class NearRoot(NamedTuple):
    """``exp(x) = 2**shift scale exp(near + rest)`` with a power of the 16th root of 2 as scale."""

    scale: Lane
    near: Lane
    rest: Lane

    def less_one(self) -> Lane:
        """``exp(near + rest) - 1 - near``, without cancellation: ``near`` and ``rest`` are the high
        and low part of a small argument."""
        r = self.near + self.rest
        square = r * r
        return mad(square, poly_by_pairs(r, square, EXPM1_NEAR[r.element]), self.rest)


def near_root(x: Lane, shift: int = 0) -> NearRoot:
    """Of arguments whose exponential is a normal number; AVX-512 only."""
    n, index = to_sixteenth(x)
    high, low = LN2[x.element]
    error = avx512.lookup(index, ROOTS_ERROR[x.element])
    # 16 n = 16 floor(n) + k goes into the exponent as it is; the table makes up for k.
    step, form = (x.mantissa - 4, "<d" if x.double else "<f")
    roots = [_moved(root, form, -(shift << step + 4) - (k << step))
             for k, root in enumerate(ROOTS[x.element])]
    power = (avx512.lookup(index, roots).bits() + (index << step)).real()
    return NearRoot(power, mad(n, -high, x), mad(n, -low, error))


def _moved(value: float, form: str, bits: int) -> float:
    """The number whose bits are that much more."""
    whole = int.from_bytes(struct.pack(form, value), "little") + bits
    return float(struct.unpack(form, whole.to_bytes(struct.calcsize(form), "little"))[0])


def exp_parts(x: Lane) -> tuple[Lane, Lane, Lane, Lane]:
    """``exp(x)`` as ``(p + low) 2**n``: ``p``, ``low``, ``n``, ``n`` as an integer."""
    bottom, top = (-1000.0, 1000.0) if x.double else (-150.0, 150.0)
    r, n, whole = reduced(x.most_of(bottom).least_of(top))
    t = mad(r * r, poly(r, EXP[x.element]), r)
    p, low = quick_sum(t.like(1.0), t)
    return p, low, n, whole


def exp_pair(x: Lane, shift: int = 0) -> tuple[Lane, Lane]:
    """``exp(x) * 2**shift`` and most of its rounding error."""
    p, low, n, whole = exp_parts(x)
    if shift:
        n, whole = n + float(shift), whole + shift
    return scale(p, n, whole), scale(low, n, whole)


def exp2(x: Lane) -> Lane:
    low, high = (-1076.0, 1025.0) if x.double else (-151.0, 129.0)
    x = x.most_of(low).least_of(high)
    n, whole = to_nearest(x)
    return scale(one_plus(x - n, EXP2[x.element]), n, whole)


def _expm1_by_table(x: Lane) -> Lane:
    # Half of the power, since the power itself overflows for the largest results.
    half, near, _ = parts = near_root(x, 1)
    base = half - 0.5
    error = half - (base + 0.5)
    result = base + mad(half, near, mad(half, parts.less_one(), error))
    return (result + result).copysign(x)


def expm1(x: Lane) -> Lane:
    low, high = (-38.0, 710.0) if x.double else (-18.0, 89.0)
    x = x.most_of(low).least_of(high)
    if x.avx512:
        return _expm1_by_table(x)
    n, whole = to_nearest(x, LOG2E)
    big, small = LN2[x.element]
    t = mad(n, -big, x)
    r = mad(n, -small, t)
    # What r lost matters where 2^n - 1 and its product with r cancel.
    rest = mad(r * r, poly(r, _EXPM1[x.element]), mad(n, -small, t - r))
    # Half of 2^n, since 2^n itself overflows for the largest results.
    half = power_of_two(whole - 1)
    base = half - 0.5
    total = mad(half, r, base)
    error = mad(half, r, base - total) + ((half - base) - 0.5)
    result = total + mad(half, rest, error)
    return (result + result).copysign(x)


def split(x: Lane) -> tuple[Lane, Lane]:
    """``e, m`` with ``x = m 2**e`` and ``m`` in [3/4, 3/2), for positive ``x``.

    Zero, infinity and NaN give an ``e`` that is itself infinite or NaN on AVX-512 only; the other
    targets need :func:`log_special`.
    """
    if x.avx512:
        m = avx512.significand(x)
        e = avx512.exponent(x)
        return select(m < 1.0, e + 1.0, e), m
    tiny = x < x.least
    shift = x.mantissa + 1
    bits = select(tiny, x * 2.0**shift, x).bits()
    offset = x.like(0.75).bits()
    whole = (bits - offset) >> x.mantissa
    m = (bits - (whole << x.mantissa)).real()
    e = small_float(whole, x)
    return select(tiny, e - float(shift), e), m


def small_float(whole: Lane, model: Lane) -> Lane:
    """A small integer as a float, without a conversion that some targets lack for 64 bits."""
    if not model.double:
        return whole.cast("sitofp", "float")
    magic = model.like(MAGIC["double"])
    return (whole + magic.bits()).real() - magic


def log_special(x: Lane, result: Lane) -> Lane:
    """Put in the logarithms of zero, negative numbers, infinity and NaN."""
    below = select(x.eq(0.0), x.like(-math.inf), math.nan)
    return select(x > 0.0, select(x < math.inf, result, x), below)


def _log1p_small(f: Lane, low: Lane) -> Lane:
    """``log(1+f) - f + low`` in float64, for ``f`` in [-1/4, 1/2]."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return mad(s, mad(z, poly(z, _ATANH), half), low) - half


def _combine(e: Lane, f: Lane) -> Lane:
    """``e ln 2 + log(1+f)``."""
    high, low = LN2[f.element]
    if f.double:
        return mad(e, high, _log1p_small(f, e * low) + f)
    z = f * f
    y = mad(z, mad(f, poly(f, _LOG), -0.5), e * low)
    return mad(e, high, f + y)


def _sum_near(r: Lane, index: Lane, e: Lane, unit: float) -> Lane:
    """``e unit + log(1+r)`` less the logarithm at an index of the table."""
    z = r * r
    near = mad(z, poly_by_pairs(r, z, _LOG_NEAR[r.element]), r)
    return mad(e, unit, avx512.lookup(index, RECIPROCAL_LOGS[r.element]) + near)


def _log_by_table(x: Lane) -> Lane:
    m = avx512.significand(x)
    e = avx512.exponent(x) - avx512.exponent(m)
    index = m.bits().lshr(x.mantissa - 4)
    r = mad(m, avx512.lookup(index, RECIPROCALS[x.element]), -1.0)
    return _sum_near(r, index, e, LN_2)


def log(x: Lane) -> Lane:
    if x.avx512:
        return _log_by_table(x)
    e, m = split(x)
    result = _combine(e, m - 1.0)
    return result if x.avx512 else log_special(x, result)


def _log1p_by_table(x: Lane) -> Lane:
    """With ``1 + x = 2^e m`` and ``m`` in [3/4, 3/2), without the rounding of ``1 + x``."""
    u = x + 1.0
    bits = u.bits()
    # 2^(2-e), which is a normal number up to the largest e.
    power = (bits + (1 << (x.mantissa - 1))) & (-1 << x.mantissa)
    scale = (x.like(-0.0).bits() - power).real()
    index = bits.lshr(x.mantissa - 4)
    factor = scale * avx512.lookup(index, [c / 4 for c in RECIPROCALS[x.element]])
    # The signs are chosen such that -0.0 is preserved.
    r = mad(factor, x, -(1.0 - factor))
    result = _sum_near(r, index, avx512.exponent(scale) - 2.0, -LN_2)
    return avx512.logarithm_special(u, result)


def log1p(x: Lane, low: Lane | None = None) -> Lane:
    """``log(1 + x + low)``; ``low`` is what the rounding of ``x`` took away."""
    if x.avx512 and low is None:
        return _log1p_by_table(x)
    u = x + 1.0
    if x.avx512:
        # The exponent that rounds u into [3/4, 3/2); f = u/2^e - 1 without the rounding of u.
        e, _ = split(u)
        inverse = avx512.scalef(x.like(1.0), -e)
        f = mad(inverse, x, inverse - 1.0)
    else:
        bits = u.bits() - u.like(0.75).bits()
        whole = bits >> x.mantissa
        e = small_float(whole, x)
        # A one that far below u is lost in any case; and 2^-e must stay a normal number.
        near = select(whole < x.bias - 3, whole, x.bias - 3)
        inverse = power_of_two(near.like(0) - near)
        f = (x.bits() - (whole << x.mantissa)).real() + (inverse - 1.0)
    if low is not None:
        f = mad(inverse, low, f)
    result = _combine(e, f).copysign(x)
    inside = select(x < math.inf, result, x)
    below = select(x.eq(-1.0), x.like(-math.inf), math.nan)
    return select(x > -1.0, inside, below)


def _scaled_log(x: Lane, base: tuple[float, float], factor: float, low: float) -> Lane:
    """A logarithm of another base in float64.

    ``base`` is the logarithm of 2 in two parts, the second zero if there is none, and
    ``factor + low`` is ``1 / ln base``.
    """
    e, m = split(x)
    # AVX-512 gives minus zero the mantissa -1.
    f = m.abs() - 1.0
    rest = _log1p_small(f, f.like(0.0))
    total = f + rest
    error = rest - (total - f)
    product, correction = two_product(total, total.like(factor))
    correction = mad(error, factor, mad(total, low, correction))
    if base[1]:
        correction = mad(e, base[1], correction)
    result = mad(e, base[0], product + correction)
    return result if x.avx512 else log_special(x, result)


def log2(x: Lane) -> Lane:
    if not x.double:
        return through_double(log2, x)
    return _scaled_log(x, (1.0, 0.0), LOG2E, 2.0355273740931033e-17)


def log10(x: Lane) -> Lane:
    if not x.double:
        return through_double(log10, x)
    return _scaled_log(x, LOG10_2, 0.4342944819032518, 1.098319650216765e-17)
