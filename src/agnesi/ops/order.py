"""Stable orders of arrays, by sorts of 64-bit integers that hold an element and what goes with it.

Elements of up to 32 bits are the upper halves of such integers, their places the lower ones.
Longer elements are put in order by their lower halves, and then by their upper ones.
"""

from __future__ import annotations

import sys

import numpy as np

from agnesi.core.config import LENT

#: Elements from which this is worth it: in all, and in a row for the native sort.
_MANY, _LONG = 4096, 1024
#: Where the halves of a 64-bit integer lie.
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)
_LOWER = 0xFFFFFFFF
#: Infinity as an integer that has the order of floats; that of NaN is above.
_INFINITY = {4: 0x7F800000, 8: 0x7FF0000000000000}


def sorted_rows(x: np.ndarray, descending: bool = False) -> np.ndarray:
    """The elements of the last axis in order; NaN comes last, in descending order too.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.ops.order import sorted_rows
    >>> sorted_rows(np.array([2.0, np.nan, 1.0]))
    array([ 1.,  2., nan])
    """
    if descending:
        if x.dtype.kind == "c":
            return np.take_along_axis(x, stable_order(x, True), -1)
        return _reversed(sorted_rows(_reversed(x)))
    if x.size >= _MANY and x.shape[-1] >= _LONG and x.dtype in (np.float32, np.int32):
        x = np.ascontiguousarray(x)
        both = _packed(_key(x, False), x.view(np.int32))
        if LENT.sort(both):
            return both.view(x.dtype)[..., _LOW::2].copy()
    if _long(x, 4 * _MANY):
        order = _long_order(_key(x, False))
        if order is not None:
            return np.take_along_axis(x, order, -1)
    return np.sort(x, axis=-1)


def stable_order(x: np.ndarray, descending: bool) -> np.ndarray:
    """Indices (int64) that put the last axis in order; NaN comes last, equal ones stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.ops.order import stable_order
    >>> stable_order(np.array([2.0, np.nan, 1.0, 2.0]), True)
    array([0, 3, 2, 1])
    """
    if _short(x):
        both = _packed(_key(x, descending), _numbers(x))
        if x.shape[-1] < _LONG or not LENT.sort(both):
            both.sort(axis=-1)
        return both & _LOWER
    if x.dtype.kind == "c" and descending:
        back = np.argsort(x[..., ::-1], axis=-1, kind="stable")
        return np.asarray(x.shape[-1] - 1 - back[..., ::-1])
    if _long(x, _MANY):
        order = _long_order(_key(x, descending))
        if order is not None:
            return order
    return np.argsort(_reversed(x) if descending else x, axis=-1, kind="stable")


def first_places(x: np.ndarray, k: int, descending: bool) -> np.ndarray | None:
    """The first ``k`` of these indices; None where nothing is gained over all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.ops.order import first_places
    >>> first_places(np.arange(10000.0), 2, True)
    array([9999, 9998])
    """
    n = x.shape[-1]
    block = 64 if n >= 256 * k else 16
    if not 0 < 2 * k * block <= n or not x.size or x.dtype.kind not in "iuf":
        return None
    rows = x.reshape(-1, n)
    ahead = rows >= _bound(rows, k, block) if descending else rows <= _bound(rows, k, block, -1)
    row, place = np.divmod(np.flatnonzero(ahead), n)
    counts = np.bincount(row, minlength=len(rows))
    if len(row) > rows.size // 4 or counts.min() < k:
        return None  # many alike, or hardly any number
    value = rows[row, place]
    order = np.lexsort((_reversed(value) if descending else value, row))
    starts = np.cumsum(counts) - counts
    found = place[order[starts[:, None] + np.arange(k)]]
    return found.reshape(*x.shape[:-1], k)


def _bound(rows: np.ndarray, k: int, block: int, sign: int = 1) -> np.ndarray:
    """What the first ``k`` elements of each row do not fall behind.

    It is the ``k``-th among the greatest (or least) elements of parts of the row.
    """
    parts = rows.shape[-1] // block
    cut = rows[:, : parts * block].reshape(len(rows), block, parts)
    best = np.fmax.reduce(cut, 1) if sign > 0 else np.fmin.reduce(cut, 1)
    place = parts - k if sign > 0 else k - 1
    return np.partition(best, place, axis=-1)[:, place, None]


def _short(x: np.ndarray) -> bool:
    fits = x.dtype.char in "fe" or x.dtype == np.int32
    return fits and x.size >= _MANY and x.shape[-1] < 1 << 31


def _long(x: np.ndarray, least: int) -> bool:
    fits = x.dtype in (np.float64, np.int64)
    return fits and x.size >= least and _LONG <= x.shape[-1] < 1 << 31


def _reversed(x: np.ndarray) -> np.ndarray:
    """Elements whose order is the opposite; NaN stays."""
    if x.dtype.kind == "i":
        return -1 - x
    return ~x if x.dtype.kind in "bu" else -x


def _key(x: np.ndarray, descending: bool) -> np.ndarray:
    """Signed integers of 32 or 64 bits with the order of the elements."""
    if x.dtype.kind == "i":
        return ~x if descending else x
    bits = x + np.zeros((), np.float32)  # both zeros are one
    size, kind = bits.itemsize, np.dtype(f"i{bits.itemsize}")
    bits = bits.view(kind)
    key = bits >> (8 * size - 1)
    key &= np.iinfo(kind).max
    key ^= bits
    if descending:
        np.invert(key, out=key)
    most = _INFINITY[size]
    if key.max() > most or key.min() < ~most:
        key[(key > most) | (key < ~most)] = most + 1
    return key


def _numbers(x: np.ndarray) -> np.ndarray:
    return np.arange(x.shape[-1], dtype=np.int32)


def _packed(upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    both = np.empty((*upper.shape, 2), np.int32)
    both[..., _LOW], both[..., _HIGH] = lower, upper
    return both.view(np.int64)[..., 0]


def _long_order(key: np.ndarray) -> np.ndarray | None:
    """The order of elements of 64 bits; None if there is no native sort."""
    halves = np.ascontiguousarray(key).view(np.int32).reshape(*key.shape, 2)
    # The sort takes signed numbers, but a lower half has no sign.
    both = _packed(halves[..., _LOW] ^ np.int32(-(1 << 31)), _numbers(key))
    if not LENT.sort(both):
        return None
    order = both & _LOWER
    both = _packed(np.take_along_axis(halves[..., _HIGH], order, -1), order.astype(np.int32))
    return both & _LOWER if LENT.sort(both) else None
