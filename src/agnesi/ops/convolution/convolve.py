"""Convolutions and correlations as in signal processing, term by term or through Fourier space."""

from __future__ import annotations

import operator
from typing import Any

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim
from agnesi.core.op import typed
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import conj
from agnesi.ops.base.convert import cast, pair
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.slices import flip
from agnesi.ops.convolution.conv import conv1d
from agnesi.ops.signal.fft import resized
from agnesi.ops.signal.fourier import Fft, RealFft, RealIfft

#: Terms of a sum from which transforms are faster than the sum.
_MIN_TRANSFORM_TERMS = 512
_SMOOTH = (2, 3, 5)


def good_size(n: int) -> int:
    """The next number without prime factors above 5, for which transforms are fast."""
    while True:
        rest = n
        for p in _SMOOTH:
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return n
        n += 1


def _span(n: Any, m: Any, mode: str) -> tuple[Any, Any]:
    """First element and length of what a mode takes of all ``n + m - 1``."""
    if mode == "full":
        return 0, n + m - 1
    low, high = min(n, m), max(n, m)
    if mode == "same":
        return (low - 1) // 2, high
    if mode == "valid":
        return low - 1, high - low + 1
    raise ValueError(f"mode {mode!r} is none of 'full', 'same', 'valid'")


def _vectors(a: Any, v: Any) -> tuple[Tensor, Tensor, int, int]:
    a, v = pair(a, v)
    a, v = (reshape(x, (1,)) if x.ndim == 0 else x for x in (a, v))
    if a.ndim != 1 or v.ndim != 1:
        raise ShapeError("takes vectors; see fftconvolve and conv2d for more axes")
    n, m = operator.index(a.shape[0]), operator.index(v.shape[0])
    if not n or not m:
        raise ShapeError(f"there is nothing to sum in {typed(a)} and {typed(v)}")
    return a, v, n, m


def _by_terms(a: Tensor, v: Tensor) -> Tensor:
    m = operator.index(v.shape[0])
    full = conv1d(reshape(a, (1, 1, -1)), reshape(flip(v), (1, 1, -1)), padding=m - 1)
    return reshape(full, (-1,))


def _full(a: Tensor, v: Tensor, n: int, m: int) -> Tensor:
    if a.dtype.kind in "fc" and min(n, m) >= _MIN_TRANSFORM_TERMS:
        return _by_transforms(a, v, (0,))
    if a.dtype.kind == "b":
        return _by_terms(cast(a, dtypes.int64), cast(v, dtypes.int64)) != 0
    return _by_terms(a, v)


def _by_transforms(a: Tensor, v: Tensor, axes: tuple[int, ...]) -> Tensor:
    """All of a convolution along ``axes``, as a product of transforms, which have 32 bits or more.
    """
    if a.dtype.itemsize == 2:
        return cast(_by_transforms(cast(a, dtypes.float32), cast(v, dtypes.float32), axes), a.dtype)
    sizes = [a.shape[i] + v.shape[i] - 1 for i in axes]
    padded = [n if isinstance(n, Dim) else good_size(n) for n in sizes]
    back = tuple(i - a.ndim for i in axes)
    real = a.dtype.kind == "f"
    spectra = []
    for x in (a, v):
        for i, n in zip(axes, padded, strict=True):
            x = resized(x, i, n)
        if real:
            x = apply(RealFft(back[-1], "backward"), x)
        rest = back[:-1] if real else back
        spectra.append(apply(Fft(rest, False, "backward"), x) if rest else x)
    y = spectra[0] * spectra[1]
    rest = back[:-1] if real else back
    y = apply(Fft(rest, True, "backward"), y) if rest else y
    if real:
        y = apply(RealIfft(back[-1], padded[-1], "backward"), y)
    for i, n in zip(axes, sizes, strict=True):
        y = resized(y, i, n)
    return y


@planned
@public
def convolve(a: TensorLike, v: TensorLike, /, mode: str = "full", *, out: Tensor | None = None
             ) -> Tensor:
    """Convolution of two vectors: ``y[k] = sum(a[i] * v[k - i])``.

    Long ones go through Fourier space; the sizes must be known.

    :param a, v: Vectors (or numbers) of any dtype.
    :param mode: All ``n + m - 1`` elements, the ``max(n, m)`` in the middle, or those in which the
        shorter vector is fully within the other.
    :type mode: {"full", "same", "valid"}
    :param out: Takes the result.
    :returns: A vector of the promoted dtype.
    :raises ShapeError: For operands with several axes, and empty ones.
    :raises ValueError: If there is no such mode.
    :see: correlate, fftconvolve, conv1d, polymul

    >>> ag.convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5])
    tensor([0. , 1. , 2.5, 4. , 1.5])
    """
    a, v, n, m = _vectors(a, v)
    start, length = _span(n, m, mode)
    return _full(a, v, n, m)[start: start + length]


@planned
@public
def correlate(a: TensorLike, v: TensorLike, /, mode: str = "valid", *, out: Tensor | None = None
              ) -> Tensor:
    """Correlation of two vectors: ``y[k] = sum(a[i + k] * conj(v[i]))``; see :func:`convolve`.

    :param a, v: Vectors (or numbers) of any dtype.
    :param mode: As for :func:`convolve`.
    :type mode: {"full", "same", "valid"}
    :returns: A vector of the promoted dtype.
    :raises ShapeError: For operands with several axes, and empty ones.
    :raises ValueError: If there is no such mode.
    :see: convolve, conv1d, corrcoef

    >>> ag.correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], "same")
    tensor([2. , 3.5, 3. ])
    """
    a, v, n, m = _vectors(a, v)
    start, length = _span(n, m, mode)
    if mode == "same" and m > n:
        start = n // 2  # as NumPy, which turns the two around
    return _full(a, flip(conj(v)), n, m)[start: start + length]


@planned
@public
def fftconvolve(in1: TensorLike, in2: TensorLike, /, mode: str = "full", axes: Axis = None, *,
                out: Tensor | None = None) -> Tensor:
    """Convolution over several axes through Fourier space, as SciPy's.

    :param in1, in2: Of equally many axes; those beside ``axes`` are broadcast.
    :param mode: All elements, as many as ``in1`` from the middle, or those in which one operand
        is fully within the other.
    :type mode: {"full", "same", "valid"}
    :param axes: All by default.
    :type axes: int or sequence of int, optional
    :param out: Takes the result.
    :returns: Of the promoted dtype.
    :raises ShapeError: If ranks differ, or in mode "valid" neither operand is as large as the other
        everywhere.
    :raises ValueError: If there is no such mode.
    :raises TypeError: For integers and bool.
    :see: convolve, fft.fftn, conv2d

    >>> ag.fftconvolve(ag.ones((2, 2)), ag.ones((2, 2)), "valid").shape
    (1, 1)
    """
    a, v = pair(in1, in2)
    if a.dtype.kind in "biu":
        raise TypeError(f"takes floating or complex numbers, not {typed(a)}; see convolve")
    if a.ndim != v.ndim:
        raise ShapeError(f"ranks {a.ndim} and {v.ndim} differ; add axes of size 1")
    along = shapes.axes_of(axes, a.ndim)
    sizes = [(a.shape[i], v.shape[i]) for i in along]
    if any(0 in pair for pair in sizes):
        raise ShapeError(f"there is nothing to sum in {typed(a)} and {typed(v)}")
    if mode == "valid" and not (all(n <= m for n, m in sizes) or all(n >= m for n, m in sizes)):
        raise ShapeError(
            f"neither of {typed(a)} and {typed(v)} is as large as the other on axes {along}"
        )
    y = _by_transforms(a, v, along) if along else a * v
    for i, (n, m) in zip(along, sizes, strict=True):
        start, length = ((m - 1) // 2, n) if mode == "same" else _span(n, m, mode)
        y = y[(slice(None),) * i + (slice(start, start + length),)]
    return y
