"""Relatives of Bessel functions: Airy, Hankel, Struve, Kelvin, parabolic cylinders, integrals.

SciPy computes them; derivatives are those of DLMF, chapters 9 to 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import negative, safe_divide, sqrt, square
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.elementwise import Function, Rule
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise.complexes import complex as complex_of
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.elementwise.formula import no_slope, scipy_rows, scipys, within
from agnesi.ops.special.bessel import (
    i0,
    iv,
    j0,
    jv,
    k0,
    kv,
    rate_of_ive,
    rate_of_kve,
    y0,
    yv,
)

__all__ = [
    "airy", "airye", "bei", "beip", "ber", "berp", "besselpoly", "h1vp", "h2vp", "hankel1",
    "hankel1e", "hankel2", "hankel2e", "it2i0k0", "it2j0y0", "it2struve0", "itairy", "iti0k0",
    "itj0y0", "itmodstruve0", "itstruve0", "ivp", "jve", "jvp", "kei", "keip", "kelvin", "ker",
    "kerp", "kn", "kvp", "modstruve", "pbdv", "pbvv", "pbwa", "struve", "yn", "yve", "yvp",
]


def _row(name: str, *rules: Rule | None, **keywords: Any) -> Function:
    return scipys(name, rules, __name__, **keywords)


_documented = scipy_rows(__name__)


def _still(name: str) -> Rule:
    return no_slope(name, "its order")


# -- Bessel functions under other names ---------------------------------------------------------
jve: Function = _documented(
    "jve", "Scaled Bessel function: of real numbers :func:`jv`.", "[0.0], [0.0]", "[1.]",
    _still("jve"), lambda g, a, b: g * 0.5 * (jve(a - 1, b) - jve(a + 1, b)))
yve: Function = _documented(
    "yve", "Scaled Bessel function of the second kind: of real numbers :func:`yv`.",
    "[0.0], [0.0]", "[nan]",
    _still("yve"), lambda g, a, b: g * 0.5 * (yve(a - 1, b) - yve(a + 1, b)))
yn: Function = _documented(
    "yn", "Bessel function of the second kind Y of whole order ``x1`` (DLMF 10.2.3).",
    "[0], [0.0]", "[-inf]",
    None, lambda g, a, b: g * 0.5 * (yn(a - 1, b) - yn(a + 1, b)), whole=1)
kn: Function = _documented(
    "kn", "Modified Bessel function of the second kind K of whole order ``x1`` (DLMF 10.27.4).",
    "[0], [0.0]",
    "[inf]",
    None, lambda g, a, b: g * -0.5 * (kn(a - 1, b) + kn(a + 1, b)), whole=1)


@public
def hankel1(v: TensorLike, x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Hankel function of the first kind, ``jv(v, x) + 1j * yv(v, x)``, of real numbers.

    :param v: The order.
    :param x: Where; both broadcast.
    :returns: Complex, of the broadcast shape; NaN for negative ``x``.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.hankel1e, special.hankel2, special.jv, special.yv

    >>> ag.special.hankel1(0.5, ag.tensor([1.0])).real
    tensor([0.67139673])
    """
    return complex_of(jv(v, x), yv(v, x))


@public
def hankel2(v: TensorLike, x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Hankel function of the second kind, ``jv(v, x) - 1j * yv(v, x)``, of real numbers.

    :like: hankel1
    :see: special.hankel2e, special.hankel1, special.jv, special.yv

    >>> ag.special.hankel2(0.5, ag.tensor([1.0])).real
    tensor([0.67139673])
    """
    return complex_of(jv(v, x), -yv(v, x))


@public
def hankel1e(v: TensorLike, x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``hankel1(v, x) * exp(-1j * x)``.

    :like: hankel1
    :see: special.hankel1, special.hankel2e

    >>> ag.special.hankel1e(0.5, ag.tensor([1.0])).imag
    tensor([-0.7978845])
    """
    return hankel1(v, x) * exp(complex_of(0.0, negative(x)))


@public
def hankel2e(v: TensorLike, x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``hankel2(v, x) * exp(1j * x)``.

    :like: hankel1
    :see: special.hankel2, special.hankel1e

    >>> ag.special.hankel2e(0.5, ag.tensor([1.0])).imag
    tensor([0.7978845])
    """
    return hankel2(v, x) * exp(complex_of(0.0, negative(negative(x))))


def _derivatives(function: Callable[..., Tensor], name: str, sign: int, scale: int = 1) -> Function:
    """``name(v, x, n=1)``: the n-th derivative (DLMF 10.6.7 and 10.29.5)."""

    def derivative(v: TensorLike, x: TensorLike, n: int = 1, *, out: Tensor | None = None
                   ) -> Tensor:
        if n < 0:
            raise ValueError(f"n counts derivatives, and is not {n}")
        order: Any = as_tensor(v) if isinstance(v, (list, tuple, np.ndarray)) else v
        total = function(order - n, x)
        for i in range(1, n + 1):
            total = total + sign**i * math.comb(n, i) * function(order - n + 2 * i, x)
        return total * (scale**n / 2**n)

    derivative.__name__ = derivative.__qualname__ = name
    derivative.__doc__ = f"""Derivative of order ``n`` of :func:`{_BASE[name]}` to ``x``.

    Parameters
    ----------
    v : array_like
        The order of the function.
    x : array_like
        Where; both broadcast.
    n : int
        The order of the derivative; not negative.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of the broadcast shape, {"complex" if name[0] == "h" else "floating"}.

    Raises
    ------
    ValueError
        If ``n`` is negative.
    DTypeError
        For complex numbers.

    See Also
    --------
    {_BASE[name]}

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.all(ag.special.{name}(1.0, ag.tensor([1.5]), 0) == ag.special.{_BASE[name]}(1.0, [1.5]))
    tensor(True)
    """
    return public(derivative)


_BASE = {"jvp": "jv", "yvp": "yv", "ivp": "iv", "kvp": "kv", "h1vp": "hankel1", "h2vp": "hankel2"}
jvp, yvp = _derivatives(jv, "jvp", -1), _derivatives(yv, "yvp", -1)
ivp, kvp = _derivatives(iv, "ivp", 1), _derivatives(kv, "kvp", 1, -1)
h1vp, h2vp = _derivatives(hankel1, "h1vp", -1), _derivatives(hankel2, "h2vp", -1)

# -- Airy functions (DLMF 9.2) ------------------------------------------------------------------
_ai: Function = _row("airy", lambda g, x: g * _aip(x), own="airy_ai", output=0)
_aip: Function = _row("airy", lambda g, x: g * x * _ai(x), own="airy_aip", output=1)
_bi: Function = _row("airy", lambda g, x: g * _bip(x), own="airy_bi", output=2)
_bip: Function = _row("airy", lambda g, x: g * x * _bi(x), own="airy_bip", output=3)


def _scaled_slope(order: float, power: float, rate: Function, x: Tensor, y: Tensor, near: Tensor
                  ) -> Tensor:
    """The slope of ``x**power`` times a scaled Bessel function of ``2/3 * x**1.5`` (DLMF 9.6),
    whose parts cancel in ``near``."""
    far = x >= _AIRY_FAR
    safe = where(far, x, _AIRY_FAR)
    found = y / safe * (power + 1.5 * rate(order, safe * sqrt(safe) / 1.5))
    return where(far, found, near)


#: Where two thirds of its power of 1.5 are 25.
_AIRY_FAR = 11.3
_aie: Function = _row("airye", lambda g, x, y: g * _scaled_slope(
    1 / 3, 0.5, rate_of_kve, x, y, _aipe(x) + sqrt(x) * y), own="airye_ai", output=0)
_aipe: Function = _row("airye", lambda g, x, y: g * _scaled_slope(
    2 / 3, 1.0, rate_of_kve, x, y, x * _aie(x) + sqrt(x) * y), own="airye_aip", output=1)
_bie: Function = _row("airye", lambda g, x, y: g * _scaled_slope(
    1 / 3, 0.5, rate_of_ive, x, y, _bipe(x) - sqrt(maximum(x, 0)) * y), own="airye_bi", output=2)
_bipe: Function = _row("airye", lambda g, x, y: g * _scaled_slope(
    2 / 3, 1.0, rate_of_ive, x, y, x * _bie(x) - sqrt(maximum(x, 0)) * y),
                       own="airye_bip", output=3)


@public
def airy(x: TensorLike, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Airy functions of real numbers: Ai, its derivative, Bi, its derivative (DLMF 9.2).

    :param x: Real numbers; integers become the default float dtype.
    :returns Ai, Ai', Bi, Bi': Of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: special.airye, special.itairy, special.ai_zeros

    >>> ag.special.airy(ag.tensor([0.0]))[0]
    tensor([0.35502806])
    """
    return _ai(x), _aip(x), _bi(x), _bip(x)


@public
def airye(x: TensorLike, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Airy functions without their growth: the first two times ``exp(2/3 * x**1.5)`` (NaN below 0),
    the others times ``exp(-2/3 * max(x, 0)**1.5)``.

    :param x: Real numbers; integers become the default float dtype.
    :returns eAi, eAi', eBi, eBi': Of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: special.airy

    >>> ag.special.airye(ag.tensor([1.0]))[0]
    tensor([0.26351365])
    """
    return _aie(x), _aipe(x), _bie(x), _bipe(x)


# -- Struve functions (DLMF 11.4) ---------------------------------------------------------------
struve: Function = _documented(
    "struve", "Struve function H of order ``x1`` (DLMF 11.2.1).",
    "[0.0], [1.0]", "[0.5686566]", _still("struve"),
    lambda g, a, b, y: g * (struve(a - 1, b) - safe_divide(a * y, b)))
modstruve: Function = _documented(
    "modstruve", "Modified Struve function L of order ``x1`` (DLMF 11.2.2).",
    "[0.0], [1.0]", "[0.71024317]",
    _still("modstruve"), lambda g, a, b, y: g * (modstruve(a - 1, b) - safe_divide(a * y, b)))

# -- Kelvin functions (DLMF 10.61) --------------------------------------------------------------
ber: Function = _documented(
    "ber", "Kelvin function ber of order 0, ``ber(x) + 1j * bei(x) = J0(x * exp(3j * pi / 4))`` "
    "(DLMF 10.61.1).", "[0.0]", "[1.]", lambda g, x: g * berp(x)
)
bei: Function = _documented(
    "bei", "Kelvin function bei of order 0, ``ber(x) + 1j * bei(x) = J0(x * exp(3j * pi / 4))`` "
    "(DLMF 10.61.1).", "[0.0]", "[0.]", lambda g, x: g * beip(x)
)
ker: Function = _documented("ker", "Kelvin function ker of order 0, ``ker(x) + 1j * kei(x) = K0(x "
    "* exp(1j * pi / 4))`` (DLMF 10.61.2).", "[1.0]", "[0.2867062]",
                      lambda g, x: g * kerp(x))
kei: Function = _documented("kei", "Kelvin function kei of order 0, ``ker(x) + 1j * kei(x) = K0(x "
    "* exp(1j * pi / 4))`` (DLMF 10.61.2).", "[1.0]", "[-0.49499464]",
                      lambda g, x: g * keip(x))
berp: Function = _documented("berp", "Derivative of :func:`ber`.", "[0.0]", "[0.]",
                       lambda g, x, y: -g * (bei(x) + safe_divide(y, x)))
beip: Function = _documented("beip", "Derivative of :func:`bei`.", "[0.0]", "[0.]",
                       lambda g, x, y: g * (ber(x) - safe_divide(y, x)))
kerp: Function = _documented("kerp", "Derivative of :func:`ker`.", "[1.0]", "[-0.6946039]",
                       lambda g, x, y: -g * (kei(x) + safe_divide(y, x)))
keip: Function = _documented("keip", "Derivative of :func:`kei`.", "[1.0]", "[0.3523699]",
                       lambda g, x, y: g * (ker(x) - safe_divide(y, x)))


@public
def kelvin(x: TensorLike, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Kelvin functions as complex numbers, ``ber + 1j * bei`` and ``ker + 1j * kei``; derivatives.

    :param x: Real numbers; integers become the default float dtype.
    :returns Be, Ke, Be', Ke': Complex, of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: special.ber, special.bei, special.ker, special.kei, special.kelvin_zeros

    >>> ag.special.kelvin(ag.tensor([0.0]))[0].real
    tensor([1.])
    """
    return (complex_of(ber(x), bei(x)), complex_of(ker(x), kei(x)),
            complex_of(berp(x), beip(x)), complex_of(kerp(x), keip(x)))


# -- integrals ----------------------------------------------------------------------------------
_KIN = {"itj0y0": "it2j0y0, j0, y0", "it2j0y0": "itj0y0, j0, y0", "iti0k0": "it2i0k0, i0, k0",
        "it2i0k0": "iti0k0, i0, k0", "itairy": "airy"}


def _integrals(name: str, rules: tuple[Rule, ...], text: str) -> Callable[..., Any]:
    """The public function of SciPy's integrals with several results."""
    rows = [_row(name, rule, own=f"{name}_{i}", output=i) for i, rule in enumerate(rules)]

    def function(x: TensorLike, /) -> tuple[Tensor, ...]:
        return tuple(row(x) for row in rows)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{text}

    :param x: Real numbers; integers become the default float dtype.
    :returns: {len(rules)}, in this order, of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: {_KIN[name]}

    >>> len(ag.special.{name}(ag.tensor([1.0])))
    {len(rules)}
    """
    return public(function)


itj0y0 = _integrals(
    "itj0y0", (lambda g, x: g * j0(x), lambda g, x: g * y0(x)),
    "Integrals of :func:`j0` and :func:`y0` from 0 to x.")
it2j0y0 = _integrals(
    "it2j0y0", (lambda g, x: g * safe_divide(1 - j0(x), x), lambda g, x: -g * y0(x) / x),
    "Integrals of ``(1 - j0(t)) / t`` from 0 to x, and of ``y0(t) / t`` from x on.")
iti0k0 = _integrals(
    "iti0k0", (lambda g, x: g * i0(x), lambda g, x: g * k0(x)),
    "Integrals of :func:`i0` and :func:`k0` from 0 to x.")
it2i0k0 = _integrals(
    "it2i0k0", (lambda g, x: g * safe_divide(i0(x) - 1, x), lambda g, x: -g * k0(x) / x),
    "Integrals of ``(i0(t) - 1) / t`` from 0 to x, and of ``k0(t) / t`` from x on.")
itairy = _integrals(
    "itairy", (lambda g, x: g * _ai(x), lambda g, x: g * _bi(x), lambda g, x: g * _ai(-x),
               lambda g, x: g * _bi(-x)),
    "Integrals from 0 to x of Ai and Bi, and of both at ``-t``.")
itstruve0 = _documented(
    "itstruve0",
    "Integral of ``struve(0, t)`` from 0 to x.",
    "[1.0]",
    "[0.30109042]",
    lambda g, x: g * struve(0.0, x),
)
it2struve0 = _documented("it2struve0", "Integral of ``struve(0, t) / t`` from x on.", "[1.0]",
                   "[0.95719737]",
                   lambda g, x: -g * struve(0.0, x) / x)
itmodstruve0 = _documented("itmodstruve0", "Integral of ``modstruve(0, t)`` from 0 to x.", "[1.0]",
                     "[0.33647263]",
                     lambda g, x: g * modstruve(0.0, x))
besselpoly = _documented(
    "besselpoly", "Integral of ``t**x2 * jv(x3, 2 * x1 * t)`` from 0 to 1.",
    "[1.0], [1.0], [0.0]", "[0.2883624]",
    *(no_slope("besselpoly", "its parameters"),) * 3)

# -- parabolic cylinder functions (DLMF 12.2) ---------------------------------------------------
def _curved(v: Tensor, x: Tensor) -> Tensor:
    return square(x) * 0.25 - v - 0.5


#: Of more, SciPy takes as many steps as the order in one call.
_MOST_ORDER = {0: (-1e5, 1e5)}


def _cylinder(name: str, curve: Callable[..., Tensor], text: str) -> Callable[..., Any]:
    """A solution of ``y'' = curve(v, x) * y`` and its derivative."""
    value = _row(name, _still(name), lambda g, a, b: g * slope(a, b), own=f"{name}_0", output=0,
                 types="dd->dd")
    slope = _row(name, _still(name), lambda g, a, b: g * curve(a, b) * value(a, b),
                 own=f"{name}_1", output=1, types="dd->dd")

    def function(v: TensorLike, x: TensorLike, /) -> tuple[Tensor, Tensor]:
        v, x = within(name, _MOST_ORDER, (v, x))
        return value(v, x), slope(v, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{text}, and its derivative; NaN of orders beyond 1e5.

    :param v, x: Real numbers; both broadcast.
    :returns value, derivative: Of the broadcast shape, floating.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: {", ".join(n for n in ("pbdv", "pbvv", "pbwa") if n != name)}

    >>> len(ag.special.{name}(1.0, ag.tensor([0.5])))
    2
    """
    return public(function)


pbdv = _cylinder("pbdv", _curved, "Parabolic cylinder function D of order ``v``")
pbvv = _cylinder("pbvv", _curved, "Parabolic cylinder function V of order ``v``")
pbwa = _cylinder("pbwa", lambda a, x: a - square(x) * 0.25,
                 "Parabolic cylinder function W of parameter ``v``")
