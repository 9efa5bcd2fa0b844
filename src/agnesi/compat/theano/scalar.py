"""``theano.scalar``: types of numbers."""

from __future__ import annotations

import numpy as np

from agnesi.compat.theano.types import TensorType


def upcast(*dtypes: str) -> str:
    """The type that holds all of them."""
    return np.result_type(*map(np.dtype, dtypes)).name


def ScalarType(dtype: str) -> TensorType:  # noqa: N802 - a class there
    """The type of single numbers: that of tensors without axes."""
    return TensorType(dtype, ())


Scalar = ScalarType
