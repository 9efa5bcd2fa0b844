"""The affine map of a neural network's layer, as one operation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.op import Op
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import add, conjugate
from agnesi.ops.base.convert import as_tensor, common
from agnesi.ops.base.expand import broadcast_to, sum_to
from agnesi.ops.base.linearity import BilinearOp
from agnesi.ops.base.movement import reshaped, transposed
from agnesi.ops.contractions.matmul import MATMUL, MIN_LONG_ELEMENTS, dot2, matmul, product_of


@record
class Linear(Op):
    """``x @ weight.T + bias`` for rows x; gives the gradient of weight in its layout."""

    name = "linear"
    by_types = True
    keep_inputs = (0, 1)

    def multiply_adds(self, shape: Any, operands: Any) -> int:
        return math.prod(shape) * int(operands[0][-1])

    def infer(self, x: Any, weight: Any, bias: Any) -> Any:
        if len(x.shape) != 2 or len(weight.shape) != 2 or len(bias.shape) != 1:
            raise ShapeError(
                f"x {x.shape} needs 2 axes, weight {weight.shape} 2 and bias {bias.shape} 1"
            )
        if not x.dtype == weight.dtype == bias.dtype:
            raise DTypeError(f"dtypes {x.dtype}, {weight.dtype} and {bias.dtype} must agree")
        _same("features", x.shape, -1, "x", weight.shape, 1, "weight")
        _same("outputs", bias.shape, 0, "bias", weight.shape, 0, "weight")
        return (x.shape[0], weight.shape[0]), x.dtype

    def perform(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        if x.dtype in dtypes.HALVES:
            wide = self.perform(*(v.astype(np.float32) for v in (x, weight, bias)))
            return silently(wide.astype, x.dtype)
        if x.size < MIN_LONG_ELEMENTS and weight.size < MIN_LONG_ELEMENTS:
            return silently(_affine, x, weight, bias)
        found: np.ndarray = aside(
            x.size * weight.shape[0] // 32, silently, _affine, x, weight, bias)
        return found

    def c_call(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> Any:
        short = x.size < MIN_LONG_ELEMENTS and weight.size < MIN_LONG_ELEMENTS
        return (_affine, ()) if short and x.dtype not in dtypes.HALVES else None

    def decompose(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return add(product_of(x, transposed(weight)), bias)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Any, ...]:
        return (
            product_of(g, conjugate(weight)) if x._requires_grad else None,
            apply(OVER_ROWS, g, conjugate(x)) if weight._requires_grad else None,
            sum_to(g, bias.shape) if bias._requires_grad else None,
        )

    def jvp(self, ts: Any, y: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Any:
        total = None if ts[0] is None else product_of(ts[0], transposed(weight))
        if ts[1] is not None:
            part = product_of(x, transposed(ts[1]))
            total = part if total is None else add(total, part)
        if ts[2] is None:
            return total
        return broadcast_to(ts[2], y.shape) if total is None else add(total, ts[2])


def _affine(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    y = dot2(x, weight.T)
    if bias.shape != y.shape[1:]:
        raise ShapeError("bias would broadcast")  # infer names the shapes
    y += bias
    return y


@record
class OverRows(BilinearOp):
    """``a.T @ b``: the sum over rows of the products of two matrices' elements."""

    name = "over_rows"
    by_types = True

    def infer(self, a: Any, b: Any) -> Any:
        _same("rows", a.shape, 0, "a", b.shape, 0, "b")
        return (a.shape[1], b.shape[1]), a.dtype

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return MATMUL.perform(a.T, b)

    def decompose(self, a: Tensor, b: Tensor) -> Tensor:
        return product_of(transposed(a), b)

    def vjp(self, g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Any, ...]:
        return (
            product_of(conjugate(b), transposed(g)) if a._requires_grad else None,
            product_of(conjugate(a), g) if b._requires_grad else None,
        )


LINEAR = Linear()
OVER_ROWS = OverRows()


def _same(what: str, a: Any, i: int, a_name: str, b: Any, j: int, b_name: str) -> None:
    m, n = a[i], b[j]
    if type(m) is int and type(n) is int and m != n:
        raise ShapeError(
            f"{what} differ: {m} (axis {i} of {a_name} {a}) and {n} (axis {j} of {b_name} {b})"
        )


@planned
@public
def linear(x: TensorLike, weight: TensorLike, bias: TensorLike | None = None, /, *,
           out: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``: a fully connected layer over the last axis of ``x``.

    :param x: Inputs, of shape (..., features).
    :param weight: Weights, of shape (outputs, features), or (features,) for one output.
    :param bias: Bias, of shape (outputs,).
    :returns: Of shape (..., outputs), or (...) for one output.
    :raises ShapeError: If the features of ``x`` and ``weight`` differ.
    :see: nn.Linear, nn.Bilinear, matmul

    >>> ag.nn.functional.linear(ag.tensor([[1.0, 2.0]]), ag.tensor([[3.0, 4.0]]), ag.tensor([0.5]))
    tensor([[11.5]])
    """
    if getattr(weight, "ndim", 2) == 1:
        found = matmul(x, weight)
        return found if bias is None else found + bias
    if bias is None:
        if isinstance(x, Tensor) and isinstance(weight, Tensor) and x.shape and weight.ndim == 2:
            _same("features", x.shape, -1, "x", weight.shape, 1, "weight")
        return matmul(x, transposed(as_tensor(weight)))
    if not (type(x) is type(weight) is type(bias) is Tensor
            and x.dtype is weight.dtype is bias.dtype):
        x, weight, bias = common(x, weight, bias)
    if len(x.shape) == 2:
        return apply(LINEAR, x, weight, bias)
    if x.shape and len(weight.shape) == 2:
        _same("features", x.shape, -1, "x", weight.shape, 1, "weight")
    rows = reshaped(x, (product(x.shape[:-1]), x.shape[-1]))
    return reshaped(apply(LINEAR, rows, weight, bias), (*x.shape[:-1], weight.shape[0]))
