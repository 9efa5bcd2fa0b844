"""``theano.tensor.nnet.blocksparse``: products of chosen blocks of a matrix."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.shaping import inc_subtensor
from agnesi.compat.theano.variable import Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at


def _checked(op: str, *given: tuple[str, Any, int]) -> list[Variable]:
    """Operands as variables, if they have as many axes as they must."""
    found = []
    for name, value, ndim in given:
        x = as_tensor_variable(value)
        if x.ndim != ndim:
            raise TypeError(at(f"{op}: {name} must have {ndim} axes, not {x.ndim}: {x.type}"))
        if name.endswith("Idx") and "int" not in x.dtype:
            raise TypeError(at(f"{op}: {name} must be integers, not {x.dtype}"))
        found.append(x)
    return found


class _OfBlocks:
    """An operation that is made and then called; writing in place is not the caller's to choose."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class SparseBlockGemv(_OfBlocks):
    """``o[b, j] + sum_i dot(h[b, i], W[inputIdx[b, i], outputIdx[b, j]])`` for all b and j."""

    def __call__(self, o: Any, W: Any, h: Any, inputIdx: Any, outputIdx: Any) -> Variable:
        o, W, h, rows, columns = _checked(
            "SparseBlockGemv", ("o", o, 3), ("W", W, 4), ("h", h, 3),
            ("inputIdx", inputIdx, 2), ("outputIdx", outputIdx, 2))
        blocks = W[rows.dimshuffle(0, 1, "x"), columns.dimshuffle(0, "x", 1)]
        return o + (h.dimshuffle(0, 1, "x", 2, "x") * blocks).sum(axis=(1, 3))


class SparseBlockOuter(_OfBlocks):
    """``o`` with ``alpha * outer(x[b, i], y[b, j])`` added to ``o[xIdx[b, i], yIdx[b, j]]``."""

    def __call__(self, o: Any, x: Any, y: Any, xIdx: Any, yIdx: Any, alpha: Any = None) -> Variable:
        o, x, y, rows, columns = _checked(
            "SparseBlockOuter", ("o", o, 4), ("x", x, 3), ("y", y, 3), ("xIdx", xIdx, 2),
            ("yIdx", yIdx, 2))
        blocks = x.dimshuffle(0, 1, "x", 2, "x") * y.dimshuffle(0, "x", 1, "x", 2)
        return inc_subtensor(o[rows.dimshuffle(0, 1, "x"), columns.dimshuffle(0, "x", 1)],
                             blocks if alpha is None else blocks * alpha)


sparse_block_gemv, sparse_block_gemv_inplace = SparseBlockGemv(), SparseBlockGemv(True)
sparse_block_outer, sparse_block_outer_inplace = SparseBlockOuter(), SparseBlockOuter(True)


def sparse_block_dot(W: Any, h: Any, inputIdx: Any, b: Any, outputIdx: Any) -> Variable:
    """Products of chosen blocks of a matrix with blocks of its input, and a bias.

    :param W: (input blocks, output blocks, size of an input block, size of an output block)
    :type W: Variable
    :param h: (batch, blocks that are there, size of an input block), or without the batch
    :type h: Variable
    :param inputIdx, outputIdx: (batch, blocks): which blocks ``h`` has, and which ones the result
        has
    :type inputIdx: Variable
    :param b: (output blocks, size of an output block)
    :type b: Variable
    """
    W, h, b = map(as_tensor_variable, (W, h, b))
    rows, columns = as_tensor_variable(inputIdx), as_tensor_variable(outputIdx)
    if h.ndim == 2 and rows.ndim == columns.ndim == 1:
        h, rows, columns = (x.dimshuffle("x", *range(x.ndim)) for x in (h, rows, columns))
    return sparse_block_gemv(b.take(columns, axis=0), W, h, rows, columns)


_strictly(__name__)
