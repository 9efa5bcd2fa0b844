"""Draws from finite sets: categories, integers, permutations, bytes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.ir.dims import product
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import explain_errors, planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import checked_sizes
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.elementwise.bitwise import mulhi
from agnesi.ops.elementwise.explog import log
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.philox import MOST_WORDS
from agnesi.ops.random.random import is_float, noise, randint, several, words
from agnesi.ops.reductions.positions import argmax
from agnesi.ops.sorting.sort import argsort


@planned
@public
def integers(low: TensorLike, high: TensorLike | None = None, size: ShapeLike = (), *,
             dtype: DTypeLike = "int64", endpoint: bool = False, generator: Generator | None = None,
             out: Tensor | None = None) -> Tensor:
    """Integers in [low, high), or in [0, low); with ``endpoint`` in [low, high].

    :param low, high: Any that the dtype holds.
    :type low, high: int or array_like of int
    :param size: Shape of the result; without it that of ``low`` and ``high``.
    :param dtype: An integer type, int64 by default.
    :param endpoint: Whether ``high`` may be drawn.
    :returns: Of that shape and dtype.
    :raises ValueError: If there is no integer in the range, or the dtype does not hold all of them.
    :raises DTypeError: If ``dtype`` is no integer type.
    :see: randint, random.choice, random.uniform

    >>> set(ag.random.integers(1, 3, 99, endpoint=True).tolist()) == {1, 2, 3}
    True
    """
    first, last = (0, several(low)) if high is None else (several(low), several(high))
    if not all(isinstance(x, (int, np.integer)) for x in (first, last)):
        end = last + 1 if endpoint else last
        return randint(first, end, size, dtype=dtype, generator=generator)
    low, high = int(first), int(last) + bool(endpoint)
    kind = dtypes.as_dtype(dtype)
    if kind.kind not in "iu":
        raise DTypeError(f"random integers have an integer dtype, not {kind}")
    span, bounds = high - low, np.iinfo(kind)
    if not low < high or low < bounds.min or high - 1 > bounds.max:
        raise ValueError(f"[{low}, {high}) must hold an integer, and {kind} all of its integers")
    if span < MOST_WORDS and abs(low) < 1 << 62:
        return randint(low, high, size, dtype=kind, generator=generator)
    return _wide(low, span, size, kind, generator)


def _wide(low: int, span: int, size: Any, kind: np.dtype, generator: Generator | None) -> Tensor:
    """Integers from two words each."""
    sizes = checked_sizes(size)
    n = product(sizes)
    both = cast(reshape(words(2 * n, generator), (2, n)), dtypes.uint64)
    drawn = both[0] * as_tensor(1 << 32, dtypes.uint64) + both[1]
    if span < 1 << 64:
        drawn = mulhi(drawn, as_tensor(span, dtypes.uint64))
    drawn = drawn + as_tensor(low % (1 << 64), dtypes.uint64)
    return reshape(cast(drawn, kind), sizes)


@planned
@public
def categorical(logits: TensorLike, size: ShapeLike | None = None, *, axis: int = -1,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Indices along an axis with chances proportional to ``exp(logits)``: int64.

    :param logits: Logarithms of chances, up to a constant; -inf is never drawn.
    :param size: How many for each set of logits: axes in front of the others.
    :param axis: The axis of categories; also written ``dim``.
    :returns: Of shape (\\*size, \\*others).
    :raises ShapeError: For a number, which has no axis.
    :raises IndexError: If the axis is out of range.
    :see: random.choice, random.gumbel, random.multinomial

    >>> import agnesi as ag
    >>> ag.random.categorical([-ag.inf, 0.0], 3)
    tensor([1, 1, 1])
    """
    x = as_tensor(logits)
    if not is_float(x.dtype):
        x = cast(x, dtypes.config.float_dtype)
    if x.ndim == 0:
        raise ShapeError("logits need an axis: one for each category")
    axis = shapes.axis_of(axis, x.ndim)
    x = x if axis == x.ndim - 1 else moveaxis(x, axis, -1)
    sizes = () if size is None else checked_sizes(size)
    wide = dtypes.float64 if x.dtype == dtypes.float64 else dtypes.float32
    waits = noise("exponential", (*sizes, *x.shape), wide, generator)
    return argmax(cast(x, wide) - log(waits), -1)


@public
def permuted(x: TensorLike, *, axis: int | None = None, generator: Generator | None = None,
             out: Tensor | None = None) -> Tensor:
    """A tensor with the elements along an axis in random order, each line in its own.

    Without an axis, all elements are mixed.

    :param axis: An axis; also written ``dim``.
    :returns: A copy, of the shape and dtype of ``x``.
    :raises IndexError: If the axis is out of range.
    :see: random.permutation, random.shuffle

    >>> sorted(ag.random.permuted([1, 2, 3]).tolist())
    [1, 2, 3]
    """
    x = as_tensor(x)
    if axis is None:
        flat = reshape(x, (product(x.shape),))
        return reshape(permuted(flat, axis=0, generator=generator), x.shape)
    axis = shapes.axis_of(axis, x.ndim)
    order = argsort(reshape(words(product(x.shape), generator), x.shape), axis)
    return take_along_axis(x, order, axis)


@explain_errors
def bytes_(length: int, *, generator: Generator | None = None) -> bytes:
    """Random bytes.

    :param length: How many; not negative.
    :returns: Python's.
    :raises TypeError: Inside of compiled functions.
    :see: random.integers

    >>> len(ag.random.bytes(5))
    5
    """
    n = operator.index(length)
    found = words(-(-n // 4), generator)
    if found.array is None:
        raise TypeError("bytes are Python's, which compiled functions do not have; draw integers "
                        "of dtype 'uint8'")
    return bytes(np.asarray(found.array, "<u4").tobytes()[:n])
