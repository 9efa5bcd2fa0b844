"""Instructions of AVX-512 that make exponentials and logarithms shorter.

They are emitted for whole 512-bit registers: narrower values are widened and wider ones split, so
that the result in a lane never depends on how many lanes the caller holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.codegen.llvm.builder import Builder, Value, const, lanes, scalar, vector, width
from agnesi.codegen.vmath.lane import Lane

_CURRENT_ROUNDING = Value("4", "i32")
# Mantissa in [3/4, 3/2); NaN for negative numbers.
_MANTISSA_INTERVAL = Value("11", "i32")


def _resized(b: Builder, v: Value, lanes: int) -> Value:
    """The first ``lanes`` lanes of ``v``; lanes that it has not are poison."""
    have = width(v.type)
    if have == lanes:
        return v
    if have == 1:
        type_ = vector(v.type, lanes)
        return b.value(type_, f"insertelement {type_} poison, {v}, i64 0")
    if lanes == 1:
        return b.extract(v, 0)
    return b.shuffle(v, None, [min(i, have) for i in range(lanes)])


def _whole(apply: Callable[..., Value], *args: Lane) -> Lane:
    """Apply an operation on 512-bit registers to lanes of any width."""
    b, count = args[0].b, args[0].lanes
    full = 8 if args[0].element in ("double", "i64") else 16
    values = [a.v for a in args]
    if count <= full:
        wide = apply(*(_resized(b, v, full) for v in values))
        return Lane(b, _resized(b, wide, count))
    half = count // 2
    parts = [
        _whole(apply, *(Lane(b, b.shuffle(v, None, range(i, i + half))) for v in values)).v
        for i in (0, half)
    ]
    return Lane(b, b.shuffle(parts[0], parts[1], range(count)))


def _name(name: str, v: Value) -> str:
    return f"llvm.x86.avx512.{name}.{'pd' if scalar(v.type) == 'double' else 'ps'}.512"


def _all(v: Value) -> Value:
    return const(f"i{width(v.type)}", -1)


def scalef(x: Lane, n: Lane, kept: Lane | None = None) -> Lane:
    """``x * 2 ** floor(n)``, rounded once, with overflow and underflow as they should be.

    It is zero where it is not ``kept``: what underflows takes a hundred times as long.
    """

    def apply(x: Value, n: Value, *kept: Value) -> Value:
        zero, whole = const(x.type, 0), _all(x)
        mask = b.cast("bitcast", kept[0], whole.type) if kept else whole
        return b.call(x.type, _name("mask.scalef", x), x, n, zero, mask, _CURRENT_ROUNDING)

    b = x.b
    return _whole(apply, x, n, *([kept] if kept else []))


def exponent(x: Lane) -> Lane:
    """``floor(log2 |x|)`` as a float; minus infinity for zero, infinity for infinity."""

    def apply(x: Value) -> Value:
        zero = const(x.type, 0)
        return b.call(x.type, _name("mask.getexp", x), x, zero, _all(x), _CURRENT_ROUNDING)

    b = x.b
    return _whole(apply, x)


def significand(x: Lane) -> Lane:
    """The mantissa scaled into [3/4, 3/2); one for zero and infinity, NaN for negative numbers."""

    def apply(x: Value) -> Value:
        zero = const(x.type, 0)
        args = (x, _MANTISSA_INTERVAL, zero, _all(x), _CURRENT_ROUNDING)
        return b.call(x.type, _name("mask.getmant", x), *args)

    b = x.b
    return _whole(apply, x)


def inverse(x: Lane) -> Lane:
    """An approximation of ``1 / x`` with a relative error below 2^-14."""

    def apply(x: Value) -> Value:
        return b.call(x.type, _name("rcp14", x), x, const(x.type, 0), _all(x))

    b = x.b
    return _whole(apply, x)


def lookup(index: Lane, table: Sequence[float]) -> Lane:
    """Entries of a table that fills one register or two; only the low bits of ``index`` count."""

    def apply(index: Value) -> Value:
        full = width(index.type)
        type_ = vector("double" if full == 8 else "float", full)
        kind = "pd" if full == 8 else "ps"
        low = lanes(type_, table[:full])
        if len(table) == full:
            name = "permvar.df" if full == 8 else "permvar.sf"
            return b.call(type_, f"llvm.x86.avx512.{name}.512", low, index)
        high = lanes(type_, table[full:])
        return b.call(type_, f"llvm.x86.avx512.vpermi2var.{kind}.512", low, index, high)

    b = index.b
    return _whole(apply, index)


# What becomes of a quiet NaN, a signalling one, zero, one, minus infinity, infinity, a negative
# number and a positive one: 0 leaves the result, 1 takes the operand, 3 NaN, 4 minus infinity.
_LOGARITHM = sum(what << (4 * kind) for kind, what in enumerate((1, 2, 4, 0, 3, 5, 3, 0)))


def logarithm_special(x: Lane, result: Lane) -> Lane:
    """Put in the logarithms of zero, infinity, NaN and negative numbers."""

    def apply(x: Value, result: Value) -> Value:
        whole = "i64" if scalar(x.type) == "double" else "i32"
        table = const(vector(whole, width(x.type)), _LOGARITHM)
        args = (result, x, table, Value("0", "i32"), _all(x), _CURRENT_ROUNDING)
        return b.call(x.type, _name("mask.fixupimm", x), *args)

    b = x.b
    return _whole(apply, x, result)
