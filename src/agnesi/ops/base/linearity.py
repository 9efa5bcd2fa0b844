"""Operations that are linear in operands, from which the rule of their tangents follows."""

from __future__ import annotations

from typing import Any, ClassVar

from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.tensor import Tensor


class LinearOp(Op):
    """Linear in the first operand; the others, if there are any, say how."""

    keep_inputs: ClassVar[tuple[int, ...] | None] = ()

    def jvp(self, ts: Any, y: Tensor, *xs: Tensor) -> Any:
        return None if ts[0] is None else apply(self, ts[0], *xs[1:])


class BilinearOp(Op):
    """Linear in each of the first two operands."""

    def jvp(self, ts: Any, y: Tensor, a: Tensor, b: Tensor, *rest: Tensor) -> Any:
        left = None if ts[0] is None else apply(self, ts[0], b, *rest)
        right = None if ts[1] is None else apply(self, a, ts[1], *rest)
        return right if left is None else left if right is None else left + right
