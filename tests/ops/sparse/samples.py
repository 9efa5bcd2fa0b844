"""Random operands."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def matrix(shape=(6, 5), density=0.4, dtype="float64", format="csr", index="int32", seed=0):
    """A random SciPy matrix with an empty row and an empty column."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, shape) * (rng.random(shape) < density)
    if np.dtype(dtype).kind == "c":
        x = x * np.exp(1j * rng.uniform(0, 6, shape))
    if np.dtype(dtype).kind == "i":
        x = x * 10
    if min(shape) > 2:
        x[1] = 0
        x[:, 2] = 0
    found = sp.csr_array(x.astype(dtype)).asformat(format)
    found.indices, found.indptr = found.indices.astype(index), found.indptr.astype(index)
    return found


def dense(shape, dtype="float64", seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-2, 2, shape)
    return (x * (10 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)
