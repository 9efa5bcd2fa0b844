"""Torch7's functions of matrices that BLAS and LAPACK have, with results that may come first."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import FUNCTIONS, Tensor, into, new, ranked
from agnesi.compat.torch7.tensor import View

__all__: list[str] = []


def _split(args: Any, operands: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Tensors for results, operands, and what is no tensor."""
    tensors = [a for a in args if isinstance(a, View)]
    others = [a for a in args if not isinstance(a, View)]
    return tensors[:-operands], tensors[-operands:], others


def _given(targets: list[Any], *found: Any) -> Any:
    made = tuple(into(targets[i], f) if i < len(targets) else new(np.asarray(f))
                 for i, f in enumerate(found))
    return made if len(made) > 1 else made[0]


def _flag(others: list[Any], letters: str) -> str:
    """The letter of a set that is given, or its first."""
    return next((str(o)[0].upper() for o in others if str(o)[0].upper() in letters), letters[0])


def _whole(half: Any, upper: bool) -> Any:
    """A symmetric matrix of one of its halves."""
    side = np.triu(half) if upper else np.tril(half)
    return side + side.T - np.diag(np.diag(half))


def gesv(*args: Any) -> Any:
    """x with ``a @ x = b``, and the triangular factors of ``a`` in one matrix: ``([x, lu,] b, a)``.
    """
    targets, (b, a), _ = _split(args, 2)
    return _given(targets, ag.linalg.solve(a.array, b.array), ag.linalg.lu_factor(a.array)[0])


def gels(*args: Any) -> Any:
    """x for which ``a @ x`` is nearest to b: ``([x, ignored,] b, a)``."""
    targets, (b, a), _ = _split(args, 2)
    return _given(targets[:1], ag.linalg.lstsq(a.array, b.array)[0])


def trtrs(*args: Any) -> Any:
    """x with ``a @ x = b`` for a triangular a: ``([x, ignored,] b, a, "U" or "L", "N" or "T", "N"
    or "U")``; the last says whether there are ones on the diagonal."""
    targets, (b, a), others = _split(args, 2)
    letters = [str(o).upper() for o in others] + ["U", "N", "N"][len(others):]
    matrix = np.triu(a.array) if letters[0] == "U" else np.tril(a.array)
    if letters[2] == "U":
        np.fill_diagonal(matrix, 1)
    turned = letters[1] == "T"
    found = ag.linalg.solve_triangular(matrix.T.copy() if turned else matrix, b.array,
                                       lower=(letters[0] == "L") != turned)
    return _given(targets[:1], found)


def symeig(*args: Any) -> Any:
    """Eigenvalues of a symmetric matrix and, with "V", eigenvectors: ``([e, v,] a, "N" or "V", "U"
    or "L")``."""
    targets, (a,), others = _split(args, 1)
    letters = [str(o).upper() for o in others] + ["N", "U"][len(others):]
    values, vectors = ag.linalg.eigh(_whole(a.array, letters[1] == "U"))
    return _given(targets, values, vectors) if letters[0] == "V" else _given(targets[:1], values)


def eig(*args: Any) -> Any:
    """Eigenvalues of a matrix as rows (real, imaginary) and, with "V", eigenvectors; a pair of
    conjugate ones has the columns of its real and imaginary parts: ``([e, v,] a, "N" or "V")``."""
    targets, (a,), others = _split(args, 1)
    values, vectors = (np.asarray(v) for v in ag.linalg.eig(a.array))
    pairs = np.stack([values.real, values.imag], 1)
    if _flag(others, "NV") == "N":
        return _given(targets[:1], pairs)
    real = vectors.real.copy()
    for k in np.flatnonzero(pairs[:, 1] > 0).tolist():
        real[:, k], real[:, k + 1] = vectors[:, k].real, vectors[:, k].imag
    return _given(targets, pairs, real)


def svd(*args: Any) -> Any:
    """u, s and v with ``u @ diag(s) @ v.T = a``: ``([u, s, v,] a, "S" or "A")``."""
    targets, (a,), others = _split(args, 1)
    u, s, v = ag.linalg.svd(a.array, full_matrices=_flag(others, "SA") == "A")
    return _given(targets, u, s, np.asarray(v).T)


def potrf(*args: Any) -> Any:
    """The triangular root of a positive matrix: ``([u,] a, "U" or "L")``."""
    targets, (a,), others = _split(args, 1)
    upper = _flag(others, "UL") == "U"
    root = np.asarray(ag.linalg.cholesky(_whole(a.array, upper)))
    return _given(targets, root.T if upper else root)


def pstrf(*args: Any) -> Any:
    """The triangular root of a positive matrix whose largest pivots come first, and their numbers:
    ``([u, piv,] a, "U" or "L")``."""
    targets, (a,), others = _split(args, 1)
    upper = _flag(others, "UL") == "U"
    left = _whole(a.array, upper)
    n = len(left)
    root, order = np.zeros_like(left), np.arange(n)
    for k in range(n):
        p = k + int(np.argmax(np.diag(left)[k:]))
        left[[k, p]] = left[[p, k]]
        left[:, [k, p]] = left[:, [p, k]]
        root[[k, p]] = root[[p, k]]
        order[[k, p]] = order[[p, k]]
        if left[k, k] <= 0:
            break
        root[k, k] = np.sqrt(left[k, k])
        root[k + 1:, k] = left[k + 1:, k] / root[k, k]
        left[k + 1:, k + 1:] -= np.outer(root[k + 1:, k], root[k + 1:, k])
    return _given(targets, root.T if upper else root, (order + 1).astype(np.int32))


def potrs(*args: Any) -> Any:
    """x with ``a @ x = b`` by the triangular root of a: ``([x,] b, root, "U" or "L")``."""
    targets, (b, root), others = _split(args, 2)
    low = root.array.T if _flag(others, "UL") == "U" else root.array
    return _given(targets, ag.linalg.solve(low @ low.T, b.array))


def potri(*args: Any) -> Any:
    """The inverse of a matrix by its triangular root: ``([inverse,] root, "U" or "L")``."""
    targets, (root,), others = _split(args, 1)
    low = root.array.T if _flag(others, "UL") == "U" else root.array
    return _given(targets, ag.linalg.inv(low @ low.T))


def geqrf(*args: Any) -> Any:
    """Reflections of the QR factors in one matrix, and their scales: ``([m, tau,] a)``."""
    targets, (a,), _ = _split(args, 1)
    work = np.array(a.array, float)
    taus = np.zeros(min(work.shape))
    for k in range(len(taus)):
        x = work[k:, k]
        norm = np.linalg.norm(x[1:])
        if norm == 0:
            continue
        beta = -np.copysign(np.hypot(x[0], norm), x[0])
        taus[k] = (beta - x[0]) / beta
        v = np.append(1, x[1:] / (x[0] - beta))
        work[k:, k:] -= taus[k] * np.outer(v, v @ work[k:, k:])
        work[k + 1:, k] = v[1:]
    return _given(targets, work, taus)


def _product(m: Any, tau: Any) -> Any:
    """The square orthogonal matrix of reflections."""
    q = np.eye(len(m))
    for k in range(len(tau))[::-1]:
        v = np.append(1, m[k + 1:, k])
        q[k:] -= tau[k] * np.outer(v, v @ q[k:])
    return q


def orgqr(*args: Any) -> Any:
    """The orthogonal matrix of reflections: ``([q,] m, tau)``."""
    targets, (m, tau), _ = _split(args, 2)
    return _given(targets, _product(m.array, tau.array)[:, :len(tau.array)])


def ormqr(*args: Any) -> Any:
    """The orthogonal matrix of reflections times a matrix: ``([res,] m, tau, mat, "L" or "R", "N"
    or "T")``."""
    targets, (m, tau, mat), others = _split(args, 3)
    letters = [str(o).upper() for o in others] + ["L", "N"][len(others):]
    q = _product(m.array, tau.array)
    q = q.T if letters[1] == "T" else q
    return _given(targets, q @ mat.array if letters[0] == "L" else mat.array @ q)


def _added(product: Any) -> Any:
    """``beta * m + alpha * product(a, b)``: ([result,] [beta,] m, [alpha,] a, b)."""
    def function(*args: Any) -> Tensor:
        *front, a, b = args
        alpha = front.pop() if not isinstance(front[-1], View) else 1
        m = front.pop()
        beta = front.pop() if front and not isinstance(front[-1], View) else 1
        found = beta * m.array + alpha * product(a.array, b.array)
        return into(front[0], found) if front else new(found)

    def method(self: Tensor, *args: Any) -> Tensor:
        tensors = sum(isinstance(x, View) for x in args)
        numbers = len(args) - tensors
        if tensors > 2:
            return function(self, *args)
        if numbers == 2:
            return function(self, args[0], self, *args[1:])
        return function(self, self, *args)

    return function, method


for _name, _what, _compute in (
        ("addmm", "a product of matrices", ranked(np.matmul, 2, 2)),
        ("addmv", "a product of a matrix and a vector", ranked(np.matmul, 2, 1)),
        ("addr", "an outer product", ranked(np.outer, 1, 1)),
        ("addbmm", "the sum of products of batches", ranked(
            lambda a, b: np.matmul(a, b).sum(0), 3, 3)),
        ("baddbmm", "products of batches", ranked(np.matmul, 3, 3))):
    _function, _method = _added(_compute)
    for _f in (_function, _method):
        _f.__name__ = _f.__qualname__ = _name
        _f.__doc__ = f"Add {_what}: ``([result,] [beta,] m, [alpha,] a, b)``."
    FUNCTIONS[_name] = _function
    setattr(Tensor, _name, _method)
_WHOLE: list[Any] = [gesv, gels, trtrs, symeig, eig, svd, potrf, pstrf, potrs, potri, geqrf, orgqr,
                     ormqr]
for _f in _WHOLE:
    FUNCTIONS[_f.__name__] = _f
    setattr(Tensor, _f.__name__, _f)
