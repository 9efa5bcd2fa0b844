"""How values without memory would lie in it: whether a reshape of one is a view or a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.config import STATE
from agnesi.core.dims import is_static
from agnesi.core.extents import guess
from agnesi.core.op import Op
from agnesi.core.tensor import Tensor


def laid_out(x: Tensor) -> np.ndarray | None:
    """An array that lies as ``x`` does when the same Python runs on values, or None.

    Its elements must not be touched.  What was computed, and arguments, lie in row-major order.
    """
    if x.data is not None:
        return x.data
    view, shape = x._view, tuple(map(guess, x.shape))
    if not is_static(shape):
        return None
    if view is None:
        steps = [x.dtype.itemsize] * len(shape)
        for axis in range(len(shape) - 1, 0, -1):
            steps[axis - 1] = steps[axis] * max(shape[axis], 1)
        return np.lib.stride_tricks.as_strided(np.empty(1, x.dtype), shape, steps)
    base = laid_out(view.base)
    if base is None:
        return None
    try:
        return base.reshape(shape, copy=False) if view.op.flat else view.op.perform(base)
    except (ValueError, TypeError):  # places that sizes name
        return None


def is_row_major(x: Tensor) -> bool:
    """Whether the elements lie in memory one after another, in C order, as far as is known."""
    array = laid_out(x)
    return array is None or array.flags.c_contiguous


def reshapes_in_place(op: Op, base: Tensor) -> bool:
    """Whether a reshape looks into the memory of its operand, as NumPy decides it."""
    if base._view is None and base.data is None:
        return True
    array = laid_out(base)
    shape: Any = getattr(op, "shape", base.shape)
    try:
        if array is not None:
            array.reshape(tuple(map(guess, shape)), copy=False)
    except ValueError:
        return False
    except TypeError:  # sizes that nobody knows yet
        return True
    return True


def note(base: Tensor, result: Tensor) -> None:
    """Tell the trace that the layout of ``base`` decides whose memory ``result`` is."""
    asked = getattr(STATE.trace, "asked", None)
    if asked is None:
        return
    counters = []
    for t in (base, result):
        if t._version is None:
            t._version = [0]
        counters.append(t._version)
    asked.append((counters[0], counters[0][0], counters[1], counters[1][0]))
