"""Random expressions and their slopes: rewritten ones lose no NaN of an operand, and make none."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.interpret import interpret
from agnesi.rewrite import FunctionGraph, node_of, rewrite

NAMES = (
    "exp log sqrt square sinh cosh tanh sigmoid softplus expm1 log1p erf reciprocal sin erfc atan "
    "asinh abs negative ndtr log_ndtr erfcx xlogy maximum minimum logaddexp hypot").split()
FUNCTIONS = {n: getattr(ag, n, None) or getattr(ag.special, n) for n in NAMES}
ONE, TWO = NAMES[:22], NAMES[22:]
SOME = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-300, -1e-300, 1e308, 1.0, -1.0, 0.5, -2.0,
        3.0, 800.0, -800.0, 30.0, 1e-8, 1e200]
POINTS = np.array(list(itertools.product(SOME, SOME))).T.copy()
#: Expressions of a seed.
COUNT = 60
UNDEFINED = np.isnan(POINTS).any(0)
#: Where no function in them overflows or vanishes often.
ORDINARY = ((POINTS == 0) | (abs(POINTS) <= 3.0) & (abs(POINTS) >= 1e-8)).all(0)


def expression(rng: random.Random, depth: int) -> str:
    """A formula in x and y."""
    if depth == 0 or rng.random() < 0.12:
        return rng.choice(["x", "y", "x", "y", "x", "y", "1", "2", "0.5"])
    if rng.random() < 0.45:
        return f"{rng.choice(ONE)}(x * {expression(rng, depth - 1)})"
    a, b = expression(rng, depth - 1), expression(rng, depth - 1)
    kind = rng.choice(["+", "-", "*", "/", "+", "-", "*", "/", "**", "()"])
    if kind == "**":
        return f"({a}) ** {rng.choice(['2', '3', '-1', '-2', '0.5'])}"
    return f"{rng.choice(TWO)}(x + {a}, y + {b})" if kind == "()" else f"({a} {kind} {b})"


def outcomes(text: str):
    """Values and slopes as written, and rewritten."""
    x, y = (ag.symbolic.variable(n, "float64", (POINTS.shape[1],)) for n in "xy")
    z = eval(text, {**FUNCTIONS, "x": x, "y": y}) + 0 * x * y
    results = [z, *ag.symbolic.grad(z.sum(), [x, y])]
    graph = FunctionGraph([node_of(x), node_of(y)], [node_of(v) for v in results])
    for form in (rewrite(graph, None, algebra="exact"), rewrite(graph, algebra="exact")):
        with np.errstate(all="ignore"):
            yield [np.broadcast_to(v, POINTS.shape[1]) for v in interpret(form, list(POINTS))]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_forms(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(COUNT):
        text = expression(rng, rng.choice([2, 3, 3]))
        before, after = outcomes(text)
        for k, (a, b) in enumerate(zip(before, after, strict=True)):
            hidden = UNDEFINED & np.isnan(a) & ~np.isnan(b)
            own = ORDINARY & np.isfinite(a) & np.isnan(b)
            for what, at in (("hides NaN", hidden), ("is NaN", own)):
                assert not at.any(), f"{text}: {k} {what} at {POINTS[:, at].T[:3].tolist()}"
