"""Functions of functions and their derivatives at special values: eager, compiled and exact."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import agnesi as ag

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-300, 1e300, -1e300, 900.0, -900.0, np.inf,
           -np.inf, np.nan]
#: On tensors, and on exact numbers.
FUNCTIONS = {
    "exp": (ag.exp, mpmath.exp), "log": (ag.log, mpmath.log), "sqrt": (ag.sqrt, mpmath.sqrt),
    "square": (lambda x: x * x, lambda x: x * x), "reciprocal": (lambda x: 1 / x,) * 2,
    "sigmoid": (ag.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))), "abs": (ag.abs, abs),
    "tanh": (ag.tanh, mpmath.tanh), "one plus": (lambda x: 1 + x,) * 2,
    "one minus": (lambda x: 1 - x,) * 2, "plus zero": (lambda x: x + 0.0, lambda x: x),
    "negative": (lambda x: -x,) * 2, "cosh": (ag.cosh, mpmath.cosh),
    "one over root": (lambda x: x ** -0.5, lambda x: 1 / mpmath.sqrt(x)),
    "over itself plus one": (lambda x: x / (x + 1),) * 2,
}


def exactly(outer, inner, at, slope):
    """Value or derivative from many digits; None where there is none."""
    function = lambda x: FUNCTIONS[outer][1](FUNCTIONS[inner][1](x))  # noqa: E731
    with mpmath.workdps(1000):
        x = mpmath.mpf(at)
        h = abs(x) * mpmath.mpf(10) ** -450
        try:
            found = (function(x + h) - function(x - h)) / (2 * h) if slope else function(x)
        except (ZeroDivisionError, ValueError, OverflowError):
            return None
        if isinstance(found, mpmath.mpc) or mpmath.isnan(found):
            return None
        return float(found)


def is_right(eager, compiled, exact):
    """Whether what differs from the eager value is nearer to the exact one."""
    if exact is None or np.isnan(compiled):
        return False
    if compiled == exact or np.isclose(compiled, exact, 1e-6, 1e-290):
        return True
    return bool(abs(compiled - exact) <= abs(eager - exact))


@pytest.mark.share(16)
@pytest.mark.parametrize("inner", FUNCTIONS)
def test_functions_of_a_function(inner):
    def both(x):
        results = []
        for outer in FUNCTIONS:
            y, pull = ag.vjp(lambda x, f=FUNCTIONS[outer][0]: f(FUNCTIONS[inner][0](x)), x)
            results += [y, *pull(ag.ones_like(y))]
        return results

    x = ag.tensor(np.array(SPECIAL))
    found = zip(both(x), ag.jit(both)(x), strict=True)
    of_value = None
    for k, (eager, compiled) in enumerate(found):
        slope, outer = bool(k % 2), [*FUNCTIONS][k // 2]
        of_value = of_value if slope else compiled.numpy()
        for at, a, b, value in zip(SPECIAL, eager.numpy(), compiled.numpy(), of_value, strict=True):
            if np.isclose(a, b, 1e-9, 0, equal_nan=True):
                same = a != 0 or slope or np.signbit(a) == np.signbit(b) or (
                    exactly(outer, inner, at, False) in (0, None) if at else False) or (
                    np.signbit(exactly(outer, inner, at, False)) == np.signbit(b))
            elif slope and not np.isfinite(value) and not np.isfinite(a):
                same = True  # no derivative there is
            elif np.isfinite(at):
                same = is_right(a, b, exactly(outer, inner, at, slope))
            else:  # a limit, or the derivative beside a value that is NaN
                same = slope or (at == at and not np.isnan(b))
            assert same, f"{outer} of {inner} at {at}{', derivative' * slope}: {a} became {b}"


@pytest.mark.parametrize("points", [(2, 3), (0, 5), (1, 1), (3, 4, 9)])
def test_gradients_of_pieces_that_are_empty(points):
    def cost(x):
        return sum(((i + 1) * p * p).sum() for i, p in enumerate(ag.split(x, points, axis=1)))

    for size in (2, 1, 0):
        x = ag.tensor(np.arange(1.0, 3 * size + 1).reshape(3, size))
        np.testing.assert_allclose(ag.jit(ag.grad(cost))(x), ag.grad(cost)(x))
