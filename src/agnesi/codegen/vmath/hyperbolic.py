"""Hyperbolic functions, their inverses and the logistic family."""

from __future__ import annotations

from . import avx512
from .explog import exp, exp_pair, expm1, log1p
from .lane import Lane, mad, poly, quick_sum, residual, select, through_double

# (tanh(x) - x) / x^3 in z = x^2 for |x| <= 0.85, relative error 2^-26.9.
_TANH = (
    -0.3333326578140259, 0.13331478834152222, -0.05379641428589821,
    0.0211209524422884, -0.007142651826143265, 0.0014400980435311794,
)  # fmt: skip


def inverse(x: Lane) -> Lane:
    """``1 / x`` good to half the digits at least, for use with a correction afterwards."""
    return avx512.inverse(x) if x.avx512 and not x.double else 1.0 / x


def tanh(x: Lane) -> Lane:
    size = x.abs()
    if x.double:
        e = expm1(size.least_of(20.0) * -2.0)
        total, low = quick_sum(e.like(2.0), e)
        y = 1.0 / total
        q = -e * y
        result = mad(mad(-q, low, residual(q, total, -e)), y, q)
        return result.copysign(x)
    e = exp(size.least_of(9.1) * 2.0)
    total, low = quick_sum(e, 1.0)
    y = inverse(total)
    q = y + y
    # One step of Newton's method, with the part of 1 + e that was rounded away.
    large = 1.0 - mad(mad(-q, low, residual(q, total, q.like(2.0))), y, q)
    z = x * x
    small = mad(size * z, poly(z, _TANH), size)
    return select(size < 0.8125, small, large).copysign(x)


def sigmoid(x: Lane) -> Lane:
    e, tail = exp_pair(-x.abs())
    top = select(x < 0.0, e, 1.0)
    total = e + 1.0
    low = (e - (total - 1.0)) + tail
    y = inverse(total)
    q = top * y
    rest = residual(q, total, top) + select(x < 0.0, tail, 0.0)
    return mad(mad(-q, low, rest), y, q)


def softplus(x: Lane) -> Lane:
    if not x.double:
        return through_double(softplus, x)
    return x.most_of(0.0) + log1p(exp(-x.abs()))
