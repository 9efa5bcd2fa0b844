"""Gradients of random numbers to their parameters, implicitly: by the distribution function.

A number ``z`` with distribution function ``F(z, a)`` moves with its parameter as ``dz/da = -(dF/da)
/ (dF/dz)`` (Figurnov, Mohamed and Mnih: Implicit reparameterization gradients, 2018), whichever way
it was made.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.shapes import need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.base.select import clip, minimum, where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p
from agnesi.ops.special.special import digamma

#: Nodes of the Gauss-Legendre rule.
_QUADRATURE_NODES = 64
_DECAY_LENGTHS = 40.0  # after so many lengths of decay nothing is left


@functools.cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for integrals from 0 over what falls like exp(-x) or faster."""
    nodes, weights = np.polynomial.legendre.leggauss(_QUADRATURE_NODES)
    t = (nodes + 1) / 2
    return _DECAY_LENGTHS * t**2, weights * _DECAY_LENGTHS * t


def gamma_slope(z: Tensor, a: Tensor) -> Tensor:
    """How a standard gamma number ``z`` moves with its shape ``a``.

    It is the integral of ``t**(a-1) exp(-t) (log t - digamma(a))`` over the tail beyond ``z`` that
    is away from the mode, divided by the density at ``z``: with ``t = z exp(-y)`` below and
    ``t = z exp(y)`` above, integrands fall from the start, over a length that is known.
    """
    wide = cast(clip(z, 1e-300 if z.dtype.itemsize == 8 else 1e-37, None), dtypes.float64)
    shape = cast(a, dtypes.float64)
    below = wide <= shape
    gap = abs_(shape - wide)
    b = 1.0 - 2.0 * gap
    first = (b + sqrt(b * b + 8.0 * (gap + wide))) / (2.0 * (gap + wide))
    most = log1p(1.0 / wide + sqrt(2.0 / wide))
    second = minimum(2.0 / (gap + sqrt(gap * gap + 2.0 * wide)), most)
    length = where(below, first, second)

    def column(x: Tensor) -> Tensor:
        return reshape(x, (*x.shape, 1))

    nodes, weights = (as_tensor(x) for x in _rule())
    y = column(where(below, -length, length)) * nodes
    falls = exp(column(shape) * y - column(wide) * expm1(y))
    terms = (column(log(wide) - digamma(shape)) + y) * falls
    integral = sum_(terms * weights, -1) * length * wide
    return cast(where(below, -integral, integral), z.dtype)


@record
class GammaPath(Op):
    """Standard gamma numbers as they are, with their derivative to the shapes."""

    work = elements(1)
    name = "gamma_path"
    pointwise = True

    def infer(self, z: Any, a: Any) -> Any:
        need_shape(a.shape, z.shape, "the shape parameter")
        return z.shape, z.dtype

    def perform(self, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        return z.copy()

    def vjp(self, g: Tensor, y: Tensor, z: Tensor, a: Tensor) -> tuple[Any, ...]:
        return g, g * gamma_slope(z, a)

    def jvp(self, ts: Any, y: Tensor, z: Tensor, a: Tensor) -> Any:
        along = None if ts[1] is None else ts[1] * gamma_slope(z, a)
        return along if ts[0] is None else ts[0] if along is None else ts[0] + along

    def lower(self, at: Any, z: Any, a: Any) -> Any:
        return z(*at)

    def batch(self, node: Any, xs: Any, rows: Any, length: Any) -> Tensor:
        whole = [x if r else broadcast_to(x, (length, *x.shape))
                 for x, r in zip(xs, rows, strict=True)]
        return apply(self, *whole)


def gamma_path(z: Tensor, a: Tensor) -> Tensor:
    """``z``, which was drawn with shapes ``a``; both are of one shape and dtype."""
    return apply(GammaPath(), z, a)
