"""Reciprocals of gaps between singular values or eigenvalues, safe where values are repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.ir.dims import is_open
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import less_equal
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.select import where

#: Gaps of so many units of the last place of the greatest value are rounding errors.
_ROUNDING = 16


def columns(x: Tensor) -> Tensor:
    """The last axis as columns of a matrix."""
    return reshape(x, (*x.shape, 1))


def rows(x: Tensor) -> Tensor:
    """The last axis as rows of a matrix."""
    return reshape(x, (*x.shape[:-1], 1, x.shape[-1]))


def inverse_gaps(values: Tensor) -> Tensor:
    """``1 / (values[j] - values[i])``, and 0 where both are the same but for rounding.

    That is right for functions that do not depend on how a space of one value is spanned.
    """
    gaps = arith.subtract(rows(values), columns(values))
    return safe_reciprocal(gaps, values)


def safe_reciprocal(x: Tensor, scale: Tensor) -> Tensor:
    """``1 / x``, and 0 where ``x`` is nothing beside the greatest of ``scale`` along its axis."""
    if scale.shape[-1] == 0:
        return x
    eps = _ROUNDING * float(np.finfo(dtypes.real_of(scale.dtype)).eps)
    least = 0 if is_open(scale.shape[-1]) else None  # of no elements, perhaps
    most = greatest(arith.abs(scale), axis=-1, keepdims=True, initial=least)
    bound: Any = arith.multiply(most, eps)
    bound = reshape(bound, (*bound.shape, 1)) if len(x.shape) > len(scale.shape) else bound
    nothing = less_equal(arith.abs(x), bound)
    return where(nothing, 0, arith.reciprocal(where(nothing, 1, x)))
