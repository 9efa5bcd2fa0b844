"""Positions of true elements: results whose size is data, such as ``x[mask]``, are made of these.

While a graph is written, how many there are is a data-dependent size (``core.value_sizes``); in
bodies, where sizes cannot change, they are left among all positions (``ops/indexing/unsized.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.foreign import Call, number, operand, result
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import refusal, size_of
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.movement import reshape


@record
class Chosen(Op):
    """Where the elements of a vector of bools are true; there are ``size`` of them."""

    size: Size
    name = "chosen"
    traits = frozenset(("indices",))
    axis = 0
    keep_inputs = ()
    differentiable = False
    work = elements(2)

    def infer(self, mask: Any) -> Any:
        return (self.size,), dtypes.int64

    def perform(self, mask: np.ndarray) -> np.ndarray:
        return mask.nonzero()[0]

    def foreign(self, mask: Any) -> Call:
        return Call("chosen:bool", (operand(0), result(), number(mask.shape[0]),
                                    number(self.size)), units=1)


def positions_of(mask: Tensor) -> Tensor:
    """Positions of the true elements among the flat ones, in order."""
    flat = reshape(mask, (product(mask.shape),))
    if is_known(mask):
        return as_tensor(flat.array.nonzero()[0])
    count = cast(flat, dtypes.int64).sum()
    if refusal(count) is not None:
        found: Tensor = HOOKS.positions(flat)
        return found
    n = size_of(count, "how many elements a mask selects", flat.shape[0], mask)
    return apply(Chosen(n), flat)


def along_axes(flat: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat positions as an index for each axis."""
    if len(shape) == 1:
        return (flat,)
    found: list[Tensor] = []
    for n in reversed(shape):
        found.append(flat % n)
        flat = flat // n
    return tuple(reversed(found))
