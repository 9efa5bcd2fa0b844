"""Rows of a table, looked up by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.op import Op, called, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_tracing
from agnesi.core.support.worker_threads import results
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import filled
from agnesi.ops.base.gather.elements import IndexSum
from agnesi.ops.base.gather.gather_scatter import Gather, within
from agnesi.ops.base.movement import expand_dims, reshape
from agnesi.ops.base.select import where
from agnesi.ops.indexing.index import as_index
from agnesi.ops.sparse.coordinates import COO


@record
class Lookup(Op):
    """Rows of the first operand by number; the row ``padding`` gets no gradient.

    The gradient of a table that is ``sparse`` names the rows in use, where ``backward`` takes it.
    With ``by_frequency`` that of a row is divided by how often the row is in use.
    """

    padding: int | None = None
    sparse: bool = False
    by_frequency: bool = False
    work = results(1)
    name = "embedding"
    traits = frozenset(("raises",))
    keep_inputs = (1,)

    def infer(self, weight: Any, ids: Any) -> Any:
        return (*ids.shape, *weight.shape[1:]), weight.dtype

    def perform(self, weight: np.ndarray, ids: np.ndarray) -> np.ndarray:
        n = len(weight)
        if ids.size and (ids.min() < 0 or ids.max() >= n):
            wrong = ids[(ids < 0) | (ids >= n)][0]
            raise IndexError(f"id {wrong} is out of range for {n} rows: ids run from 0 to {n - 1}")
        return weight.take(ids, 0)

    def vjp(self, g: Tensor, y: Tensor, weight: Tensor, ids: Tensor) -> tuple[Any, ...]:
        if self.by_frequency:
            g = g / expand_dims(cast(self._frequencies(ids, weight), g.dtype), -1)
        if self.sparse and not STATE.recording:
            return self._rows(g, weight, ids), None
        return apply(IndexSum((0,), 0, weight.shape), self._without_padding(g, ids), ids), None

    def _frequencies(self, ids: Tensor, weight: Tensor) -> Tensor:
        """How often each of the rows in use is in use."""
        rows = (weight.shape[0],)
        counts = apply(IndexSum((0,), 0, rows), filled(ids.shape, 1, np.dtype("int64")), ids)
        return apply(Gather((0,), 0), counts, ids)

    def _rows(self, g: Tensor, weight: Tensor, ids: Tensor) -> COO:
        """Return the gradient as a sparse tensor of the rows that were looked up."""
        if self.padding is not None and not is_tracing():
            assert g.array is not None and ids.array is not None
            kept = ids.array != self.padding
            g, ids = wrap(g.array[kept]), wrap(ids.array[kept])
        else:
            g = self._without_padding(g, ids)
        count = product(ids.shape)
        return COO._made(reshape(cast(ids, np.dtype("int64")), (1, count)),
                        reshape(g, (count, *weight.shape[1:])), weight.shape)

    def jvp(self, ts: Any, y: Tensor, weight: Tensor, ids: Tensor) -> Any:
        return self._without_padding(apply(self, ts[0], ids), ids)

    def _without_padding(self, g: Tensor, ids: Tensor) -> Tensor:
        if self.padding is None:
            return g
        return where(expand_dims(ids, -1) == self.padding, 0, g)

    def decompose(self, weight: Tensor, ids: Tensor) -> Tensor:
        known = within(ids, weight.shape[0], called(self.name, (weight, ids)), least=0,
                       what="an id")
        return apply(Gather((0,), 0), weight, known)


def embedding(ids: TensorLike, weight: TensorLike, padding_idx: int | None = None, *,
              sparse: bool = False, scale_grad_by_freq: bool = False) -> Tensor:
    """Rows of a table by number, for what is public (``nn/functions/lookups.py``)."""
    ids, weight = as_tensor(ids), as_tensor(weight)
    if ids.dtype.kind == "f" and weight.dtype.kind in "iu":
        raise DTypeError(f"the ids come first, and then the table, not {typed(ids)} and "
                         f"{typed(weight)}")
    ids = as_index(ids)
    if weight.ndim != 2:
        raise ShapeError(f"the table must be a matrix, not {typed(weight)}")
    count = weight.shape[0]
    if padding_idx is not None and isinstance(count, int) and not -count <= padding_idx < count:
        raise IndexError(f"padding_idx={padding_idx} is none of {count} rows")
    if padding_idx is not None and padding_idx < 0:
        padding_idx += count
    return apply(Lookup(padding_idx, sparse, scale_grad_by_freq), weight, ids)
