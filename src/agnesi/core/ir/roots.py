"""Roots of unity, for Fourier transforms."""

from __future__ import annotations

import numpy as np

#: A quarter of pi in more digits than double precision has.
_QUARTER = np.longdouble("0.785398163397448309615660845819875721049292")


def roots(n: int, numbers: np.ndarray) -> np.ndarray:
    """``exp(-2j pi number / n)``, exact to the last digit of double precision."""
    eighth, rest = np.divmod(8 * (numbers % n), n)  # angles below 45 degrees
    swapped = eighth % 2 == 1
    angle = np.where(swapped, n - rest, rest).astype(np.longdouble) * (_QUARTER / n)
    parts = np.cos(angle).astype(np.float64), np.sin(angle).astype(np.float64)
    c, s = np.where(swapped, parts[::-1], parts)
    quarter = eighth // 2
    real = np.choose(quarter, [c, -s, -c, s])
    found: np.ndarray = real - 1j * np.choose(quarter, [s, c, -s, -c])
    return found
