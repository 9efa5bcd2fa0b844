"""Butterflies: Fourier transforms of a few complex numbers in registers, forward and unscaled."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agnesi.codegen.llvm.builder import Builder, Value, const

#: Real and imaginary part.
Complex = tuple[Value, Value]


def plus(b: Builder, x: Complex, y: Complex) -> Complex:
    """The sum."""
    return b.fadd(x[0], y[0]), b.fadd(x[1], y[1])


def minus(b: Builder, x: Complex, y: Complex) -> Complex:
    """The difference."""
    return b.fsub(x[0], y[0]), b.fsub(x[1], y[1])


def times(b: Builder, x: Complex, y: Complex) -> Complex:
    """The product."""
    real = b.fma(x[0], y[0], b.fneg(b.fmul(x[1], y[1])))
    return real, b.fma(x[0], y[1], b.fmul(x[1], y[0]))


def times_minus_i(b: Builder, x: Complex) -> Complex:
    """``-1j * x``."""
    return x[1], b.fneg(x[0])


def scaled(b: Builder, x: Complex, factor: Value) -> Complex:
    """The product with a real number."""
    return b.fmul(x[0], factor), b.fmul(x[1], factor)


def butterfly(b: Builder, xs: Sequence[Complex]) -> list[Complex]:
    """Return the discrete Fourier transform of 2, 4, 8 or an odd number of complex vectors."""
    n = len(xs)
    if n == 2:
        return [plus(b, *xs), minus(b, *xs)]
    if n % 2:
        return _odd(b, xs)
    even, odd = butterfly(b, xs[::2]), butterfly(b, xs[1::2])
    odd = [_eighth(b, x, k * 8 // n) for k, x in enumerate(odd)]
    return [*(plus(b, x, y) for x, y in zip(even, odd, strict=True)),
            *(minus(b, x, y) for x, y in zip(even, odd, strict=True))]


def _eighth(b: Builder, x: Complex, k: int) -> Complex:
    """``x`` times the eighth root of unity to the power ``k`` below 4."""
    if k == 0:
        return x
    x = times_minus_i(b, x) if k >= 2 else x
    if k == 2:
        return x
    half = const(x[0].type, math.sqrt(0.5))
    return scaled(b, (b.fadd(x[0], x[1]), b.fsub(x[1], x[0])), half)


def _odd(b: Builder, xs: Sequence[Complex]) -> list[Complex]:
    """Return the transform of an odd number of values by its definition; frequencies ``k`` and ``n
    - k`` share their products.
    """
    n, type_ = len(xs), xs[0][0].type
    pairs = range(1, n // 2 + 1)
    sums = {j: plus(b, xs[j], xs[n - j]) for j in pairs}
    gaps = {j: times_minus_i(b, minus(b, xs[j], xs[n - j])) for j in pairs}
    total = xs[0]
    for j in pairs:
        total = plus(b, total, sums[j])
    found = {0: total}
    for k in pairs:
        even, odd = xs[0], None
        for j in pairs:
            angle = 2 * math.pi * (j * k % n) / n
            c, s = const(type_, math.cos(angle)), const(type_, math.sin(angle))
            even = b.fma(c, sums[j][0], even[0]), b.fma(c, sums[j][1], even[1])
            odd = scaled(b, gaps[j], s) if odd is None else (
                b.fma(s, gaps[j][0], odd[0]), b.fma(s, gaps[j][1], odd[1]))
        assert odd is not None
        found[k], found[n - k] = plus(b, even, odd), minus(b, even, odd)
    return [found[k] for k in range(n)]
