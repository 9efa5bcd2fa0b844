"""Windows of signals: weights that fall off towards both ends."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import check_allocatable
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.arith import divide, multiply
from agnesi.ops.base.convert import as_tensor, cast, is_live
from agnesi.ops.special.bessel import i0

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]

#: What a weight takes.
_NANOSECONDS = 20


def _number(n: Any) -> int:
    """How many weights, of which there is memory for a vector."""
    n = operator.index(n)
    check_allocatable((max(n, 0),), dtypes.float64)
    return n


def _weights(function: Callable[..., np.ndarray], n: int, *parameters: float) -> Tensor:
    n = _number(n)
    found = aside(_NANOSECONDS * n, function, n, *parameters)
    return wrap(found.astype(dtypes.config.float_dtype))


@planned
@public
def bartlett(n: int, *, out: Tensor | None = None) -> Tensor:
    """Bartlett's window: a triangle with zeros at both ends.

    :param n: How many weights; none where it is not positive.
    :returns: A vector of ``n`` numbers of the default float dtype, symmetric, 1 in the middle.
    :see: blackman, hamming, hanning, kaiser

    >>> ag.bartlett(5)
    tensor([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _weights(np.bartlett, n)


@planned
@public
def blackman(n: int, *, out: Tensor | None = None) -> Tensor:
    """Blackman's window: a sum of three cosines, nearly zero at both ends.

    :param n: How many weights; none where it is not positive.
    :returns: A vector of ``n`` numbers of the default float dtype, symmetric, 1 in the middle.
    :see: bartlett, hamming, hanning, kaiser

    >>> ag.blackman(3).round(3)
    tensor([-0.,  1., -0.])
    """
    return _weights(np.blackman, n)


@planned
@public
def hamming(n: int, *, out: Tensor | None = None) -> Tensor:
    """Hamming's window: a raised cosine that falls to 0.08 at both ends.

    :param n: How many weights; none where it is not positive.
    :returns: A vector of ``n`` numbers of the default float dtype, symmetric, 1 in the middle.
    :see: bartlett, blackman, hanning, kaiser

    >>> ag.hamming(3)
    tensor([0.08, 1.  , 0.08])
    """
    return _weights(np.hamming, n)


@planned
@public
def hanning(n: int, *, out: Tensor | None = None) -> Tensor:
    """Hann's window: a raised cosine with zeros at both ends.

    :param n: How many weights; none where it is not positive.
    :returns: A vector of ``n`` numbers of the default float dtype, symmetric, 1 in the middle.
    :see: bartlett, blackman, hamming, kaiser

    >>> ag.hanning(3)
    tensor([0., 1., 0.])
    """
    return _weights(np.hanning, n)


@planned
@public
def kaiser(n: int, beta: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Kaiser's window; ``beta`` 0 is a rectangle, 14 falls to nearly nothing.

    :param n: How many weights; none where it is not positive.
    :param beta: How steeply it falls; gradients flow to a tensor.
    :type beta: float or Tensor
    :returns: A vector of ``n`` numbers of the default float dtype, symmetric.
    :see: hanning, hamming, blackman, i0

    >>> ag.kaiser(3, 0.0)
    tensor([1., 1., 1.])
    """
    if not is_live(beta):
        return _weights(np.kaiser, n, beta)  # type: ignore[arg-type]
    n = _number(n)
    beta = cast(as_tensor(beta), dtypes.float64)
    middle = (n - 1) / 2
    arch = np.sqrt(1 - ((np.arange(n) - middle) / middle) ** 2) if n > 1 else np.ones(n)
    return cast(divide(i0(multiply(beta, wrap(arch))), i0(beta)), dtypes.config.float_dtype)
