"""Operations whose result is an operand: with gradients, without, or instead of another one."""

from __future__ import annotations

from typing import Any

from agnesi.core.op import Op
from agnesi.core.tensor import Tensor


class SetValue(Op):
    """The value of ``base`` replaced without a record of the change."""

    name = "set_value"
    keep_inputs = ()

    def infer(self, base: Any, new: Any) -> Any:
        return base.shape, base.dtype

    def perform(self, base: Any, new: Any) -> Any:
        return new

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor) -> tuple[Any, ...]:
        return g, None

    def jvp(self, ts: Any, y: Tensor, base: Tensor, new: Tensor) -> Any:
        return ts[0]

    def decompose(self, base: Tensor, new: Tensor) -> Tensor:
        return new


class Identity(Op):
    """The same value as another node of the graph, with gradients or without."""

    keep_inputs = ()
    put = SetValue()

    def __init__(self, name: str, differentiable: bool) -> None:
        self.name = name  # type: ignore[misc]
        self.differentiable = differentiable  # type: ignore[misc]

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: Any) -> Any:
        return x

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (g,)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return ts[0]

    def decompose(self, x: Tensor) -> Tensor:
        return x


class Alias(Identity):
    """The same value, with gradients."""

    traits = frozenset(("alias",))

    def layout_of(self, x: Any) -> Any:
        return x


STOP = Identity("stop_gradient", differentiable=False)
ALIAS = Alias("alias", differentiable=True)
