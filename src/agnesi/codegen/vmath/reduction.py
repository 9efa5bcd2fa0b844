"""Arguments of circular functions, taken modulo the period for any magnitude."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from agnesi.codegen.llvm.builder import Value, const, vector
from agnesi.codegen.vmath.explog import MAGIC, small_float
from agnesi.codegen.vmath.lane import Lane, mad, quick_sum, select, two_product, two_sum

# The unit (pi or pi/2) in parts.  With fusion each part may have all digits; without it the
# products with an integer must be exact, so the parts are short and the range is, too.
_FUSED = {
    "float": (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
    "double": (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
}
_SHORT = {
    "float": (3.140625, 0.0009675025939941406, 1.5099067240953445e-07, 5.126688136514179e-12),
    "double": (
        3.1415926218032837, 3.1786509424591713e-08, 1.2246467864107189e-16, 1.27366343270219e-24,
    ),
}  # fmt: skip
_LIMIT = {"float": 12000.0, "double": 5.0e7}
_PI = (3.141592653589793, 1.2246467991473532e-16)
# 64 zero bits, then the binary digits of 1 / (2 pi).
_INVERSE_TWO_PI = (
    0x0000000000000000, 0x28BE60DB9391054A, 0x7F09D5F47D4D3770, 0x36D8A5664F10E410,
    0x7F9458EAF7AEF158, 0x6DC91B8E909374B8, 0x01924BBA82746487, 0x3F877AC72C4A69CF,
    0xBA208D7D4BAED121, 0x3A671C09AD17DF90, 0x4E64758E60D4CE7D, 0x272117E2EF7E4A0E,
    0xC7FE25FFF7816603, 0xFBCBC462D6829B47, 0xDB4D9FB3C9F2C26D, 0xD3D18FD9A797FA8B,
    0x5D49EEB1FAF97C5E, 0xCF41CE7DE294A4BA, 0x9AFED7EC47E35742, 0x1580CC11BF1EDAEA,
    0xFC33EF0826BD0D87, 0x6A78E45857B986C2, 0x19666157C5281A10, 0x237FF620135CC9CC,
)  # fmt: skip


class Reduced(NamedTuple):
    """``x = n unit + r + low``, with ``n`` as integer lanes (its low bits at least).

    ``low`` refines ``r`` for functions that have no error to spare; others leave it out.
    """

    r: Lane
    low: Lane
    n: Lane


def is_huge(size: Lane) -> Lane:
    """Return whether an argument is beyond :func:`reduce_near`."""
    return size > _LIMIT[size.element]


def _count(x: Lane, unit: float, offset: float) -> tuple[Lane, Lane]:
    """``n + offset``, and integer lanes with the low bits of ``n``."""
    factor = 0.3183098861837907 / unit
    magic = MAGIC[x.element]
    shifted = mad(x, factor, magic) if not offset else mad(x, factor, -offset) + magic
    n = shifted - magic
    return (n + offset if offset else n), shifted.bits()


def reduce_near(x: Lane, unit: float, offset: float = 0.0) -> Reduced:
    """Reduce by ``unit * pi``; with an ``offset`` of 1/2, ``x = (n + 1/2) unit pi + r``."""
    n, whole = _count(x, unit, offset)
    if not x.fused:
        first, second, third, fourth = (p * unit for p in _SHORT[x.element])
        r, low = two_sum(x - n * first, n * -second)
        r, tail = two_sum(r, n * -third)
        return Reduced(*quick_sum(r, (low + tail) - n * fourth), whole)
    first, second, third = (p * unit for p in _FUSED[x.element])
    t = mad(n, -first, x)
    r = mad(n, -second, t)
    if x.double:
        return Reduced(mad(n, -third, r), r.like(0.0), whole)
    # Where t and n * second cancel, r is exact enough, and its rounding error cannot be had so.
    error = select(r * r > 2.0**-19, mad(n, -second, t - r), 0.0)
    return Reduced(r, mad(n, -third, error), whole)


def _wide_product(a: Lane, c: Lane) -> tuple[Lane, Lane]:
    """The 128-bit product of unsigned 64-bit lanes, high and low."""
    half = 0xFFFFFFFF
    ah, al, ch, cl = a.lshr(32), a & half, c.lshr(32), c & half
    middle = al * ch + (al * cl).lshr(32)
    cross = ah * cl + (middle & half)
    return ah * ch + middle.lshr(32) + cross.lshr(32), a * c


def _digits(position: Lane) -> list[Lane]:
    """The 192 binary digits of 1 / (2 pi) from a position on, as three words."""
    b = position.b
    table = b.module.table("i64", _INVERSE_TWO_PI)
    index, shift = position.lshr(6), position & 63
    words = []
    for k in range(4):
        at = index + k
        if at.lanes == 1:
            words.append(Lane(b, b.load("i64", b.gep("i64", table, at.v))))
            continue
        pointers = b.value(vector("ptr", at.lanes), f"getelementptr i64, {table}, {at.v}")
        name = f"llvm.masked.gather.v{at.lanes}i64.v{at.lanes}p0"
        every = const(vector("i1", at.lanes), True)
        args = (pointers, Value("8", "i32"), every, const(at.type, 0))
        words.append(Lane(b, b.call(at.type, name, *args)))
    return [Lane(b, b.intrinsic("fshl", high.v, low.v, shift.v)) for high, low in pairwise(words)]


def _revolutions(x: Lane) -> tuple[Lane, Lane]:
    """``|x| / (2 pi)`` modulo one in float64, as a 128-bit fraction."""
    bits = x.abs().bits()
    exponent = bits.lshr(52)
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    # The argument is mantissa * 2^(exponent - 1075).  Not finite or small: some valid position.
    position = exponent - (1075 - 64)
    position = select((position >= 0) & (exponent < 2047), position, 0)
    high, middle, low = _digits(position)
    upper, lower = _wide_product(mantissa, middle)
    carry, _ = _wide_product(mantissa, low)
    total = lower + carry
    overflow = Lane(x.b, x.b.icmp("ult", total.v, lower.v)).cast("zext", "i64")
    return mantissa * high + upper + overflow, total


def reduce_far(x: Lane, unit: float, offset: float = 0.0) -> Reduced:
    """Reduce any float64 by the binary digits of 1 / (2 pi) (Payne and Hanek).

    ``x`` stands for its absolute value; infinity and NaN give NaN.
    """
    high, low = _revolutions(x)
    bits = 1 if unit == 1.0 else 2
    if offset:
        high = high - (1 << 62)
    n = (high + (1 << (63 - bits))).lshr(64 - bits)
    high, low = (high << bits) | low.lshr(64 - bits), low << bits
    # 52 + 51 + 25 binary digits, each part exact.
    middle = (high & 0xFFF) << 39 | low.lshr(25)
    parts = (
        small_float(high >> 12, x) * 2.0**-52,
        small_float(middle, x) * 2.0**-103,
        small_float(low & 0x1FFFFFF, x) * 2.0**-128,
    )
    total, rest = quick_sum(parts[0], parts[1])
    total, rest = quick_sum(total, rest + parts[2])
    r, error = two_product(total, total.like(_PI[0] * unit))
    error = mad(total, _PI[1] * unit, mad(rest, _PI[0] * unit, error))
    finite = x.abs() < float("inf")
    r, error = quick_sum(r, error)
    return Reduced(select(finite, r, float("nan")), error, n)
