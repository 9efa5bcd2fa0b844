"""Orders of the last axis by NumPy, and the first few of many without ordering the others."""

from __future__ import annotations

import numpy as np


def comparable(x: np.ndarray) -> np.ndarray:
    """Numbers in a dtype that NumPy orders with NaN last: bfloat16 as float32, which is exact.

    >>> import numpy as np
    >>> from agnesi.ops.sorting.order import comparable
    >>> comparable(np.arange(2, dtype="int8")).dtype
    dtype('int8')
    """
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def sorted_rows(x: np.ndarray, descending: bool = False) -> np.ndarray:
    """The elements of the last axis in order; NaN is the greatest.

    >>> import numpy as np
    >>> from agnesi.ops.sorting.order import sorted_rows
    >>> sorted_rows(np.array([2.0, np.nan, 1.0]))
    array([ 1.,  2., nan])
    """
    if descending:
        return np.take_along_axis(x, stable_order(x, True), -1)
    if x.dtype.kind in "fVc":  # zeros keep their order
        return np.sort(comparable(x), axis=-1, kind="stable").astype(x.dtype, copy=False)
    return np.sort(x, axis=-1)


def stable_order(x: np.ndarray, descending: bool) -> np.ndarray:
    """Indices (int64) that put the last axis in order; NaN is the greatest, equal ones stay.

    >>> import numpy as np
    >>> from agnesi.ops.sorting.order import stable_order
    >>> stable_order(np.array([2.0, np.nan, 1.0, 2.0]), True)
    array([1, 0, 3, 2])
    """
    x = comparable(x)
    return first_of_order(x, x.shape[-1]) if descending else x.argsort(-1, "stable")


def first_of_order(x: np.ndarray, k: int) -> np.ndarray:
    """The first ``k`` indices that put the last axis in descending order; NaN is the greatest,
    equal ones stay.

    >>> import numpy as np
    >>> from agnesi.ops.sorting.order import first_of_order
    >>> first_of_order(np.array([2.0, np.nan, 1.0, 2.0]), 2)
    array([1, 0])
    """
    if k == 1 and x.dtype.kind != "c":
        return x.argmax(-1, keepdims=True)
    n = x.shape[-1]
    found = x[..., ::-1].argsort(-1, "stable")[..., n - k:][..., ::-1]
    return np.subtract(n - 1, found)


def first_positions(x: np.ndarray, k: int, descending: bool) -> np.ndarray | None:
    """The first ``k`` of these indices; None where nothing is gained over all of them.

    >>> import numpy as np
    >>> from agnesi.ops.sorting.order import first_positions
    >>> first_positions(np.arange(10000.0), 2, True)
    array([9999, 9998])
    """
    n = x.shape[-1]
    block = 64 if n >= 256 * k else 16
    if not 0 < 2 * k * block <= n or not x.size or x.dtype.kind not in "iuf":
        return None
    rows = x.reshape(-1, n)
    ahead = ~(rows < _bound(rows, k, block)) if descending else rows <= _bound(rows, k, block, -1)
    row, position = np.divmod(np.flatnonzero(ahead), n)
    counts = np.bincount(row, minlength=len(rows))
    if len(row) > rows.size // 4 or int(np.min(counts)) < k:
        return None  # many alike, or hardly any number
    value = rows[row, position]
    if descending:
        order = len(row) - 1 - np.lexsort((value[::-1], -row[::-1]))[::-1]
    else:
        order = np.lexsort((value, row))
    starts = np.cumsum(counts) - counts
    found = position[order[starts[:, None] + np.arange(k)]]
    return found.reshape(*x.shape[:-1], k)


def _bound(rows: np.ndarray, k: int, block: int, sign: int = 1) -> np.ndarray:
    """Return a bound for each row that its first ``k`` elements reach.

    It is the ``k``-th among the greatest (or least) elements of parts of the row.
    """
    parts = rows.shape[-1] // block
    cut = rows[:, : parts * block].reshape(len(rows), block, parts)
    extreme: np.ufunc = np.fmax if sign > 0 else np.fmin
    best = extreme.reduce(cut, 1)
    position = parts - k if sign > 0 else k - 1
    return np.partition(best, position, axis=-1)[:, position, None]
