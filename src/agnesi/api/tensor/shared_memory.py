"""Whose memory an array looks into, so that copies look into the copy of that memory."""

from __future__ import annotations

from typing import Any

import numpy as np

View = tuple[np.dtype, tuple[int, ...], tuple[int, ...], int]


def memory_of(array: np.ndarray) -> tuple[np.ndarray, View | None]:
    """The array that owns the memory, and what is seen of it; None for all of it.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.api.tensor.shared_memory import memory_of, seen_in
    >>> x = np.arange(6)
    >>> owner, view = memory_of(x[1:4:2])
    >>> owner is x, seen_in(x.copy(), view).tolist()
    (True, [1, 3])
    """
    owner: Any = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner is array or type(owner) is not np.ndarray or not owner.flags.forc:
        return array, None
    offset = array.ctypes.data - owner.ctypes.data
    return owner, (array.dtype, array.shape, array.strides, offset)


def seen_in(owner: np.ndarray, view: View | None) -> np.ndarray:
    """The same view of other memory that is laid out alike."""
    if view is None:
        return owner
    dtype, shape, strides, offset = view
    line: Any = owner.T if owner.flags.f_contiguous else owner
    return np.ndarray(shape, dtype, line, offset, strides)
