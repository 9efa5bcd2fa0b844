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
#: The same for single precision.
_FEW_TERMS = 4
#: Elements up to which Python's own, one by one, is faster.
_FEW_ELEMENTS = 128
#: Elements that are computed at once: what is between fits into the cache.
_BLOCK_ELEMENTS = 4096


@functools.cache
def _table() -> np.ndarray:
    """The coefficients of all powers at each point, one row each."""
    c = np.arange(-_END * _POINTS, _END * _POINTS + 1) / _POINTS
    hermite = [np.ones_like(c), 2 * c]
    for k in range(1, _TERMS):
        hermite.append(2 * c * hermite[k] - 2 * k * hermite[k - 1])
    points = c.tolist()
    bell = np.array([2 / math.sqrt(math.pi) * math.exp(-x * x) for x in points])
    slopes = [bell * (-1) ** k * hermite[k] / math.factorial(k + 1) for k in range(_TERMS)]
    return np.array([[math.erf(x) for x in points], *slopes]).T.copy()


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
    within = np.minimum(np.maximum(x.astype(np.float64), -_END), _END)
    near = np.rint(np.fmin(within * _POINTS, _END * _POINTS))  # of NaN some point
    indices = near.astype(np.intp)
    indices += _END * _POINTS
    near /= _POINTS
    step = within - near
    terms = table.take(indices, 0, mode="clip")
    last = _TERMS if x.dtype == np.float64 else _FEW_TERMS
    y: np.ndarray = terms[..., last] * step
    for i in range(last - 1, 0, -1):
        y += terms[..., i]
        y *= step
    y += terms[..., 0]
    return np.copysign(y, within, out=y)
