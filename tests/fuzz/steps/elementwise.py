"""Steps that work element by element."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value
from tests.fuzz.values import REAL

SMOOTH = (
    "ag.tanh({x})", "ag.sigmoid({x})", "ag.sin({x})", "ag.softplus({x})", "ag.erf({x})",
    "ag.exp(ag.sin({x}))", "ag.log(1 + {x} * {x})", "ag.sqrt(1 + {x} * {x})",
    "1 / (1 + ag.exp(-{x}))", "{x}**3 / (1 + {x} * {x})", "{x} * 0.5", "-{x}", "ag.cos({x})",
    "ag.log1p({x} * {x})", "ag.arctan({x})", "ag.logaddexp({x}, -{x})", "ag.square({x})",
    "ag.expm1({x} * 0.1)", "ag.reciprocal(2 + ag.sin({x}))", "(1 + {x} * {x})**-0.5",
    "-ag.softplus(-{x})", "{x} * ag.sigmoid({x})",
)
WILD = (
    "ag.exp({x})", "ag.log({x})", "ag.sqrt({x})", "1 / {x}", "{x} / {x}", "{x} - {x}", "{x} * 0",
    "{x} + 0", "0 - {x}", "ag.log(ag.exp({x}))", "ag.exp(ag.log({x}))", "ag.sqrt({x})**2",
    "{x}**2", "{x}**-1", "{x}**-2", "{x}**0.5", "{x}**0", "ag.log1p({x})", "ag.expm1({x})",
    "ag.sinh({x})", "ag.cosh({x})", "ag.log(1 + ag.exp({x}))", "ag.log(1 - {x})", "ag.abs({x})",
    "ag.sign({x})", "ag.isnan({x})", "ag.isfinite({x})", "ag.nan_to_num({x})", "ag.tan({x})",
    "ag.arcsinh({x})", "ag.arctanh({x})", "ag.exp2({x})", "ag.log2({x})", "ag.log10({x})",
    "ag.relu({x})", "ag.sqrt({x} * {x})", "ag.cbrt({x})", "ag.signbit({x})", "ag.sinc({x})",
    "ag.floor({x})", "ag.trunc({x})", "ag.reciprocal({x})", "ag.maximum({x}, 0)", "-(-{x})",
)
#: Exact ones, by kind of dtype.
WHOLE = {
    "b": ("ag.logical_not({x})", "~{x}", "ag.copy({x})", "ag.where({x}, 2, -1)", "{x} ^ True"),
    "i": ("-{x}", "ag.abs({x})", "ag.sign({x})", "ag.relu({x})", "ag.square({x})", "{x} // 2",
          "{x} % 3", "~{x}", "ag.positive({x})", "{x}**2", "ag.clip({x}, -2, 3)"),
    "u": ("ag.square({x})", "{x} // 2", "{x} % 3", "~{x}", "{x} + 1", "ag.clip({x}, 1, 3)"),
    "f": ("-{x}", "ag.abs({x})", "ag.sign({x})", "ag.relu({x})", "ag.square({x})", "{x} // 2",
          "{x} % 3", "ag.clip({x}, -2, 3)", "{x}**2", "{x} / 2", "ag.maximum({x}, 0)"),
    "c": ("-{x}", "ag.conj({x})", "ag.real({x})", "ag.imag({x})", "{x} * {x}", "{x} * 1j"),
}
WILD_COMPLEX = ("ag.abs({x})", "ag.exp(0.1 * {x})", "1 / (3 + {x})", "ag.angle({x})",
                "ag.sqrt({x})", "ag.sin({x})", "ag.log(3 + {x})", "ag.tanh({x})")
DTYPES = REAL


def unary(p: Pool, x: Value) -> Line | None:
    if p.smooth and x.kind == "f":
        return Line(p.one(SMOOTH).format(x=x), False)
    if x.kind == "c" and p.kind == "wild":
        return Line(p.one(WILD_COMPLEX).format(x=x), False)
    if p.kind == "wild" and x.kind == "f" and p.chance(0.7):
        return Line(p.one((*WILD, *SMOOTH)).format(x=x), False)
    return Line(p.one(WHOLE[x.kind]).format(x=x))


def number(p: Pool, x: Value) -> Line | None:
    """A number of Python on one side."""
    if x.kind == "b":
        return Line(f"{x} {p.one('&|^')} {p.chance(0.5)}")
    if p.smooth:
        return Line(f"{x} {p.one('+-*')} {p.one([0.5, 1.5, -0.25, 2])}", False)
    c = p.one([0, 1, 2, 3] if x.kind == "u" else [-2, 0, 1, 2, 3, 1.0, 2.5, True])
    form = p.one(["{x} + {c}", "{c} - {x}", "{x} * {c}", "{x} - {c}", "{c} + {x} * {c}",
                  "ag.maximum({x}, {c})", "{x} == {c}", "{x} > {c}"])
    if x.kind == "c" and ("max" in form or ">" in form):
        return None
    return Line(form.format(x=x, c=c))


def whole_numbers(p: Pool, x: Value) -> Line | None:
    """Integers and booleans beside numbers of Python, beyond what their types hold, by zero."""
    if x.kind not in "iub":
        return None
    y = p.alike(x)
    if x.kind == "b":
        return Line(p.one([f"{x} + {y}", f"{x} * 3", f"{x} + 1", f"{x} * {y}", f"2 - {x}",
                           f"{x} @ {y}" if x.ndim == 1 else f"{x} ^ {y}", f"{x} < {y}",
                           f"{x}.sum() * {x}", f"{x} / 2", f"{x} + 0.5", f"ag.cumsum({x})"]))
    c = p.one([2, 3, 5, 7, 100, 127])
    return Line(p.one([f"{x} * {c}", f"{x} * {x} * {c}", f"{x} + {c}", f"{c} // {x}", f"{c} % {x}",
                       f"{x} // {y}", f"{x} % {y}", f"ag.gcd({x}, {y})", f"{x}**3", f"~{x} + 1",
                       f"ag.divmod({x}, {c})[{p.below(2)}]", f"ag.abs({x}) // {c}", f"{x} / {c}",
                       f"{x} << {c % 9}", f"-{x} // {c}", f"{x} > {c - 3}.5", f"{x} == {c}",
                       f"ag.maximum({x}, {c})", f"ag.minimum({x}, {y}) * {c}", f"{x} & {c}",
                       f"ag.float_power({x}, 2)", f"ag.true_divide({y}, {x})"]))


def binary(p: Pool, x: Value) -> Line | None:
    text, y = p.fitting(x)
    if p.smooth:
        form = p.one(["{x} + {y}", "{x} * {y}", "{x} - {y}", "{x} / (1 + {y} * {y})",
                      "ag.tanh({x}) * {y}", "ag.arctan2({x}, 3 + ag.sin({y}))",
                      "ag.hypot({x}, 1 + {y} * {y})", "ag.logaddexp({x}, {y})"])
        return Line(form.format(x=x, y=text), False)
    if "b" in x.kind + y.kind and p.chance(0.7):
        form = p.one(["ag.logical_and({x}, {y})", "ag.logical_or({x}, {y})",
                      "({x} != 0) ^ ({y} != 0)"])
        return Line(form.format(x=x, y=text))
    if p.kind == "wild" and p.chance(0.4) and "c" not in x.kind + y.kind:
        form = p.one(["{x} / {y}", "{x} / {y} * {y}", "{x} * ({y} / {x})", "ag.hypot({x}, {y})",
                      "ag.arctan2({x}, {y})", "ag.logaddexp({x}, {y})", "ag.abs({x})**{y}",
                      "ag.fmax({x}, {y})", "ag.copysign({x}, {y})", "{x} // {y}", "{x} % {y}"])
        return Line(form.format(x=x, y=text), False)
    forms = ["{x} + {y}", "{x} * {y}", "{x} - {y}", "{x} == {y}", "{y} - {x}"]
    if "c" not in x.kind + y.kind:
        forms += ["ag.maximum({x}, {y})", "ag.minimum({x}, {y})", "{x} < {y}",
                  "ag.where({x} > {y}, {x}, {y} * 2)"]
    return Line(p.one(forms).format(x=x, y=text))


def where(p: Pool, x: Value) -> Line | None:
    if p.smooth:
        n = x.shape[-1] if x.ndim else 1
        return Line(f"ag.where(ag.arange({n}) % 2 == 0, {x}, -{x})", False)
    (y, _), (z, mask) = p.fitting(x), p.fitting(x)
    asked = z if mask.kind == "b" else f"{z} != 0" if mask.kind == "c" else f"{z} > 0"
    return Line(p.one([f"ag.where({asked}, {x}, {y})", f"ag.where({asked}, {x}, 0)"]))


def cast(p: Pool, x: Value) -> Line | None:
    if p.smooth:
        return Line(f"{x}.astype({p.one(['float32', 'float64'])!r})", False)
    if x.kind == "c":
        return Line(f"{x}.astype({p.one(['complex64', 'complex128', 'bool'])!r})")
    dtype = p.one(DTYPES)
    if x.kind == "f" and dtype[0] in "iu":
        least = 0 if dtype[0] == "u" else -100
        return Line(f"ag.clip({x}, {least}, 100).astype({dtype!r})")
    return Line(f"{x}.astype({dtype!r})", x.kind != "f" or dtype[0] != "b")


def divided(p: Pool, x: Value) -> Line | None:
    text, y = p.fitting(x)
    if p.smooth or "b" in x.kind + y.kind or "c" in x.kind + y.kind:
        return None
    y0 = text if p.kind == "wild" and p.chance(0.3) else f"ag.where({text} == 0, 3, {text})"
    return Line(p.one([f"{x} // {y0}", f"{x} % {y0}", f"ag.fmod({x}, {y0})", f"5 % {y0}",
                       f"7 // {y0}", f"{x} / {y0}"]))


def rounded(p: Pool, x: Value) -> Line | None:
    if p.smooth or x.kind != "f":
        return None
    how = p.one(["floor", "ceil", "trunc", "round", "rint"])
    return Line(f"ag.{how}({x} / {p.one([2, 4])})")


def bits(p: Pool, x: Value) -> Line | None:
    if x.kind not in "iu":
        return None
    y = p.alike(x)
    return Line(p.one([f"{x} & {y}", f"{x} | {y}", f"{x} ^ {y}", f"{x} << {p.below(3)}",
                       f"{x} >> {p.below(3)}", f"ag.bitwise_invert({x} & 7)"]))


def complex_parts(p: Pool, x: Value) -> Line | None:
    """Real numbers made by way of complex ones."""
    if x.dtype.name not in ("float32", "float64") or p.kind == "wild":
        return None
    y = p.alike(x)
    dtype = "complex64" if x.dtype.name == "float32" else "complex128"
    z = f"({x} + {y} * np.array(1j, {dtype!r}))"
    whole = [f"ag.real({z} * ag.conj({z}))", f"ag.imag({z} * {z})",
             f"ag.real(ag.sum({z} * (1 - 2j)))", f"ag.imag({z}.reshape(-1)[::-1] * 1j)"]
    if not p.smooth:
        return Line(p.one(whole))
    return Line(p.one([f"ag.tanh({whole[0]})", f"ag.abs({z} + 3j)", f"ag.real(ag.exp({z} * 0.1))",
                       f"ag.imag({z} / (3 + {z} * 1j / 9))"]), False)


MAKERS = (unary, unary, unary, number, whole_numbers, whole_numbers, binary, binary, binary,
          where, cast, divided, rounded, bits,
          complex_parts)
