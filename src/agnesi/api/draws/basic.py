"""Uniform, normal, exponential and Gumbel numbers, with NumPy's arguments in NumPy's order."""

from __future__ import annotations

from typing import Any

from agnesi.core import shapes
from agnesi.core.accepted import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.random import random
from agnesi.ops.random.generators import Generator


def _sizes(size: Any, *params: Any) -> Any:
    """The shape asked for, or that which the parameters have together."""
    if size is not None:
        return size
    if all(isinstance(p, (int, float)) for p in params):
        return ()
    return shapes.broadcast((), *[as_tensor(p).shape for p in params])


@public
def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: ShapeLike | None = None, *,
            dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
            ) -> Tensor:
    """Uniform numbers in [low, high).

    Parameters
    ----------
    low, high : float or array_like
        The bounds, of which ``high`` is never drawn.
    size : int or tuple of int, optional
        The shape; by default that of ``low`` and ``high``.
    dtype : dtype, optional
        A float type; by default that of the parameters, else ``config.default_float``.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of that shape; gradients flow to the parameters, as far as nothing else is said.

    Raises
    ------
    ValueError
        If ``low`` is greater than ``high``, or they are infinite.

    See Also
    --------
    rand, random.integers, random.triangular, nn.init.uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.uniform(-1.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    return random.uniform(_sizes(size, low, high), low, high, dtype=dtype, generator=generator)


@public
def normal(loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
           dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
           ) -> Tensor:
    """Normal numbers with mean ``loc`` and deviation ``scale``.

    Parameters
    ----------
    loc : float or array_like
        The mean.
    scale : float or array_like
        The standard deviation; not negative.
    size : int or tuple of int, optional
        The shape; by default that of ``loc`` and ``scale``.
    dtype : dtype, optional
        A float type; by default that of the parameters, else ``config.default_float``.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of that shape; gradients flow to the parameters, as far as nothing else is said.

    Raises
    ------
    ValueError
        If ``scale`` is negative, in compiled code too.

    See Also
    --------
    randn, random.truncated_normal, random.multivariate_normal, nn.init.normal_

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.normal(0, 1, 3).shape
    (3,)
    """
    return random.normal(_sizes(size, loc, scale), loc, scale, dtype=dtype, generator=generator)


@public
def exponential(scale: TensorLike = 1.0, size: ShapeLike | None = None, *, dtype: DTypeLike = None,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Exponentially distributed numbers with mean ``scale``.

    Parameters
    ----------
    scale : float or array_like
        The mean; not negative.
    size : int or tuple of int, optional
        Shape of the result; by default that of the broadcast parameters.
    dtype : dtype, optional
        A float type; by default that of the parameters, else ``config.default_float``.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of that shape; gradients flow to the parameters, as far as nothing else is said.

    Raises
    ------
    ValueError
        If ``scale`` is negative, in compiled code too.

    See Also
    --------
    random.gamma, random.weibull, random.poisson

    Examples
    --------
    >>> import agnesi as ag
    >>> bool((ag.random.exponential(size=9) >= 0).all())
    True
    """
    return random.exponential(_sizes(size, scale), scale, dtype=dtype, generator=generator)


@public
def gumbel(loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike | None = None, *,
           dtype: DTypeLike = None, generator: Generator | None = None, out: Tensor | None = None
           ) -> Tensor:
    """Gumbel numbers; the argmax of logits plus standard ones is a draw of their softmax.

    Parameters
    ----------
    loc : float or array_like
        Where the density is greatest.
    scale : float or array_like
        How wide it is; not negative.
    size : int or tuple of int, optional
        Shape of the result; by default that of the broadcast parameters.
    dtype : dtype, optional
        A float type; by default that of the parameters, else ``config.default_float``.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of that shape; gradients flow to the parameters, as far as nothing else is said.

    Raises
    ------
    ValueError
        If ``scale`` is negative, in compiled code too.

    See Also
    --------
    random.categorical, random.logistic, random.weibull

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.gumbel(size=3).shape
    (3,)
    """
    return random.gumbel(_sizes(size, loc, scale), loc, scale, dtype=dtype, generator=generator)
