"""Checks of parameters and of operands' sizes: at once, or when compiled code runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Shape, Size
from agnesi.core.op import typed
from agnesi.core.shapes import broadcast, fits, surely_less
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError, ShapeError, error_named
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import Ensure, ensured_sizes


def demanded(name: str, text: str, holds: Callable[..., Any], *, of_complex: bool = False,
             **params: Any) -> list[Any]:
    """The parameters, tensors or Python numbers, if all of ``holds(*params)`` is true.

    Else ValueError with the text and the values that are wrong, which compiled code does not name.
    ``name`` is the function's, for compiled code; complex parameters must be what it takes.
    """
    xs: list[Any] = [p if isinstance(p, (int, float)) else as_tensor(p) for p in params.values()]
    tensors = [i for i, x in enumerate(xs) if isinstance(x, Tensor)]
    for key, i in zip(params, range(len(xs)), strict=True):
        if not of_complex and i in tensors and xs[i].dtype.kind == "c":
            raise DTypeError(f"{key} must be real, not {typed(xs[i])}")
    if tensors and (is_tracing() or any(xs[i].array is None for i in tensors)):
        i = tensors[0]
        xs[i] = apply(Ensure(text, name), xs[i], HOOKS.behind_effects(holds(*xs)))
        return xs
    values = [x.array if isinstance(x, Tensor) else x for x in xs]
    good = holds(*values)
    if good is not True and not np.all(good):
        raise ValueError(f"{text}, not {_offenders(list(params), values, np.asarray(good))}")
    return xs


def of_shape(name: str, x: Tensor, wanted: Shape, text: str, error: str = "ShapeError") -> Tensor:
    """``x``, which has the shape that is wanted and does not broadcast to it.

    Else an error with the text; ``name`` is the function's, for sizes that only the run knows.
    """
    if not fits(tuple(x.shape), tuple(wanted)):
        raise error_named(error)(text)
    return ensured_sizes(name, x, x.shape, wanted, text, error=error)


def within_shape(name: str, x: Tensor, wanted: Shape, text: str) -> Tensor:
    """``x``, which broadcasts to a shape and not to a larger one; else ShapeError with the text."""
    common = broadcast(tuple(x.shape), tuple(wanted))
    if common != tuple(wanted) and not fits(common, tuple(wanted)):
        raise ShapeError(text)
    if not x.ndim:
        return x
    sizes = [n if n == 1 else m for n, m in zip(x.shape, wanted[-x.ndim:], strict=True)]
    return ensured_sizes(name, x, x.shape, sizes, text, "one or equal")


def no_longer(name: str, x: Tensor, sizes: Sequence[Size], text: str) -> Tensor:
    """Return ``x`` if no axis is longer than in a shape; else raise ShapeError with the text."""
    if any(surely_less(m, n) for n, m in zip(x.shape, sizes, strict=True)):
        raise ShapeError(text)
    return ensured_sizes(name, x, x.shape, sizes, text, "at most")


def _offenders(names: list[str], values: list[Any], good: np.ndarray) -> str:
    """Return the first values that violate a condition, as text."""
    spread = [np.broadcast_to(v, good.shape) if np.ndim(v) <= good.ndim else v for v in values]
    wrong = [v[np.unravel_index(np.argmin(good), good.shape)] for v in spread]
    if len(names) == 1:
        return f"{wrong[0]}"
    return ", ".join(f"{k} = {v}" for k, v in zip(names, wrong, strict=True))


def not_negative(name: str, **params: Any) -> list[Any]:
    """Parameters that are at least 0; NaN passes, for results that are NaN then."""
    return _each(name, "at least 0", lambda p: (p >= 0) | (p != p), params)


def positive(name: str, **params: Any) -> list[Any]:
    """Parameters that are more than 0; NaN passes."""
    return _each(name, "positive", lambda p: (p > 0) | (p != p), params)


def countable(name: str, **params: Any) -> list[Any]:
    """Parameters of counts: at least 0."""
    return _each(name, "at least 0", lambda p: p >= 0, params)


def integral(name: str, **params: Any) -> list[Any]:
    """Parameters less than 2**63, so that int64 holds them."""
    return _each(name, "less than 2**63", lambda p: p < 2.0**63, params)


def probability(name: str, **params: Any) -> list[Any]:
    """Probabilities."""
    return _each(name, "in [0, 1]", lambda p: (p >= 0) & (p <= 1), params)


def interval(name: str, low: Any, high: Any) -> list[Any]:
    """Bounds in order, at a distance that is a number; NumPy, too, refuses others."""
    def holds(low: Any, high: Any) -> Any:
        return (high - low >= 0) & (high - low < math.inf)

    text = "low <= high must hold, at a finite distance"
    return demanded(name, text, holds, low=low, high=high)


def weights(name: str, p: Tensor) -> Tensor:
    """Numbers that chances are proportional to."""
    text = "p must be at least 0 everywhere and more somewhere"
    found: Tensor
    (found,) = demanded(name, text, lambda p: (p >= 0) & (p.sum() > 0), p=p)
    return found


def _each(name: str, what: str, holds: Callable[..., Any], params: dict[str, Any]) -> list[Any]:
    return [
        demanded(name, f"{key} must be {what}", holds, **{key: p})[0] for key, p in params.items()
    ]
