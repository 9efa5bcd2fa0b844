"""Elements at indices, as operations: reading them, and the adjoint of that."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.dims import Shape
from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.creation import spread_constant
from agnesi.ops.places import ScatterAdd, add_at, gathered, selected, spread, taken


@record
class Index(Op):
    """Elements at tensors of indices on some axes; their common shape comes at place ``at``."""

    axes: tuple[int, ...]
    at: int
    name = "getitem"

    def infer(self, x: Any, *indices: Any) -> Any:
        return selected(x.shape, self.axes, self.at, indices), x.dtype

    @property
    def keep_inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(1, len(self.axes) + 1))

    def perform(self, x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        return taken(x, self.axes, self.at, indices)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, *indices: Tensor) -> tuple[Any, ...]:
        rest = (None,) * len(indices)
        return apply(IndexSum(self.axes, self.at, x.shape), g, *indices), *rest

    def jvp(self, ts: Any, y: Tensor, x: Tensor, *indices: Tensor) -> Any:
        return apply(self, ts[0], *indices)

    def decompose(self, x: Tensor, *indices: Tensor) -> Tensor:
        return gathered(x, self.axes, self.at, indices, self.name)


@record
class Picked(Index):
    """Elements at indices of which no two name the same place."""


@record
class Window(Picked):
    """The elements of a slice of one axis whose bounds are values; ``partial`` marks all but the
    last step of a key."""

    partial: bool = False


@record
class IndexSum(Op):
    """Zeros of a shape with the operand added at the indices: the adjoint of Index."""

    axes: tuple[int, ...]
    at: int
    shape: Shape
    name = "index_sum"

    def infer(self, x: Any, *indices: Any) -> Any:
        return self.shape, x.dtype

    @property
    def keep_inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(1, len(self.axes) + 1))

    def perform(self, x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        result = np.zeros(self.shape, x.dtype)
        add_at(result, self.axes, self.at, x, indices)
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, *indices: Tensor) -> tuple[Any, ...]:
        return apply(Index(self.axes, self.at), g, *indices), *(None,) * len(indices)

    def jvp(self, ts: Any, y: Tensor, x: Tensor, *indices: Tensor) -> Any:
        return apply(self, ts[0], *indices)

    def decompose(self, x: Tensor, *indices: Tensor) -> Tensor:
        nothing = spread_constant(self.shape, 0, x.dtype)
        return spread(ScatterAdd, nothing, x, self.axes, self.at, indices, self.name)

    def resolve(self, known: Any) -> Op:
        return type(self)(self.axes, self.at, tuple(map(known, self.shape)))
