"""Rows of loops that do fewer steps than there are rows, as a tensor tells."""

from __future__ import annotations

from typing import Any

from agnesi.core.tensor import Tensor
from agnesi.ops.creation import zeros
from agnesi.ops.demands import demanded
from agnesi.ops.index import take
from agnesi.ops.join import concat
from agnesi.ops.ranges import arange


def counted(count: Tensor, rows: Any) -> Tensor:
    """A number of steps, which compiled code checks."""
    most = "" if rows is None else " and at most the number of rows"
    found: Tensor
    (found,) = demanded("scan", f"length must be at least 0{most}", lambda n: (n >= 0) if
                        rows is None else (n >= 0) & (n <= rows), length=count)
    return found


def turned(rows: Tensor, count: Tensor | None) -> Tensor:
    """Rows the other way round: the first ``count``, if only the run tells how many count."""
    if count is None:
        return rows[::-1]
    number = rows.shape[0]
    return take(rows, (count - 1 - arange(number)) % number, 0)


def filled_up(y: Tensor, rows: Any) -> Tensor:
    """Results with rows of zeros behind those of the steps that were done."""
    lacking = rows - y.shape[0]
    return concat([y, zeros((lacking, *y.shape[1:]), dtype=y.dtype)]) if lacking else y
