"""Frequencies of Fourier transforms, and their order."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.parameter_types import Axis, DTypeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, check_allocatable
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.arith import divide
from agnesi.ops.base.convert import as_tensor, cast, is_live
from agnesi.ops.indexing.join import roll


def _frequencies(steps: np.ndarray, n: int, d: Any, dtype: Any) -> Tensor:
    dtype = dtypes.config.float_dtype if dtype is None else dtypes.as_dtype(dtype)
    if dtype.kind != "f":
        raise DTypeError(f"frequencies are floating numbers, not {dtype}")
    if is_live(d):
        return divide(wrap((steps / n).astype(dtype)), cast(d, dtype))
    return wrap((steps / (n * float(d))).astype(dtype))


def _count(n: Any) -> int:
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"n must be at least 1, not {count}")
    check_allocatable((count,), dtypes.int64)
    return count


@planned
@public
def fftfreq(n: int, /, d: float = 1.0, *, dtype: DTypeLike = None, device: str | None = None,
            out: Tensor | None = None) -> Tensor:
    """Frequencies of :func:`agnesi.fft.fft` of ``n`` numbers that are ``d`` apart.

    :param n: How many numbers; positive.
    :param d: Their distance.
    :param dtype: A float type; ``config.default_float`` by default.
    :returns: ``n`` cycles per unit of ``d``: zero, the positive ones, then the negative ones.
    :raises ValueError: If ``n`` is not positive, or the device is not "cpu".
    :raises DTypeError: If ``dtype`` is no float type.
    :see: fft.rfftfreq, fft.fft, fft.fftshift

    >>> ag.fft.fftfreq(4)
    tensor([ 0.  ,  0.25, -0.5 , -0.25])
    """
    n = _count(n)
    steps = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _frequencies(steps, n, d, dtype)


@planned
@public
def rfftfreq(n: int, /, d: float = 1.0, *, dtype: DTypeLike = None, device: str | None = None,
             out: Tensor | None = None) -> Tensor:
    """Frequencies of :func:`agnesi.fft.rfft` of ``n`` numbers that are ``d`` apart.

    :like: fftfreq
    :returns: ``n // 2 + 1`` cycles per unit of ``d``, from zero up.
    :see: fft.fftfreq, fft.rfft

    >>> ag.fft.rfftfreq(4)
    tensor([0.  , 0.25, 0.5 ])
    """
    n = _count(n)
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype)


def _rolled(x: Any, axes: Any, back: bool) -> Tensor:
    x = as_tensor(x)
    found = shapes.axes_of(axes, x.ndim)
    if not found:
        return x
    sizes = [x.shape[a] for a in found]
    by = [n - n // 2 if back else n // 2 for n in sizes]
    return roll(x, by, found)


@planned
@public
def fftshift(x: TensorLike, /, axes: Axis = None, *, out: Tensor | None = None) -> Tensor:
    """Zero frequency moved to the middle, along all axes or those given.

    :param x: Of any shape and dtype.
    :param axes: All by default.
    :type axes: int or sequence of int, optional
    :returns: A copy, of the shape and dtype of ``x``.
    :raises IndexError: If an axis is out of range.
    :see: fft.ifftshift, fft.fftfreq, roll

    >>> ag.fft.fftshift(ag.fft.fftfreq(4))
    tensor([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _rolled(x, axes, False)


@planned
@public
def ifftshift(x: TensorLike, /, axes: Axis = None, *, out: Tensor | None = None) -> Tensor:
    """Inverse of :func:`fftshift`.

    :like: fftshift
    :see: fft.fftshift

    >>> ag.fft.ifftshift(ag.tensor([-1, 0, 1]))
    tensor([ 0,  1, -1])
    """
    return _rolled(x, axes, True)
