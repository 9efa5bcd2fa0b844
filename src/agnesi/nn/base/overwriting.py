"""Base of activations that may write into their operand."""

from __future__ import annotations

from agnesi.core.dispatch import assign
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.ops.base.convert import as_tensor


class Overwriting(Module):
    """Base of layers that may write into their operand, with ``inplace=True``."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace

    def _given(self, x: TensorLike, y: Tensor) -> Tensor:
        return assign(as_tensor(x), y) if self.inplace else y

    def extra_repr(self) -> str:
        return self._shown()

    def _shown(self, *options: str) -> str:
        return ", ".join([*options, "inplace=True"] if self.inplace else options)
