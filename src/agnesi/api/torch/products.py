"""Sums of products of matrices and vectors, and what belongs to them, in PyTorch's words."""

from __future__ import annotations

import itertools
import math
from typing import Any

from agnesi.api.torch.texts import torch
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError, check_allocatable
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.grids import indices
from agnesi.ops.base.arith import conj
from agnesi.ops.base.convert import as_tensor, common, floating, pair
from agnesi.ops.base.movement import expand_dims, matrix_transpose, moveaxis, reshape
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.elementwise.explog import log
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.join import stack
from agnesi.ops.indexing.ranges import eye
from agnesi.ops.linalg import lu as factored
from agnesi.ops.linalg.cholesky import cho_solve
from agnesi.ops.linalg.det import slogdet
from agnesi.ops.linalg.products import multi_dot
from agnesi.ops.numerics.calculus import trapezoid
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sparse.words import is_sparse

__all__ = ["addbmm", "addmv", "addr", "adjoint", "baddbmm", "cartesian_prod", "chain_matmul",
           "cholesky_inverse", "cholesky_solve", "combinations", "cumulative_trapezoid",
           "logdet", "lu_solve", "mv"]

_SHAPES = "ShapeError | If the shapes do not fit."


def _operands(names: str, ndims: tuple[int, ...], *xs: Any) -> list[Tensor]:
    """The operands as tensors with so many axes."""
    found = list(xs if any(map(is_sparse, xs)) else common(*xs))
    for name, ndim, x in zip(names.split(), ndims, found, strict=True):
        if x.ndim != ndim:
            raise ShapeError(f"{name} must have {ndim} axes, not {typed(x)}")
    return found


def _added(x: Any, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """``beta * x + alpha * product``; with a factor of 0 not even NaN of ``x`` counts."""
    product = product if type(alpha) is int and alpha == 1 else product * alpha
    if isinstance(beta, (int, float)) and beta == 0:
        return product
    product, added = pair(product, x)
    return product + (added if type(beta) is int and beta == 1 else added * beta)


@torch("Tensor | A vector.", "matmul, dot, addmv",
       ">>> ag.mv(ag.eye(2), ag.ones(2))\ntensor([1., 1.])", _SHAPES,
       x="array_like | The matrix.", vec="array_like | The vector.")
def mv(x: TensorLike, vec: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """A matrix times a vector."""
    return matmul(*_operands("input vec", (2, 1), x, vec))


@torch("Tensor | A vector.", "addmm, mv",
       ">>> ag.addmv(ag.ones(2), ag.eye(2), ag.ones(2))\ntensor([2., 2.])", _SHAPES,
       mat="array_like | The matrix.", vec="array_like | The vector.")
def addmv(input: TensorLike, mat: TensorLike, vec: TensorLike, *, beta: TensorLike = 1,
          alpha: TensorLike = 1,
          out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
    return _added(input, matmul(*_operands("mat vec", (2, 1), mat, vec)), beta, alpha)


@torch("Tensor | A matrix.", "outer, addmm",
       ">>> ag.addr(ag.zeros(2, 2), ag.ones(2), ag.tensor([1.0, 2.0]))\n"
       "tensor([[1., 2.],\n        [1., 2.]])", _SHAPES,
       vec1="array_like | A vector.", vec2="array_like | Another one.")
def addr(input: TensorLike, vec1: TensorLike, vec2: TensorLike, *, beta: TensorLike = 1,
         alpha: TensorLike = 1,
         out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    a, b = _operands("vec1 vec2", (1, 1), vec1, vec2)
    return _added(input, expand_dims(a, 1) * b, beta, alpha)


@torch("Tensor | A stack of matrices.", "addmm, addbmm, matmul",
       ">>> ag.baddbmm(ag.ones(1, 1, 1), ag.ones(1, 1, 2), ag.ones(1, 2, 1))\ntensor([[[3.]]])",
       _SHAPES, batch1="array_like | Of shape (b, n, k).",
       batch2="array_like | Of shape (b, k, m).")
def baddbmm(input: TensorLike, batch1: TensorLike, batch2: TensorLike, *, beta: TensorLike = 1,
            alpha: TensorLike = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` of stacks of matrices."""
    return _added(input, matmul(*_operands("batch1 batch2", (3, 3), batch1, batch2)), beta, alpha)


@torch("Tensor | A matrix.", "addmm, baddbmm, einsum",
       ">>> ag.addbmm(ag.zeros(1, 1), ag.ones(3, 1, 2), ag.ones(3, 2, 1))\ntensor([[6.]])",
       _SHAPES, batch1="array_like | Of shape (b, n, k).",
       batch2="array_like | Of shape (b, k, m).")
def addbmm(input: TensorLike, batch1: TensorLike, batch2: TensorLike, *, beta: TensorLike = 1,
           alpha: TensorLike = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input`` and ``alpha`` times the sum of the products of a stack of matrices."""
    a, b = _operands("batch1 batch2", (3, 3), batch1, batch2)
    product = matmul(a, b)
    return _added(input, total(product, axis=0, dtype=product.dtype), beta, alpha)


@torch("Tensor | Of shape (..., m, n).", "matrix_transpose, conj",
       ">>> ag.adjoint(ag.tensor([[1j, 2]])).shape\n(2, 1)",
       "ShapeError | If there are less than two axes.", x="array_like | Of shape (..., n, m).")
def adjoint(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The matrices of a stack, transposed and conjugated; a view of real ones."""
    x = matrix_transpose(as_tensor(x))
    return conj(x) if x.dtype.kind == "c" else x


@torch("Tensor | Of shape (...); NaN where a determinant is negative.",
       "linalg.slogdet, linalg.det",
       ">>> ag.logdet(ag.eye(2))\ntensor(0.)", "ShapeError | If the matrices are not square.",
       x="array_like | Of shape (..., n, n).")
def logdet(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the determinants of a stack of matrices."""
    sign, logarithm = slogdet(x)
    return logarithm + log(sign)


@torch("Tensor | A matrix.",
       "linalg.multi_dot, matmul",
       ">>> ag.chain_matmul(ag.ones(1, 2), ag.ones(2, 3)).shape\n(1, 3)",
       _SHAPES, matrices="array_like | Two or more.")
def chain_matmul(*matrices: TensorLike, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the cheapest order."""
    return as_tensor(matrices[0]) if len(matrices) == 1 else multi_dot(list(matrices))


@torch("Tensor | A matrix with a row for each tuple; a vector where there is one.",
       "meshgrid, combinations", ">>> ag.cartesian_prod(ag.tensor([1, 2]), ag.tensor([3])).tolist()"
       "\n[[1, 3], [2, 3]]", "ShapeError | If one is no vector.", tensors="array_like | Vectors.")
def cartesian_prod(*tensors: TensorLike, out: Tensor | None = None) -> Tensor:
    """All tuples with one element of each vector, the last one running first."""
    xs = _operands(" ".join(["tensors"] * len(tensors)), (1,) * len(tensors), *tensors)
    if len(xs) == 1:
        return xs[0]
    places = indices([x.shape[0] for x in xs])
    return stack([take(x, reshape(p, (-1,)), axis=0) for x, p in zip(xs, places, strict=True)], -1)


@torch("Tensor | A matrix with a row of ``r`` elements for each choice.", "cartesian_prod",
       ">>> ag.combinations(ag.tensor([1, 2, 3])).tolist()\n[[1, 2], [1, 3], [2, 3]]",
       "ShapeError | If it is no vector.\nValueError | If ``r`` is negative.",
       x="array_like | A vector.", r="int | How many elements of each.",
       with_replacement="bool | Whether an element may be chosen several times.")
def combinations(x: TensorLike, r: int = 2, with_replacement: bool = False, *,
                 out: Tensor | None = None) -> Tensor:
    """All choices of some elements of a vector, in order."""
    (x,) = _operands("input", (1,), x)
    choose: Any = itertools.combinations_with_replacement if with_replacement else (
        itertools.combinations)
    n = int(x.shape[0])
    if r >= 0:
        rows = math.comb(max(n + r - 1, 0) if with_replacement else n, r)
        check_allocatable((rows, r), dtypes.int64)
    chosen = list(choose(range(n), r))
    return reshape(take(x, as_tensor([i for c in chosen for i in c], dtypes.int64), axis=0),
                   (len(chosen), r))


@torch("Tensor | As ``y``, one shorter along the axis.", "trapezoid, cumsum",
       ">>> ag.cumulative_trapezoid(ag.tensor([1.0, 2.0, 3.0]))\ntensor([1.5, 4. ])",
       "ShapeError | If the points do not fit.", y="array_like | The values.",
       x="array_like, optional | The points; they broadcast.",
       dx="float | The distance of the points, where none are given.")
def cumulative_trapezoid(y: TensorLike, x: TensorLike | None = None, *, dx: float = 1.0,
                         axis: int = -1, out: Tensor | None = None) -> Tensor:
    """Integrals by the trapezoidal rule up to each point behind the first."""
    rows = moveaxis(as_tensor(y), axis, -1)
    pairs = stack([rows[..., :-1], rows[..., 1:]], -1)
    if x is None:
        parts = trapezoid(pairs, dx=dx)
    else:
        points = floating(x)
        points = points if points.ndim == 1 else moveaxis(points, axis, -1)
        parts = trapezoid(pairs) * (points[..., 1:] - points[..., :-1])
    return moveaxis(cumsum(parts, -1), -1, axis)


@torch("Tensor | Of the shape of ``B``, broadcast.", "linalg.cho_solve, linalg.solve",
       ">>> l = ag.linalg.cholesky(ag.tensor([[4.0, 2.0], [2.0, 5.0]]))\n"
       ">>> ag.cholesky_solve(ag.tensor([[6.0], [7.0]]), l).T\ntensor([[1., 1.]])", _SHAPES,
       B="array_like | Of shape (..., n, k).", L="array_like | The factor, of shape (..., n, n).",
       upper="bool | Whether the factor is the upper one.")
def cholesky_solve(B: TensorLike, L: TensorLike, upper: bool = False, *,
                   out: Tensor | None = None) -> Tensor:
    """The solution of ``a @ x = B`` from Cholesky's factor of ``a``."""
    L, B = pair(L, B)
    return cho_solve((L, not upper), B)


@torch("Tensor | Of the factor's shape.", "linalg.inv, cholesky_solve",
       ">>> ag.cholesky_inverse(ag.tensor([[2.0, 0.0], [0.0, 1.0]]))\n"
       "tensor([[0.25, 0.  ],\n        [0.  , 1.  ]])", _SHAPES,
       L="array_like | The factor, of shape (..., n, n).",
       upper="bool | Whether the factor is the upper one.")
def cholesky_inverse(L: TensorLike, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a matrix from its Cholesky factor."""
    factor = as_tensor(L)
    return cho_solve((factor, not upper), eye(factor.shape[-1], dtype=factor.dtype))


@torch("Tensor | Of the shape of ``b``, broadcast.", "lu, linalg.lu_solve, linalg.solve",
       ">>> b = ag.tensor([[3.0], [10.0]])\n"
       ">>> ag.lu_solve(b, *ag.lu(ag.tensor([[1.0, 2.0], [2.0, 8.0]]))).T\ntensor([[1., 1.]])",
       f"{_SHAPES}\nValueError | If a pivot is out of range.",
       b="array_like | Of shape (..., n, k).",
       LU_data="array_like | The factors that ``lu`` gave, of shape (..., n, n).",
       LU_pivots="array_like | The exchanges that it gave, counted from 0.")
def lu_solve(b: TensorLike, LU_data: TensorLike, LU_pivots: TensorLike, *,
             out: Tensor | None = None) -> Tensor:
    """The solution of ``a @ x = b`` from the factors of ``a``, as PyTorch orders them."""
    return factored.lu_solve((LU_data, LU_pivots), b)
