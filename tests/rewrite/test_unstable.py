"""A hundred expressions that are known to be unstable, beside mpmath: values and derivatives."""

from __future__ import annotations

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.reports.precision import PrecisionWarning
from tests.rewrite.unstable import EXCEPTIONS, UNSTABLE

EXACT = SimpleNamespace(
    exp=mpmath.exp, log=mpmath.log, sin=mpmath.sin, cos=mpmath.cos, tan=mpmath.tan,
    sqrt=mpmath.sqrt, cosh=mpmath.cosh, sinh=mpmath.sinh, tanh=mpmath.tanh, erf=mpmath.erf,
    erfc=mpmath.erfc, ndtr=mpmath.ncdf, acos=mpmath.acos, atan=mpmath.atan,
    gamma=mpmath.gamma, acosh=mpmath.acosh, asinh=mpmath.asinh, atanh=mpmath.atanh,
    log2=lambda x: mpmath.log(x, 2), log10=mpmath.log10, sigmoid=lambda x: 1 / (1 + mpmath.exp(-x)),
)
TENSORS = SimpleNamespace(**{n: getattr(ag, n, None) or getattr(ag.special, n)
                             for n in vars(EXACT)})
ULPS = 4


def derivatives(function, at):
    """Value, derivative and second derivative from many digits."""
    with mpmath.workdps(800):
        x = mpmath.mpf(at)
        h = mpmath.mpf(10) ** -200 * abs(x)
        less, value, more = (function(EXACT, x + k * h) for k in (-1, 0, 1))
        return value, (more - less) / (2 * h), (more - 2 * value + less) / h ** 2


def is_right(got, exact, slope, at):
    """Whether a value is within 4 ulp times its condition."""
    near = float(exact)
    if not math.isfinite(got):
        return got == near
    with mpmath.workdps(50):
        condition = abs(at * slope / exact) if exact else mpmath.mpf(1)
        ulp = mpmath.mpf(float(np.spacing(abs(near))))
        return abs(got - exact) <= ULPS * max(1, condition) * ulp


def losses(name):
    """Where the compiled value or derivative is off, as text."""
    function, points = UNSTABLE[name]
    x = ag.tensor(np.array(points))

    @ag.jit
    def both(x):
        y, pull = ag.vjp(lambda x: function(TENSORS, x), x)
        return y, *pull(ag.ones_like(y))

    values, slopes = (found.numpy().tolist() for found in both(x))
    for at, value, slope in zip(points, values, slopes, strict=True):
        exact, first, second = derivatives(function, at)
        if not is_right(value, exact, first, at):
            yield f"{name} at {at} is {value}, not {float(exact)}"
        if not is_right(slope, first, second, at):
            yield f"the derivative of {name} at {at} is {slope}, not {float(first)}"


def test_there_are_a_hundred():
    assert len(UNSTABLE) >= 100
    assert UNSTABLE.keys() > EXCEPTIONS
    assert len(EXCEPTIONS) <= 9


@pytest.mark.share(12)
@pytest.mark.parametrize("name", UNSTABLE)
def test_expression(name):
    found = list(losses(name))
    if name in EXCEPTIONS:
        print(*found, sep="\n")
        assert found, f"{name} is an exception no longer"
    else:
        assert not found, found[0]


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_exceptions_are_flagged_at_run_time(name):
    """The mode warns of each, of its value or its derivative, at the points where they are off."""
    function, points = UNSTABLE[name]
    flagged = ag.jit(lambda x: ag.value_and_grad(lambda x: function(TENSORS, x).sum())(x),
                     mode="precision")
    with pytest.warns(PrecisionWarning, match="has lost digits"):
        for at in points:
            flagged(ag.tensor([at], dtype="float64"))
