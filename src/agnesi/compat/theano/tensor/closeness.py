"""What Theano's and PyTensor's users, and their tests, compare values with."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Absolute and relative tolerances, by the dtype that is the least exact of two.
_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}


def _allclose(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Return whether arrays are equal within what their dtypes can hold."""
    a, b = np.asarray(a), np.asarray(b)
    known = next((t for name, t in _TOLERANCES.items() if name in (a.dtype.name, b.dtype.name)),
                 (1e-8, 1e-5))
    return bool(np.allclose(a, b, atol=known[0] if atol is None else atol,
                            rtol=known[1] if rtol is None else rtol))
