"""Integer operations with NumPy's meaning: wraparound, no traps, no undefined results."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.llvm.builder import Builder, Value, const, scalar, vector, width

_Binary = Callable[[Builder, bool, Value, Value], Value]


def _bits(type_: str) -> int:
    return int(scalar(type_)[1:])


def _guarded(b: Builder, signed: bool, x: Value, y: Value) -> tuple[Value, Value]:
    """A divisor that cannot trap, and where the true one is zero.

    INT_MIN / -1 becomes INT_MIN / 1, which is what wraparound gives.
    """
    zero = b.icmp("eq", y, const(y.type, 0))
    bad = zero
    if signed:
        least = b.icmp("eq", x, const(x.type, -(1 << (_bits(x.type) - 1))))
        minus = b.icmp("eq", y, const(y.type, -1))
        bad = b.op("or", zero, b.op("and", least, minus))
    return b.select(bad, const(y.type, 1), y), zero


def _via_float(b: Builder, signed: bool, x: Value, y: Value) -> Value | None:
    """The truncated quotient by a float division, which vectorises and is exact; None if too wide.

    A quotient of n-bit integers that is not whole is at least 2^-n of itself away from the next
    whole number, which a float of more than n + 1 digits does not round away.
    """
    bits, lanes = _bits(x.type), width(x.type)
    if bits > 32 or lanes == 1:
        return None
    real = vector("float" if bits <= 16 else "double", lanes)
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    quotient = b.fdiv(b.cast(to, x, real), b.cast(to, y, real))
    return b.cast(back, quotient, x.type)


def _quotient(b: Builder, signed: bool, x: Value, y: Value) -> Value:
    found = _via_float(b, signed, x, y)
    return found if found is not None else b.op("sdiv" if signed else "udiv", x, y)


def _divided(b: Builder, signed: bool, x: Value, y: Value, floor: bool) -> tuple[Value, Value]:
    """Quotient and remainder, both zero where ``y`` is zero."""
    safe, zero = _guarded(b, signed, x, y)
    q = _quotient(b, signed, x, safe)
    r = b.sub(x, b.mul(q, safe))
    if signed and floor:
        nothing = const(x.type, 0)
        differs = b.icmp("slt", b.op("xor", r, safe), nothing)
        fix = b.op("and", differs, b.icmp("ne", r, nothing))
        q = b.add(q, b.cast("sext", fix, x.type))
        r = b.select(fix, b.add(r, safe), r)
    none = const(x.type, 0)
    return b.select(zero, none, q), b.select(zero, none, r)


def _shift_left(b: Builder, signed: bool, x: Value, y: Value) -> Value:
    bits = const(x.type, _bits(x.type))
    inside = b.icmp("ult", y, bits)
    safe = b.select(inside, y, const(y.type, 0))
    return b.select(inside, b.op("shl", x, safe), const(x.type, 0))


def _shift_right(b: Builder, signed: bool, x: Value, y: Value) -> Value:
    bits = _bits(x.type)
    inside = b.icmp("ult", y, const(y.type, bits))
    if signed:
        return b.op("ashr", x, b.select(inside, y, const(y.type, bits - 1)))
    safe = b.select(inside, y, const(y.type, 0))
    return b.select(inside, b.op("lshr", x, safe), const(x.type, 0))


def _power(b: Builder, signed: bool, x: Value, y: Value) -> Value:
    """Repeated squaring; a negative exponent gives the truncated reciprocal (0, 1 or -1)."""
    one, zero = const(x.type, 1), const(x.type, 0)
    start, stop = Value("0", "i64"), Value(str(_bits(x.type)), "i64")
    exponent = b.intrinsic("abs", y, Value("false", "i1")) if signed else y
    with b.loop(start, stop, carried=(one, x, exponent), nonempty=True) as loop:
        result, base, rest = loop.carried
        odd = b.icmp("ne", b.op("and", rest, one), zero)
        product = b.select(odd, b.mul(result, base), result)
        loop.carry(product, b.mul(base, base), b.op("lshr", rest, one))
    result = loop.results[0]
    if not signed:
        return result
    unit = b.icmp("ult", b.add(x, one), const(x.type, 3))
    unit = b.op("and", unit, b.icmp("ne", x, zero))
    vanishes = b.op("and", b.icmp("slt", y, zero), b.op("xor", unit, const(unit.type, True)))
    return b.select(vanishes, zero, result)


def _mulhi(b: Builder, signed: bool, x: Value, y: Value) -> Value:
    """Return the upper half of the bits of a product."""
    bits, lanes = _bits(x.type), width(x.type)
    wide = vector(f"i{2 * bits}", lanes)
    extend = "sext" if signed else "zext"
    product = b.mul(b.cast(extend, x, wide), b.cast(extend, y, wide))
    return b.cast("trunc", b.op("lshr", product, const(wide, bits)), x.type)


def _extreme(name: str) -> _Binary:
    return lambda b, signed, x, y: b.intrinsic(f"{'s' if signed else 'u'}{name}", x, y)


def _compare(signed_name: str, unsigned_name: str) -> _Binary:
    return lambda b, signed, x, y: b.icmp(signed_name if signed else unsigned_name, x, y)


def _plain(name: str) -> _Binary:
    return lambda b, signed, x, y: b.op(name, x, y)


_BINARY: dict[str, _Binary] = {
    "add": _plain("add"),
    "subtract": _plain("sub"),
    "multiply": _plain("mul"),
    "floor_divide": lambda b, signed, x, y: _divided(b, signed, x, y, True)[0],
    "remainder": lambda b, signed, x, y: _divided(b, signed, x, y, True)[1],
    "fmod": lambda b, signed, x, y: _divided(b, signed, x, y, False)[1],
    "power": _power,
    "maximum": _extreme("max"),
    "minimum": _extreme("min"),
    "fmax": _extreme("max"),
    "fmin": _extreme("min"),
    "equal": _compare("eq", "eq"),
    "not_equal": _compare("ne", "ne"),
    "less": _compare("slt", "ult"),
    "less_equal": _compare("sle", "ule"),
    "greater": _compare("sgt", "ugt"),
    "greater_equal": _compare("sge", "uge"),
    "bitwise_and": _plain("and"),
    "bitwise_or": _plain("or"),
    "bitwise_xor": _plain("xor"),
    "bitwise_left_shift": _shift_left,
    "bitwise_right_shift": _shift_right,
    "mulhi": _mulhi,
}


def _sign(b: Builder, signed: bool, x: Value) -> Value:
    one = const(x.type, 1)
    if not signed:
        return b.intrinsic("umin", x, one)
    return b.intrinsic("smax", b.intrinsic("smin", x, one), const(x.type, -1))


def _false(b: Builder, x: Value) -> Value:
    return b.icmp("ne", x, x)


_UNARY: dict[str, Callable[[Builder, bool, Value], Value]] = {
    "negative": lambda b, signed, x: b.sub(const(x.type, 0), x),
    "abs": lambda b, signed, x: b.intrinsic("abs", x, Value("false", "i1")) if signed else x,
    "sign": _sign,
    "square": lambda b, signed, x: b.mul(x, x),
    "reciprocal": lambda b, signed, x: _divided(b, signed, const(x.type, 1), x, False)[0],
    "bitwise_invert": lambda b, signed, x: b.op("xor", x, const(x.type, -1)),
    "floor": lambda b, signed, x: x,
    "ceil": lambda b, signed, x: x,
    "trunc": lambda b, signed, x: x,
    "round": lambda b, signed, x: x,
    "isnan": lambda b, signed, x: _false(b, x),
    "isinf": lambda b, signed, x: _false(b, x),
    "isfinite": lambda b, signed, x: b.icmp("eq", x, x),
    "signbit": lambda b, signed, x: b.icmp("slt", x, const(x.type, 0)) if signed else _false(b, x),
}
NAMES = frozenset(_BINARY) | frozenset(_UNARY)


def emit(b: Builder, name: str, dtype: str, args: tuple[Value, ...]) -> Value:
    """Emit an operation on integers of one dtype (or on booleans, which compare as unsigned)."""
    signed = dtype.startswith("int")
    if name in _UNARY:
        return _UNARY[name](b, signed, args[0])
    if name in _BINARY:
        return _BINARY[name](b, signed, *args)
    raise TypeError(f"{name}({dtype}): floating-point only; cast the arguments first")
