"""The error function from a table of its Taylor series, until SciPy pays for its import.

That takes as long as hundreds of steps of a small network, in which GELU is all that needs it.
"""

from __future__ import annotations

import functools
import math

import numpy as np

#: Points of the table in a unit, and where it ends: from there on the function is 1.
_POINTS, _END = 64, 6
#: Terms of each series, of at most 1/128: the next is below rounding.
_TERMS = 7
#: Elements up to which Python's own, one by one, is faster.
_FEW_ELEMENTS = 128
#: Elements that are computed at once: what is between fits into the cache.
_BLOCK_ELEMENTS = 8192


@functools.cache
def _table() -> np.ndarray:
    """The coefficients of each power, one row each, at all points."""
    c = np.arange(-_END * _POINTS, _END * _POINTS + 1) / _POINTS
    hermite = [np.ones_like(c), 2 * c]
    for k in range(1, _TERMS):
        hermite.append(2 * c * hermite[k] - 2 * k * hermite[k - 1])
    points = c.tolist()
    bell = np.array([2 / math.sqrt(math.pi) * math.exp(-x * x) for x in points])
    slopes = [bell * (-1) ** k * hermite[k] / math.factorial(k + 1) for k in range(_TERMS)]
    return np.array([[math.erf(x) for x in points], *slopes])


def erf_from_table(x: np.ndarray) -> np.ndarray:
    """The error function within an ulp, of floats, in double precision."""
    if x.size <= _FEW_ELEMENTS:
        return np.array([math.erf(v) for v in x.ravel().tolist()]).reshape(x.shape)
    if x.size > _BLOCK_ELEMENTS:
        flat = np.ascontiguousarray(x).ravel()
        parts = [_erf(flat[i : i + _BLOCK_ELEMENTS]) for i in range(0, flat.size, _BLOCK_ELEMENTS)]
        return np.concatenate(parts).reshape(x.shape)
    return _erf(x)


def _erf(x: np.ndarray) -> np.ndarray:
    table = _table()
    within = np.clip(x.astype(np.float64), -_END, _END)
    near = np.rint(np.nan_to_num(within) * _POINTS)
    step = within - near / _POINTS
    indices = near.astype(np.intp) + _END * _POINTS
    y: np.ndarray = table[-1].take(indices)
    for row in table[-2::-1]:
        y *= step
        y += row.take(indices)
    return np.copysign(y, within)
