"""float16 and bfloat16 to float32 and back, also where the target has no instruction for it."""

from __future__ import annotations

from agnesi.codegen.llvm.builder import Builder, Value, scalar, vector, width
from agnesi.codegen.vmath.lane import Lane, select

_NATIVE = frozenset(("f16c", "avx512f", "neon", "fullfp16"))


def extend(b: Builder, value: Value) -> Value:
    """16 bits to float32."""
    if scalar(value.type) == "bfloat":
        return _extend_short(b, value)
    single = vector("float", width(value.type))
    if b.module.target.has_any(_NATIVE):
        return b.cast("fpext", value, single)
    short = b.cast("bitcast", value, vector("i16", width(value.type)))
    bits = Lane(b, b.cast("zext", short, vector("i32", width(value.type))))
    body = (bits & 0x7FFF) << 13
    # The multiplication moves the exponent's bias and makes subnormal numbers normal.
    scaled = (body.real() * 2.0**112).bits()
    scaled = select(body >= (0x7C00 << 13), scaled | 0x7F800000, scaled)
    return (scaled | ((bits & 0x8000) << 16)).real().v


def _extend_short(b: Builder, value: Value) -> Value:
    """bfloat16 is the upper half of float32."""
    short = b.cast("bitcast", value, vector("i16", width(value.type)))
    bits = Lane(b, b.cast("zext", short, vector("i32", width(value.type))))
    return (bits << 16).real().v


def _truncate_short(b: Builder, value: Value) -> Value:
    """float32 to bfloat16; a NaN stays one."""
    bits = Lane(b, value).bits()
    rounded = (bits + 0x7FFF + (bits.lshr(16) & 1)).lshr(16)
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    upper = select(is_nan, bits.lshr(16) | 0x40, rounded)
    short = b.cast("trunc", upper.v, vector("i16", width(value.type)))
    return b.cast("bitcast", short, vector("bfloat", width(value.type)))


def truncate(b: Builder, value: Value, kind: str) -> Value:
    """float32 to "half" or "bfloat", to the nearest, the even one of two."""
    if kind == "bfloat":
        return _truncate_short(b, value)
    half = vector("half", width(value.type))
    if b.module.target.has_any(_NATIVE):
        return b.cast("fptrunc", value, half)
    bits = Lane(b, value).bits()
    size = bits & 0x7FFFFFFF
    # Round to nearest even: add half a unit minus one, plus one if the last bit kept is odd.
    odd = size.lshr(13) & 1
    normal = (size + odd + (0xFFF - (112 << 23))).lshr(13)
    # Adding 1/2 rounds at 2^-24, the unit of subnormal numbers.
    tiny = (size.real() + 0.5).bits() - size.like(0x3F000000)
    result = select(size < (113 << 23), tiny, normal)
    result = select(size >= 0x477FF000, size.like(0x7C00), result)
    result = select(size > 0x7F800000, result.like(0x7E00), result)
    result = result | (bits.lshr(16) & 0x8000)
    short = b.cast("trunc", result.v, vector("i16", width(value.type)))
    return b.cast("bitcast", short, half)
