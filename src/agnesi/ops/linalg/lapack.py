"""LAPACK and BLAS called on arrays.

LAPACK counts columns first, so that it takes a row-major matrix for its transpose; functions here
say what they do to the matrices as NumPy sees them.  Where there is no such library, NumPy does the
same, on all matrices of a stack at once; so it does where those are many and small.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np

from agnesi.ops.linalg.library import LETTERS, address, index_type

#: Stacks of at least as many matrices per row of one are worked on together.
_MIN_MATRICES_PER_ROW = 4


@cache
def _option(letter: str) -> Any:
    """A letter by its address."""
    return ctypes.byref(ctypes.c_char(letter.encode()))


class _Call:
    """A function of the library, with its options, for several matrices."""

    def __init__(self, found: int | None, integers: str) -> None:
        self.ready = found is not None
        if found is not None:
            self.function = ctypes.CFUNCTYPE(None)(found)
        self.integer = ctypes.c_int64 if integers == "int64" else ctypes.c_int32

    def __call__(self, *args: Any) -> None:
        """Characters, numbers and arrays, which all go by address."""
        self.function(*[
            _option(a) if type(a) is str
            else ctypes.byref(self.integer(a)) if isinstance(a, int)
            else ctypes.c_void_p(a.__array_interface__["data"][0]) for a in args])


_at = cache(_Call)


def _call(name: str, dtype: np.dtype) -> _Call:
    """The function of that name for a dtype, in the library that is called now."""
    return _at(address(LETTERS[dtype.name] + name), index_type())


def _stack(x: np.ndarray) -> np.ndarray:
    """A copy of matrices, in order, as a stack."""
    return _listed(np.array(x, order="C"), 2)


def _listed(x: np.ndarray, rank: int) -> np.ndarray:
    """The axes before the last ``rank`` as one."""
    return x.reshape(math.prod(x.shape[:-rank]), *x.shape[-rank:])


# -- triangles --------------------------------------------------------------------------------
def trsm(a: np.ndarray, b: np.ndarray, lower: bool, transposed: bool, unit: bool) -> np.ndarray:
    """``inv(a) @ b`` of triangles ``a``, or of their transposes; both stacks are equally long."""
    n, k = b.shape[-2:]
    x = _stack(b)
    matrices = _listed(a, 2)
    call = _call("trsm", a.dtype)
    if len(matrices) > _MIN_MATRICES_PER_ROW * n or not call.ready:
        _substitute(matrices, x, lower, transposed, unit)
    elif x.size:
        number = np.ones((), a.dtype)
        matrices = np.ascontiguousarray(matrices)
        for own, values in zip(matrices, x, strict=True):
            call("R", "U" if lower else "L", "T" if transposed else "N", "U" if unit else "N",
                 k, n, number, own, n, values, k)
    return x.reshape(b.shape)


def _substitute(a: np.ndarray, x: np.ndarray, lower: bool, transposed: bool, unit: bool) -> None:
    """Row by row of all stacks at once, in place of the right-hand sides."""
    if transposed:
        a, lower = a.swapaxes(1, 2), not lower
    n = a.shape[-1]
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        x[:, i] -= (a[:, i, None, known] @ x[:, known])[:, 0]
        if not unit:
            x[:, i] /= a[:, i, i, None]


# -- factors ----------------------------------------------------------------------------------
def potrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cholesky factors in the lower triangles, and for each 0 if there is one.

    What is in the other triangle is left there.
    """
    n = a.shape[-1]
    factors = _stack(a)
    info = np.zeros(len(factors), index_type())
    call = _call("potrf", a.dtype)
    for i, factor in enumerate(factors if n else ()):
        if call.ready:
            call("U", n, factor, n, info[i:])
            continue
        try:
            factor[...] = np.linalg.cholesky(factor)
        except np.linalg.LinAlgError:
            info[i] = 1
    return factors.reshape(a.shape), info.reshape(a.shape[:-2])


def getrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """LU factors of the transposes with partial pivoting, as LAPACK keeps them; and the pivots.

    Pivot ``i`` says with which column column ``i`` was exchanged, counted from 1.
    """
    *_, n, m = a.shape  # LAPACK's rows are m
    factors = _stack(a)
    pivots = np.zeros((len(factors), min(m, n)), index_type())
    call = _call("getrf", a.dtype)
    if len(factors) > _MIN_MATRICES_PER_ROW * n or not call.ready:
        _eliminate(factors.swapaxes(1, 2), pivots)
    elif factors.size:
        info = np.zeros((), index_type())
        for factor, row in zip(factors, pivots, strict=True):
            call(m, n, factor, m, row, info)
    return factors.reshape(a.shape), pivots.reshape(*a.shape[:-2], min(m, n))


def _eliminate(a: np.ndarray, pivots: np.ndarray) -> None:
    """Gauss's way, on all matrices at once, in place."""
    every = np.arange(len(a))
    for i in range(pivots.shape[1]):
        found = i + np.abs(a[:, i:, i]).argmax(1)
        pivots[:, i] = found + 1
        swapped = a[every, found]
        a[every, found] = a[:, i]
        a[:, i] = swapped
        head = a[:, i, i, None]
        a[:, i + 1:, i] /= np.where(head == 0, 1, head)
        a[:, i + 1:, i + 1:] -= a[:, i + 1:, i, None] * a[:, i, None, i + 1:]


def getrs(lu: np.ndarray, pivots: np.ndarray, b: np.ndarray, transposed: bool) -> np.ndarray:
    """Solutions from what :func:`getrf` gave for ``a``: rows of ``b`` are right-hand sides.

    Of ``a @ x = b``, or of ``a.T @ x = b``.
    """
    k, n = b.shape[-2:]
    x = _stack(b)
    factors, rows = _listed(lu, 2), _listed(pivots, 1)
    call = _call("getrs", lu.dtype)
    if len(factors) > _MIN_MATRICES_PER_ROW * n or not call.ready:
        columns = x.swapaxes(1, 2)
        _solve_factored(factors.swapaxes(1, 2), rows, columns, not transposed)
    elif x.size:
        factors, rows = np.ascontiguousarray(factors), np.ascontiguousarray(rows, index_type())
        info = np.zeros((), index_type())
        for factor, row, values in zip(factors, rows, x, strict=True):
            call("N" if transposed else "T", n, k, factor, n, row, values, n, info)
    return x.reshape(b.shape)


def _solve_factored(lu: np.ndarray, pivots: np.ndarray, x: np.ndarray, transposed: bool) -> None:
    every = np.arange(len(x))
    order = range(pivots.shape[1])
    if not transposed:
        for i in order:
            _exchange(x, every, i, pivots[:, i] - 1)
        _substitute(lu, x, True, False, True)
        _substitute(lu, x, False, False, False)
        return
    _substitute(lu, x, False, True, False)
    _substitute(lu, x, True, True, True)
    for i in reversed(order):
        _exchange(x, every, i, pivots[:, i] - 1)


def _exchange(x: np.ndarray, every: np.ndarray, i: int, other: np.ndarray) -> None:
    kept = x[every, other]
    x[every, other] = x[:, i]
    x[:, i] = kept
