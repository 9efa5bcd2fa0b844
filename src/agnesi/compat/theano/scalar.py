"""``theano.scalar``: types of numbers."""

from __future__ import annotations

import numpy as np


def upcast(*dtypes: str) -> str:
    """The type that holds all of them."""
    return np.result_type(*map(np.dtype, dtypes)).name
