"""Indices and coordinates: open and full grids, flat positions and back, values of functions."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from agnesi.core.integers import integer
from agnesi.core.ir.dims import Dim, combine, product
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError, check_allocatable
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.nonzeros import nonzero
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.base.arith import power
from agnesi.ops.base.convert import as_tensor, cast, check_real
from agnesi.ops.base.creation import float_dtype, sizes_of
from agnesi.ops.base.gather.gather_scatter import checked_within
from agnesi.ops.base.literals import as_indices
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.base.select import where
from agnesi.ops.indexing.join import stack
from agnesi.ops.indexing.ranges import arange, eye, linspace, strong_dtypes

#: What a number of a geometric sequence takes.
_GEOMETRIC_NANOSECONDS = 20

__all__ = [
    "fromfunction", "fromiter", "geomspace", "identity", "indices", "ix_", "mgrid", "ogrid",
    "ravel_multi_index", "unravel_index",
]


class _Grid:
    """The class of ``mgrid`` and ``ogrid``: objects that make coordinates from slices.

    ``mgrid`` gives one array with full coordinates, ``ogrid`` one for each slice, with size 1 along
    the other axes.  An imaginary step is a count, both ends included.

    >>> import agnesi as ag
    >>> ag.mgrid[0:2, 0:3].shape
    (2, 2, 3)
    >>> [x.shape for x in ag.ogrid[0:2, 0:1:3j]]
    [(2, 1), (1, 3)]
    """

    def __init__(self, full: bool) -> None:
        self.full = full

    def __repr__(self) -> str:
        return f"agnesi.{'mgrid' if self.full else 'ogrid'}"

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _axis(key)
        rows = [_axis(k) for k in key]
        kind = functools.reduce(dtypes.promote, (r.dtype for r in rows))
        n = len(rows)
        opened = tuple(
            reshape(cast(r, kind), (1,) * i + r.shape + (1,) * (n - 1 - i))
            for i, r in enumerate(rows)
        )
        if not self.full:
            return opened
        shape = tuple(r.shape[0] for r in rows)
        return stack([broadcast_to(r, shape) for r in opened])


def _axis(key: slice) -> Tensor:
    """The numbers of one slice; an imaginary step is their count, both ends included."""
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if isinstance(step, complex):
        return linspace(start, key.stop, int(builtins.abs(step)))
    return arange(start, key.stop, step)


#: Full coordinates, one array for each slice: ``mgrid[0:2, 0:3]`` has shape (2, 2, 3).
mgrid = _Grid(True)
#: The same with size 1 on the other axes: ``ogrid[0:2, 0:3]`` has shapes (2, 1) and (1, 3).
ogrid = _Grid(False)


@public
def indices(dimensions: Sequence[Any], dtype: DTypeLike = np.int64, sparse: bool = False) -> Any:
    """The indices of all elements of an array along each axis.

    :param dimensions: Sizes of the axes.
    :type dimensions: sequence of int
    :param dtype: Type of the indices.
    :param sparse: Whether to give a tuple of arrays with size 1 on the other axes.
    :returns: Of shape (axes, *dimensions).
    :rtype: Tensor, or tuple of Tensor
    :see: mgrid, ogrid, meshgrid, ix_

    >>> ag.indices((1, 2))
    tensor([[[0, 0]],
    <BLANKLINE>
            [[0, 1]]])
    """
    sizes = tuple(dimensions)
    n = len(sizes)
    opened = tuple(
        reshape(arange(m, dtype=dtype), (1,) * i + (m,) + (1,) * (n - 1 - i))
        for i, m in enumerate(sizes)
    )
    return opened if sparse else stack([broadcast_to(i, sizes) for i in opened])


@public
def ix_(*sequences: Any) -> tuple[Tensor, ...]:
    """Indices, or masks, of axes so that they select their product: ``x[ag.ix_([0, 2], [1])]``.

    :param *sequences: A vector for each axis.
    :type *sequences: array_like of int or bool
    :returns: int64, each with its elements on its own axis.
    :raises ShapeError: If one is no vector.
    :see: meshgrid, indices, take

    >>> rows, columns = ag.ix_([0, 2], [True, False, True])
    >>> rows.shape, columns.shape
    ((2, 1), (1, 2))
    """
    found = []
    for i, sequence in enumerate(sequences):
        x = as_tensor(np.asarray(sequence, np.int64) if np.size(sequence) == 0 else sequence)
        if x.ndim != 1:
            raise ShapeError(f"sequence {i} must be a vector, not of shape {x.shape}")
        x = nonzero(x)[0] if x.dtype.kind == "b" else x
        found.append(reshape(x, (1,) * i + x.shape + (1,) * (len(sequences) - 1 - i)))
    return tuple(found)


@public
def unravel_index(indices: TensorLike, shape: ShapeLike,
                  order: Literal["C", "F"] = "C") -> tuple[Tensor, ...]:
    """Flat positions as an index for each axis of ``shape``.

    :param indices: Flat positions, of any shape.
    :type indices: array_like of int
    :param shape: Sizes of the axes.
    :type shape: int or sequence of int
    :param order: Whether the last or the first axis runs fastest.
    :returns: int64, of the shape of ``indices``.
    :raises DTypeError: For positions that are no integers.
    :raises ValueError: If there are more positions than int64 can number.
    :raises IndexError: For positions outside, in compiled code too.
    :see: ravel_multi_index, argmax

    >>> ag.unravel_index(ag.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    sizes = sizes_of(shape)
    flat = checked_within(_whole(indices), _position_count(sizes), "the position", "unravel_index")
    found: list[Tensor] = []
    for n in reversed(sizes) if order == "C" else sizes:
        found.append(flat % n)
        flat = flat // n
    return tuple(reversed(found) if order == "C" else found)


def _whole(indices: Any) -> Tensor:
    """Positions, which are integers."""
    x = as_indices(indices)
    if x.dtype.kind not in "biu":
        raise DTypeError(f"positions must be integers, not {typed(x)}")
    return cast(x, dtypes.int64)


def _position_count(sizes: Any) -> Any:
    """How many positions there are: so many that int64 can number them."""
    count = product(sizes)
    if isinstance(count, int) and count > np.iinfo(np.int64).max:
        raise ValueError(f"sizes {sizes} have more positions than int64 can number")
    return count


@public
def ravel_multi_index(multi_index: Sequence[TensorLike] | np.ndarray | Tensor, dims: Sequence[Any],
                      mode: str | Sequence[str] = "raise", order: Literal["C", "F"] = "C", *,
                      out: Tensor | None = None) -> Tensor:
    """An index for each axis of ``dims`` as flat positions.

    :param multi_index: An array of indices for each axis; they broadcast.
    :type multi_index: sequence of array_like of int
    :param dims: Sizes of the axes.
    :type dims: sequence of int
    :param mode: What to do with indices outside.
    :type mode: {"raise", "wrap", "clip"}, or one for each axis
    :param order: Whether the last or the first axis runs fastest.
    :returns: int64, of the broadcast shape.
    :raises DTypeError: For indices that are no integers.
    :raises ValueError: If there is no such mode, or more positions than int64 can number.
    :raises IndexError: If an index is outside and its mode is "raise"; compiled code raises, too.
    :see: unravel_index, indices

    >>> ag.ravel_multi_index((ag.tensor([0, 1]), ag.tensor([1, 2])), (2, 3))
    tensor([1, 5])
    """
    sizes = tuple(integer(n, "a size", 0) for n in dims)
    _position_count(sizes)
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    if not len(multi_index) == len(modes) == len(sizes):
        raise ValueError(f"each of {len(sizes)} axes, {sizes}, has one index and one mode, not "
                         f"{len(multi_index)} and {len(modes)}")
    limited = [_limited(_whole(i), n, m) for i, n, m in zip(multi_index, sizes, modes, strict=True)]
    flat: Any = 0
    for i, n in zip(limited, sizes, strict=True) if order == "C" else \
            list(zip(limited, sizes, strict=True))[::-1]:
        flat = flat * n + i
    return as_tensor(flat)


def _limited(x: Tensor, size: int, mode: str) -> Tensor:
    if mode in ("wrap", "clip") and size == 0 and x.size:
        raise ValueError("an axis of size 0 has no positions")
    if mode == "wrap":
        return x % size
    if mode == "clip":
        return x.clip(0, size - 1)
    if mode != "raise":
        raise ValueError(f"mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    return checked_within(x, size, "an index", "ravel_multi_index")


@public
def identity(n: int, dtype: DTypeLike = None, *, out: Tensor | None = None) -> Tensor:
    """Ones on the diagonal of a square matrix of zeros.

    :param n: Size of both axes.
    :param dtype: Type of the elements; by default the default float dtype
        (``config.default_float``).
    :returns: Of shape (n, n).
    :raises ValueError: If ``n`` is negative.
    :see: eye, identity_like

    >>> ag.identity(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    return eye(n, dtype=dtype)


@planned
@public
def geomspace(start: TensorLike, stop: TensorLike, num: int = 50, endpoint: bool = True,
              dtype: DTypeLike = None,
              *, axis: int = 0, out: Tensor | None = None) -> Tensor:
    """``num`` numbers from ``start`` to ``stop`` with a constant ratio.

    :param start, stop: The ends, which broadcast; not 0, and of one sign unless they are complex.
    :type start, stop: number or array_like
    :param num: How many elements.
    :param endpoint: Whether ``stop`` is the last element.
    :param dtype: Type of the elements; by default that of the ends, or the default float dtype.
    :param axis: Where the numbers are in the result of ends that have axes.
    :returns: A vector, for each pair of ends that have axes; gradients flow to the ends.
    :raises ValueError: If an end is 0, or ``num`` is negative.
    :see: logspace, linspace

    >>> ag.geomspace(1, 100, 3)
    tensor([  1.,  10., 100.])
    """
    first, last = as_tensor(start), as_tensor(stop)
    kind = _of_ends(start, stop) if dtype is None else float_dtype(dtype)
    for end in (start, stop):
        if isinstance(end, (complex, np.complexfloating)):
            check_real(end, kind)
    if kind.kind == "c":  # the ends may be real
        first, last = cast(first, dtypes.complex128), cast(last, dtypes.complex128)
    num = integer(num, "num", 0)
    differentiated = first._requires_grad or last._requires_grad
    if is_known(first, last) and not (differentiated or isinstance(num, Dim)):
        check_allocatable((num, max(first.size, last.size)), dtypes.float64)
        work = num * max(first.size, last.size)
        found = aside(_GEOMETRIC_NANOSECONDS * work, functools.partial(
            np.errstate(all="ignore")(np.geomspace), axis=axis), first.array, last.array, num,
            endpoint)
        return wrap(silently(found.astype, kind))
    wide = dtypes.complex128 if "c" in first.dtype.kind + last.dtype.kind else dtypes.float64
    first, last = cast(first, wide), cast(last, wide)
    first, last = demanded("geomspace", "the ends must not be 0", lambda a, b: (a != 0) & (b != 0),
                           of_complex=True, start=first, stop=last)
    steps = combine("max", num - 1 if endpoint else num, 1)
    share = reshape(arange(num), (num,) + (1,) * max(first.ndim, last.ndim)) / steps
    row = first * power(last / first, cast(share, first.dtype))
    if endpoint:
        row = where((share == 1) & (first == first), last, row)
    row = cast(row, kind)
    return row if axis == 0 else moveaxis(row, 0, axis)


def _of_ends(*ends: Any) -> np.dtype:
    """The dtype of floating or complex tensors and floats of NumPy among two ends, or the default
    one."""
    inexact = [kind for kind in strong_dtypes(*ends) if dtypes.is_inexact(kind)]
    kind = functools.reduce(dtypes.promote, inexact) if inexact else float_dtype(None)
    complex_ = any(as_tensor(x).dtype.kind == "c" for x in ends)
    return dtypes.complex_of(dtypes.real_of(kind)) if complex_ else kind


@public
def fromfunction(function: Callable[..., Any], shape: Sequence[Any], *, dtype: DTypeLike = None,
                 **keywords: Any) -> Any:
    """Return a function's value at the coordinates of all elements.

    :param function: Gets an array for each axis.
    :param shape: Sizes of the axes; not negative. They may be given as several arguments, too.
    :param dtype: Type of the coordinates; the default float dtype by default.
    :param **keywords: Handed to the function.
    :returns: What the function returns.
    :see: indices, meshgrid, mgrid

    >>> ag.fromfunction(lambda i, j: i + j, (2, 2))
    tensor([[0., 1.],
            [1., 2.]])
    """
    return function(*indices(shape, float_dtype(dtype)), **keywords)


@public
def fromiter(iterable: Iterable[Any], dtype: DTypeLike, count: int = -1, *,
             out: Tensor | None = None) -> Tensor:
    """A vector of the numbers that an iterable gives.

    :param iterable: What to take.
    :type iterable: iterable of number
    :param dtype: Type of the elements.
    :param count: How many to take; -1 is all.
    :returns: A vector.
    :raises ValueError: If there are fewer than ``count``.
    :see: asarray, frombuffer

    >>> ag.fromiter((i * i for i in range(3)), "int64")
    tensor([0, 1, 4])
    """
    return wrap(np.fromiter(iterable, dtypes.as_dtype(dtype), count))
