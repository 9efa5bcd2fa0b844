"""Spherical Bessel functions of whole order; SciPy computes them."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import safe_divide, square
from agnesi.ops.base.convert import cast
from agnesi.ops.elementwise.formula import scipys

__all__ = ["spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"]


def _pair(name: str, sign: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """A function and its derivative; ``sign`` of the solution in their differential equation.

    It is ``x^2 y'' + 2 x y' + (sign * x^2 - n (n + 1)) y = 0`` (DLMF 10.47).
    """

    def bend(g: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Tensor:
        n = cast(a, b.dtype)
        pull = safe_divide(n * (n + 1), square(b)) - sign
        return g * (pull * value(a, b) - 2 * safe_divide(y, b))

    value = scipys(f"_{name}", (None, lambda g, a, b: g * slope(a, b)), __name__, own=name, whole=1)
    slope = scipys(f"_{name}_d", (None, bend), __name__, own=f"{name}_slope", whole=1)
    return value, slope


_J, _Y = _pair("spherical_jn", 1), _pair("spherical_yn", 1)
_I, _K = _pair("spherical_in", -1), _pair("spherical_kn", -1)


@public
def spherical_jn(n: TensorLike, x: TensorLike, /, derivative: bool = False, *,
                 out: Tensor | None = None) -> Tensor:
    """Spherical Bessel function j of whole order ``n``, or its derivative (DLMF 10.47.3).

    :param n: The order; not negative.
    :type n: array_like of int
    :param x: Real numbers; both broadcast.
    :param derivative: Whether to give the derivative to ``x``.
    :returns: Of the broadcast shape, floating.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.spherical_yn, special.spherical_in, special.jv

    >>> ag.special.spherical_jn(0, ag.tensor([0.0]))
    tensor([1.])
    """
    return _J[derivative](n, x)


@public
def spherical_yn(n: TensorLike, x: TensorLike, /, derivative: bool = False, *,
                 out: Tensor | None = None) -> Tensor:
    """Spherical Bessel function of the second kind, or its derivative (DLMF 10.47.4).

    :like: spherical_jn
    :see: special.spherical_jn, special.yv

    >>> ag.special.spherical_yn(0, ag.tensor([0.0]))
    tensor([-inf])
    """
    return _Y[derivative](n, x)


@public
def spherical_in(n: TensorLike, x: TensorLike, /, derivative: bool = False, *,
                 out: Tensor | None = None) -> Tensor:
    """Modified spherical Bessel function i of whole order ``n``, or its derivative (DLMF 10.47.7).

    :like: spherical_jn
    :see: special.spherical_kn, special.spherical_jn, special.iv

    >>> ag.special.spherical_in(0, ag.tensor([0.0]))
    tensor([1.])
    """
    return _I[derivative](n, x)


@public
def spherical_kn(n: TensorLike, x: TensorLike, /, derivative: bool = False, *,
                 out: Tensor | None = None) -> Tensor:
    """Modified spherical Bessel function of the second kind k, or its derivative (DLMF 10.47.9).

    :like: spherical_jn
    :see: special.spherical_in, special.kv

    >>> ag.special.spherical_kn(0, ag.tensor([0.0]))
    tensor([inf])
    """
    return _K[derivative](n, x)
