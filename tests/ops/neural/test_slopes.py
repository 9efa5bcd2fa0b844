"""Slopes of activations beside mpmath: some units of the last place times their condition."""

import mpmath as mp
import numpy as np
import pytest

import agnesi as ag

F = ag.nn.functional
EXP = mp.exp
#: Functions, and their slopes in mpmath.
SLOPES = {
    "tanh": (ag.tanh, lambda x: mp.sech(x) ** 2),
    "sigmoid": (ag.sigmoid, lambda x: EXP(-x) / (1 + EXP(-x)) ** 2),
    "logsigmoid": (F.logsigmoid, lambda x: 1 / (1 + EXP(x))),
    "softplus": (ag.softplus, lambda x: 1 / (1 + EXP(-x))),
    "erf": (ag.erf, lambda x: 2 * EXP(-x * x) / mp.sqrt(mp.pi)),
    "gelu": (F.gelu, lambda x: mp.erfc(-x / mp.sqrt(2)) / 2 + x * mp.npdf(x)),
    "silu": (F.silu, lambda x: (1 + x / (1 + EXP(x))) / (1 + EXP(-x))),
    "mish": (F.mish, lambda x: mp.diff(lambda t: t * mp.tanh(mp.log1p(EXP(t))), x)),
    "softmax": (lambda x: ag.softmax(ag.stack([x, 0 * x]), axis=0)[0],
                lambda x: EXP(-x) / (1 + EXP(-x)) ** 2),
    "log_softmax": (lambda x: F.log_softmax(ag.stack([x, 0 * x]), axis=0)[0],
                    lambda x: 1 / (1 + EXP(x))),
    "softsign": (F.softsign, lambda x: 1 / (1 + abs(x)) ** 2),
    "tanhshrink": (F.tanhshrink, lambda x: mp.tanh(x) ** 2),
    "expm1": (ag.expm1, EXP), "elu": (F.elu, lambda x: EXP(min(x, 0))),
    "atan": (ag.atan, lambda x: 1 / (1 + x * x)), "tan": (ag.tan, lambda x: 1 / mp.cos(x) ** 2),
}
#: What is 1 less a result near 1 (see docs/gradients.md), and in which modes.
ONE_LESS = {("tanh", "eager"), ("tanh", "jit"), ("sigmoid", "eager"), ("softmax", "eager"),
            ("softmax", "jit"), ("log_softmax", "eager"), ("log_softmax", "jit"),
            ("gelu", "eager"), ("mish", "eager"), ("mish", "jit")}
POINTS = np.array([1e-8, 1e-3, 0.1, 0.5, 0.9, 1.3, 2, 3, 5, 6, 8, 9.3, 12, 17.25, 30])
UNITS = 4


def _worst(name, mode):
    """The greatest error, in units of the last place times the condition, at least 1."""
    f, slope = SLOPES[name]
    x = np.concatenate([POINTS, -POINTS])
    grad = ag.grad(lambda x: f(x).sum())
    found = (ag.jit(grad) if mode == "jit" else grad)(ag.tensor(x)).numpy()
    worst = 0.0
    with mp.workdps(50):
        for at, y in zip(x, found, strict=True):
            exact = slope(mp.mpf(float(at)))
            if abs(exact) < 1e-290:
                continue
            moved = slope(mp.mpf(float(at)) * (1 + mp.mpf(10) ** -20))
            condition = abs((moved - exact) / exact) * mp.mpf(10) ** 20
            error = abs(mp.mpf(float(y)) - exact) / abs(exact) / np.finfo(x.dtype).eps
            worst = max(worst, float(error / max(1, condition)))
    return worst


@pytest.mark.share(4)
@pytest.mark.parametrize("mode", ["eager", "jit"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_lose_nothing(name, mode):
    assert (_worst(name, mode) < UNITS) != ((name, mode) in ONE_LESS)
