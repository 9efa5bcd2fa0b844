"""Writes by index that need nothing but memory: no record, no trace, a key that NumPy takes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core.dispatch import touch
from agnesi.core.storage.views import element_view
from agnesi.core.support.config import MODE
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.tensor import Tensor
from agnesi.ops.indexing.index_parsing import at_indices, plain


def _chosen_at_once(key: Any, value: Any, data: np.ndarray) -> Any:
    """A key that chooses elements as NumPy takes it, for a number of such a dtype or for as many
    values as one tensor of indices chooses; else None."""
    found: Any = None
    if type(key) is not Tensor:
        found = at_indices(key if isinstance(key, tuple) else (key,))
    elif (found := key.array) is not None and (
            found.dtype.kind not in "bi" or found.size > 1024
            or (found.dtype.kind == "b" and found.shape != data.shape[:found.ndim])):
        found = None
    elif found is not None:
        found = np.asarray(found, order="C")  # of repeated indices the last counts, not in memory
    if found is None:
        return None
    if isinstance(value, np.ndarray):
        fits = value.ndim == 0 or (type(found) is np.ndarray and found.dtype.kind == "i" and (
            data.ndim and value.shape == (*found.shape, *data.shape[1:])))
        return found if fits else None
    kinds = {float: "fc", int: "iufc", bool: "b"}.get(type(value), "")
    return found if data.dtype.kind in kinds else None


def _chosen(data: np.ndarray, key: Any) -> np.ndarray:
    """The view of memory that a basic key selects; zero-dimensional for a single element."""
    part = data[key]
    if isinstance(part, np.ndarray):
        return part
    return data[(*(key if isinstance(key, tuple) else (key,)), ...)]


def written_at_once(x: Tensor, key: Any, value: Any) -> bool:
    """Write at once if nothing is recorded and the key is basic; return whether it was written."""
    mode = MODE.get()
    data, recording = x.array, mode.recording
    if data is None or mode.trace is not None or mode.fixed or (recording and x._requires_grad):
        return False
    if mode.watch is not None or element_view(x) is not None:
        return False
    if type(value) is Tensor:
        if value.array is None or value.array.dtype != data.dtype:
            return False
        if recording and value._requires_grad:
            return False
        value = value.array
    elif type(value) not in (int, float, bool):
        return False
    basic = type(key) is not Tensor and plain(key, data.ndim) is not None
    if not basic and (key := _chosen_at_once(key, value, data)) is None:
        return False
    try:
        silently(operator.setitem, data, key, value)
    except (ValueError, IndexError, OverflowError, TypeError):
        return False
    seen = basic and x._version is not None and len(x._version) > 1
    touch(x, _chosen(data, key) if seen else None)
    return True
