"""Eager values of elementwise functions are rounded as well as compiled ones."""

import mpmath as mp
import numpy as np
import pytest

import agnesi as ag
from agnesi import special
from agnesi.nn import functional

rng = np.random.default_rng(2)


def sizes(low, high, n=60):
    return 10.0 ** rng.uniform(low, high, n)


def between(low, high, n=60):
    return rng.uniform(low, high, n)


#: Function, reference with 60 digits, operands, units in the last place.
CASES = {
    "sigmoid": (ag.sigmoid, lambda x: 1 / (1 + mp.exp(-x)),
                np.concatenate([between(-744, 40, 200), [36.4, 36.7, -709.5]]), 2.5),
    "erfc": (special.erfc, mp.erfc, between(0.5, 26.6, 200), 9),
    "gelu": (functional.gelu, lambda x: x * mp.ncdf(x), between(-1.4, 4), 8),
    "tanhshrink": (functional.tanhshrink,
                   lambda x: x - mp.tanh(x) if abs(x) > 1e-6 else x ** 3 / 3 - 2 * x ** 5 / 15,
                   np.concatenate([sizes(-90, 1, 100), -sizes(-5, 1), between(0.9, 1.1)]), 5),
    "erfcx": (special.erfcx, lambda x: mp.erfc(x) * mp.exp(x * x), between(-4, 12, 200), 6),
    "ndtr": (special.ndtr, mp.ncdf, between(-6, 6, 200), 6),
    "cosm1": (special.cosm1, lambda x: -2 * mp.sin(x / 2) ** 2, between(-900, 900, 200), 4),
    "lgamma": (ag.lgamma, mp.loggamma,
               np.concatenate([1 - sizes(-9, -1.5), 1 + sizes(-9, -1.5), 2 - sizes(-9, -1.5),
                               2 + sizes(-9, -1.5), between(3, 90)]),
               4),
    "gamma": (special.gamma, mp.gamma, np.concatenate([between(0.01, 170, 100),
                                                       between(-170.6, 8, 200)]), 8),
    "rgamma": (special.rgamma, mp.rgamma, between(-170.6, 170, 200), 9),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_digits(name, jitted):
    function, reference, x, limit = CASES[name]
    found = (ag.jit(function) if jitted else function)(ag.tensor(x)).numpy()
    with mp.workdps(60):
        for at, y in zip(x, found, strict=True):
            want = mp.re(reference(mp.mpf(float(at))))
            unit = mp.mpf(float(np.spacing(abs(float(want)))))
            assert abs(mp.mpf(float(y)) - want) <= limit * unit, (at, y, float(want))


def test_ends():
    near = ag.tensor([36.4, 36.7, 37.0], dtype="float64")
    assert ag.sigmoid(near).tolist() == [1 - 2.0 ** -53, 1 - 2.0 ** -53, 1 - 2.0 ** -53]
    tiny = np.array([5e-324, -5e-324, 1e-310])
    assert np.allclose(ag.lgamma(tiny).numpy(), ag.jit(ag.lgamma)(tiny).numpy(), 1e-14)
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300])
    for function, *_ in CASES.values():
        eager, compiled = function(ag.tensor(ends)).numpy(), ag.jit(function)(ends).numpy()
        assert np.array_equal(eager, compiled, equal_nan=True), function
