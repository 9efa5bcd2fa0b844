"""One scalar operation of the loop language as LLVM instructions, on scalars or vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module

from agnesi.codegen.arithmetic import halves, integers
from agnesi.codegen.llvm.builder import Builder, Value, const, is_float, scalar, vector, width
from agnesi.codegen.vmath.lane import Lane, mad, outlined, select
from agnesi.core.ir.costs import is_heavy

_REGISTER = {
    "bool": "i1",
    "float16": "half",
    "bfloat16": "bfloat",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def register(dtype: str, lanes: int = 1) -> str:
    """LLVM type in which a value of ``dtype`` is computed."""
    return vector(_REGISTER[dtype], lanes)


def _unsigned(dtype: str) -> bool:
    return dtype.startswith(("uint", "bool"))


# -- conversions ------------------------------------------------------------------------------
_HALVES = ("float16", "bfloat16")


def _to_half(b: Builder, value: Value, target: str) -> Value:
    """Round a float64 to 16 bits once: through a float32 that is rounded to odd."""
    x = Lane(b, value)
    single = x.cast("fptrunc", "float")
    back = single.cast("fpext", "double")
    bits = single.bits()
    bits = select(back.abs() > x.abs(), bits - 1, bits)
    # A NaN keeps its bits; an infinity is exact.
    odd = select((back < x) | (back > x), bits | 1, bits)
    return halves.truncate(b, odd.real().v, _REGISTER[target])


def _float_to_float(b: Builder, value: Value, source: str, target: str) -> Value:
    lanes = width(value.type)
    if source == "float64" and target in _HALVES:
        return _to_half(b, value, target)
    if source in _HALVES:
        single = halves.extend(b, value)
        return single if target == "float32" else cast(b, single, "float32", target)
    if target in _HALVES:
        return halves.truncate(b, value, _REGISTER[target])
    name = "fpext" if target == "float64" else "fptrunc"
    return b.cast(name, value, register(target, lanes))


def _float_to_int(b: Builder, value: Value, source: str, target: str) -> Value:
    """Truncate to an integer; for NaN and values out of range the result is the processor's, and so
    NumPy's.
    """
    lanes = width(value.type)
    if source in _HALVES:
        value = halves.extend(b, value)
    bits = int(target.removeprefix("u").removeprefix("int"))
    if target not in ("uint32", "uint64"):
        result = _truncated(b, value, max(bits, 32))
    elif source in _HALVES and bits == 32:
        return b.cast("trunc", _truncated(b, value, 64), register(target, lanes))
    else:  # the upper half of the range as the lower one, with another first bit
        half = const(value.type, 2.0 ** (bits - 1))
        beyond = b.fcmp("oge", value, half)
        below = b.select(beyond, b.op("fsub", value, half), value)
        result = _truncated(b, below, bits)
        upper = b.op("xor", result, const(result.type, -(1 << bits - 1)))
        result = b.select(beyond, upper, result)
    return b.cast("trunc", result, register(target, lanes)) if bits < 32 else result


def _truncated(b: Builder, value: Value, bits: int) -> Value:
    """Convert to a signed integer; NaN and values out of range give the least integer, as x86
    does."""
    wide = vector(f"i{bits}", width(value.type))
    fits = (Lane(b, value).abs() < 2.0 ** (bits - 1)).v
    return b.select(fits, b.cast("fptosi", value, wide), const(wide, -(1 << bits - 1)))


def _int_to_int(b: Builder, value: Value, source: str, target: str) -> Value:
    to = register(target, width(value.type))
    old = 1 if source == "bool" else int(source.removeprefix("u").removeprefix("int"))
    new = int(target.removeprefix("u").removeprefix("int"))
    if old == new:
        return value
    if old > new:
        return b.cast("trunc", value, to)
    return b.cast("zext" if _unsigned(source) else "sext", value, to)


def _int_to_float(b: Builder, value: Value, source: str, target: str) -> Value:
    lanes = width(value.type)
    name = "uitofp" if _unsigned(source) else "sitofp"
    if target not in _HALVES:
        return b.cast(name, value, register(target, lanes))
    # Every integer that float16 can hold is exact in float32, so nothing is rounded twice.
    return halves.truncate(b, b.cast(name, value, vector("float", lanes)), _REGISTER[target])


def cast(b: Builder, value: Value, from_dtype: str, to_dtype: str) -> Value:
    """Convert as NumPy does; a float outside the range of an integer gives no poison."""
    if from_dtype == to_dtype:
        return value
    floating = "float" in from_dtype, "float" in to_dtype
    if to_dtype == "bool":
        if from_dtype in _HALVES:
            value = halves.extend(b, value)
        zero = const(value.type, 0)
        return b.fcmp("une", value, zero) if floating[0] else b.icmp("ne", value, zero)
    if floating == (True, True):
        return _float_to_float(b, value, from_dtype, to_dtype)
    if floating == (True, False):
        return _float_to_int(b, value, from_dtype, to_dtype)
    if floating == (False, True):
        return _int_to_float(b, value, from_dtype, to_dtype)
    return _int_to_int(b, value, from_dtype, to_dtype)


# -- float operations -------------------------------------------------------------------------
def _contracted(name: str) -> Callable[[Lane, Lane], Lane]:
    return lambda x, y: Lane(x.b, x.b.op(f"{name} contract", x.v, y.v))


def _sign(x: Lane) -> Lane:
    one = x.like(1.0).copysign(x)
    return select((x < 0.0) | (x > 0.0), one, select(x.isnan(), x, 0.0))


def _split(x: Lane) -> tuple[Lane, Lane]:
    """Return the upper half of a number's digits, and the rest (Veltkamp 1968)."""
    scaled = x * (2.0 ** ((x.mantissa + 2) // 2) + 1)
    high = scaled - (scaled - x)
    return high, x - high


def _fma(x: Lane, y: Lane, z: Lane) -> Lane:
    """``x * y + z`` of the exact product; its rounding error is computed where no instruction does
    it (Dekker 1971), so far as nothing overflows.
    """
    if x.fused:
        return mad(x, y, z)
    product, (a, b), (c, d) = x * y, _split(x), _split(y)
    return (product + z) + (((a * c - product) + a * d + b * c) + b * d)


_Function = Callable[..., Lane]

_FLOAT: dict[str, _Function] = {
    "add": _contracted("fadd"),
    "subtract": _contracted("fsub"),
    "multiply": _contracted("fmul"),
    "divide": lambda x, y: x / y,
    "negative": lambda x: -x,
    "abs": Lane.abs,
    "sign": _sign,
    "square": lambda x: _contracted("fmul")(x, x),
    "sqrt": Lane.sqrt,
    "reciprocal": lambda x: 1.0 / x,
    "isnan": Lane.isnan,
    "isinf": lambda x: x.abs().eq(math.inf),
    "isfinite": lambda x: x.abs() < math.inf,
    "signbit": lambda x: x.bits() < 0,
    "copysign": Lane.copysign,
    "maximum": lambda x, y: select(x.isnan(), x, select(x > y, x, y)),
    "minimum": lambda x, y: select(x.isnan(), x, select(x < y, x, y)),
    "fmax": lambda x, y: select(x.isnan(), y, select(y > x, y, x)),
    "fmin": lambda x, y: select(x.isnan(), y, select(y < x, y, x)),
    "equal": Lane.eq,
    "not_equal": Lane.ne,
    "less": Lane.__lt__,
    "less_equal": Lane.__le__,
    "greater": Lane.__gt__,
    "greater_equal": Lane.__ge__,
    "fma": _fma,
}
#: Names of functions in files of ``vmath``, which are loaded when one of theirs is first needed.
_FILES = {
    "erf": ("erf", "erfc", "erfinv"),
    "explog": ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    "gamma": ("lgamma", "digamma"),
    "hyperbolic": ("sinh", "cosh", "asinh", "acosh", "atanh", "logaddexp", "tanh", "sigmoid",
                   "softplus", "sech_squared"),
    "power": ("power", "rsqrt", "cbrt", "hypot"),
    "rounding": ("floor_divide", "remainder", "fmod", "floor", "ceil", "trunc", "round"),
    "trig": ("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
}
#: Functions that ``brief`` has for numbers, too.
_BRIEF = ("sin", "cos", "tanh")
_FILE_OF = {name: file for file, names in _FILES.items() for name in names}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_BOOL = {
    "add": "or",
    "multiply": "and",
    "maximum": "or",
    "fmax": "or",
    "minimum": "and",
    "fmin": "and",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "square": "and",
}
_FLOAT_NAMES = frozenset(_FLOAT) | frozenset(_FILE_OF)
NAMES = _FLOAT_NAMES | frozenset(_LOGICAL) | integers.NAMES | {"logical_not", "where"}


def _logical(b: Builder, name: str, dtypes: tuple[str, ...], args: tuple[Value, ...]) -> Value:
    truth = [cast(b, a, d, "bool") for a, d in zip(args, dtypes, strict=True)]
    if name == "logical_not":
        return b.op("xor", truth[0], const(truth[0].type, True))
    return b.op(_LOGICAL[name], *truth)


def _boolean(b: Builder, name: str, args: tuple[Value, ...]) -> Value | None:
    """The operations that mean something else on booleans than on integers; None for the rest."""
    if name in _BOOL:
        return b.op(_BOOL[name], args[0], args[-1])
    if name in ("bitwise_invert", "logical_not"):
        return b.op("xor", args[0], const(args[0].type, True))
    return args[0] if name == "abs" else None


def _function(name: str) -> _Function:
    """Return the emitter of a function of floats."""
    found = _FLOAT.get(name)
    if found is None:
        file = import_module(f"agnesi.codegen.vmath.{_FILE_OF[name]}")
        found = _FLOAT[name] = getattr(file, name)
    return found


def _floating(b: Builder, name: str, args: tuple[Value, ...]) -> Value:
    kind = scalar(args[0].type)
    half = kind in ("half", "bfloat")
    if half:
        args = tuple(halves.extend(b, a) for a in args)
    operands = [Lane(b, a) for a in args]
    if b.calls_functions and is_heavy(name):
        result = outlined(name, _function(name), *operands).v
    else:
        result = _function(name)(*operands).v
    return halves.truncate(b, result, kind) if half and is_float(result.type) else result


def emit(b: Builder, name: str, dtypes: tuple[str, ...], args: tuple[Value, ...]) -> Value:
    """Emit the operation ``name``; ``dtypes`` are those of ``args``, already promoted.

    The result is in register form: ``i1`` for the names in ``loops.BOOL_RESULTS``.
    """
    if name not in NAMES:
        raise ValueError(f"{name}: no scalar operation of this name; there are {sorted(NAMES)}")
    if name == "where":
        return b.select(*args)
    if name == "logical_not" or name in _LOGICAL:
        return _logical(b, name, dtypes, args)
    if is_float(args[0].type):
        if name not in _FLOAT_NAMES:
            raise TypeError(f"{name}({', '.join(dtypes)}): integers only; cast the arguments first")
        return _floating(b, name, args)
    if dtypes[0] == "bool" and (result := _boolean(b, name, args)) is not None:
        return result
    return integers.emit(b, name, dtypes[0], args)


def emit_alone(b: Builder, name: str, dtypes: tuple[str, ...], args: tuple[Value, ...]) -> Value:
    """Emit an operation on a scalar, with a call for an expensive function.

    Long programs of scalars stay short that way, for the compiler and for the processor's caches.
    """
    if not is_heavy(name) or args[0].type not in ("float", "double"):
        return emit(b, name, dtypes, args)
    if name in _BRIEF:
        from agnesi.codegen.vmath.low_latency import FUNCTIONS

        function = FUNCTIONS[name]
    else:
        function = _function(name)
    return outlined(name, function, *(Lane(b, a) for a in args)).v


def difference(b: Builder, dtypes: tuple[str, ...], args: tuple[Value, ...]) -> Value:
    """Emit a difference of two products, each of which is rounded: equal ones leave nothing, while
    a fused multiply-add would leave the rounding error of one."""
    if args[0].type.rstrip(">").split()[-1] in ("float", "double"):
        return b.op("fsub", *args)
    return emit(b, "subtract", dtypes, args)


def sine_and_cosine(b: Builder, x: Value) -> tuple[Value, Value]:
    """Both of a float64 that is no lane of a vector, by one call."""
    from agnesi.codegen.vmath import low_latency

    sine, cosine = low_latency.sine_and_cosine(Lane(b, x))
    return sine.v, cosine.v
