"""Discrete Fourier transforms, under numpy.fft's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.accepted import Axis, ShapeLike, TensorLike
from agnesi.core.dispatch import apply
from agnesi.core.integers import integer, is_integer
from agnesi.core.ir.dims import Dim
from agnesi.core.op import typed
from agnesi.core.public import public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import conj
from agnesi.ops.base.convert import cast, floating
from agnesi.ops.base.creation import filled
from agnesi.ops.indexing.join import concat, pad
from agnesi.ops.signal.fourier import (
    ADJOINT,
    Fft,
    RealFft,
    RealIfft,
    not_empty,
    spectral,
    with_size,
)


# -- operands -----------------------------------------------------------------------------------
def _norm(norm: Any) -> str:
    norm = "backward" if norm is None else norm
    if norm not in ADJOINT:
        raise ValueError(f"norm {norm!r} is none of 'backward', 'ortho', 'forward'")
    found: str = norm
    return found


def _floating(x: Any) -> Tensor:
    """A tensor of floating or complex numbers of at least single precision."""
    x = floating(x)
    return cast(x, dtypes.float32) if x.dtype.itemsize < 4 else x


def _real(x: Any) -> Tensor:
    x = _floating(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"takes real numbers, not {typed(x)}; see fft for complex ones")
    return x


def _complex(x: Any) -> Tensor:
    x = _floating(x)
    return cast(x, spectral(x.dtype))


def resized(x: Tensor, axis: int, n: Any) -> Tensor:
    """The first ``n`` elements along an axis, with zeros behind them where there are fewer."""
    have = x.shape[axis]
    n = integer(n, "n", 0)
    not_empty(n)
    if n == have:
        return x
    if isinstance(n, Dim) or isinstance(have, Dim):
        x = concat([x, filled(with_size(x.shape, axis, n), 0, x.dtype)], axis)
    elif n > have:
        return pad(x, [(0, n - have if a == axis else 0) for a in range(x.ndim)])
    return x[(slice(None),) * axis + (slice(n),)]


def _several(given: Any) -> Any:
    """Sizes or axes; one number is one of them, as PyTorch takes it."""
    if isinstance(given, Dim) or is_integer(given):
        return (given,)
    if given is not None and not isinstance(given, Sequence | np.ndarray):
        raise TypeError(f"sizes and axes are lists or tuples of integers, not {typed(given)}")
    return given


def _axes(x: Tensor, s: Any, axes: Any) -> tuple[list[int], list[Any]]:
    """Axes as numbers from 0, and the sizes along them."""
    s, axes = _several(s), _several(axes)
    if axes is None and s is not None and len(s) > x.ndim:
        raise ValueError(f"s {tuple(s)} has more sizes than the {x.ndim} axes of {typed(x)}")
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    found = [shapes.axis_of(a, x.ndim) for a in axes]
    if s is None:
        return found, [x.shape[a] for a in found]
    sizes = list(s)
    if len(sizes) != len(found):
        raise ValueError(f"s {tuple(sizes)} and axes {tuple(axes)} must be as many")
    return found, [
        x.shape[a] if n is None or (not isinstance(n, Dim) and n == -1) else n
        for a, n in zip(found, sizes, strict=True)
    ]


def _over(x: Tensor, s: Any, axes: Any, inverse: bool, norm: Any) -> Tensor:
    norm, (axes, sizes) = _norm(norm), _axes(x, s, axes)
    if len(set(axes)) < len(axes):  # one after the other, each with its own size
        x = _over(x, sizes[1:], axes[1:], inverse, norm)
        axes, sizes = axes[:1], sizes[:1]
    for axis, n in zip(axes, sizes, strict=True):
        x = resized(x, axis, n)
    return apply(Fft(tuple(a - x.ndim for a in axes), inverse, norm), x) if axes else _complex(x)


def _real_over(x: Tensor, s: Any, axes: Any, norm: Any) -> Tensor:
    norm, (axes, sizes) = _norm(norm), _axes(x, s, axes)
    if not axes:
        raise ValueError("at least one axis is needed")
    x = apply(RealFft(axes[-1] - x.ndim, norm), resized(x, axes[-1], sizes[-1]))
    return _over(x, sizes[:-1], axes[:-1], False, norm)


def _real_back(x: Tensor, s: Any, axes: Any, norm: Any) -> Tensor:
    norm, (axes, sizes) = _norm(norm), _axes(x, s, axes)
    if not axes:
        raise ValueError("at least one axis is needed")
    last = axes[-1]
    asked = None if s is None else _several(s)[-1]
    if asked is None or (not isinstance(asked, Dim) and asked == -1):
        sizes[-1], n = x.shape[last], 2 * (x.shape[last] - 1)
    else:
        n = sizes[-1] if isinstance(sizes[-1], Dim) else integer(sizes[-1], "n", 0)
        sizes[-1] = n // 2 + 1
    not_empty(n)
    x = _over(x, sizes[-2::-1], axes[-2::-1], True, norm)
    return apply(RealIfft(last - x.ndim, n, norm), resized(x, last, sizes[-1]))


def _one(n: Any) -> Any:
    return None if n is None else (integer(n, "n", 0),)


# -- along one axis -----------------------------------------------------------------------------
@public
def fft(x: TensorLike, /, n: int | Dim | None = None, axis: int = -1, norm: str | None = None, *,
        out: Tensor | None = None) -> Tensor:
    """Discrete Fourier transform along an axis.

    :param x: Real or complex; single precision stays single.
    :param n: Length of the transform: ``x`` is cut off, or zeros follow; the size of the axis by
        default.
    :type n: int, optional
    :param axis: The axis of the transform; also written ``dim``.
    :param out: Takes the result.
    :returns: Complex, of shape ``x.shape`` with ``n`` along ``axis``.
    :raises ValueError: For an empty axis, or an unknown norm.
    :raises IndexError: If the axis is out of range.
    :see: fft.ifft, fft.rfft, fft.fft2, fft.fftn, fft.fftfreq

    >>> ag.fft.fft(ag.tensor([1.0, 0.0, -1.0, 0.0])).real
    tensor([0., 2., 0., 2.])
    """
    return _over(_floating(x), _one(n), (axis,), False, norm)


@public
def ifft(x: TensorLike, /, n: int | Dim | None = None, axis: int = -1, norm: str | None = None, *,
         out: Tensor | None = None) -> Tensor:
    """Inverse of :func:`fft`, with the same parameters.

    :param x: Real or complex; single precision stays single.
    :param n: Length of the transform: ``x`` is cut off, or zeros follow; the size of the axis by
        default.
    :type n: int, optional
    :param axis: The axis of the transform; also written ``dim``.
    :returns: Complex, of the shape of ``x`` but for given sizes.
    :raises ValueError: For an empty axis, or an unknown norm.
    :raises IndexError: If the axis is out of range.
    :see: fft.fft, fft.irfft, fft.ifftn

    >>> ag.fft.ifft(ag.tensor([4.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1., 1.])
    """
    return _over(_floating(x), _one(n), (axis,), True, norm)


@public
def rfft(x: TensorLike, /, n: int | Dim | None = None, axis: int = -1, norm: str | None = None, *,
         out: Tensor | None = None) -> Tensor:
    """Fourier transform of real numbers: the ``n // 2 + 1`` frequencies from zero up.

    Parameters are those of :func:`fft`; complex operands are an error.

    :like: ifft
    :param x: Real; single precision stays single.
    :returns: Complex, of the shape of ``x``, but ``n // 2 + 1`` on the last of the axes.
    :raises DTypeError: For complex numbers.
    :see: fft.irfft, fft.fft, fft.rfftn, fft.rfftfreq

    >>> ag.fft.rfft(ag.tensor([1.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1.])
    """
    return _real_over(_real(x), _one(n), (axis,), norm)


@public
def irfft(x: TensorLike, /, n: int | Dim | None = None, axis: int = -1, norm: str | None = None, *,
          out: Tensor | None = None) -> Tensor:
    """Inverse of :func:`rfft`: ``n`` real numbers, ``2 * (m - 1)`` by default from ``m``.

    :like: ifft
    :param x: Complex, or real: the frequencies from zero up. Imaginary parts of the first, and of
        the last for even ``n``, do not count.
    :returns: Real, of the shape of ``x``, but with ``n`` on the last of the axes: ``2 * (m - 1)``
        by default.
    :see: fft.rfft, fft.ifft, fft.irfftn

    >>> ag.fft.irfft(ag.tensor([3.0, 0.0]), 3)
    tensor([1., 1., 1.])
    """
    return _real_back(_complex(x), _one(n), (axis,), norm)


@public
def hfft(x: TensorLike, /, n: int | Dim | None = None, axis: int = -1, norm: str | None = None, *,
         out: Tensor | None = None) -> Tensor:
    """Real spectrum of a signal that is its own mirrored conjugate, given by one half.

    :like: ifft
    :param x: Complex: the half from zero up.
    :returns: Real, of the shape of ``x``, but with ``n`` on the axis: ``2 * (m - 1)`` by default.
    :see: fft.ihfft, fft.irfft

    >>> ag.fft.hfft(ag.tensor([1.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """
    return _real_back(conj(_complex(x)), _one(n), (axis,), ADJOINT[_norm(norm)])


@public
def ihfft(x: TensorLike, /, n: int | Dim | None = None, axis: int = -1, norm: str | None = None, *,
          out: Tensor | None = None) -> Tensor:
    """Inverse of :func:`hfft`.

    :like: ifft
    :param x: Real; single precision stays single.
    :returns: Complex, of the shape of ``x``, but ``n // 2 + 1`` on the axis.
    :raises DTypeError: For complex numbers.
    :see: fft.hfft, fft.rfft

    >>> ag.fft.ihfft(ag.tensor([1.0, 1.0, 1.0, 1.0])).real
    tensor([1., 0., 0.])
    """
    return conj(_real_over(_real(x), _one(n), (axis,), ADJOINT[_norm(norm)]))


# -- over several axes --------------------------------------------------------------------------
@public
def fftn(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None, norm: str | None = None,
         *,
         out: Tensor | None = None) -> Tensor:
    """Fourier transform over several axes.

    :param x: Real or complex; single precision stays single.
    :param s: Sizes along ``axes``: ``x`` is cut off, or zeros follow; -1 or None
        leaves one as it is.
    :type s: int or sequence of int, optional
    :param axes: All by default, or the last ``len(s)``.
    :type axes: int or sequence of int, optional
    :returns: Complex, of the shape of ``x`` but for given sizes.
    :raises ValueError: For an empty axis, an unknown norm, or not as many sizes as axes.
    :raises IndexError: If an axis is out of range.
    :see: fft.ifftn, fft.fft, fft.rfftn

    >>> ag.fft.fftn(ag.ones((2, 2))).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _over(_floating(x), s, axes, False, norm)


@public
def ifftn(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None, norm: str | None = None,
          *,
          out: Tensor | None = None) -> Tensor:
    """Inverse of :func:`fftn`.

    :like: fftn
    :see: fft.fftn, fft.ifft

    >>> ag.fft.ifftn(ag.fft.fftn(ag.ones((1, 2)))).real
    tensor([[1., 1.]])
    """
    return _over(_floating(x), s, axes, True, norm)


@public
def rfftn(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None, norm: str | None = None,
          *,
          out: Tensor | None = None) -> Tensor:
    """Fourier transform of real numbers over several axes; the last one is halved.

    :like: fftn
    :param x: Real; single precision stays single.
    :returns: Complex, of the shape of ``x``, but ``n // 2 + 1`` on the last of the axes.
    :raises DTypeError: For complex numbers.
    :see: fft.irfftn, fft.rfft, fft.fftn

    >>> ag.fft.rfftn(ag.ones((2, 3))).shape
    (2, 2)
    """
    return _real_over(_real(x), s, axes, norm)


@public
def irfftn(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None,
           norm: str | None = None, *,
           out: Tensor | None = None) -> Tensor:
    """Inverse of :func:`rfftn`.

    :like: fftn
    :param x: Complex, or real: the frequencies from zero up. Imaginary parts of the first, and of
        the last for even ``n``, do not count.
    :returns: Real, of the shape of ``x``, but with ``n`` on the last of the axes: ``2 * (m - 1)``
        by default.
    :see: fft.rfftn, fft.irfft

    >>> ag.fft.irfftn(ag.tensor([[4.0, 0.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return _real_back(_complex(x), s, axes, norm)


@public
def hfftn(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None, norm: str | None = None,
          *, out: Tensor | None = None) -> Tensor:
    """Real spectrum of a signal that is its own mirrored conjugate, given by one half of an axis.

    :like: fftn
    :param x: Complex, or real: the half of the last axis from zero up.
    :returns: Real, of the shape of ``x``, but with ``n`` on the last of the axes: ``2 * (m - 1)``
        by default.
    :see: fft.ihfftn, fft.hfft, fft.irfftn

    >>> ag.fft.hfftn(ag.tensor([[1.0, 0.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return _real_back(conj(_complex(x)), s, axes, ADJOINT[_norm(norm)])


@public
def ihfftn(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None,
           norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Inverse of :func:`hfftn`.

    :like: fftn
    :param x: Real; single precision stays single.
    :returns: Complex, of the shape of ``x``, but ``n // 2 + 1`` on the last of the axes.
    :raises DTypeError: For complex numbers.
    :see: fft.hfftn, fft.ihfft, fft.rfftn

    >>> ag.fft.ihfftn(ag.ones((2, 3))).shape
    (2, 2)
    """
    return conj(_real_over(_real(x), s, axes, ADJOINT[_norm(norm)]))


@public
def hfft2(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = (-2, -1),
          norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """:func:`hfftn` over the last two axes.

    :like: fftn
    :param x: Complex, or real: the half of the last axis from zero up.
    :param axes: The axes of the transform.
    :type axes: int or sequence of int
    :returns: Real, of the shape of ``x``, but with ``n`` on the last of the axes: ``2 * (m - 1)``
        by default.
    :see: fft.ihfft2, fft.hfftn

    >>> ag.fft.hfft2(ag.ones((3, 2, 3))).shape
    (3, 2, 4)
    """
    return hfftn(x, s, axes, norm)


@public
def ihfft2(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = (-2, -1),
           norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """:func:`ihfftn` over the last two axes.

    :like: fftn
    :param x: Real; single precision stays single.
    :param axes: The axes of the transform.
    :type axes: int or sequence of int
    :returns: Complex, of the shape of ``x``, but ``n // 2 + 1`` on the last of the axes.
    :raises DTypeError: For complex numbers.
    :see: fft.hfft2, fft.ihfftn

    >>> ag.fft.ihfft2(ag.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return ihfftn(x, s, axes, norm)


@public
def fft2(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = (-2, -1),
         norm: str | None = None, *,
         out: Tensor | None = None) -> Tensor:
    """:func:`fftn` over the last two axes.

    :like: fftn
    :param axes: The axes of the transform.
    :type axes: int or sequence of int
    :see: fft.ifft2, fft.fftn, fft.rfft2

    >>> ag.fft.fft2(ag.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _over(_floating(x), s, axes, False, norm)


@public
def ifft2(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = (-2, -1),
          norm: str | None = None, *,
          out: Tensor | None = None) -> Tensor:
    """:func:`ifftn` over the last two axes.

    :like: fftn
    :param axes: The axes of the transform.
    :type axes: int or sequence of int
    :see: fft.fft2, fft.ifftn

    >>> ag.fft.ifft2(ag.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _over(_floating(x), s, axes, True, norm)


@public
def rfft2(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = (-2, -1),
          norm: str | None = None, *,
          out: Tensor | None = None) -> Tensor:
    """:func:`rfftn` over the last two axes.

    :like: fftn
    :param x: Real; single precision stays single.
    :param axes: The axes of the transform.
    :type axes: int or sequence of int
    :returns: Complex, of the shape of ``x``, but ``n // 2 + 1`` on the last of the axes.
    :raises DTypeError: For complex numbers.
    :see: fft.irfft2, fft.rfftn

    >>> ag.fft.rfft2(ag.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return _real_over(_real(x), s, axes, norm)


@public
def irfft2(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = (-2, -1),
           norm: str | None = None, *,
           out: Tensor | None = None) -> Tensor:
    """:func:`irfftn` over the last two axes.

    :like: fftn
    :param x: Complex, or real: the frequencies from zero up. Imaginary parts of the first, and of
        the last for even ``n``, do not count.
    :param axes: The axes of the transform.
    :type axes: int or sequence of int
    :returns: Real, of the shape of ``x``, but with ``n`` on the last of the axes: ``2 * (m - 1)``
        by default.
    :see: fft.rfft2, fft.irfftn

    >>> ag.fft.irfft2(ag.ones((3, 2, 3))).shape
    (3, 2, 4)
    """
    return _real_back(_complex(x), s, axes, norm)
