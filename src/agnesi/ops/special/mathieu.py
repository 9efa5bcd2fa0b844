"""Mathieu functions and spheroidal wave functions, which SciPy computes.

They satisfy linear differential equations of second order, so that a function and its derivative
give all others (DLMF 28.2, 28.20 and 30.2).  SciPy's loops in single precision do not end or give
NaN, so those in double precision are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import square
from agnesi.ops.base.convert import as_tensor, beside
from agnesi.ops.base.elementwise import Function, Rule
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.formula import IN_STEPS, MOST_STEPS, NO_BOUNDS, fixed, scipys
from agnesi.ops.elementwise.hyperbolic import cosh
from agnesi.ops.elementwise.trig import cos

__all__ = [
    "mathieu_a", "mathieu_b", "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2",
    "mathieu_modsem1", "mathieu_modsem2", "mathieu_sem", "obl_ang1", "obl_ang1_cv", "obl_cv",
    "obl_rad1", "obl_rad1_cv", "obl_rad2", "obl_rad2_cv", "pro_ang1", "pro_ang1_cv", "pro_cv",
    "pro_rad1", "pro_rad1_cv", "pro_rad2", "pro_rad2_cv",
]

_DEGREE = math.pi / 180
#: Bounds that SciPy does not check: at 1e8 and 2^31, and of NaN, it ends the process; it takes as
#: many steps as the order.
_MOST_PARAMETER, _MOST_ORDER = 5e7, MOST_STEPS
#: The same of half the degree, less half the mode for angular functions, and the parameter: SciPy
#: has at most so many expansion coefficients.
_MOST_ANGULAR, _MOST_RADIAL = 170.0, 90.0


def _characteristic(name: str, summary: str, args: str, result: str) -> Function:
    count = args.count("[")
    made = scipys(name, fixed(name, count), __name__, summary, args, result,
                  types="d" * count + "->d", most={0: IN_STEPS} if count == 2 else NO_BOUNDS)
    if count == 2:
        return made

    @wraps(made)
    def function(m: TensorLike, n: TensorLike, c: TensorLike, /) -> Tensor:
        return made(_mode(name, m, n, c, c), n, c)

    return function


def _mode(name: str, m: TensorLike, n: TensorLike, c: TensorLike, x: TensorLike) -> Tensor:
    """The mode, NaN of the dtype of ``x`` where SciPy's spheroidal functions would write outside of
    their memory."""
    m, n, c = as_tensor(m), as_tensor(n), as_tensor(c)
    if "rad" in name:
        small = 0.5 * n + where(c < 0, -5 * c, c) <= _MOST_RADIAL
    else:
        small = 0.5 * (n - m) + abs_(c) <= _MOST_ANGULAR
    return where(small, m, beside(math.nan, x))


mathieu_a = _characteristic(
    "mathieu_a", "Characteristic value of the even Mathieu function of order ``x1``, parameter "
    "``x2``.", "[1.0], [0.5]", "[1.4667668]")
mathieu_b = _characteristic(
    "mathieu_b", "Characteristic value of the odd Mathieu function of order ``x1``, parameter "
    "``x2``.", "[1.0], [0.5]", "[0.47065437]")
pro_cv = _characteristic(
    "pro_cv", "Characteristic value of prolate spheroidal wave functions.", "[0.0], [1.0], [0.5]",
    "[2.1495705]")
obl_cv = _characteristic(
    "obl_cv", "Characteristic value of oblate spheroidal wave functions.", "[0.0], [1.0], [0.5]",
    "[1.8495724]")

Pair = Callable[..., tuple[Tensor, Tensor]]
_SHOWN = """{text}, and its derivative to ``x``.

    {entries}
    :returns value, derivative: Of the broadcast shape, floating.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: {kin}

    >>> len(ag.special.{name}({args}))
    2
    """
_MATHIEU = {"m": "The order: a whole number.", "q": "The parameter.",
            "x": "The argument; angles in degrees for ``cem`` and ``sem``. All three broadcast."}
_SPHEROIDAL = {
    "m": "The mode: a whole number, not negative.",
    "n": "The degree: a whole number, from ``m`` on.", "c": "The spheroidal parameter.",
    "cv": "The characteristic value.",
    "x": "The argument; all operands broadcast."}
#: Who gives the characteristic values.
_KIN = {"mathieu_cem": "mathieu_a", "mathieu_modcem": "mathieu_a, mathieu_cem",
        "mathieu_sem": "mathieu_b", "mathieu_modsem": "mathieu_b, mathieu_sem",
        "pro_": "pro_cv", "obl_": "obl_cv"}


def _pair(name: str, rules: tuple[tuple[Rule, ...], tuple[Rule, ...]]) -> tuple[Function, Function]:
    first, second = rules
    types = "d" * len(first) + "->dd"
    return (scipys(name, first, __name__, own=f"{name}_0", output=0, types=types),
            scipys(name, second, __name__, own=f"{name}_1", output=1, types=types))


def _named(function: Any, name: str, text: str, args: str) -> Any:
    function.__name__ = function.__qualname__ = name
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    of = _MATHIEU if name.startswith("mathieu") else _SPHEROIDAL
    entries = "\n    ".join(f":param {n}: {of[n]}" for n in names)
    kin = next(k for start, k in _KIN.items() if name.startswith(start))
    function.__doc__ = _SHOWN.format(text=text, name=name, args=args, entries=entries, kin=kin)
    return public(function)


# -- Mathieu functions --------------------------------------------------------------------------
def _mathieu(name: str, value_of: Function, text: str, *, degrees: bool) -> Pair:
    """A solution of ``y'' = (2 q cos(2 x) - a) y`` at angles in degrees, or of the modified one."""
    unit = _DEGREE if degrees else 1.0

    def bend(g: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        pull = 2 * b * (cos(2 * _DEGREE * c) if degrees else cosh(2 * c)) - value_of(a, b)
        return g * (pull if degrees else -pull) * value(a, b, c) * unit

    value, slope = _pair(name, (
        (*fixed(name, 2), lambda g, a, b, c: g * slope(a, b, c) * unit), (*fixed(name, 2), bend)))

    def function(m: TensorLike, q: TensorLike, x: TensorLike, /) -> tuple[Tensor, Tensor]:
        m, q = beside(m, x), beside(q, x)
        m = _taken(m, q, x)
        return value(m, q, x), slope(m, q, x)

    return _named(function, name, text, "1.0, 0.5, ag.tensor([0.3])")


def _taken(m: TensorLike, q: TensorLike, x: TensorLike) -> Tensor:
    """The order, NaN of the dtype of ``x`` where SciPy's functions would write outside of their
    memory."""
    m, q = as_tensor(m), as_tensor(q)
    return where((abs_(q) < _MOST_PARAMETER) & (m < _MOST_ORDER), m, beside(math.nan, x))


_TEXT = "{} Mathieu function of order ``m`` and parameter ``q``{}"
mathieu_cem = _mathieu("mathieu_cem", mathieu_a, _TEXT.format("Even", " at degrees"), degrees=True)
mathieu_sem = _mathieu("mathieu_sem", mathieu_b, _TEXT.format("Odd", " at degrees"), degrees=True)
mathieu_modcem1 = _mathieu(
    "mathieu_modcem1", mathieu_a, _TEXT.format("Even modified", " of the first kind"),
    degrees=False)
mathieu_modcem2 = _mathieu(
    "mathieu_modcem2", mathieu_a, _TEXT.format("Even modified", " of the second kind"),
    degrees=False)
mathieu_modsem1 = _mathieu(
    "mathieu_modsem1", mathieu_b, _TEXT.format("Odd modified", " of the first kind"), degrees=False)
mathieu_modsem2 = _mathieu(
    "mathieu_modsem2", mathieu_b, _TEXT.format("Odd modified", " of the second kind"),
    degrees=False)


# -- spheroidal wave functions ------------------------------------------------------------------
def _bend(signs: tuple[int, int, int], x: Tensor, pair: tuple[Tensor, Tensor], m: Tensor,
          c: Tensor, value: Tensor) -> Tensor:
    """The second derivative; equations differ in three signs."""
    s, t, e = signs
    inside = 1 - s * square(x)
    pull = value - t * square(c * x) - square(m) / inside
    return (2 * s * x * pair[1] - e * pull * pair[0]) / inside


def _spheroidal(name: str, value_of: Function, signs: tuple[int, int, int], text: str) -> Pair:
    def bend(g: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor, y: Tensor) -> Tensor:
        return g * _bend(signs, d, (value(a, b, c, d), y), a, c, value_of(a, b, c))

    value, slope = _pair(name, (
        (*fixed(name, 3), lambda g, a, b, c, d: g * slope(a, b, c, d)), (*fixed(name, 3), bend)))

    def function(m: TensorLike, n: TensorLike, c: TensorLike, x: TensorLike, /
                 ) -> tuple[Tensor, Tensor]:
        m, n, c = (beside(v, x) for v in (m, n, c))
        m = _mode(name, m, n, c, x)
        return value(m, n, c, x), slope(m, n, c, x)

    return _named(function, name, text, "0.0, 1.0, 0.5, ag.tensor([0.5])")


def _given(name: str, signs: tuple[int, int, int], text: str) -> Pair:
    """The Mathieu function with the characteristic value as an operand."""

    def bend(g: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor, y: Tensor) -> Tensor:
        return g * _bend(signs, e, (value(a, b, c, d, e), y), a, c, d)

    value, slope = _pair(name, (
        (*fixed(name, 4), lambda g, a, b, c, d, e: g * slope(a, b, c, d, e)),
        (*fixed(name, 4), bend)))

    def function(m: TensorLike, n: TensorLike, c: TensorLike, cv: TensorLike, x: TensorLike, /
                 ) -> tuple[Tensor, Tensor]:
        m, n, c, cv = (beside(v, x) for v in (m, n, c, cv))
        m = _mode(name, m, n, c, x)
        return value(m, n, c, cv, x), slope(m, n, c, cv, x)

    return _named(function, name, text + ", of a known characteristic value",
                  "0.0, 1.0, 0.5, 2.0, ag.tensor([0.5])")


#: Signs that turn one kind of spheroidal function into another.
_PROLATE, _OBLATE, _IMAGINARY = (1, 1, 1), (1, -1, 1), (-1, 1, -1)
_ANGLE, _FIRST, _SECOND = (
    "{} angular function of the first kind", "{} radial function of the first kind",
    "{} radial function of the second kind")
pro_ang1 = _spheroidal("pro_ang1", pro_cv, _PROLATE, _ANGLE.format("Prolate"))
pro_rad1 = _spheroidal("pro_rad1", pro_cv, _PROLATE, _FIRST.format("Prolate"))
pro_rad2 = _spheroidal("pro_rad2", pro_cv, _PROLATE, _SECOND.format("Prolate"))
obl_ang1 = _spheroidal("obl_ang1", obl_cv, _OBLATE, _ANGLE.format("Oblate"))
obl_rad1 = _spheroidal("obl_rad1", obl_cv, _IMAGINARY, _FIRST.format("Oblate"))
obl_rad2 = _spheroidal("obl_rad2", obl_cv, _IMAGINARY, _SECOND.format("Oblate"))
pro_ang1_cv = _given("pro_ang1_cv", _PROLATE, _ANGLE.format("Prolate"))
pro_rad1_cv = _given("pro_rad1_cv", _PROLATE, _FIRST.format("Prolate"))
pro_rad2_cv = _given("pro_rad2_cv", _PROLATE, _SECOND.format("Prolate"))
obl_ang1_cv = _given("obl_ang1_cv", _OBLATE, _ANGLE.format("Oblate"))
obl_rad1_cv = _given("obl_rad1_cv", _IMAGINARY, _FIRST.format("Oblate"))
obl_rad2_cv = _given("obl_rad2_cv", _IMAGINARY, _SECOND.format("Oblate"))
