"""Factors of matrices in PyTorch's words: ``svd`` gives V itself, and the low-rank ones draw."""

from __future__ import annotations

from typing import Any, NamedTuple

from agnesi.api.random import randn
from agnesi.api.torch.texts import torch
from agnesi.core.integers import known_integer, step_count
from agnesi.core.ir.dims import Dim, is_settled
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.shapes import surely_less
from agnesi.core.tensor import Tensor
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.reduce import mean
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.linalg import qr as factors
from agnesi.ops.linalg.base import adjoint, matrix, smaller
from agnesi.ops.linalg.lu import LUFactors
from agnesi.ops.linalg.solve import lu_factor_ex
from agnesi.ops.linalg.spectral import svd as singular

__all__ = ["lu", "pca_lowrank", "qr", "svd", "svd_lowrank"]

_AXES = "ShapeError | If there are less than two axes."


class SVD(NamedTuple):
    """``x = U @ diag(S) @ adjoint(V)``."""

    U: Tensor
    S: Tensor
    V: Tensor


@torch("(Tensor, Tensor) | Of shapes (..., m, k) and (..., k, n).", "linalg.qr, svd",
       ">>> [part.shape for part in ag.qr(ag.ones(3, 2))]\n[(3, 2), (2, 2)]", _AXES,
       x="array_like | Of shape (..., m, n).",
       some="bool | Whether ``k`` is the smaller of the sizes, and not ``m``.")
def qr(x: TensorLike, some: bool = True) -> Any:
    """Orthonormal columns and an upper triangular matrix, whose product is ``x``."""
    return factors.qr(x, mode="reduced" if some else "complete")


@torch("(Tensor, Tensor) | Both factors in one matrix of shape (..., m, n), and with which row "
       "each row was exchanged, counted from 0 (from 1 in PyTorch), as :func:`linalg.lu_unpack` "
       "takes them; with ``get_infos`` also where the first pivot is that is zero, from 1, or 0.",
       "linalg.lu_factor, linalg.lu, qr",
       ">>> p, l, u = ag.lu_unpack(*ag.lu(ag.tensor([[1.0, 2.0], [2.0, 8.0]])))\n>>> u\n"
       "tensor([[ 2.,  8.],\n        [ 0., -2.]])",
       _AXES + "\nValueError | If ``pivot`` is False.", x="array_like | Of shape (..., m, n).",
       pivot="bool | Taken from PyTorch's calls: rows are always exchanged.",
       get_infos="bool | Whether to say which matrices are singular.")
def lu(x: TensorLike, pivot: bool = True, get_infos: bool = False) -> Any:
    """LU factors with partial pivoting, in one matrix."""
    found = lu_factor_ex(x, pivot=pivot)
    return tuple(found) if get_infos else LUFactors(found.LU, found.pivots)


@torch("(Tensor, Tensor, Tensor) | ``U``, ``S`` and ``V``, not its adjoint as of "
       ":func:`linalg.svd`.", "linalg.svd, svd_lowrank, linalg.svdvals",
       ">>> ag.svd(ag.tensor([[3.0, 0.0], [0.0, 4.0]])).S\ntensor([4., 3.])", _AXES,
       x="array_like | Of shape (..., m, n).",
       some="bool | Whether to give no more vectors than values.",
       compute_uv="bool | Whether vectors are wanted; else they are zeros.")
def svd(x: TensorLike, some: bool = True, compute_uv: bool = True) -> Any:
    """Singular values in descending order, and vectors as columns."""
    x = matrix(x)
    if not compute_uv:
        *front, m, n = x.shape
        return SVD(x.new_zeros((*front, m, m)), singular.svdvals(x), x.new_zeros((*front, n, n)))
    u, s, vh = singular.svd(x, full_matrices=not some)
    return SVD(u, s, adjoint(vh))


_LOW = {"A": "array_like | Of shape (..., m, n).",
        "niter": "int | Iterations of subspaces: more are more precise."}
_RANK = ("ValueError | If ``q`` is none of 0 to min(m, n), or ``niter`` is negative.\n" + _AXES)


@torch("(Tensor, Tensor, Tensor) | ``U``, ``S`` and ``V`` of ``q`` columns or values each.",
       "svd, pca_lowrank, linalg.svd",
       ">>> u, s, v = ag.svd_lowrank(ag.ones(4, 2), q=1)\n"
       ">>> (u * s @ v.mT).round(3)[0]\ntensor([1., 1.])",
       _RANK, **_LOW, q="int | How many; 6 by default.",
       M="array_like, optional | What is taken off ``A``; it broadcasts.")
def svd_lowrank(A: TensorLike, q: int | None = 6, niter: int = 2, M: TensorLike | None = None
                ) -> SVD:
    """About the greatest singular values and their vectors, from random directions.

    Halko, Martinsson and Tropp (2009), algorithms 4.4 and 5.1.
    """
    a = matrix(A)
    if M is not None:
        a = a - M
    m, n = a.shape[-2:]
    least = smaller(m, n)
    if not isinstance(q, Dim):  # of min(m, n) and more, which is never given
        q = known_integer(6 if q is None else q, "q", 0)
        text = f"q must not be above min(m, n) = {least} of {typed(a)}, not {q}"
        if surely_less(least, q):
            raise ValueError(text)
        a = ensured_sizes("svd_lowrank", a, (least,), (q,), text, "at least", "ValueError")
    wide = is_settled((m, n)) and m < n
    a = adjoint(a) if wide else a
    basis = factors.qr(matmul(a, randn(a.shape[-1], q, dtype=a.dtype))).Q
    for _ in range(step_count(niter, "niter")):
        basis = factors.qr(matmul(a, factors.qr(matmul(adjoint(a), basis)).Q)).Q
    u, s, vh = singular.svd(matmul(adjoint(basis), a), full_matrices=False)
    u, v = matmul(basis, u), adjoint(vh)
    return SVD(v, s, u) if wide else SVD(u, s, v)


@torch("(Tensor, Tensor, Tensor) | As of :func:`svd_lowrank`: columns of ``V`` are the directions.",
       "svd_lowrank, linalg.svd",
       ">>> ag.pca_lowrank(ag.tensor([[0.0, 1.0], [0.0, 3.0], [0.0, 2.0]]), q=1).V.abs()\n"
       "tensor([[0.],\n        [1.]])", _RANK, **_LOW,
       q="int, optional | How many; min(6, m, n) by default.",
       center="bool | Whether the mean row is taken off first.")
def pca_lowrank(A: TensorLike, q: int | None = None, center: bool = True, niter: int = 2) -> SVD:
    """Principal components of rows, from random directions."""
    a = matrix(A)
    q = smaller(6, smaller(*a.shape[-2:])) if q is None else q
    return svd_lowrank(a - mean(a, axis=-2, keepdims=True) if center else a, q, niter)
