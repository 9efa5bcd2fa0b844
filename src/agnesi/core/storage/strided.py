"""Arrays that look into another one, by strides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided


def looking_into(x: np.ndarray, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """Return a read-only array with this shape and these strides on the memory of ``x``, from its
    first element on.

    ``as_strided`` takes ten times as long for contiguous arrays.
    """
    if not x.flags.c_contiguous or not x.size or x.dtype.kind == "V":
        return as_strided(x, shape, strides, writeable=False)
    found: np.ndarray = np.ndarray(shape, x.dtype, x, 0, strides)
    found.flags.writeable = False
    return found
