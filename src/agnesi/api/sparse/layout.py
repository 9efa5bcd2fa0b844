"""Patterns of sparse matrices: checked, sorted, merged, cut.

A matrix by columns is treated as its transpose by rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.ir.dims import Dim, combine
from agnesi.core.op import called
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError, TraceError
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import size_of
from agnesi.ops.base.convert import cast, pair
from agnesi.ops.base.gather.gather_scatter import within
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.indexing.join import concat
from agnesi.ops.sorting.sort import argsort
from agnesi.ops.sparse.patterns import (
    MaskedProduct,
    ProductCount,
    ProductPattern,
    compact,
    fixed,
    is_known,
    product_pattern,
    rows_of,
)
from agnesi.ops.sparse.products import check_pattern

Parts = tuple[Tensor, Tensor, Tensor]


def _array(x: Tensor) -> np.ndarray:
    return np.asarray(x.array)


def of_length(what: str, x: Tensor, wanted: Any) -> Tensor:
    """A vector, if it has the length that is wanted; else ShapeError."""
    return of_shape("", x, wanted, f"the lengths of {what} must be equal, but shapes are {x.shape} "
                                   f"and {wanted}")


def checked(data: Tensor, indices: Tensor, indptr: Tensor, shape: Any, major: int) -> Parts:
    """The parts of a matrix that is given from outside, with indices that cannot be changed."""
    if len(tuple(shape)) != 2:
        raise ShapeError(f"a sparse matrix has two axes, so shape cannot be {tuple(shape)}")
    if indices.ndim != 1 or indptr.ndim != 1:
        raise ShapeError("indices and indptr must be vectors, not of shape "
                         f"{indices.shape if indices.ndim != 1 else indptr.shape}")
    if indices.dtype.kind != "i" and is_known(indices) and not indices.shape[0]:
        indices = cast(indices, dtypes.int64)
    check_pattern(indices, indptr)
    lines, columns = shape[major], shape[1 - major]
    data = of_length("data and indices", data, indices.shape)
    indptr = of_length(f"indptr and {lines} + 1", indptr, (lines + 1,))
    if not is_known(indices, indptr):
        return data, *guarded(indices, indptr, columns)
    starts, places = _array(indptr), _array(indices)
    if starts[0] != 0 or starts[-1] != len(places) or (np.diff(starts) < 0).any():
        raise ValueError(
            f"indptr must rise from 0 to the number of entries, {len(places)}; it runs from "
            f"{starts[0]} to {starts[-1]}"
        )
    if len(places) and not (places.min() >= 0 and places.max() < columns):
        wrong = places[(places < 0) | (places >= columns)][0]
        raise IndexError(f"index {wrong} is out of range for {columns} places")
    return data, _kept(indices, places), _kept(indptr, starts)


def guarded(indices: Tensor, indptr: Tensor, columns: Any) -> tuple[Tensor, Tensor]:
    """Indices that compiled code checks before it reads what they point at."""
    beyond = indices.shape[0] + 1
    subject = called("sparse", (indices, indptr))
    return (within(indices, columns, subject, least=0),
            within(indptr, beyond, subject, least=0, what="an entry of indptr"))


def _kept(x: Tensor, array: np.ndarray) -> Tensor:
    """A copy that cannot be changed, unless it is one already."""
    return x if not array.flags.writeable else fixed(array.copy())


def same_shape(a: Any, b: Any) -> None:
    """Sparse matrices do not broadcast."""
    if any(n != m and not isinstance(n, Dim) and not isinstance(m, Dim)
           for n, m in zip(a, b, strict=True)):
        raise ShapeError(f"sparse matrices have shapes {a} and {b}, which must be equal")


def excess(n: Any, m: Any) -> Any:
    """How many of n rows have no place on the diagonal of m columns."""
    return combine("max", combine("-", n, m), 0)


# -- repeated entries -------------------------------------------------------------------------
def _numbers(indices: Tensor, indptr: Tensor, columns: int) -> np.ndarray:
    """The place of every entry, counted through the matrix."""
    return _array(rows_of(indptr, indices.shape[0])) * max(columns, 1) + _array(indices)


def is_unique(indices: Tensor, indptr: Tensor, columns: Any) -> bool:
    """Return whether no two entries share a place, as far as anybody knows."""
    if not is_known(indices, indptr):
        return True
    numbers = _numbers(indices, indptr, columns)
    if (np.diff(numbers) > 0).all():
        return True
    return len(np.unique(numbers)) == len(numbers)


def unique(indices: Tensor, indptr: Tensor, columns: Any, name: str) -> Parts | None:
    """One entry for each place: (number of each old one, indices, indptr); None if it is so."""
    if not is_known(indices, indptr):
        raise unknown(name)
    numbers = _numbers(indices, indptr, columns)
    if (np.diff(numbers) > 0).all():
        return None
    places, number = np.unique(numbers, return_inverse=True)
    return fixed(number), *_split(places, columns, indptr.shape[0] - 1)


def unknown(name: str) -> TraceError:
    """How many entries there will be is not known."""
    return TraceError(
        f"{name}: how many entries the result has is not known when the graph is written, because "
        "the indices are not; use indices from outside of the compiled function (only the data "
        "as its argument), or a dense operand (A.todense())"
    )


def _split(places: np.ndarray, columns: int, lines: int) -> tuple[Tensor, Tensor]:
    """Sorted places, counted through the matrix, as indices and indptr."""
    rows, indices = np.divmod(places, max(columns, 1))
    return compact(indices), compact(np.searchsorted(rows, np.arange(lines + 1)))


# -- two matrices -----------------------------------------------------------------------------
def behind(a: Tensor, b: Tensor) -> Tensor:
    """The entries of one matrix behind those of another."""
    return concat([a, b])


def merged(a: Any, b: Any) -> Parts:
    """All entries of two matrices, line by line: (order, indices, indptr)."""
    lines = [rows_of(m.indptr, m.indices.shape[0]) for m in (a, b)]
    if is_known(*a.parts[1:], *b.parts[1:]):
        order = np.argsort(np.concatenate([_array(x) for x in lines]), kind="stable")
        places = np.concatenate([_array(m.indices) for m in (a, b)])
        starts = _array(a.indptr).astype(np.int64) + _array(b.indptr)
        return fixed(order), compact(places[order]), compact(starts)
    numbers = argsort(concat(lines))
    first, second = pair(a.indptr, b.indptr)
    return numbers, concat(list(pair(a.indices, b.indices)))[numbers], first + second


def common(a: Any, b: Any) -> np.ndarray:
    """Which entries of one matrix are at places where another has any."""
    columns = a.shape[1 - a.major]
    mine, theirs = (_numbers(m.indices, m.indptr, columns) for m in (a, b))
    return np.isin(mine, theirs)


def chosen(indices: Tensor, indptr: Tensor, keep: np.ndarray) -> Parts:
    """Some of the entries: (their numbers, indices, indptr)."""
    before = np.append(0, np.cumsum(keep))
    return (
        fixed(np.flatnonzero(keep)), compact(_array(indices)[keep]), compact(before[_array(indptr)])
    )


def product(a: Any, b: Any) -> Any:
    """The product of two sparse matrices, in the format of the first."""
    if a.shape[1] != b.shape[0] and not isinstance(a.shape[1], Dim):
        raise ShapeError(
            f"inner sizes differ: {a.shape[1]} (last axis of {a.shape}) and {b.shape[0]} "
            f"(first axis of {b.shape})"
        )
    if a.format == "csc":
        return product(b.T.tocsr(), a.T).T
    b = b.tocsr()
    pattern = _product_pattern((*a.parts[1:], *b.parts[1:]), b.shape[1])
    data, other = pair(a.data, b.data)
    patterns = *a.parts[1:], *b.parts[1:], *pattern
    found = apply(MaskedProduct(b.shape[1]), data, other, *patterns)
    return a._made(found, *pattern, (a.shape[0], b.shape[1]))


def _product_pattern(patterns: Sequence[Tensor], columns: Any) -> Sequence[Tensor]:
    """The pattern of a product: in a declared graph, of a size that is computed first."""
    if is_known(*patterns):
        return [compact(x) for x in product_pattern([_array(p) for p in patterns], columns)]
    if is_tracing():
        raise unknown("the product of sparse matrices")
    count: Any = apply(ProductCount(columns), *patterns)
    return apply_many(ProductPattern(columns, size_of(count)), *patterns)


# -- parts of a matrix ------------------------------------------------------------------------
def sliced(a: Any, entries: Any) -> tuple[Tensor, Tensor, Tensor, tuple[int, int]]:
    """Entries of a block: (numbers, indices, indptr, shape)."""
    if not is_known(*a.parts[1:]):
        raise unknown("a slice of a sparse matrix")
    wanted = [_axis(e, n) for e, n in zip(entries, a.shape, strict=True)]
    lines, columns = wanted[a.major], wanted[1 - a.major]
    starts, places = _array(a.indptr), _array(a.indices)
    counts = starts[lines + 1] - starts[lines]
    before = np.append(0, np.cumsum(counts))
    numbers = np.arange(before[-1]) + np.repeat(starts[lines] - before[:-1], counts)
    shape = len(wanted[0]), len(wanted[1])
    total = a.shape[1 - a.major]
    if len(columns) == total and (columns == np.arange(total)).all():
        return fixed(numbers), compact(places[numbers]), compact(before), shape
    return *_columns(numbers, before, places[numbers], columns), shape


def _columns(numbers: np.ndarray, before: np.ndarray, places: np.ndarray,
             columns: np.ndarray) -> Parts:
    """Entries in some columns, which may be named in any order and repeatedly."""
    order = np.argsort(columns, kind="stable")
    ordered = columns[order]
    low, high = (np.searchsorted(ordered, places, side) for side in ("left", "right"))
    times = high - low
    first = np.append(0, np.cumsum(times))
    turn = np.arange(first[-1]) - np.repeat(first[:-1], times)
    where = order[np.repeat(low, times) + turn]
    return fixed(np.repeat(numbers, times)), compact(where), compact(first[before])


def _axis(entry: Any, n: int) -> np.ndarray:
    """The places of an axis that an entry of a key names."""
    if isinstance(entry, Tensor):
        entry = entry.numpy()
    if isinstance(entry, (int, np.integer)):
        if not -n <= entry < n:
            raise IndexError(f"index {entry} is out of range for {n} places")
        return np.array([entry % n])
    return np.arange(n)[entry if isinstance(entry, slice) else np.asarray(entry)]
