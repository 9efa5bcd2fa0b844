"""The library for products under ``fast_compile``: its functions, and how our threads share it."""

from __future__ import annotations

import numpy as np

from agnesi.core.ir.calls.gemm import Library
from agnesi.core.ir.foreign import RESOLVERS
from agnesi.core.support.config import config
from agnesi.core.support.host import cores
from agnesi.ops.linalg.library import counts, has, symbol
from agnesi.runtime import support


def library(every: bool = False) -> Library:
    """Return the library that evaluates matrix products where the policy says so, ``every`` one or
    those that gain by it."""
    kinds = [d for d in map(np.dtype, ("float32", "float64")) if has("gemm", d)]
    threads = cores(config.threads)
    controlled = threads == 1 or (not config.lapack and counts() is not None)
    return Library({d.name: symbol("gemm", d) for d in kinds}, threads if controlled else 0, every)


def _address(name: str) -> int | None:
    """Return the address by which native code makes NumPy's library work in the calling thread, or
    ends that.
    """
    found = counts()
    if found is None:
        return None
    for i, address in enumerate(found):
        support.variable("blas", i).value = address
    return support.native().address(f"blas_{name}")


RESOLVERS["blas"] = _address
