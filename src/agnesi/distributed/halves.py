"""Rows of numbers as half-precision numbers, for messages of half the size.

Each row is multiplied by a power of two that brings its largest element next to float16's largest,
and takes the exponent along as a last element: rows of any magnitude keep 11 bits, as float16 alone
has an infinity from 65520 and nothing below 6e-8.
"""

from __future__ import annotations

import numpy as np

from agnesi.api.functions import max as _max
from agnesi.api.functions import sum as _sum
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import isfinite
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.numeric import frexp, ldexp
from agnesi.ops.indexing.join import concat

HALF, _INT32 = np.dtype("float16"), np.dtype("int32")

#: A row's largest element is below ``2**_PEAK`` when it travels; float16 ends at ``2**16``.
_PEAK = 15
#: Powers of two that float32 has.
_LEAST_EXPONENT, _MOST_EXPONENT = -126, 127


def to_halves(row: Tensor) -> Tensor:
    """A row of floats as float16, with one element more: the exponent that was taken out of it."""
    most = _max(abs(row))
    exponent = (frexp(most)[1] - _PEAK).clip(_LEAST_EXPONENT, _MOST_EXPONENT)
    exponent = where(isfinite(most), exponent, 0)
    scale = ldexp(as_tensor(1, row.dtype), -exponent)
    return concat([cast(row * scale, HALF), cast(exponent, HALF).reshape(1)])


def add_halves(rows: Tensor, dtype: np.dtype) -> Tensor:
    """The sum of rows that :func:`to_halves` made, one for each process, in their own dtype."""
    scale = ldexp(as_tensor(1, dtype), cast(rows[:, -1:], _INT32))
    return _sum(cast(rows[:, :-1], dtype) * scale, axis=0)
