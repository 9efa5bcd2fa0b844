"""The base of matrix operations: types of operands, stacks, batching, checks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, apply_many, symbolic
from agnesi.core.ir.dims import combine, is_settled, product
from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError, typed
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.worker_threads import cubes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import greater, isfinite, logical_not
from agnesi.ops.base.convert import as_tensor, cast, common
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.gather.gather_scatter import Ensured
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.reduce import reducer
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import where
from agnesi.ops.batching import aligned
from agnesi.ops.contractions.matmul import adjoint as adjoint
from agnesi.ops.contractions.matmul import product_of
from agnesi.ops.indexing.ranges import Eye

#: Axes in front of matrices up to which NumPy takes them.
_MAX_BATCH_AXES = 32


class MatrixOp(Op):
    """Base of operations on the last two axes; the axes before them broadcast."""

    work = cubes(8)
    traits = frozenset(("raises",))

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "perform" in cls.__dict__:
            cls.perform = _with_few_axes(cls.perform)

    def batch(self, node: Node, xs: list[Tensor], rows: Sequence[bool], length: Any) -> Any:
        rank = max(len(n.shape) for n in node.inputs)
        given = [aligned(x, rank) if r else x for x, r in zip(xs, rows, strict=True)]
        return apply(self, *given) if self.outputs == 1 else apply_many(self, *given)


class SquareOp(MatrixOp):
    """Base of functions of square matrices whose results are of the same type."""

    def infer(self, a: Any) -> Any:
        check_square(a.shape)
        return a.shape, a.dtype


def _with_few_axes(perform: Callable[..., Any]) -> Callable[..., Any]:
    """The function without warnings, and with the axes in front as one, where they are more than
    NumPy's take."""
    @functools.wraps(perform)
    def run(self: Any, *arrays: np.ndarray) -> Any:
        rank = arrays[0].ndim
        if rank - 2 <= _MAX_BATCH_AXES or any(x.ndim not in (2, rank) for x in arrays):
            return silently(perform, self, *arrays)
        front = shapes.of_stacks(*(x.shape[:-2] for x in arrays))
        count = math.prod(front)
        found = silently(perform, self, *(
            np.broadcast_to(x, (*front, *x.shape[-2:])).reshape(count, *x.shape[-2:])
            for x in arrays))
        several = found if isinstance(found, tuple) else (found,)
        apart = tuple([y.reshape(*front, *y.shape[1:]) for y in several])
        return apart if isinstance(found, tuple) else apart[0]

    return run


# -- operands ---------------------------------------------------------------------------------
def floating(x: Any) -> Tensor:
    """A tensor of a dtype that linear algebra computes in; whole numbers become floats."""
    x = as_tensor(x)
    if x.dtype in dtypes.HALVES:
        raise DTypeError(f"linear algebra does not compute in {x.dtype}: cast to float32")
    return cast(x, dtypes.floating(x.dtype))


def matrix(x: Any) -> Tensor:
    """A matrix, or a stack of them."""
    x = floating(x)
    check_matrix(x)
    return x


def check_matrix(x: Tensor) -> None:
    """There are two axes, at least."""
    if len(x.shape) < 2:
        raise ShapeError(f"a matrix has at least 2 dimensions, this has shape {x.shape}")


def square(x: Any) -> Tensor:
    """A square matrix, or a stack of them."""
    x = matrix(x)
    check_square(x.shape)
    return x


def surely_square(name: str, x: Any) -> Tensor:
    """The same for the function ``name``, none of whose operations requests it again when sizes of
    a program become known."""
    x = square(x)
    m, n = x.shape[-2:]
    return ensured_sizes(name, x, (m,), (n,), f"the matrices must be square: shape {x.shape}")


def check_square(shape: Any) -> None:
    """Matrices of this shape are square."""
    if len(shape) < 2:
        raise ShapeError(f"a matrix has at least 2 dimensions, this has shape {shape}")
    m, n = shape[-2:]
    if m != n and is_settled((m, n)):
        raise ShapeError(f"the matrices must be square, not {m} by {n}: shape {shape}")


def matrix_pair(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two operands of one dtype."""
    a, b = common(a, b)
    return floating(a), floating(b)


def check_rows(a: Any, b: Any) -> None:
    """Matrices ``a`` and right-hand sides ``b`` have as many rows."""
    vector = len(b) == 1
    m, n = a[-2], b[0 if vector else -2]
    if m != n and is_settled((m, n)):
        side = f"{n} (of {tuple(b)})" if vector else f"{n} (axis -2 of {tuple(b)})"
        raise ShapeError(f"rows differ: {m} (axis -2 of {tuple(a)}) and {side}")


def solution_of(a: Any, b: Any) -> Any:
    """Shape and dtype of what solves ``a @ x = b``."""
    check_square(a.shape)
    check_rows(a.shape, b.shape)
    if a.dtype != b.dtype:
        raise DTypeError(f"operands have dtypes {a.dtype} and {b.dtype}")
    return (*shapes.of_stacks(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype


def stacked(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both operands with the axes in front that they have together."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    front = shapes.of_stacks(a.shape[:-2], b.shape[:-2])
    return broadcast_to(a, (*front, *a.shape[-2:])), broadcast_to(b, (*front, *b.shape[-2:]))


def factors_of(name: str, pair: Any, maker: str) -> Any:
    """The two parts of a factorization as its function gives them."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"{name} must be the pair that {maker} gives, not {typed(pair)}")
    return pair


def of_columns(solve: Any, a: Tensor, b: Any) -> Tensor:
    """``solve(a, b)`` for a right-hand side that may be one vector."""
    if len(a.shape) > 1 and a.shape[-2] == a.shape[-1] and len(b.shape):
        check_rows(a.shape, b.shape)
    if len(b.shape) != 1:
        return solve(a, b)
    y = solve(a, reshape(b, (*b.shape, 1)))
    return reshape(y, y.shape[:-1])


def as_given(b: Tensor) -> Any:
    """A right-hand side as the user passed it, for error messages: a matrix with one column made by
    :func:`of_columns` is a vector again."""
    node = b.node
    if node is None or node.op_name != "reshape":
        return b
    vector = node.inputs[0]
    return vector if (*vector.shape, 1) == node.shape else b


# -- products and parts -------------------------------------------------------------------------
def times(*xs: Tensor) -> Tensor:
    """The product of matrices, from the left."""
    result = xs[0]
    for x in xs[1:]:
        result = product_of(result, x)
    return result


def plus(a: Any, b: Any) -> Any:
    """The sum of what there is."""
    return b if a is None else a if b is None else arith.add(a, b)


def skew(x: Tensor) -> Tensor:
    """``x - adjoint(x)``."""
    return arith.subtract(x, adjoint(x))


def hermitian(x: Tensor) -> Tensor:
    """The part that is equal to its adjoint."""
    return arith.multiply(arith.add(x, adjoint(x)), 0.5)


def identity(x: Tensor) -> Tensor:
    """The identity of the size of square matrices, as one matrix; a node beside nodes."""
    n = x.shape[-1]
    op = Eye(n, n, 0, x.dtype)
    return symbolic(op, ()) if x.array is None else apply(op)


def ensured(x: Tensor, holds: Tensor, message: str, subject: str) -> Tensor:
    """``x``, if all of ``holds`` is true; else NumPy's LinAlgError, when compiled code runs.

    ``subject`` is the operation that fails, with its operands' types (``core.op.called``).
    """
    axes = tuple(range(len(holds.shape)))
    one = apply(reducer("logical_and", axes, False), holds) if axes else holds
    return apply(Ensured(message, subject, "LinAlgError"), x, one)


def all_ensured(xs: Sequence[Tensor], holds: Tensor, message: str, subject: str) -> list[Tensor]:
    """Several results of one routine, each as :func:`ensured` gives it: reading one of them
    need not read the others."""
    return [ensured(x, holds, message, subject) for x in xs]


def unless_infinite_rows(a: Tensor, x: Tensor) -> Tensor:
    """Values of matrices, or NaN for matrices with two numbers in a row that are not finite.

    LAPACK, which eliminates our rows as its columns, multiplies a row by zero where its pivot is
    infinite, and leaves zeros of what is infinite or NaN beside it.
    """
    counted = a.dtype if a.dtype.kind == "f" else dtypes.int32
    wild = total(cast(logical_not(isfinite(a)), counted), -1)
    wild = any_of(greater(wild, 1), axis=-1)
    axes = (1,) * (len(x.shape) - len(wild.shape))
    return where(reshape(wild, (*wild.shape, *axes)), math.nan, x)


def need_finite(a: np.ndarray, message: str) -> None:
    """Raise where LAPACK iterates for ever: OpenBLAS does on the vectors of matrices with
    infinities, and on least squares with NaN."""
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError(message)


def smaller(m: Any, n: Any) -> Any:
    """The smaller of two sizes."""
    return m if m == n else m - combine("max", m - n, 0)


def count(shape: Any) -> Any:
    """How many matrices there are in a stack."""
    return product(shape[:-2])




def telling(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for what NumPy computes: its error is raised as that of compiled code is."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any) -> Any:
            try:
                return function(*args)
            except np.linalg.LinAlgError:
                raise np.linalg.LinAlgError(text) from None

        return call

    return decorate
