"""Products of bfloat16 matrices by instructions that some processors have for them."""

from __future__ import annotations

from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.ir import foreign
from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.movement import Permute, reshape
from agnesi.ops.base.native import Native
from agnesi.ops.contractions.matmul import MatMul

#: Multiply-adds from which products gain.
_MIN_MULTIPLY_ADDS = 1 << 19
#: Rows from which products gain.
_MIN_ROWS = 16
#: Units of work, at most.
_MAX_UNITS = 16
#: Columns that are packed at a time, and bytes for that: see ``codegen/library/lanes/halves.py``.
_STRIP_COLUMNS = 48
_STRIP_BYTES = 512 * _STRIP_COLUMNS * 2


@record
class HalfProduct(Native):
    """Sums in float32 of a stack of products; the second matrices may be transposes."""

    transposed: bool
    units: int
    name = "matmul"

    def infer(self, a: Any, b: Any) -> Any:
        return (*a.shape[:-1], b.shape[-2 if self.transposed else -1]), dtypes.float32

    @property
    def symbol(self) -> str:
        """The function's name."""
        return f"generated:halves bfloat16 0 0 {'t' * self.transposed} {self.units} {_STRIP_BYTES}"

    def foreign(self, a: Any, b: Any) -> Any:
        (m, k), n = a.shape[-2:], self.infer(a, b)[0][-1]
        numbers = map(foreign.number, (product(a.shape[:-2]), m, n, k, self.units))
        return foreign.Call(
            self.symbol,
            (foreign.operand(0), foreign.operand(1), foreign.result(), foreign.scratch(), *numbers),
            scratch=(self.units * _STRIP_BYTES,), units=self.units,
        )


def half_product(node: Node) -> Tensor | None:
    """The sums of a product, if the processor has the instruction and it pays."""
    a, b = node.inputs
    if type(node.op) is not MatMul or node.dtype.name != "bfloat16" or type(a.op) is Permute:
        return None
    if not is_static((*a.shape, *b.shape)) or (len(b.shape) > 2 and a.shape[:-2] != b.shape[:-2]):
        return None
    (m, k), n = a.shape[-2:], b.shape[-1]
    many: Any = product(a.shape[:-2])
    if len(b.shape) == 2:  # the stack's rows are rows of one matrix
        many, m = 1, many * m
    given, transposed = (b.inputs[0], True) if _is_transpose(b) else (b, False)
    if (
        (type(b.op) is Permute and not transposed)
        or m < _MIN_ROWS
        or k < 2
        or many * m * n * k < _MIN_MULTIPLY_ADDS
    ):
        return None
    op = HalfProduct(transposed, min(_MAX_UNITS, many * -(-n // _STRIP_COLUMNS)))
    if not foreign.there(op.symbol):
        return None
    if len(b.shape) == 2 and len(a.shape) > 2:
        return reshape(apply(op, reshape(symbol(a), (m, k)), symbol(given)), node.shape)
    return apply(op, symbol(a), symbol(given))


def _is_transpose(x: Node) -> bool:
    rank = len(x.shape)
    axes = (*range(rank - 2), rank - 1, rank - 2)
    return type(x.op) is Permute and tuple(x.op.axes) == axes
