"""A choice between values of large arrays by their bits, without a branch for each element.

``np.where`` branches: where the condition is as good as random, as behind a relu, a wrong guess of
the processor costs more than all else, twenty times as much as the bits.
"""

from __future__ import annotations

import numpy as np

from agnesi.core import shapes
from agnesi.core.storage import memory
from agnesi.core.storage.memory_order import has_rows

#: Elements from which bits are faster.
_MIN_BITWISE_ELEMENTS = 1 << 11
#: Whole numbers with the bits of an element, by its bytes.
_WHOLE = {n: np.dtype(f"i{n}") for n in (1, 2, 4, 8)}


def choose(condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``np.where`` of a bool condition and values of one dtype."""
    if a.size < _MIN_BITWISE_ELEMENTS and b.size < _MIN_BITWISE_ELEMENTS:
        return np.where(condition, a, b)
    whole = _WHOLE.get(a.dtype.itemsize)
    if whole is None or not all(map(has_rows, (condition, a, b))):
        return np.where(condition, a, b)
    result = memory.empty(shapes.broadcast(condition.shape, a.shape, b.shape), whole)
    left, right = a.view(whole), b.view(whole)
    if _nothing(right) or _nothing(left):
        mask = result if condition.shape == result.shape else None
        if _nothing(right):
            np.bitwise_and(np.negative(condition, out=mask, dtype=whole), left, out=result)
        else:
            np.bitwise_and(np.subtract(condition, 1, out=mask, dtype=whole), right, out=result)
    else:
        np.bitwise_xor(left, right, out=result)
        np.bitwise_and(result, np.negative(condition, dtype=whole), out=result)
        np.bitwise_xor(result, right, out=result)
    return result.view(a.dtype)


def _nothing(bits: np.ndarray) -> bool:
    """Return whether all bits of a scalar are zero, which is not so for -0.0."""
    return bits.ndim == 0 and not bits
