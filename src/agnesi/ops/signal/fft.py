"""Discrete Fourier transforms, under numpy.fft's names.

Six transforms (the rows of ``_KINDS``), each along one axis, over several, and over the last two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.integers import integer, is_integer
from agnesi.core.ir.dims import Dim
from agnesi.core.op import typed
from agnesi.core.parameter_types import Axis, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError
from agnesi.core.support.record import record
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
    requested = None if s is None else _several(s)[-1]
    if requested is None or (not isinstance(requested, Dim) and requested == -1):
        sizes[-1], n = x.shape[last], 2 * (x.shape[last] - 1)
    else:
        n = sizes[-1] if isinstance(sizes[-1], Dim) else integer(sizes[-1], "n", 0)
        sizes[-1] = n // 2 + 1
    not_empty(n)
    x = _over(x, sizes[-2::-1], axes[-2::-1], True, norm)
    return apply(RealIfft(last - x.ndim, n, norm), resized(x, last, sizes[-1]))


def _one(n: Any) -> Any:
    return None if n is None else (integer(n, "n", 0),)


# -- the transforms -----------------------------------------------------------------------------
@record
class _Kind:
    """A transform: what its operand is, what it returns, the function, and related names."""

    operand: str
    result: str
    run: Callable[[Any, Any, Any, Any], Tensor]
    inverse: str
    related: str


class _Along(Protocol):
    """A transform along one axis."""

    def __call__(self, x: TensorLike, /, n: int | Dim | None = None, axis: int = -1,
                 norm: str | None = None, *, out: Tensor | None = None) -> Tensor: ...


class _Over(Protocol):
    """A transform over several axes."""

    def __call__(self, x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None,
                 norm: str | None = None, *, out: Tensor | None = None) -> Tensor: ...


_COMPLEX = "Complex, of the shape of ``x`` but for given sizes."
_HALF = """Complex, of the shape of ``x``, but ``n // 2 + 1`` on the last of the axes.
    :raises DTypeError: For complex numbers."""
_WHOLE = """Real, of the shape of ``x``, but with ``n`` on the last of the axes: ``2 * (m - 1)``
        by default."""
_ANY = "Real or complex; single precision stays single."
_REAL = "Real; single precision stays single."
_FREQUENCIES = """Complex, or real: the frequencies from zero up.
        Imaginary parts of the first, and of the last for even ``n``, do not count."""
_SIZE = """:param n: Length of the transform: ``x`` is cut off, or zeros follow; the size of the
        axis by default.
    :type n: int, optional
    :param axis: The axis of the transform; also written ``dim``."""
_SIZES = """:param s: Sizes along ``axes``: ``x`` is cut off, or zeros follow; -1 or None
        leaves one as it is.
    :type s: int or sequence of int, optional
    :param axes: """
_ALL = """All by default, or the last ``len(s)``.
    :type axes: int or sequence of int, optional"""
_TWO = """The axes of the transform.
    :type axes: int or sequence of int"""

_KINDS = {
    "fft": _Kind(
        _ANY, _COMPLEX, lambda x, s, axes, norm: _over(_floating(x), s, axes, False, norm),
        "ifft", "rfft"),
    "ifft": _Kind(
        _ANY, _COMPLEX, lambda x, s, axes, norm: _over(_floating(x), s, axes, True, norm),
        "fft", "irfft"),
    "rfft": _Kind(
        _REAL, _HALF, lambda x, s, axes, norm: _real_over(_real(x), s, axes, norm),
        "irfft", "fft"),
    "irfft": _Kind(
        _FREQUENCIES, _WHOLE, lambda x, s, axes, norm: _real_back(_complex(x), s, axes, norm),
        "rfft", "ifft"),
    "hfft": _Kind(
        "Complex, or real: the half of the last axis from zero up.", _WHOLE,
        lambda x, s, axes, norm: _real_back(conj(_complex(x)), s, axes, ADJOINT[_norm(norm)]),
        "ihfft", "irfft"),
    "ihfft": _Kind(
        _REAL, _HALF,
        lambda x, s, axes, norm: conj(_real_over(_real(x), s, axes, ADJOINT[_norm(norm)])),
        "hfft", "rfft"),
}


def _named(function: Any, name: str, summary: str, parameters: str, example: str) -> Any:
    """The public function of that name, with a docstring from the row of its transform."""
    kind = _KINDS[name.rstrip("n2")]
    scope = name.removeprefix(name.rstrip("n2"))
    see = [f"{kind.inverse}{scope}", f"{kind.related}{scope}",
           *(f"{name.rstrip('n2')}{other}" for other in ("", "n", "2") if other != scope)]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{summary}

    :param x: {kind.operand}
    {parameters}
    :returns: {kind.result}
    :raises ValueError: For an empty axis, an unknown norm, or not as many sizes as axes.
    :raises IndexError: If an axis is out of range.
    :see: {", ".join(f"fft.{n}" for n in see)}

    {example.strip()}
    """
    return planned(public(function))


def _along(name: str, summary: str, example: str) -> _Along:
    run = _KINDS[name].run

    def function(x: TensorLike, /, n: int | Dim | None = None, axis: int = -1,
                 norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
        return run(x, _one(n), (axis,), norm)

    made: _Along = _named(function, name, summary, _SIZE, example)
    return made


def _over_axes(name: str, summary: str, example: str) -> _Over:
    run = _KINDS[name.rstrip("n")].run

    def function(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = None,
                 norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
        return run(x, s, axes, norm)

    made: _Over = _named(function, name, summary, _SIZES + _ALL, example)
    return made


def _over_two(name: str, example: str) -> _Over:
    run = _KINDS[name.rstrip("2")].run

    def function(x: TensorLike, /, s: ShapeLike | None = None, axes: Axis = (-2, -1),
                 norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
        return run(x, s, axes, norm)

    summary = f":func:`{name.rstrip('2')}n` over the last two axes."
    made: _Over = _named(function, name, summary, _SIZES + _TWO, example)
    return made


fft = _along("fft", "Discrete Fourier transform along an axis.", """
    >>> ag.fft.fft(ag.tensor([1.0, 0.0, -1.0, 0.0])).real
    tensor([0., 2., 0., 2.])
    """)
ifft = _along("ifft", "Inverse of :func:`fft`.", """
    >>> ag.fft.ifft(ag.tensor([4.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1., 1.])
    """)
rfft = _along(
    "rfft", "Fourier transform of real numbers: the ``n // 2 + 1`` frequencies from zero up.", """
    >>> ag.fft.rfft(ag.tensor([1.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1.])
    """)
irfft = _along(
    "irfft", "Inverse of :func:`rfft`: ``n`` real numbers, by default ``2 * (m - 1)``.", """
    >>> ag.fft.irfft(ag.tensor([3.0, 0.0]), 3)
    tensor([1., 1., 1.])
    """)
hfft = _along(
    "hfft", "Real spectrum of a signal that is its own mirrored conjugate, given by one half.", """
    >>> ag.fft.hfft(ag.tensor([1.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """)
ihfft = _along("ihfft", "Inverse of :func:`hfft`.", """
    >>> ag.fft.ihfft(ag.tensor([1.0, 1.0, 1.0, 1.0])).real
    tensor([1., 0., 0.])
    """)
fftn = _over_axes("fftn", "Fourier transform over several axes.", """
    >>> ag.fft.fftn(ag.ones((2, 2))).real
    tensor([[4., 0.],
            [0., 0.]])
    """)
ifftn = _over_axes("ifftn", "Inverse of :func:`fftn`.", """
    >>> ag.fft.ifftn(ag.fft.fftn(ag.ones((1, 2)))).real
    tensor([[1., 1.]])
    """)
rfftn = _over_axes(
    "rfftn", "Fourier transform of real numbers over several axes; the last one is halved.", """
    >>> ag.fft.rfftn(ag.ones((2, 3))).shape
    (2, 2)
    """)
irfftn = _over_axes("irfftn", "Inverse of :func:`rfftn`.", """
    >>> ag.fft.irfftn(ag.tensor([[4.0, 0.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """)
hfftn = _over_axes(
    "hfftn", "Spectrum of a signal that is its own mirrored conjugate, given by half an axis.", """
    >>> ag.fft.hfftn(ag.tensor([[1.0, 0.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """)
ihfftn = _over_axes("ihfftn", "Inverse of :func:`hfftn`.", """
    >>> ag.fft.ihfftn(ag.ones((2, 3))).shape
    (2, 2)
    """)
hfft2 = _over_two("hfft2", """
    >>> ag.fft.hfft2(ag.ones((3, 2, 3))).shape
    (3, 2, 4)
    """)
ihfft2 = _over_two("ihfft2", """
    >>> ag.fft.ihfft2(ag.ones((3, 2, 4))).shape
    (3, 2, 3)
    """)
fft2 = _over_two("fft2", """
    >>> ag.fft.fft2(ag.ones((3, 2, 2))).shape
    (3, 2, 2)
    """)
ifft2 = _over_two("ifft2", """
    >>> ag.fft.ifft2(ag.ones((3, 2, 2))).shape
    (3, 2, 2)
    """)
rfft2 = _over_two("rfft2", """
    >>> ag.fft.rfft2(ag.ones((3, 2, 4))).shape
    (3, 2, 3)
    """)
irfft2 = _over_two("irfft2", """
    >>> ag.fft.irfft2(ag.ones((3, 2, 3))).shape
    (3, 2, 4)
    """)
