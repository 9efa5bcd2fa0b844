"""What the tests of sizes that change share: arrays of any size, and functions run on several."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.core.support.tree import flatten

SIZES = (5, 7, 1, 2, 3, 0, 16, 17, 64, 100)


def rows(n: int, *more: int, dtype: str = "float32", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed + 100 * n)
    return ag.tensor(rng.normal(size=(n, *more)).astype(dtype))


def agree(compiled: Any, eager: Any, *args: Any, tolerance: float = 1e-4) -> None:
    got, wanted = flatten(compiled(*args))[0], flatten(eager(*args))[0]
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = float(np.nanmax(np.abs(b.array), initial=1.0))
        np.testing.assert_allclose(
            a.array, b.array, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def dynamic(f: Any) -> int:
    """How many versions of a function take more than one size."""
    return sum("n0" in s.signature for s in f.specialisations)


def check(function: Any, *shapes: Any, sizes: Any = SIZES, dtype: str = "float32") -> Any:
    """A function of arrays whose shapes have None for the size that changes."""
    f = ag.jit(function)
    for n in sizes:
        args = [rows(*[n if k is None else k for k in s], dtype=dtype, seed=i)
                for i, s in enumerate(shapes)]
        agree(f, function, *args)
    assert dynamic(f) == 1, f.explain()
    special = 2 + sum(n in sizes for n in (0, 1))
    assert len(f.specialisations) <= special, f.explain()
    return f
