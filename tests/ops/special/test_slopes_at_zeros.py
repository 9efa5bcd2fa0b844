"""Slopes where a function is 0 times infinity, or beyond the ends of a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

S = ag.special
#: A function of one number, where, and its slope.
CASES = [
    ("binom in n, at a zero", lambda x: S.binom(x, 2.0), 1.0, 0.5),
    ("binom in n, at a zero of a real order", lambda x: S.binom(x, 0.5), -1.5, 4.0),
    ("binom in k, at a zero", lambda x: S.binom(2.0, x), 3.0, -1 / 3),
    ("binom in k, below 0", lambda x: S.binom(2.0, x), -1.0, 1 / 3),
    ("beta in a, at a zero", lambda x: S.beta(x, 0.5), -2.5, -16 * np.pi / 15),
    ("expn of an order that is cut off", lambda x: S.expn(0.7, x), 2.0, -1.5 * np.exp(-2.0) / 2),
    ("tklmbda below its lower end", lambda x: S.tklmbda(x, 2.0), -1.0, 0.0),
    ("tklmbda above its upper end", lambda x: S.tklmbda(x, 2.0), 3.0, 0.0),
    ("tklmbda inside", lambda x: S.tklmbda(x, 2.0), 0.2, 1.0),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("function", "x", "slope"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])
def test_slopes(function: Any, x: float, slope: float, compiled: bool) -> None:
    run = ag.grad(function)
    found = (ag.jit(run) if compiled else run)(ag.tensor(x, dtype="float64"))
    h = 1e-6
    below, above = (function(ag.tensor(x + d, dtype="float64")).item() for d in (-h, h))
    np.testing.assert_allclose(found.item(), slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((above - below) / (2 * h), slope, rtol=1e-5, atol=1e-8)
