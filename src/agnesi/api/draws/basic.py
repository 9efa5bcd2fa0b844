"""Uniform, normal, exponential and Gumbel numbers, with NumPy's arguments in NumPy's order."""

from __future__ import annotations

from typing import Any

from agnesi.core import shapes
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops import random
from agnesi.ops.convert import as_tensor
from agnesi.ops.generators import Generator


def _sizes(size: Any, *params: Any) -> Any:
    """The shape asked for, or that which the parameters have together."""
    if size is not None:
        return size
    if all(isinstance(p, (int, float)) for p in params):
        return ()
    return shapes.broadcast((), *[as_tensor(p).shape for p in params])


@public
def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None, *, dtype: Any = None,
            generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Uniform numbers in [low, high).

    Parameters
    ----------
    low, high : float or Tensor
    size : int or tuple of int, optional
        The shape; by default that of ``low`` and ``high``.
    dtype : dtype, optional
        ``config.default_float`` by default.
    generator : Generator, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.uniform(-1.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    return random.uniform(_sizes(size, low, high), low, high, dtype=dtype, generator=generator)


@public
def normal(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = None,
           generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Normal numbers with mean ``loc`` and deviation ``scale``.

    Parameters
    ----------
    loc, scale : float or Tensor
    size : int or tuple of int, optional
        The shape; by default that of ``loc`` and ``scale``.
    dtype : dtype, optional
        ``config.default_float`` by default.
    generator : Generator, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.normal(0, 1, 3).shape
    (3,)
    """
    return random.normal(_sizes(size, loc, scale), loc, scale, dtype=dtype, generator=generator)


@public
def exponential(scale: Any = 1.0, size: Any = None, *, dtype: Any = None,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Exponentially distributed numbers with mean ``scale``.

    Examples
    --------
    >>> import agnesi as ag
    >>> bool((ag.random.exponential(size=9) >= 0).all())
    True
    """
    return random.exponential(_sizes(size, scale), scale, dtype=dtype, generator=generator)


@public
def gumbel(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = None,
           generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Gumbel numbers; the argmax of logits plus standard ones is a draw of their softmax.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.gumbel(size=3).shape
    (3,)
    """
    return random.gumbel(_sizes(size, loc, scale), loc, scale, dtype=dtype, generator=generator)
