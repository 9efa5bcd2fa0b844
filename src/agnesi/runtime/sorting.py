"""A stable sort by digits, in native code."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np

from agnesi.runtime import machine

_Function = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


@functools.cache
def _native() -> tuple[Any, machine.Code]:
    text = Path(__file__).with_name("native").joinpath("sort.ll").read_text(encoding="utf-8")
    code = machine.load(text)
    return _Function(code.address("sort_rows")), code


def sort_by_upper_halves(rows: np.ndarray) -> None:
    """Sort contiguous rows of int64 in place, by their upper 32 bits; equal ones stay in order.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.runtime.sorting import sort_by_upper_halves
    >>> x = np.array([3 << 32, (-1 << 32) + 7, (-1 << 32) + 5])
    >>> sort_by_upper_halves(x)
    >>> (x >> 32).tolist(), (x & 15).tolist()
    ([-1, -1, 3], [7, 5, 0])
    """
    n = rows.shape[-1]
    if not rows.size:
        return
    room = np.empty(n, np.int64)
    run, _ = _native()
    run(rows.ctypes.data, room.ctypes.data, rows.size // n, n)
