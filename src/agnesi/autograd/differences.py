"""Derivatives against finite differences: along random directions, in both modes, to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.autodiff.transforms import jvp, vjp
from agnesi.core.support import dtypes, tree
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_tensor, cast

Arrays = list[np.ndarray]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    order: int = 2,
    modes: Sequence[str] = ("rev", "fwd"),
    eps: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    seed: int = 0,
) -> None:
    """Check derivatives of ``f`` at ``args`` against central differences, in double precision.

    Reverse mode and forward mode are each compared along a random direction; for ``order`` above
    one the derivatives themselves are checked in the same way.  Integer arguments are held.

    :param f: Takes tensors, returns a tensor or a nest of tensors.
    :param args: Where to check; floats are taken in double precision.
    :param order: How many times to differentiate.
    :param modes: Modes to check.
    :type modes: sequence of {"rev", "fwd"}
    :param eps: Step of the differences.
    :param rtol, atol: Tolerances.
    :param seed: Of the random directions.
    :raises TypeError: If there is nothing to differentiate with respect to.
    :raises AssertionError: Where a derivative and the difference disagree; the text says mode,
        order and numbers.
    :see: testing.check_op, testing.numerical_grad, grad

    >>> ag.testing.check_grads(lambda x: ag.sin(x) * x, [[0.5, 1.5]])
    """
    if isinstance(args, (Tensor, np.ndarray)):
        raise TypeError(at("check_grads: args must be a tuple with an entry for each argument, not "
                           f"{typed(args)}: write check_grads(f, (x,))"))
    tensors = [_double(as_tensor(a)) for a in args]
    free = [i for i, t in enumerate(tensors) if dtypes.is_inexact(t.dtype)]
    if not free:
        raise TypeError(at("check_grads: none of the arguments has a float or complex dtype, so "
                           f"there is no derivative: {typed(tuple(tensors))}"))

    def of_free(*xs: Any) -> Any:
        full = list(tensors)
        for i, x in zip(free, xs, strict=True):
            full[i] = x
        return f(*full)

    checker = _Checker(modes, eps, rtol, atol, np.random.default_rng(seed))
    checker.check(of_free, [_values(tensors[i]) for i in free], order, "")


def _double(t: Tensor) -> Tensor:
    kind = t.dtype.kind
    if kind == "f":
        return cast(t, dtypes.float64)
    return cast(t, dtypes.complex128) if kind == "c" else t


def _values(t: Tensor) -> np.ndarray:
    return np.array(t.array)


class _Checker:
    """Tolerances and random numbers of one check."""

    def __init__(self, modes: Sequence[str], eps: float, rtol: float, atol: float,
                 random: np.random.Generator) -> None:
        unknown = set(modes) - {"rev", "fwd"}
        if unknown:
            raise ValueError(f"modes are 'rev' and 'fwd', not {sorted(unknown)}")
        self.modes = modes
        self.eps, self.rtol, self.atol = eps, rtol, atol
        self.random = random

    def check(self, f: Callable[..., Any], args: Arrays, order: int, path: str) -> None:
        values = _evaluate(f, args)
        direction = [self.like(a) for a in args]
        weights = [self.like(v) for v in values]
        slope = self.difference(f, args, direction)
        expected = _inner(weights, slope)

        def pulled(*xs: Any) -> Any:
            value, pullback = vjp(f, *xs)
            return pullback(_nest_like(value, weights))

        def pushed(*xs: Any) -> Any:
            return jvp(f, xs, [wrap(d) for d in direction])[1]

        if "rev" in self.modes:
            grads = _evaluate(pulled, args)
            self.compare(_inner(grads, direction), expected, f"{path}reverse")
        if "fwd" in self.modes:
            tangents = _evaluate(pushed, args)
            self.compare(_inner(weights, tangents), expected, f"{path}forward")
        if order > 1:
            for mode, derivative in (("rev", pulled), ("fwd", pushed)):
                if mode in self.modes:
                    self.check(derivative, args, order - 1, f"{path}{mode}-")

    def like(self, a: np.ndarray) -> np.ndarray:
        draw = self.random.standard_normal(a.shape)
        if a.dtype.kind == "c":
            draw = draw + 1j * self.random.standard_normal(a.shape)
        return np.asarray(draw, a.dtype)

    def difference(self, f: Callable[..., Any], args: Arrays, direction: Arrays) -> Arrays:
        """Central difference of every result along the direction."""
        up = _evaluate(f, [a + self.eps * d for a, d in zip(args, direction, strict=True)])
        down = _evaluate(f, [a - self.eps * d for a, d in zip(args, direction, strict=True)])
        return [(u - d) / (2 * self.eps) for u, d in zip(up, down, strict=True)]

    def compare(self, found: float, expected: float, what: str) -> None:
        if not np.isclose(found, expected, self.rtol, self.atol):
            raise AssertionError(
                f"{what} derivative is {found:.10g} along a random direction, but the finite "
                f"difference is {expected:.10g} (rtol={self.rtol}, atol={self.atol})"
            )


def _evaluate(f: Callable[..., Any], args: Arrays) -> Arrays:
    """Floating results as arrays."""
    with no_grad():
        leaves, _ = tree.flatten(f(*[wrap(np.array(a)) for a in args]))
    return [_values(y) for y in leaves if dtypes.is_inexact(y.dtype)]


def _nest_like(nest: Any, arrays: Arrays) -> Any:
    """The arrays in the places of the floating leaves; zeros for the others."""
    leaves, shape = tree.flatten(nest)
    left = iter(arrays)
    return shape.build([
        wrap(np.array(next(left))) if dtypes.is_inexact(y.dtype) else wrap(np.zeros_like(y.array))
        for y in leaves
    ])


def _inner(a: Arrays, b: Arrays) -> float:
    """Real inner product."""
    return float(sum(np.vdot(x, y).real for x, y in zip(a, b, strict=True)))
