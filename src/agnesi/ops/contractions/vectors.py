"""Products with vectors that NumPy has names for."""

from __future__ import annotations

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import conj
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import expand_dims, reshape
from agnesi.ops.contractions.matmul import matmul, vecdot

__all__ = ["matvec", "vdot", "vecmat"]


@planned
@public
def vdot(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Sum of products of the flat elements; the first operand is conjugated.

    :param x1, x2: Of equally many elements.
    :returns: One number, of the promoted dtype.
    :raises ShapeError: If the numbers of elements differ.
    :see: vecdot, dot, inner

    >>> ag.vdot(ag.tensor([1j, 2]), ag.tensor([1j, 1]))
    tensor(3.+0.j)
    """
    a, b = as_tensor(x1), as_tensor(x2)
    return vecdot(reshape(a, (a.size,)), reshape(b, (b.size,)))


@planned
@public
def matvec(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Matrices (the last two axes) times vectors (the last axis).

    :param x1: Of shape (..., m, n).
    :param x2: Of shape (..., n); the axes in front broadcast.
    :returns: Of shape (..., m).
    :raises ShapeError: If the sizes do not fit.
    :see: vecmat, matmul, vecdot

    >>> ag.matvec(ag.tensor([[1, 2], [3, 4]]), ag.tensor([1, 10]))
    tensor([21, 43])
    """
    return matmul(x1, expand_dims(as_tensor(x2), -1))[..., 0]


@planned
@public
def vecmat(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Vectors (the last axis, conjugated) times matrices (the last two axes).

    :param x1: Of shape (..., m).
    :param x2: Of shape (..., m, n); the axes in front broadcast.
    :returns: Of shape (..., n).
    :raises ShapeError: If the sizes do not fit.
    :see: matvec, matmul, vecdot

    >>> ag.vecmat(ag.tensor([1, 10]), ag.tensor([[1, 2], [3, 4]]))
    tensor([31, 42])
    """
    return matmul(expand_dims(conj(as_tensor(x1)), -2), x2)[..., 0, :]
