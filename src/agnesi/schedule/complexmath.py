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
from agnesi.core.ir.loops import Expr

_PI, _LN2 = math.pi, math.log(2)


class Real:
    """A real expression with Python's operators."""

    __slots__ = ("e",)

    def __init__(self, e: Expr) -> None:
        self.e = e

    def like(self, other: Any) -> Real:
        """Another operand: a number takes this dtype."""
        return other if isinstance(other, Real) else Real(loops.const(other, self.e.dtype))

    def to(self, name: str, *others: Any) -> Real:
        """A scalar operation of this and others."""
        return Real(loops.call(name, self.e, *(self.like(o).e for o in others)))

    def __add__(self, other: Any) -> Real:
        return self.to("add", other)

    def __radd__(self, other: Any) -> Real:
        return self.to("add", other)

    def __sub__(self, other: Any) -> Real:
        return self.to("subtract", other)

    def __rsub__(self, other: Any) -> Real:
        return self.like(other).to("subtract", self)

    def __mul__(self, other: Any) -> Real:
        return self.to("multiply", other)

    def __rmul__(self, other: Any) -> Real:
        return self.to("multiply", other)

    def __truediv__(self, other: Any) -> Real:
        return self.to("divide", other)

    def __rtruediv__(self, other: Any) -> Real:
        return self.like(other).to("divide", self)

    def __neg__(self) -> Real:
        return self.to("negative")

    def __abs__(self) -> Real:
        return self.to("abs")

    def __gt__(self, other: Any) -> Real:
        return self.to("greater", other)

    def __lt__(self, other: Any) -> Real:
        return self.to("less", other)

    def __ge__(self, other: Any) -> Real:
        return self.to("greater_equal", other)

    def eq(self, other: Any) -> Real:
        return self.to("equal", other)

    def ne(self, other: Any) -> Real:
        return self.to("not_equal", other)

    def __and__(self, other: Real) -> Real:
        return self.to("logical_and", other)

    def __or__(self, other: Real) -> Real:
        return self.to("logical_or", other)

    def __invert__(self) -> Real:
        return self.to("logical_not")

    @property
    def limits(self) -> Any:
        """NumPy's ``finfo`` of the dtype."""
        return np.finfo(self.e.dtype)


Pair = tuple[Real, Real]


def select(condition: Real, a: Real, b: Any) -> Real:
    """``a`` where the condition holds, else ``b``."""
    return Real(loops.where(condition.e, a.e, a.like(b).e))


def _select2(condition: Real, a: Pair, b: Pair) -> Pair:
    return select(condition, a[0], b[0]), select(condition, a[1], b[1])


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


def _divide(z: Pair, w: Pair) -> Pair:
    turned = abs(w[0]) < abs(w[1])
    large, little = select(turned, w[1], w[0]), select(turned, w[0], w[1])
    ratio = select(large.eq(0), large, little / large)
    scale = 1 / (large + little * ratio)
    a, b = select(turned, z[1], z[0]), select(turned, z[0], z[1])
    im = select(turned, a * ratio - b, b - a * ratio)
    re = (a + b * ratio) * scale
    zero = large.eq(0) & little.eq(0)
    size = abs(large)
    return select(zero, z[0] / size, re), select(zero, z[1] / size, im * scale)


def _reciprocal(z: Pair) -> Pair:
    turned = abs(z[0]) < abs(z[1])
    large, little = select(turned, z[1], z[0]), select(turned, z[0], z[1])
    ratio = little / large
    below = large + little * ratio
    one, other = 1 / below, ratio / below
    return select(turned, other, one), -select(turned, one, other)


def _square(z: Pair) -> Pair:
    both = z[0] * z[1]
    return z[0] * z[0] - z[1] * z[1], both + both


def _sqrt(z: Pair) -> Pair:
    a, b = z
    limits = a.limits
    size = abs(a).to("maximum", abs(b))
    digits = limits.nmant // 2 + 1
    huge, tiny = size > float(limits.max) / 8, size < float(limits.tiny) * 2.0 ** (2 * digits)
    up = select(huge, a.like(0.25), select(tiny, a.like(4.0**digits), 1.0))
    down = select(huge, a.like(2.0), select(tiny, a.like(2.0**-digits), 1.0))
    x, y = a * up, b * up
    t = ((abs(x) + x.to("hypot", y)) * 0.5).to("sqrt")
    other = select(t.eq(0), y, y / (t + t))
    left = x < 0
    re, im = select(left, abs(other), t), select(left, t.to("copysign", b), other)
    re, im = re * down, im * down
    endless = abs(a).eq(math.inf)
    re = select(endless, select(a > 0, a, select(b.ne(b), b, 0.0)), re)
    im = select(endless, select(a > 0, select(b.ne(b), b, a.like(0.0).to("copysign", b)),
                                a.like(math.inf).to("copysign", b)), im)
    above = abs(b).eq(math.inf)
    return select(above, abs(b), re), select(above, b, im)


# -- exponentials and logarithms ----------------------------------------------------------------
def _large_exp(x: Real) -> tuple[Real, Real, float]:
    """Return whether exp(x) may overflow; then exp of a smaller number, and the factor left out."""
    most = math.floor(math.log(float(x.limits.max)))
    step = most // 2
    return x > most - 1, (x - step).to("exp"), math.exp(step)


def _polar_exp(x: Real, size: Real, angle: Real) -> Pair:
    """``size * exp(i angle)`` where ``size = exp(x)``, which may overflow before its parts do."""
    over, part, factor = _large_exp(x)
    c, s = angle.to("cos"), angle.to("sin")
    re = select(over, part * c * factor, size * c)
    im = select(angle.eq(0), angle, select(over, part * s * factor, size * s))
    lost = ~angle.to("isfinite")
    nothing = lost & x.eq(-math.inf)
    endless = lost & x.eq(math.inf)
    zero = x.like(0.0)
    return select(endless, x, select(nothing, zero, re)), select(nothing, zero, im)


def _exp(z: Pair) -> Pair:
    return _polar_exp(z[0], z[0].to("exp"), z[1])


def _exp2(z: Pair) -> Pair:
    return _polar_exp(z[0] * _LN2, z[0].to("exp2"), z[1] * _LN2)


def _expm1(z: Pair) -> Pair:
    a, b = z
    half = (b * 0.5).to("sin")
    minus = a.to("expm1")
    re = minus * b.to("cos") - 2.0 * half * half
    im = select(b.eq(0), b, a.to("exp") * b.to("sin"))
    whole = _exp(z)
    far = ~(a.to("isfinite") & b.to("isfinite")) | (a > 40.0)
    re, im = _select2(far, (whole[0] - 1.0, whole[1]), (re, im))
    return select(b.eq(0), minus + 0.0, re), im


def _less_one(m: Real, n: Real) -> Real:
    """``m*m + n*n - 1`` in twice the digits, for ``m >= n >= 0`` and a result near zero."""
    zero = m.like(0.0)
    mm, nn = m.to("fma", m, zero), n.to("fma", n, zero)
    rest = m.to("fma", m, -mm) + n.to("fma", n, -nn)
    return ((mm - 1.0) + nn) + rest


def _log_size(a: Real, b: Real) -> Real:
    """Logarithm of the absolute value."""
    x, y = abs(a), abs(b)
    m, n = x.to("maximum", y), x.to("minimum", y)
    limits = a.limits
    huge, tiny = m > float(limits.max) / 4, m < float(limits.tiny) * 2.0**limits.nmant
    exponent = limits.nmant + 4
    scale = select(huge, m.like(0.25), select(tiny, m.like(2.0**exponent), 1.0))
    shift = select(huge, m.like(2 * _LN2), select(tiny, m.like(-exponent * _LN2), 0.0))
    far = (x * scale).to("hypot", y * scale).to("log") + shift
    near = (m > 0.5) & (m < 1.5) & (n < 1.5)
    return select(near, 0.5 * _less_one(m, n).to("log1p"), far)


def _log(z: Pair) -> Pair:
    return _log_size(*z), z[1].to("atan2", z[0])


def _log_to(base: float) -> Callable[[Pair], Pair]:
    def log(z: Pair) -> Pair:
        re, im = _log(z)
        return re * (1 / math.log(base)), im * (1 / math.log(base))

    return log


def _log1p(z: Pair) -> Pair:
    a, b = z
    far = _log((a + 1.0, b))
    near = (abs(a) < 0.5) & (abs(b) < 0.5)
    re = 0.5 * (a + a + (a * a + b * b)).to("log1p")
    return select(near, re, far[0]), far[1]


def _logaddexp(z: Pair, w: Pair) -> Pair:
    first = z[0] >= w[0]
    top, low = _select2(first, z, w), _select2(first, w, z)
    same = top[0].eq(low[0]) & top[1].eq(low[1]) & top[0].to("isinf")
    step = [select(same, b.like(0.0), b - a) for a, b in zip(top, low, strict=True)]
    re, im = _log1p(_exp((step[0], step[1])))
    return top[0] + re, top[1] + im


def _power(z: Pair, w: Pair) -> Pair:
    re, im = _exp(_multiply(w, _log(z)))
    one, zero = re.like(1.0), re.like(0.0)
    nothing = z[0].eq(0) & z[1].eq(0)
    at_zero = select(w[0] > 0, zero, math.nan)
    flat = w[0].eq(0) & w[1].eq(0)
    re, im = select(nothing, at_zero, re), select(nothing, at_zero, im)
    return select(flat, one, re), select(flat, zero, im)


def _sigmoid(z: Pair) -> Pair:
    re, im = _exp((-z[0], -z[1]))
    return _reciprocal((re + 1.0, im))


# -- hyperbolic functions -----------------------------------------------------------------------
def _hyperbolic(z: Pair) -> tuple[Real, Real, Real, Real]:
    """``cosh a * cos b``, ``sinh a * sin b``, ``sinh a * cos b``, ``cosh a * sin b``."""
    a, b = z
    over, part, factor = _large_exp(abs(a))
    half = part * 0.5
    cosh, sinh = select(over, half, a.to("cosh")), select(over, half.to("copysign", a),
                                                          a.to("sinh"))
    scale = select(over, a.like(factor), 1.0)
    c, s = b.to("cos"), b.to("sin")
    return cosh * c * scale, sinh * s * scale, sinh * c * scale, cosh * s * scale


def _sinh(z: Pair) -> Pair:
    a, b = z
    _, _, re, im = _hyperbolic(z)
    kept = (abs(a).eq(math.inf) | a.eq(0)) & ~b.to("isfinite")
    return select(kept, a, re), select(b.eq(0), b, im)


def _cosh(z: Pair) -> Pair:
    a, b = z
    re, im, _, _ = _hyperbolic(z)
    lost = ~b.to("isfinite")
    flat = a.like(0.0).to("copysign", a) * a.like(1.0).to("copysign", b)
    re = select(abs(a).eq(math.inf) & lost, abs(a), re)
    return re, select(b.eq(0) | (a.eq(0) & lost), flat, im)


def _tanh(z: Pair) -> Pair:
    a, b = z
    far = abs(a) > 0.5 * math.log(4 / float(a.limits.eps)) + 2
    t, s = b.to("tan"), a.to("sinh")
    beta = 1.0 + t * t
    rho = (1.0 + s * s).to("sqrt")
    below = 1.0 + beta * s * s
    re, im = beta * rho * s / below, t / below
    small = (-2.0 * abs(a)).to("exp")
    twist = 4.0 * b.to("sin") * b.to("cos") * small
    twist = select(abs(a).eq(math.inf), a.like(0.0).to("copysign", b), twist)
    beyond = far & (b.to("isfinite") | abs(a).eq(math.inf))
    re, im = select(beyond, a.like(1.0).to("copysign", a), re), select(far, twist, im)
    return select(a.eq(0), a, re), select(b.eq(0), b, im)


# -- inverse functions --------------------------------------------------------------------------
def _roots(z: Pair) -> tuple[Pair, Pair]:
    """Square roots of 1 - z and 1 + z."""
    return _sqrt((1.0 - z[0], -z[1])), _sqrt((1.0 + z[0], z[1]))


def _asinh_of(z: Pair, w: Pair) -> Real:
    """``asinh(Im(conj(z) * w))``, where the product may overflow."""
    half = z[0] * 0.5
    product = half * w[1] - z[1] * 0.5 * w[0]
    huge = abs(product) > float(half.limits.max) / 4
    value = select(huge, product, product + product).to("asinh")
    return select(huge, value + half.like(_LN2).to("copysign", product), value)


def _asin(z: Pair) -> Pair:
    a, b = z
    minus, plus = _roots(z)
    re = a.to("atan2", minus[0] * plus[0] - minus[1] * plus[1])
    im = _asinh_of(minus, plus)
    endless = a.to("isinf") | b.to("isinf")
    re = select(endless, a.to("atan2", abs(b)), select(a.eq(0), a, re))
    return re, select(endless, a.like(math.inf).to("copysign", b), im)


def _acos(z: Pair) -> Pair:
    a, b = z
    minus, plus = _roots(z)
    re = 2.0 * minus[0].to("atan2", plus[0])
    im = -_asinh_of(minus, plus)
    endless = a.to("isinf") | b.to("isinf")
    re = select(endless, abs(b).to("atan2", a), select(a.eq(0), a.like(_PI / 2), re))
    return re, select(endless, -a.like(math.inf).to("copysign", b), im)


def _acosh(z: Pair) -> Pair:
    re, im = _acos(z)
    return abs(im), re.to("copysign", z[1])


def _atanh(z: Pair) -> Pair:
    a, b = z
    limits = a.limits
    x = abs(a)
    off = 1.0 - x
    below = off * off + b * b
    re = 0.25 * (4.0 * x / below).to("log1p")
    close = 0.5 * (_LN2 - off.to("hypot", b).to("log"))
    re = select((below < float(limits.tiny) * 2.0**limits.nmant) & (x > 0.5), close, re)
    im = 0.5 * (b + b).to("atan2", off * (1.0 + x) - b * b)
    size = x.to("hypot", b)
    far = x.to("maximum", abs(b)) > math.sqrt(float(limits.max)) / 4
    endless = a.to("isinf") | b.to("isinf")
    re = select(far, x / size / size, re)
    re = select(endless, a.like(0.0), re)
    quarter = select(b.ne(b), b, a.like(_PI / 2).to("copysign", b))
    im = select(far | endless, quarter, im)
    return select(a.eq(0), a, re.to("copysign", a)), select(b.eq(0) & (off >= 0), b, im)


# -- the table ----------------------------------------------------------------------------------
#: Complex functions of complex numbers, by the name of the scalar operation.
COMPLEX: dict[str, Callable[..., Pair]] = {
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
    "exp2": _exp2,
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
    "round": lambda z: (z[0].to("round"), z[1].to("round")),
}
#: Real numbers and truth values of complex numbers.
REAL: dict[str, Callable[..., Real]] = {
    "real": lambda z: z[0],
    "imag": lambda z: z[1],
    "abs": lambda z: z[0].to("hypot", z[1]),
    "angle": lambda z: z[1].to("atan2", z[0]),
    "equal": lambda z, w: z[0].eq(w[0]) & z[1].eq(w[1]),
    "not_equal": lambda z, w: z[0].ne(w[0]) | z[1].ne(w[1]),
    "isnan": lambda z: z[0].to("isnan") | z[1].to("isnan"),
    "isinf": lambda z: z[0].to("isinf") | z[1].to("isinf"),
    "isfinite": lambda z: z[0].to("isfinite") & z[1].to("isfinite"),
    "logical_not": lambda z: z[0].eq(0) & z[1].eq(0),
    "logical_and": lambda z, w: _truth(z) & _truth(w),
    "logical_or": lambda z, w: _truth(z) | _truth(w),
    "logical_xor": lambda z, w: _truth(z).to("not_equal", _truth(w)),
}


def _truth(z: Pair) -> Real:
    return z[0].ne(0) | z[1].ne(0)
