"""Rounding to integers, and the divisions that are defined by it."""

from __future__ import annotations

import math

from agnesi.codegen.llvm.builder import Value
from agnesi.codegen.vmath.explog import power_of_two
from agnesi.codegen.vmath.lane import Lane, any_lane, residual, select

_NATIVE = frozenset(("sse4.1", "avx", "avx2", "avx512f", "neon"))


def _rounded(name: str, x: Lane) -> Lane | None:
    """The target's own rounding, None if LLVM would call a library for it."""
    if not x.target.has_any(_NATIVE):
        return None
    return Lane(x.b, x.b.intrinsic(name, x.v))


def round(x: Lane) -> Lane:
    """The nearest integer, the even one of two."""
    found = _rounded("roundeven", x)
    if found is not None:
        return found
    size = x.abs()
    big = 2.0**x.mantissa
    return select(size < big, (size + big) - big, size).copysign(x)


def trunc(x: Lane) -> Lane:
    found = _rounded("trunc", x)
    if found is not None:
        return found
    size = x.abs()
    near = round(size)
    return select(near > size, near - 1.0, near).copysign(x)


def floor(x: Lane) -> Lane:
    found = _rounded("floor", x)
    if found is not None:
        return found
    near = round(x)
    return select(near > x, near - 1.0, near).copysign(x)


def ceil(x: Lane) -> Lane:
    return -floor(-x)


def _step(rest: Lane, divisor: Lane) -> Lane:
    """Take away a multiple of the divisor; exact, and at least halves what is above it."""
    ratio = rest / divisor
    whole = trunc(ratio.least_of(2.0 ** (rest.mantissa - 1)))
    lower = residual(whole, divisor, rest) if rest.fused else _unfused(whole, divisor, rest)
    return select(lower < 0.0, lower + divisor, lower)


def _unfused(whole: Lane, divisor: Lane, rest: Lane) -> Lane:
    """``rest - whole * divisor`` by products in halves, which must not overflow."""
    top, shift = (900, 200) if rest.double else (100, 50)
    large = rest > 2.0**top
    down = select(large, rest.like(2.0**-shift), 1.0)
    up = select(large, rest.like(2.0**shift), 1.0)
    lower = residual(whole, divisor * down, rest * down) * up
    # The scaled divisor is exact unless it is far above ``rest``.
    return select(whole.eq(0.0), rest, lower)


def fmod(x: Lane, y: Lane) -> Lane:
    """The remainder with the sign of ``x``; exact for any quotient."""
    rest, divisor = x.abs(), y.abs()
    valid = (rest < math.inf) & (divisor > 0.0)
    infinite = divisor.eq(math.inf)
    rest = select(valid, rest, 0.0)
    divisor = select(valid & ~infinite, divisor, 1.0)
    simple = rest < divisor * 2.0 ** (x.mantissa - 2)
    close = _step(rest, divisor)
    result = _far(rest, divisor, close, ~simple)
    result = select(infinite, rest, result).copysign(x)
    return select(valid, result, math.nan)


def _far(rest: Lane, divisor: Lane, close: Lane, far: Lane) -> Lane:
    """Where the quotient is too long for one step: subtract scaled divisors, largest first."""
    b = rest.b
    before = b.block
    with b.when(any_lane(far)):
        mixed = select(far, _long_division(rest, divisor), close)
        end = b.block
    return Lane(b, b.phi(rest.type, [(close.v, before), (mixed.v, end)]))


def _exponent(x: Lane) -> Lane:
    """The biased exponent as an integer, continued below one for subnormal numbers."""
    tiny = x < x.least
    shift = x.mantissa + 1
    bits = select(tiny, x * 2.0**shift, x).bits().lshr(x.mantissa)
    return select(tiny, bits - shift, bits)


def _long_division(rest: Lane, divisor: Lane) -> Lane:
    b, digits = rest.b, rest.mantissa - 3
    base = _exponent(divisor)
    # Each iteration makes the quotient shorter by ``digits`` bits.
    iterations = -(-(2 * rest.bias + rest.mantissa) // digits) + 1
    start, stop = Value("0", "i64"), Value(str(iterations), "i64")
    with b.loop(start, stop, carried=(rest.v,), nonempty=True) as loop:
        left = Lane(b, loop.carried[0])
        excess = _exponent(left) - base - digits
        shift = select(excess > 0, excess, 0)
        # Three factors, for 2^shift itself can be out of range.
        part = (shift * 86).lshr(8)
        factor, last = power_of_two(part), power_of_two(shift - part - part)
        loop.carry(_step(left, divisor * factor * factor * last).v)
    return Lane(b, loop.results[0])


def remainder(x: Lane, y: Lane) -> Lane:
    """The remainder with the sign of ``y``, as Python's and NumPy's ``%``."""
    return _modulo(x, y)[1]


def _modulo(x: Lane, y: Lane) -> tuple[Lane, Lane]:
    """The truncated remainder and the one with the sign of ``y``."""
    rest = fmod(x, y)
    opposite = (rest < 0.0) ^ (y < 0.0)
    zero = rest.eq(0.0)
    shifted = select(opposite & ~zero, rest + y, rest)
    return rest, select(zero, rest.copysign(y), shifted)


def floor_divide(x: Lane, y: Lane) -> Lane:
    """The largest integer not above the quotient, as NumPy's ``//``."""
    rest, modulo = _modulo(x, y)
    ratio = x / y
    quotient = (x - rest) / y
    quotient = select(rest.ne(modulo) & modulo.ne(0.0), quotient - 1.0, quotient)
    down = floor(quotient)
    down = select(quotient - down > 0.5, down + 1.0, down)
    down = select(quotient.eq(0.0), quotient.like(0.0).copysign(ratio), down)
    return select(y.eq(0.0), ratio, down)
