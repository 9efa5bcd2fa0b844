"""Gradients by differences, and closeness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.compat.chainer.variable import Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at
from agnesi.testing import assert_allclose as assert_allclose
from agnesi.testing import numerical_grad as numerical_grad


def check_backward(func: Callable[..., Any], x_data: Any, y_grad: Any, params: Any = (),
                   eps: float = 1e-3, atol: float = 1e-5, rtol: float = 1e-4) -> None:
    """Refuse a function whose gradients are not those that differences give.

    :param func: Takes variables and returns one or a tuple of them, the same ones at each call.
    :param x_data: Its arguments; integers have no gradient.
    :type x_data: numpy.ndarray or tuple of them
    :param y_grad: Gradients of the results; None of a single number is 1.
    :type y_grad: numpy.ndarray or tuple of them, or None
    :param params: Other variables whose gradients are checked.
    :type params: Variable or tuple of them
    :param eps: How far differences go to either side.
    :param atol, rtol: As :func:`assert_allclose` takes them.
    :raises AssertionError: If gradients differ.

    >>> import numpy as np
    >>> from agnesi.compat.chainer import functions as F, gradient_check
    >>> gradient_check.check_backward(F.tanh, np.float32([0.5]), np.float32([1.0]))
    """
    xs = [Variable(x) for x in _tuple(x_data)]
    ys = _tuple(func(*xs))
    weights = (1,) if y_grad is None else _tuple(y_grad)
    if len(ys) != len(weights):
        raise ValueError(at(f"check_backward: y_grad must have a gradient for each of the "
                            f"{len(ys)} results, not {len(weights)}"))
    if y_grad is not None:
        for y, g in zip(ys, weights, strict=True):
            y.grad = g
    ys[0].backward()

    def values() -> tuple[Any, ...]:
        return tuple([y.data for y in _tuple(func(*xs))])

    for x in (*xs, *_tuple(params)):
        if x.dtype.kind != "f":
            assert x.grad is None, f"{x!r} of integers has a gradient"
            continue
        expected, = numerical_grad(values, (x.data,), weights, eps)
        assert x.grad is not None, f"{x!r} has no gradient"
        assert_allclose(expected, x.grad, atol, rtol)
        assert expected.dtype == x.grad.dtype


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


_strictly(__name__)
