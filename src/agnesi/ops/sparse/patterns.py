"""Entries of compressed rows under a change of their sparsity pattern."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_tracing
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.arith import conjugate, negative
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import made
from agnesi.ops.base.gather.gather_scatter import at_indices
from agnesi.ops.base.linearity import BilinearOp, LinearOp
from agnesi.ops.indexing.ranges import Arange
from agnesi.ops.sorting.sort import argsort, searchsorted
from agnesi.ops.sparse.products import (
    ROWS,
    SAMPLED,
    ColumnProduct,
    check_pattern,
    side_by_side,
)

#: Of SciPy's compressed rows.
_PARTS = attrgetter("data", "indices", "indptr")


def is_known(*patterns: Tensor) -> bool:
    """Return whether Python may read indices: there are some, and they cannot be changed."""
    return all(
        p.array is not None and (not is_tracing() or not p.array.flags.writeable)
        for p in patterns
    )


def rows_of(indptr: Tensor, entries: Any) -> Tensor:
    """The row of every entry, int64."""
    if is_known(indptr) and not isinstance(entries, Dim):
        array: Any = indptr.array
        return fixed(np.repeat(np.arange(len(array) - 1), np.diff(array)))
    numbers = made(Arange(0, 1, entries, dtypes.int64), entries)
    return searchsorted(indptr[1:], numbers, side="right")


def fixed(array: np.ndarray) -> Tensor:
    """A tensor that cannot be changed, so that graphs take it for a constant."""
    array = array.view()
    array.setflags(write=False)
    return wrap(array)


def compact(array: np.ndarray) -> Tensor:
    """Indices that cannot be changed, as int32 where they fit."""
    small = not array.size or array.max() < 2**31
    return fixed(array.astype(np.int32 if small else np.int64, copy=False))


def transposed_pattern(
    indices: Tensor, indptr: Tensor, columns: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """The pattern of the transpose, and which entry comes where: (order, indices, indptr)."""
    rows = rows_of(indptr, indices.shape[0])
    if is_known(indices, indptr) and isinstance(columns, int):
        found, start = np.asarray(indices.array), np.zeros(columns + 1, np.int64)
        np.cumsum(np.bincount(found, minlength=columns), out=start[1:])
        order = np.argsort(found, kind="stable")
        lines = np.asarray(rows.array)[order]
        return fixed(order), compact(lines), compact(start)
    numbers = argsort(indices)
    bounds = made(Arange(0, 1, columns + 1, dtypes.int64), columns + 1)
    starts = searchsorted(cast(indices[numbers], dtypes.int64), bounds)
    return numbers, rows[numbers], starts


def lined_up(lines: Tensor, columns_of: Tensor, count: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Convert coordinates to compressed lines (CSR or CSC): (order of the values, indices,
    indptr)."""
    if is_known(lines, columns_of):
        order = np.argsort(np.asarray(lines.array), kind="stable")
        starts = np.searchsorted(np.asarray(lines.array)[order], np.arange(count + 1))
        return fixed(order), compact(np.asarray(columns_of.array)[order]), compact(starts)
    numbers = argsort(lines)
    bounds = made(Arange(0, 1, count + 1, dtypes.int64), count + 1)
    found = searchsorted(cast(lines, dtypes.int64)[numbers], bounds)
    return numbers, columns_of[numbers], found


def _positions(indices: np.ndarray, indptr: np.ndarray, columns: int) -> np.ndarray:
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return rows * max(columns, 1) + indices


@record
class Pick(LinearOp):
    """Elements of a sparse matrix where another pattern has entries; repeated ones are added.

    Linear in ``data``; its adjoint is the same with the patterns exchanged.
    """

    columns: Any
    work = elements(64)
    name = "sparse_pick"
    keep_inputs = (1, 2, 3, 4)

    def infer(self, data: Any, indices: Any, indptr: Any, where: Any, rows: Any) -> Any:
        check_pattern(indices, indptr)
        check_pattern(where, rows)
        return where.shape, data.dtype

    def perform(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray,
                where: np.ndarray, rows: np.ndarray) -> np.ndarray:
        known, number = np.unique(_positions(indices, indptr, self.columns), return_inverse=True)
        total = np.zeros(len(known) + 1, dtypes.computed(data.dtype))
        at_indices(np.add, total, number, data.astype(total.dtype, copy=False))
        total = total.astype(data.dtype, copy=False)
        wanted = _positions(where, rows, self.columns)
        at = np.searchsorted(known, wanted)
        there = np.append(known, -1)[at] == wanted
        return np.where(there, total[at], data.dtype.type(0))

    def vjp(self, g: Tensor, y: Tensor, data: Tensor, *patterns: Tensor) -> tuple[Any, ...]:
        return apply(self, g, *patterns[2:], *patterns[:2]), *(None,) * 4


def product_pattern(patterns: Sequence[np.ndarray], columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the product of two sparse matrices has entries, in order."""
    first, first_ends, second, second_ends = patterns
    inner = len(second_ends) - 1
    whole = _ones(first, first_ends, inner) @ _ones(second, second_ends, columns)
    whole.sort_indices()
    return whole.indices, whole.indptr


def _ones(indices: np.ndarray, indptr: np.ndarray, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, columns))


@record
class ProductCount(Op):
    """How many entries the product of two sparse matrices has."""

    columns: Any
    work = elements(64)
    name = "sparse_product_count"
    differentiable = False

    def infer(self, *patterns: Any) -> Any:
        return (), dtypes.int64

    def perform(self, *patterns: np.ndarray) -> np.ndarray:
        return np.asarray(len(product_pattern(patterns, self.columns)[0]), np.int64)


@record
class ProductPattern(Op):
    """Indices and indptr of the product of two sparse matrices, which has ``size`` entries."""

    columns: Any
    size: Any
    work = elements(64)
    name = "sparse_product_pattern"
    differentiable = False
    outputs = 2

    def infer(self, *patterns: Any) -> Any:
        return ((self.size,), dtypes.int64), (patterns[1].shape, dtypes.int64)

    def perform(self, *patterns: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(p.astype(np.int64) for p in product_pattern(patterns, self.columns))


@record
class MaskedProduct(BilinearOp):
    """The product of two sparse matrices where a third pattern has entries.

    Operands are the entries of both, then three patterns; the third one has ``columns``.
    """

    columns: Any
    work = elements(64)
    name = "sparse_product"

    def infer(self, a: Any, b: Any, *patterns: Any) -> Any:
        for i in (0, 2, 4):
            check_pattern(*patterns[i: i + 2])
        return patterns[4].shape, a.dtype

    def perform(self, a: np.ndarray, b: np.ndarray, *patterns: np.ndarray) -> np.ndarray:
        from scipy.sparse import csr_array

        inner = len(patterns[3]) - 1
        first = csr_array((a, *patterns[:2]), shape=(len(patterns[1]) - 1, inner))
        whole = first @ csr_array((b, *patterns[2:4]), shape=(inner, self.columns))
        numbers, *pattern = _PARTS(whole)
        return Pick(self.columns).perform(
            numbers.astype(a.dtype, copy=False), *pattern, *patterns[4:])

    def vjp(self, g: Tensor, y: Tensor, a: Tensor, b: Tensor, *patterns: Tensor) -> Any:
        first, second, third = patterns[:2], patterns[2:4], patterns[4:]
        inner: Any = second[1].shape[0] - 1
        to_a = to_b = None
        if a._requires_grad:
            order, *across = transposed_pattern(second[0], second[1], self.columns)
            to_a = apply(MaskedProduct(inner), g, conjugate(b)[order], *third, *across, *first)
        if b._requires_grad:
            order, *across = transposed_pattern(first[0], first[1], inner)
            to_b = apply(MaskedProduct(self.columns), conjugate(a)[order], g, *across, *third,
                         *second)
        return to_a, to_b, *(None,) * 6


@record
class Solve(Op):
    """``x`` with ``A @ x = b`` (or ``A.T @ x = b``) for square compressed rows, by SuperLU."""

    transposed: bool
    work = elements(64)
    name = "spsolve"
    keep_inputs = (0, 2, 3)
    keep_output = True

    def infer(self, data: Any, b: Any, indices: Any, indptr: Any) -> Any:
        check_pattern(indices, indptr)
        return b.shape, b.dtype

    def perform(self, data: np.ndarray, b: np.ndarray, indices: np.ndarray,
                indptr: np.ndarray) -> np.ndarray:
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        n = len(indptr) - 1
        if not n:
            return np.zeros(b.shape, b.dtype)
        matrix = csc_array((data, indices, indptr), shape=(n, n), copy=True)  # of the transpose
        matrix.sum_duplicates()
        try:
            found = splu(matrix).solve(np.asarray(b), "N" if self.transposed else "T")
        except RuntimeError as error:
            raise np.linalg.LinAlgError(f"the matrix is singular ({error})") from None
        return np.asarray(found, b.dtype)

    def vjp(self, g: Tensor, y: Tensor, data: Tensor, b: Tensor, indices: Tensor,
            indptr: Tensor) -> tuple[Any, ...]:
        back = apply(Solve(not self.transposed), conjugate(data), g, indices, indptr)
        to_data = None
        if data._requires_grad:
            to_data = negative(self._sampled(back, conjugate(y), indices, indptr))
        return to_data, back, None, None

    def jvp(self, ts: Any, y: Tensor, data: Tensor, b: Tensor, indices: Tensor,
            indptr: Tensor) -> Any:
        change = ts[1]
        if ts[0] is not None:
            op: Op = ColumnProduct(y.shape[0]) if self.transposed else ROWS
            less = apply(op, ts[0], y, indices, indptr)
            change = negative(less) if change is None else change - less
        return apply(self, data, change, indices, indptr)

    def batch(self, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Any:
        return side_by_side(self, node, xs, rows, length)

    def _sampled(self, back: Tensor, y: Tensor, indices: Tensor, indptr: Tensor) -> Tensor:
        first, second = (y, back) if self.transposed else (back, y)
        found: Tensor = apply(SAMPLED, first, second, indices, indptr)
        return found


def check_square(shape: Any) -> None:
    """A system has as many equations as unknowns."""
    if shape[0] != shape[1]:
        raise ShapeError(f"the matrix must be square, not of shape {shape}")
