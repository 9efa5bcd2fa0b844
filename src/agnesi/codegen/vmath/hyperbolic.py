"""Hyperbolic functions, their inverses and the logistic family."""

from __future__ import annotations

import math

from agnesi.codegen.vmath import avx512
from agnesi.codegen.vmath.explog import (
    exp,
    exp_bounded,
    exp_by_table,
    exp_pair,
    expm1,
    log1p,
    near_root,
    reduced,
    scale,
)
from agnesi.codegen.vmath.lane import (
    Lane,
    mad,
    poly,
    quick_sum,
    residual,
    select,
    through_double,
    two_product,
    two_sum,
)
from agnesi.codegen.vmath.tables import TANH, TANH_AT

LOG_2 = 0.6931471805599453
#: Beyond this, 1 / cosh(x)**2 in float64 is no normal number, and zero here.
_SECH_ZERO = 354.0
# (tanh(x) - x) / x^3 in z = x^2 for |x| <= 0.85, relative error 2^-26.9.
_TANH = (
    -0.3333326578140259, 0.13331478834152222, -0.05379641428589821,
    0.0211209524422884, -0.007142651826143265, 0.0014400980435311794,
)  # fmt: skip


def inverse(x: Lane) -> Lane:
    """``1 / x`` good to half the digits at least, for use with a correction afterwards."""
    return avx512.inverse(x) if x.avx512 and not x.double else 1.0 / x


def _roots(x: Lane) -> tuple[Lane, Lane, Lane, Lane]:
    """Return ``e = exp(-2 |x|)``, ``1 - e`` without cancellation, ``1 + e``, and its inverse to 28
    digits; float64 on AVX-512."""
    half = (-x.abs()).most_of(-_SECH_ZERO)
    scale, near, _ = parts = near_root(half + half)
    less_one, rest = parts.less_one(), 1.0 - scale
    top = rest + mad(-scale, near, mad(-scale, less_one, (1.0 - rest) - scale))
    bottom = 2.0 - top
    y = avx512.inverse(bottom)
    return mad(scale, near + less_one, scale), top, bottom, mad(y, mad(-bottom, y, 1.0), y)


def _tanh_by_roots(x: Lane) -> Lane:
    """Return ``tanh`` in float64 as ``(1 - e) / (1 + e)``; one Newton step for the quotient."""
    _, top, _, y = _roots(x)
    t = top * y
    # What is left of t (2 - top) = top, without the rounding of 2 - top.
    return mad(mad(-t, 1.0 - top, top - t), y, t).copysign(x)


def _tanh_in_pieces(x: Lane) -> Lane:
    size = x.abs().least_of(9.2)
    index = select(size > 0.0625, size, 0.0625).bits().lshr(21)
    d = size - avx512.lookup(index, TANH_AT)
    at, *rest = (avx512.lookup(index, row) for row in TANH)
    result = rest[-1]
    for c in (*rest[-2::-1], at):
        result = mad(d, result, c)
    return result.copysign(x)


def tanh(x: Lane) -> Lane:
    if x.avx512:
        return _tanh_by_roots(x) if x.double else _tanh_in_pieces(x)
    size = x.abs()
    if x.double:
        e = expm1(size.least_of(20.0) * -2.0)
        total, low = quick_sum(e.like(2.0), e)
        y = 1.0 / total
        q = -e * y
        result = mad(mad(-q, low, residual(q, total, -e)), y, q)
        return result.copysign(x)
    e = exp_bounded(size.least_of(9.1) * 2.0)
    total, low = quick_sum(e, 1.0)
    y = inverse(total)
    q = y + y
    # One step of Newton's method, with the part of 1 + e that was rounded away.
    large = 1.0 - mad(mad(-q, low, residual(q, total, q.like(2.0))), y, q)
    z = x * x
    small = mad(size * z, poly(z, _TANH), size)
    return select(size < 0.8125, small, large).copysign(x)


def sech_squared(x: Lane) -> Lane:
    """``1 - tanh(x)**2`` without cancellation, in float64: ``4 p (1 - p)`` for ``p = e / (1 + e)``
    and ``e = exp(-2 |x|)``, which on AVX-512 is the one of :func:`tanh` beside it."""
    if x.avx512:
        e, _, total, y = _roots(x)
        p = e * y
        p = mad(y, mad(-p, total, e), p)
    else:
        e = exp_bounded(x.abs().least_of(_SECH_ZERO) * -2.0)
        p = e / (e + 1.0)
    four = p * 4.0
    return select(x.abs() > _SECH_ZERO, 0.0, mad(-four, p, four))


# (e^-r - 1 + r) / r^2 on |r| <= ln(2)/2, error relative to 1 2^-27.8.
_EXP_DOWN = (
    0.5, -0.1666652113199234, 0.04166623204946518, -0.008368704468011856, 0.001394885592162609,
)  # fmt: skip


def _sigmoid_single(x: Lane) -> Lane:
    """In float32 ``2^n / (2^n + 1 + t)`` with ``exp(-x) = 2^-n (1 + t)``; AVX-512 only."""
    r, n, whole = reduced(x.most_of(-120.0).least_of(60.0))
    t = mad(r * r, poly(r, _EXP_DOWN), -r)
    power = avx512.scalef(x.like(1.0), n, ~(n <= -126.0))
    base = power + 1.0
    total, error = quick_sum(base, t)
    error = error + (power - (base - 1.0))
    y = avx512.inverse(total)
    # One step of Newton's method, without the rounding of the sum.
    return scale(mad(y, mad(-y, error, mad(-y, total, 1.0)), y), n, whole)


def _sigmoid_double(x: Lane) -> Lane:
    """In float64 ``e / (1 + e)``; AVX-512 only."""
    e = exp_by_table(x.most_of(-746.0).least_of(40.0), 0.0)
    y = 1.0 / (e + 1.0)
    t = e * y
    # What is left of t (1 + e) = e, without the rounding of 1 + e.
    return mad(mad(-t, e, e - t), y, t)


def sigmoid(x: Lane) -> Lane:
    if x.avx512:
        return _sigmoid_double(x) if x.double else _sigmoid_single(x)
    e, tail = exp_pair(-x.abs())
    top = select(x < 0.0, e, 1.0)
    total = e + 1.0
    low = (e - (total - 1.0)) + tail
    y = inverse(total)
    q = top * y
    rest = residual(q, total, top) + select(x < 0.0, tail, 0.0)
    return mad(mad(-q, low, rest), y, q)


# (sinh(x) - x) / x^3 in z = x^2 for |x| <= 1, relative error 2^-61.8.
_SINH = (
    0.16666666666666669, 0.008333333333332912, 0.00019841269841593413, 2.7557319106753344e-06,
    2.5052130999795975e-08, 1.605665903575728e-10, 7.776605682266946e-13,
)  # fmt: skip


def sinh(x: Lane) -> Lane:
    if not x.double:
        return through_double(sinh, x)
    size = x.abs()
    half, low = exp_pair(size, -1)
    large = half - (0.25 / half - low)
    z = x * x
    small = mad(size * z, poly(z, _SINH), size)
    return select(size < 1.0, small, select(half < math.inf, large, half)).copysign(x)


def cosh(x: Lane) -> Lane:
    if not x.double:
        return through_double(cosh, x)
    half, low = exp_pair(x.abs(), -1)
    return select(half < math.inf, half + (0.25 / half + low), half)


def asinh(x: Lane) -> Lane:
    if not x.double:
        return through_double(asinh, x)
    size = x.abs()
    far = size > 2.0**60
    a = select(far, 1.0, size)
    square = a * a
    total, low = quick_sum(a, square / (1.0 + (square + 1.0).sqrt()))
    near = log1p(select(far, size, total), select(far, 0.0, low))
    return (near + select(far, near.like(LOG_2), 0.0)).copysign(x)


def acosh(x: Lane) -> Lane:
    if not x.double:
        return through_double(acosh, x)
    far = x > 2.0**60
    t = x - 1.0
    a = select(far, 1.0, t)
    twice, error = two_sum(a, a.like(2.0))
    square, low = two_product(a, twice)
    root = square.sqrt()
    low = (residual(root, root, square) + mad(a, error, low)) / (root + root)
    total, rest = two_sum(root, a)
    near = log1p(select(far, x, total), select(far | a.eq(0.0), 0.0, rest + low))
    return select(x >= 1.0, near + select(far, near.like(LOG_2), 0.0), math.nan)


def atanh(x: Lane) -> Lane:
    if not x.double:
        return through_double(atanh, x)
    size = x.abs()
    rest, low = quick_sum(size.like(1.0), -size)
    y = 1.0 / rest
    q = (size + size) * y
    error = (residual(q, rest, size + size) - q * low) * y
    error = select(size < 1.0, error, 0.0)
    return (log1p(q, error) * 0.5).copysign(x)


def logaddexp(x: Lane, y: Lane) -> Lane:
    if not x.double:
        return through_double(logaddexp, x, y)
    larger = select(x.isnan() | (x > y), x, y)
    smaller = select(x > y, y, x)
    gap = smaller - larger
    # Equal infinities: their difference is no number.
    gap = select(x.eq(y), gap.like(0.0), gap)
    return larger + log1p(exp(gap))


def softplus(x: Lane) -> Lane:
    if not x.double:
        return through_double(softplus, x)
    return x.most_of(0.0) + log1p(exp(-x.abs()))
