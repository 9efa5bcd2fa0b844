"""Functions of complex numbers in real operations of the loop language.

A complex number is a pair of real expressions.  Signs of zeros choose the side of branch cuts, and
the results for infinities and NaN are those of C99 (Annex G) and NumPy.  Inverse functions follow
Kahan, "Branch cuts for complex elementary functions" (1987); quotients Smith (1962).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.ir.loops import Expr, call, where

_PI, _LN2 = math.pi, math.log(2)
Pair = tuple[Expr, Expr]


def _like(x: Expr, value: float) -> Expr:
    """A number of the same dtype."""
    return loops.const(value, x.dtype)


def _limits(x: Expr) -> Any:
    """NumPy's ``finfo`` of the dtype."""
    return np.finfo(x.dtype)


def _select2(condition: Expr, a: Pair, b: Pair) -> Pair:
    return where(condition, a[0], b[0]), where(condition, a[1], b[1])


def _swap(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """The circular function of a hyperbolic one: ``f(z) = -i h(iz)``, parts exchanged twice."""

    def swapped(z: Pair) -> Pair:
        re, im = function((z[1], z[0]))
        return im, re

    return swapped


# -- arithmetic ---------------------------------------------------------------------------------
def _multiply(z: Pair, w: Pair) -> Pair:
    # A sum, which is contracted (differences are not), as NumPy's vector code does.
    return z[0] * w[0] + -z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _multiply_infinities(z: Pair, w: Pair) -> Pair:
    """The product where a factor is infinite: an infinity, even if its other part is NaN (C
    standard, Annex G.5.1)."""
    plain = re, im = _multiply(z, w)
    zero, one = _like(re, 0.0), _like(re, 1.0)

    def infinite(v: Expr) -> Expr:
        return abs(v).eq(math.inf)

    def boxed(v: Pair) -> Pair:
        return tuple(call("copysign", where(infinite(p), one, zero), p) for p in v)  # type: ignore

    def known(v: Pair) -> Pair:
        return tuple(where(call("isnan", p), call("copysign", zero, p), p) for p in v)  # type: ignore

    far = [infinite(v[0]) | infinite(v[1]) for v in (z, w)]
    a = _select2(far[0], boxed(z), _select2(far[1], known(z), z))
    b = _select2(far[1], boxed(w), _select2(far[0], known(w), w))
    found = _multiply(a, b)
    mend = call("isnan", re) & call("isnan", im) & (far[0] | far[1])
    return _select2(mend, (found[0] * math.inf, found[1] * math.inf), plain)


def _divide(z: Pair, w: Pair) -> Pair:
    swapped = abs(w[0]) < abs(w[1])
    large, little = where(swapped, w[1], w[0]), where(swapped, w[0], w[1])
    ratio = where(large.eq(0), large, little / large)
    scale = 1 / (large + little * ratio)
    a, b = where(swapped, z[1], z[0]), where(swapped, z[0], z[1])
    im = where(swapped, a * ratio - b, b - a * ratio)
    re = (a + b * ratio) * scale
    zero = large.eq(0) & little.eq(0)
    size = abs(large)
    return where(zero, z[0] / size, re), where(zero, z[1] / size, im * scale)


def _reciprocal(z: Pair) -> Pair:
    swapped = abs(z[0]) < abs(z[1])
    large, little = where(swapped, z[1], z[0]), where(swapped, z[0], z[1])
    ratio = little / large
    below = large + little * ratio
    one, other = 1 / below, ratio / below
    return where(swapped, other, one), -where(swapped, one, other)


def _square(z: Pair) -> Pair:
    both = z[0] * z[1]
    return z[0] * z[0] - z[1] * z[1], both + both


def _sqrt(z: Pair) -> Pair:
    a, b = z
    limits = _limits(a)
    size = call("maximum", abs(a), abs(b))
    digits = limits.nmant // 2 + 1
    huge, tiny = size > float(limits.max) / 8, size < float(limits.tiny) * 2.0 ** (2 * digits)
    up = where(huge, 0.25, where(tiny, _like(a, 4.0**digits), 1.0))
    down = where(huge, 2.0, where(tiny, _like(a, 2.0**-digits), 1.0))
    x, y = a * up, b * up
    t = call("sqrt", (abs(x) + call("hypot", x, y)) * 0.5)
    other = where(t.eq(0), y, y / (t + t))
    left = x < 0
    re, im = where(left, abs(other), t), where(left, call("copysign", t, b), other)
    re, im = re * down, im * down
    endless = abs(a).eq(math.inf)
    re = where(endless, where(a > 0, a, where(b.ne(b), b, 0.0)), re)
    im = where(endless, where(a > 0, where(b.ne(b), b, call("copysign", 0.0, b)),
                                call("copysign", math.inf, b)), im)
    above = abs(b).eq(math.inf)
    return where(above, abs(b), re), where(above, b, im)


# -- exponentials and logarithms ----------------------------------------------------------------
def _large_exp(x: Expr) -> tuple[Expr, Expr, float]:
    """Return whether ``exp(x)`` may overflow, ``exp(x - step)``, and the factor ``exp(step)`` left
    out.
    """
    most = math.floor(math.log(float(_limits(x).max)))
    step = most // 2
    return x > most - 1, call("exp", x - step), math.exp(step)


def _polar_exp(x: Expr, size: Expr, angle: Expr) -> Pair:
    """``size * exp(i angle)`` where ``size = exp(x)``, which may overflow before its parts do."""
    over, part, factor = _large_exp(x)
    c, s = call("cos", angle), call("sin", angle)
    re = where(over, part * c * factor, size * c)
    im = where(angle.eq(0), angle, where(over, part * s * factor, size * s))
    not_finite = ~call("isfinite", angle)
    nothing = not_finite & x.eq(-math.inf)
    endless = not_finite & x.eq(math.inf)
    zero = _like(x, 0.0)
    return where(endless, x, where(nothing, zero, re)), where(nothing, zero, im)


def _exp(z: Pair) -> Pair:
    return _polar_exp(z[0], call("exp", z[0]), z[1])


def _expm1(z: Pair) -> Pair:
    a, b = z
    half = call("sin", b * 0.5)
    minus = call("expm1", a)
    re = minus * call("cos", b) - 2.0 * half * half
    im = where(b.eq(0), b, call("exp", a) * call("sin", b))
    whole = _exp(z)
    far = ~(call("isfinite", a) & call("isfinite", b)) | (a > 40.0)
    re, im = _select2(far, (whole[0] - 1.0, whole[1]), (re, im))
    return where(b.eq(0), minus + 0.0, re), im


def _less_one(m: Expr, n: Expr) -> Expr:
    """``m*m + n*n - 1`` in twice the digits, for ``m >= n >= 0`` and a result near zero."""
    mm, nn = call("fma", m, m, 0.0), call("fma", n, n, 0.0)
    rest = call("fma", m, m, -mm) + call("fma", n, n, -nn)
    return ((mm - 1.0) + nn) + rest


def _log_size(a: Expr, b: Expr) -> Expr:
    """Logarithm of the absolute value."""
    x, y = abs(a), abs(b)
    m, n = call("maximum", x, y), call("minimum", x, y)
    limits = _limits(a)
    huge, tiny = m > float(limits.max) / 4, m < float(limits.tiny) * 2.0**limits.nmant
    exponent = limits.nmant + 4
    scale = where(huge, 0.25, where(tiny, _like(m, 2.0**exponent), 1.0))
    shift = where(huge, 2 * _LN2, where(tiny, _like(m, -exponent * _LN2), 0.0))
    far = call("log", call("hypot", x * scale, y * scale)) + shift
    near = (m > 0.5) & (m < 1.5) & (n < 1.5)
    return where(near, 0.5 * call("log1p", _less_one(m, n)), far)


def _log(z: Pair) -> Pair:
    return _log_size(*z), call("atan2", z[1], z[0])


def _log_to(base: float) -> Callable[[Pair], Pair]:
    def log(z: Pair) -> Pair:
        re, im = _log(z)
        return re * (1 / math.log(base)), im * (1 / math.log(base))

    return log


def _log1p(z: Pair) -> Pair:
    a, b = z
    far = _log((a + 1.0, b))
    near = (abs(a) < 0.5) & (abs(b) < 0.5)
    re = 0.5 * call("log1p", a + a + (a * a + b * b))
    return where(near, re, far[0]), far[1]


def _logaddexp(z: Pair, w: Pair) -> Pair:
    first = z[0] >= w[0]
    top, low = _select2(first, z, w), _select2(first, w, z)
    same = top[0].eq(low[0]) & top[1].eq(low[1]) & call("isinf", top[0])
    step = [where(same, 0.0, b - a) for a, b in zip(top, low, strict=True)]
    re, im = _log1p(_exp((step[0], step[1])))
    return top[0] + re, top[1] + im


def _power(z: Pair, w: Pair) -> Pair:
    re, im = _exp(_multiply_infinities(w, _log(z)))
    one, zero = _like(re, 1.0), _like(re, 0.0)
    nothing = z[0].eq(0) & z[1].eq(0)
    at_zero = where(w[0] > 0, zero, math.nan)
    flat = w[0].eq(0) & w[1].eq(0)
    re, im = where(nothing, at_zero, re), where(nothing, at_zero, im)
    return where(flat, one, re), where(flat, zero, im)


def _sigmoid(z: Pair) -> Pair:
    re, im = _exp((-z[0], -z[1]))
    return _reciprocal((re + 1.0, im))


# -- hyperbolic functions -----------------------------------------------------------------------
def _hyperbolic(z: Pair) -> tuple[Expr, Expr, Expr, Expr]:
    """``cosh a * cos b``, ``sinh a * sin b``, ``sinh a * cos b``, ``cosh a * sin b``."""
    a, b = z
    over, part, factor = _large_exp(abs(a))
    half = part * 0.5
    cosh = where(over, half, call("cosh", a))
    sinh = where(over, call("copysign", half, a), call("sinh", a))
    scale = where(over, _like(a, factor), 1.0)
    c, s = call("cos", b), call("sin", b)
    return cosh * c * scale, sinh * s * scale, sinh * c * scale, cosh * s * scale


def _sinh(z: Pair) -> Pair:
    a, b = z
    _, _, re, im = _hyperbolic(z)
    kept = (abs(a).eq(math.inf) | a.eq(0)) & ~call("isfinite", b)
    return where(kept, a, re), where(b.eq(0), b, im)


def _cosh(z: Pair) -> Pair:
    a, b = z
    re, im, _, _ = _hyperbolic(z)
    not_finite = ~call("isfinite", b)
    flat = call("copysign", 0.0, a) * call("copysign", 1.0, b)
    re = where(abs(a).eq(math.inf) & not_finite, abs(a), re)
    return re, where(b.eq(0) | (a.eq(0) & not_finite), flat, im)


def _tanh(z: Pair) -> Pair:
    a, b = z
    far = abs(a) > 0.5 * math.log(4 / float(_limits(a).eps)) + 2
    t, s = call("tan", b), call("sinh", a)
    beta = 1.0 + t * t
    rho = call("sqrt", 1.0 + s * s)
    below = 1.0 + beta * s * s
    re, im = beta * rho * s / below, t / below
    small = call("exp", -2.0 * abs(a))
    twist = 4.0 * call("sin", b) * call("cos", b) * small
    twist = where(abs(a).eq(math.inf), call("copysign", 0.0, b), twist)
    beyond = far & (call("isfinite", b) | abs(a).eq(math.inf))
    re, im = where(beyond, call("copysign", 1.0, a), re), where(far, twist, im)
    return where(a.eq(0), a, re), where(b.eq(0), b, im)


# -- inverse functions --------------------------------------------------------------------------
def _roots(z: Pair) -> tuple[Pair, Pair]:
    """Square roots of 1 - z and 1 + z."""
    return _sqrt((1.0 - z[0], -z[1])), _sqrt((1.0 + z[0], z[1]))


def _asinh_of(z: Pair, w: Pair) -> Expr:
    """``asinh(Im(conj(z) * w))``, where the product may overflow."""
    half = z[0] * 0.5
    product = half * w[1] - z[1] * 0.5 * w[0]
    huge = abs(product) > float(_limits(half).max) / 4
    value = call("asinh", where(huge, product, product + product))
    return where(huge, value + call("copysign", _LN2, product), value)


def _asin(z: Pair) -> Pair:
    a, b = z
    minus, plus = _roots(z)
    re = call("atan2", a, minus[0] * plus[0] - minus[1] * plus[1])
    im = _asinh_of(minus, plus)
    endless = call("isinf", a) | call("isinf", b)
    re = where(endless, call("atan2", a, abs(b)), where(a.eq(0), a, re))
    return re, where(endless, call("copysign", math.inf, b), im)


def _acos(z: Pair) -> Pair:
    a, b = z
    minus, plus = _roots(z)
    re = 2.0 * call("atan2", minus[0], plus[0])
    im = -_asinh_of(minus, plus)
    endless = call("isinf", a) | call("isinf", b)
    re = where(endless, call("atan2", abs(b), a), where(a.eq(0), _PI / 2, re))
    return re, where(endless, -call("copysign", math.inf, b), im)


def _acosh(z: Pair) -> Pair:
    re, im = _acos(z)
    return abs(im), call("copysign", re, z[1])


def _atanh(z: Pair) -> Pair:
    a, b = z
    limits = _limits(a)
    x = abs(a)
    off = 1.0 - x
    below = off * off + b * b
    re = 0.25 * call("log1p", 4.0 * x / below)
    close = 0.5 * (_LN2 - call("log", call("hypot", off, b)))
    re = where((below < float(limits.tiny) * 2.0**limits.nmant) & (x > 0.5), close, re)
    im = 0.5 * call("atan2", b + b, off * (1.0 + x) - b * b)
    size = call("hypot", x, b)
    far = call("maximum", x, abs(b)) > math.sqrt(float(limits.max)) / 4
    endless = call("isinf", a) | call("isinf", b)
    re = where(far, x / size / size, re)
    re = where(endless, 0.0, re)
    quarter = where(b.ne(b), b, call("copysign", _PI / 2, b))
    im = where(far | endless, quarter, im)
    return where(a.eq(0), a, call("copysign", re, a)), where(b.eq(0) & (off >= 0), b, im)


# -- the table ----------------------------------------------------------------------------------
#: Complex functions of complex numbers, by the name of the scalar operation.
COMPLEX: dict[str, Callable[..., Pair]] = {
    "complex": lambda re, im: (re, im),
    "where": _select2,
    "add": lambda z, w: (z[0] + w[0], z[1] + w[1]),
    "subtract": lambda z, w: (z[0] - w[0], z[1] - w[1]),
    "multiply": _multiply,
    "divide": _divide,
    "reciprocal": _reciprocal,
    "negative": lambda z: (-z[0], -z[1]),
    "conj": lambda z: (z[0], -z[1]),
    "square": _square,
    "sqrt": _sqrt,
    "rsqrt": lambda z: _reciprocal(_sqrt(z)),
    "exp": _exp,
    "exp2": lambda z: _polar_exp(z[0] * _LN2, call("exp2", z[0]), z[1] * _LN2),
    "expm1": _expm1,
    "log": _log,
    "log2": _log_to(2.0),
    "log10": _log_to(10.0),
    "log1p": _log1p,
    "logaddexp": _logaddexp,
    "power": _power,
    "sigmoid": _sigmoid,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "asinh": _swap(_asin),
    "acosh": _acosh,
    "atanh": _atanh,
    "sin": _swap(_sinh),
    "cos": lambda z: _cosh((-z[1], z[0])),
    "tan": _swap(_tanh),
    "asin": _asin,
    "acos": _acos,
    "atan": _swap(_atanh),
    "round": lambda z: (call("round", z[0]), call("round", z[1])),
}
#: Real numbers and truth values of complex numbers.
REAL: dict[str, Callable[..., Expr]] = {
    "real": lambda z: z[0],
    "imag": lambda z: z[1],
    "abs": lambda z: call("hypot", z[0], z[1]),
    "angle": lambda z: call("atan2", z[1], z[0]),
    "equal": lambda z, w: z[0].eq(w[0]) & z[1].eq(w[1]),
    "not_equal": lambda z, w: z[0].ne(w[0]) | z[1].ne(w[1]),
    "isnan": lambda z: call("isnan", z[0]) | call("isnan", z[1]),
    "isinf": lambda z: call("isinf", z[0]) | call("isinf", z[1]),
    "isfinite": lambda z: call("isfinite", z[0]) & call("isfinite", z[1]),
    "logical_not": lambda z: z[0].eq(0) & z[1].eq(0),
    "logical_and": lambda z, w: _truth(z) & _truth(w),
    "logical_or": lambda z, w: _truth(z) | _truth(w),
    "logical_xor": lambda z, w: call("not_equal", _truth(z), _truth(w)),
}


def _truth(z: Pair) -> Expr:
    return z[0].ne(0) | z[1].ne(0)
