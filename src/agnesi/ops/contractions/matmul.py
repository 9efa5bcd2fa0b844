"""Matrix products, and what is made of them: dot, outer, tensordot, einsum."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.integers import known_integer
from agnesi.core.ir import loops
from agnesi.core.ir.dims import is_settled, product
from agnesi.core.op import Op
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import apply_to, explain_errors, into, planned, public
from agnesi.core.storage import memory
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS, aside
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import pair
from agnesi.ops.base.expand import sum_to
from agnesi.ops.base.movement import permute_dims, reshape, reshaped, sized, transposed
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.base.reduce import sum as sum_over
from agnesi.ops.sparse.words import is_sparse


def dot2(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two matrices, in pooled memory if it is large."""
    if len(a) * b.shape[1] * a.itemsize < memory.MIN_POOLED_BYTES or a.dtype is not b.dtype:
        return np.dot(a, b)
    return np.dot(a, b, memory.empty((len(a), b.shape[1]), a.dtype))


@record
class MatMul(Op):
    """Matrix product over the last two axes; the axes before them broadcast."""

    name = "matmul"
    bilinear = True
    kept_by_one = ((0,), (1,))
    template = "matmul"

    def multiply_adds(self, shape: Any, operands: Any) -> int:
        return math.prod(shape) * int(operands[0][-1])

    def infer(self, a: Any, b: Any) -> Any:
        if len(a.shape) < 2 or len(b.shape) < 2:
            raise ShapeError(f"shapes {a.shape} and {b.shape} need two axes each")
        if a.dtype != b.dtype:
            raise DTypeError(f"operands have dtypes {a.dtype} and {b.dtype}")
        k, n = a.shape[-1], b.shape[-2]
        if k != n and is_settled((k, n)):
            raise ShapeError(
                f"inner sizes differ: {k} (last axis of {a.shape}) and {n} (axis -2 of {b.shape})"
            )
        batch = shapes.of_stacks(a.shape[:-2], b.shape[:-2])
        return (*batch, a.shape[-2], b.shape[-1]), a.dtype

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if (a.size >= MIN_LONG_ELEMENTS or b.size >= MIN_LONG_ELEMENTS) and (
            work := _work(a, b)
        ) >= MIN_ASIDE_NANOSECONDS:
            return _in_slices(self._compute, a, b, work)
        return self._compute(a, b)

    def _compute(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype in dtypes.HALVES:
            wide = silently(np.matmul, a.astype(np.float32), b.astype(np.float32))
            return silently(wide.astype, a.dtype)
        # np.matmul leaves BLAS aside for outer products, seven times slower than np.dot, which adds
        # no zero to a product of two numbers: -0.0 is left.
        flat = a.ndim == b.ndim == 2 and (a.size > 1 or b.size > 1)
        return silently(dot2 if flat else np.matmul, a, b)

    def c_call(self, a: np.ndarray, b: np.ndarray) -> Any:
        if a.dtype in dtypes.HALVES or max(a.size, b.size) >= MIN_LONG_ELEMENTS:
            return None
        flat = a.ndim == b.ndim == 2 and (a.size > 1 or b.size > 1)
        pooled = flat and len(a) * b.shape[1] * a.itemsize >= memory.MIN_POOLED_BYTES
        return None if pooled else (np.dot if flat else np.matmul, ())

    def fill(self, out: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
        if a.dtype in dtypes.HALVES or _work(a, b) >= MIN_ASIDE_NANOSECONDS:
            return False
        flat = a.ndim == b.ndim == 2 and out.size > 1 and out.flags.c_contiguous
        silently(np.dot if flat else np.matmul, a, b, out)
        return True

    def vjp(self, g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Any, ...]:
        left = product_of(g, adjoint(b)) if a._requires_grad else None
        right = product_of(adjoint(a), g) if b._requires_grad else None
        if len(y.shape) == 2:  # two matrices: their gradients are as large as they are
            return left, right
        return (None if left is None else sum_to(left, a.shape),
                None if right is None else sum_to(right, b.shape))

    def jvp(self, ts: Any, y: Tensor, a: Tensor, b: Tensor) -> Any:
        left = None if ts[0] is None else product_of(ts[0], b)
        right = None if ts[1] is None else product_of(a, ts[1])
        return right if left is None else left if right is None else arith.add(left, right)

    def lower(self, at: Any, a: Any, b: Any) -> Any:
        *batch, i, j = at
        narrow = a.dtype in ("float16", "bfloat16")

        def term(k: Any) -> Any:
            values: Any = (a.broadcast((*batch, i, k)), b.broadcast((*batch, k, j)))
            if narrow:
                values = tuple(loops.cast(v, "float32") for v in values)
            return loops.call("multiply", *values)

        # The axis of the sum takes the slot after the result's own.
        total = loops.reduce_("add", [a.shape[-1]], term, _free(at), [len(at)])
        if total.dtype.startswith("float"):
            total = total + 0.0  # BLAS begins there: products of -0.0 alone add up to 0.0
        return loops.cast(total, a.dtype) if narrow else total


def _free(at: Any) -> frozenset[Any]:
    return frozenset().union(*(i.free for i in at))


MATMUL = MatMul()

#: Elements of an operand from which a product may take long.
MIN_LONG_ELEMENTS = 1 << 16
#: Elements of a result from which ``np.matmul`` gives Python's lock back.
_UNLOCKED_ELEMENTS = 500
#: Nanoseconds of a slice of it.
_SLICE_NANOSECONDS = 1 << 28


def _work(a: np.ndarray, b: np.ndarray) -> int:
    """About how many nanoseconds a product takes; BLAS has none of whole numbers."""
    products = max(a.size * b.shape[-1], b.size * a.shape[-2])
    return (products >> 5 if a.dtype.kind in "fcV" else products) + (a.size + b.size >> 2)


def _in_slices(product: Any, a: np.ndarray, b: np.ndarray, work: int) -> np.ndarray:
    """A product that can be interrupted, in slices of rows where it takes seconds."""
    flat = a.ndim == b.ndim == 2
    count = min(a.shape[-2], -(-work // _SLICE_NANOSECONDS)) if flat else 1
    if not flat and a.size and b.size:
        front = shapes.broadcast(a.shape[:-2], b.shape[:-2])
        if math.prod(front) * a.shape[-2] * b.shape[-1] < _UNLOCKED_ELEMENTS:
            return aside(work, _one_by_one, product, a, b, front)
    if count < 2:
        found: np.ndarray = aside(work, product, a, b)
        return found
    parts = [aside(work, product, rows, b) for rows in np.array_split(a, count)]
    joined: np.ndarray = aside(a.shape[0] * b.shape[1], np.concatenate, parts)
    return joined


def _one_by_one(product: Any, a: np.ndarray, b: np.ndarray, front: Any) -> np.ndarray:
    """The products of a stack: ``np.dot`` of two matrices gives Python's lock back."""
    pairs = zip(np.broadcast_to(a, (*front, *a.shape[-2:])).reshape(-1, *a.shape[-2:]),
                np.broadcast_to(b, (*front, *b.shape[-2:])).reshape(-1, *b.shape[-2:]), strict=True)
    found = np.stack([product(x, y) for x, y in pairs])
    return found.reshape(*front, a.shape[-2], b.shape[-1])


def adjoint(x: Tensor) -> Tensor:
    """The conjugate of the transpose."""
    return arith.conjugate(transposed(x))


def product_of(a: Tensor, b: Tensor) -> Tensor:
    """Matrix product of tensors of one dtype with two axes or more.

    A stack of matrices times one matrix is one large product.
    """
    if len(a.shape) > 2 and len(b.shape) == 2 and a.shape[-1] != 0:
        rows = reshaped(a, (product(a.shape[:-1]), a.shape[-1]))
        return reshaped(apply(MATMUL, rows, b), (*a.shape[:-1], b.shape[-1]))
    return apply(MATMUL, a, b)


@planned
@explain_errors
def matmul(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Matrix product; a vector on the left is a row, on the right a column.

    :param x1, x2: Matrices on the last two axes, or vectors; the other axes broadcast.
    :returns: Of the promoted dtype; without the axes that vectors were given. bool products are
        disjunctions of conjunctions.
    :raises ShapeError: If the inner sizes differ, for numbers, or if the other axes do not
        broadcast.
    :see: dot, vecdot, matvec, vecmat, tensordot, einsum, linalg.multi_dot

    >>> ag.matmul(ag.tensor([[1.0, 2.0], [3.0, 4.0]]), ag.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if (type(x1) is not Tensor or type(x2) is not Tensor) and (is_sparse(x1) or is_sparse(x2)):
        first: Any = x1
        product: Tensor = first @ x2
        return product
    a, b = pair(x1, x2)
    if (a._lazy or b._lazy) and (found := HOOKS.unsized_product(a, b)) is not None:
        return found if out is None else into(out, found)
    m, n = len(a.shape), len(b.shape)
    if m == 2 and n == 2:
        return apply(MATMUL, a, b) if out is None else apply_to(out, MATMUL, a, b)
    result = _product(a, b)
    return result if out is None else into(out, result)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The product of vectors, matrices and stacks of them."""
    m, n = len(a.shape), len(b.shape)
    if m == 0 or n == 0:
        raise ShapeError("a scalar has no matrix product; multiply with *")
    if m == 1 or n == 1:
        _same_length(a, b)
    row = reshaped(a, (1, *a.shape)) if m == 1 else a
    column = reshaped(b, (*b.shape, 1)) if n == 1 else b
    if m > 1 and n > 1:
        MATMUL.infer(a, b)
    result = product_of(row, column)
    if m > 1 and n > 1:
        return result
    shape = result.shape[:-2] if m == n == 1 else None
    if shape is None:
        shape = (*result.shape[:-2], result.shape[-1]) if m == 1 else result.shape[:-1]
    return reshaped(result, shape)


def _same_length(a: Tensor, b: Tensor) -> None:
    """Refuse factors, one of them a vector, whose inner sizes differ."""
    k, n = a.shape[-1], b.shape[-2 if len(b.shape) > 1 else 0]
    if k != n and is_settled((k, n)):
        left, right = "last axis of" if len(a.shape) > 1 else "of", (
            "axis -2 of" if len(b.shape) > 1 else "of")
        raise ShapeError(f"inner sizes differ: {k} ({left} {a.shape}) and {n} ({right} {b.shape})")


@planned
@explain_errors
def dot(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """NumPy's dot: last axis of ``x1`` with the last but one of ``x2`` (its only one).

    :param x1, x2: Numbers, vectors, matrices or more axes.
    :returns: The product of numbers with all, of vectors the inner product, of matrices the matrix
        product; otherwise of shape (*x1.shape[:-1], *x2.shape without the last but one).
    :raises ShapeError: If the summed axes differ in size.
    :see: matmul, vdot, vecdot, inner, tensordot

    >>> ag.dot(ag.tensor([1.0, 2.0]), ag.tensor([3.0, 4.0]))
    tensor(11.)
    """
    a, b = pair(x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        return arith.multiply(a, b, out=out)
    if (a.ndim <= 2 and b.ndim <= 2) or b.ndim == 1:
        return matmul(a, b, out=out)
    return tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 2,)), out=out)


@planned
@public
def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1, out: Tensor | None = None
           ) -> Tensor:
    """Sum of products along an axis, of conjugates of ``x1`` where it is complex.

    :param x1, x2: They broadcast but for the axis.
    :param axis: The axis of both that is summed over; counted from the end, -1 or less, where they
        have different numbers of axes.
    :returns: Of the broadcast shape without the axis.
    :raises IndexError: If the axis is out of range, or counted from two beginnings.
    :raises ShapeError: If the axis has two sizes, or the shapes do not broadcast.
    :see: vdot, dot, matmul, inner

    >>> ag.vecdot(ag.tensor([[1.0, 2.0], [3.0, 4.0]]), ag.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    (a, b), axis = pair(x1, x2), known_integer(axis, "axis")
    if axis >= 0 and a.ndim == b.ndim:
        axis = shapes.axis_of(axis, a.ndim) - a.ndim
    if axis >= 0:
        raise IndexError(f"axis {axis} counts from the front, where broadcasting adds axes; "
                         "give a negative axis")
    if a.shape[axis] != b.shape[axis]:  # on this axis 1 does not broadcast
        b = of_shape("vecdot", b, (*b.shape[:axis], a.shape[axis], *b.shape[b.ndim + axis + 1:]),
                     f"sizes {a.shape[axis]} and {b.shape[axis]} differ on axis {axis}: "
                     f"shapes {a.shape} and {b.shape}")
    return sum_over(arith.multiply(arith.conj(a), b), axis, dtype=a.dtype)


@planned
@public
def outer(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two flattened tensors.

    :param x1, x2: Of any shapes, with m and n elements.
    :returns: Of shape (m, n).
    :see: inner, kron, multiply

    >>> ag.outer(ag.tensor([1, 2]), ag.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    a, b = pair(x1, x2)
    return arith.multiply(reshape(a, (product(a.shape), 1)), reshape(b, (1, product(b.shape))))


@planned
@public
def tensordot(x1: TensorLike, x2: TensorLike, /, axes: int | Sequence[Any] = 2, *,
              out: Tensor | None = None
              ) -> Tensor:
    """Sum of products over pairs of axes; a number n pairs the last n with the first n.

    :param x1, x2: At least as many axes as are summed over.
    :param axes: How many axes, or which of ``x1`` and which of ``x2``.
    :type axes: int or pair of sequences of int
    :returns: The axes that stay, first those of ``x1``, then those of ``x2``.
    :raises ShapeError: If paired axes differ in size.
    :raises ValueError: If there are not so many axes, or not as many on both sides.
    :see: einsum, matmul, dot, inner

    >>> a = ag.ones((2, 3, 4))
    >>> ag.tensordot(a, ag.ones((3, 4, 5)), axes=2).shape
    (2, 5)
    """
    a, b = pair(x1, x2)
    left, right = _paired_axes(axes, a.ndim, b.ndim)
    for i, j in zip(left, right, strict=True):
        m, n = a.shape[i], b.shape[j]
        if type(m) is int and type(n) is int and m != n:
            raise ShapeError(
                f"sizes {m} (axis {i} of {a.shape}) and {n} (axis {j} of {b.shape}) differ"
            )
        a, b = sized(a, i, n), sized(b, j, m)
    keep_a = [i for i in range(a.ndim) if i not in left]
    keep_b = [j for j in range(b.ndim) if j not in right]
    rows = tuple(a.shape[i] for i in keep_a)
    columns = tuple(b.shape[j] for j in keep_b)
    inner = product([a.shape[i] for i in left])
    matrix_a = reshape(permuted(a, (*keep_a, *left)), (product(rows), inner))
    matrix_b = reshape(permuted(b, (*right, *keep_b)), (inner, product(columns)))
    return reshape(apply(MATMUL, matrix_a, matrix_b), (*rows, *columns))


def _paired_axes(axes: Any, m: int, n: int) -> tuple[list[int], list[int]]:
    try:
        count = operator.index(axes)
    except TypeError:
        left, right = ([a] if isinstance(a, int) else list(a) for a in axes)
        if len(left) != len(right):
            raise ValueError(f"axes {axes} pair {len(left)} axes with {len(right)}") from None
        return [shapes.axis_of(i, m) for i in left], [shapes.axis_of(j, n) for j in right]
    if count < 0 or count > min(m, n):
        raise ValueError(f"axes={count} is not between 0 and {min(m, n)}")
    return list(range(m - count, m)), list(range(count))


def permuted(x: Tensor, axes: Sequence[int]) -> Tensor:
    """``x`` with axes in another order; itself where the order is the same."""
    return x if tuple(axes) == tuple(range(x.ndim)) else permute_dims(x, tuple(axes))


