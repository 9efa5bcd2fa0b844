"""The incomplete gamma function of large shapes near its argument: Temme's expansion.

With ``eta**2 / 2 = l - 1 - log(l)``, ``l = x / a``, P(a, x) is ``erfc(-eta * sqrt(a / 2)) / 2``
less ``exp(-a * eta**2 / 2) / sqrt(2 * pi * a)`` times a double series in ``eta`` and ``1 / a``
(DLMF 8.12; Temme, SIAM J. Math. Anal. 10, 1979).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from agnesi.ops.elementwise.formula import horner
from agnesi.ops.special.taylor import Jet, constant

#: Shapes from which the expansion is used.
LARGE_SHAPE = 200.0
#: How far from 1 the ratio may be for it.
MAX_RATIO_DISTANCE = 0.3
#: The largest eta there.
_MAX_ETA = 0.34
#: Terms below this are left out.
_MIN_TERM = 1e-18
_POWERS, _TERMS = 7, 18


@functools.cache
def tables() -> tuple[list[float], list[list[float]]]:
    """Coefficients of ``l - 1`` in eta, and of the double series, by powers of ``1 / a``."""
    count = _TERMS + 2 * _POWERS + 4
    ratio = [Fraction(0), Fraction(1)]
    for n in range(2, count):
        total = sum((-ratio[i] * (n + 1 - i) * ratio[n + 1 - i] for i in range(2, n)), ratio[n - 1])
        ratio.append(total / (n + 1))
    inverse = [Fraction(1)]  # of (l - 1) / eta
    for n in range(1, count - 1):
        inverse.append(sum((-ratio[i + 1] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    row = inverse[1:]
    rows = []
    for k in range(_POWERS):
        last = max(n for n, c in enumerate(row[:_TERMS])
                   if abs(c) * _MAX_ETA**n * LARGE_SHAPE**-k > _MIN_TERM)
        rows.append([float(c) for c in row[: last + 1]])
        row = [(n + 2) * row[n + 2] - row[1] * inverse[n + 1] for n in range(len(row) - 2)]
    return [float(c) for c in ratio[:_TERMS]], rows


def large_shape(m: Any, a: Any, x: Any, log_less: Any, order: int) -> tuple[Jet, Jet]:
    """P and its complement as jets in the shape."""
    ratios, rows = tables()
    off = (x - a) / a
    half = -log_less(m, off)
    eta = m.copysign(m.sqrt(half + half), off)
    share = horner(eta, ratios[1:])  # (l - 1) / eta
    inverse = 1.0 / a
    bend = horner(eta, ratios[2:])
    etas = Jet([eta, -share * inverse, (share - 0.5 * bend * (share + 1.0)) * inverse * inverse
                ][: order + 1])
    root = m.sqrt(a * 0.5)
    y = etas * Jet([root, 0.5 * root * inverse, -0.125 * root * inverse * inverse][: order + 1])
    squared = (y * y).times(-1.0)
    bell = squared.exp(m.exp(-a * half))
    scale = 1.0 / m.sqrt(a * (2 * math.pi))
    scales = Jet([scale, -0.5 * scale * inverse, 0.375 * scale * inverse * inverse][: order + 1])
    powers = Jet([inverse, -inverse * inverse, inverse * inverse * inverse][: order + 1])
    rest = bell * scales * _series(rows, etas, powers, order)
    below, above = (_erfc(m, y, bell, sign) for sign in (-1.0, 1.0))
    return below + rest.times(-1.0), above + rest


def _erfc(m: Any, y: Jet, bell: Jet, sign: float) -> Jet:
    """Half of ``erfc(sign * y)``; ``bell`` is ``exp(-y * y)``."""
    factor = -sign / math.sqrt(math.pi)
    terms = [m.erfc(y.terms[0] * sign) * 0.5]
    for k in range(1, len(y.terms)):  # the derivative is that of y times the bell
        parts = [y.terms[i + 1] * bell.terms[k - 1 - i] * (i + 1.0) for i in range(k)]
        terms.append(sum(parts[1:], start=parts[0]) * (factor / k))
    return Jet(terms)


def _series(rows: list[list[float]], eta: Jet, inverse: Jet, order: int) -> Jet:
    total: Jet | None = None
    for row in reversed(rows):
        inner = constant(eta.terms[0] * 0.0 + row[-1], order)
        for c in reversed(row[:-1]):
            inner = (inner * eta).plus(c)
        total = inner if total is None else total * inverse + inner
    assert total is not None
    return total
