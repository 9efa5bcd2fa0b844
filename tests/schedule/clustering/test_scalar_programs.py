"""Long programs of numbers: stretches of them are kernels, derivatives of one go forwards."""

import sys

import numpy as np
import pytest

import agnesi as ag
from benchmarks.models import science

_ONE = (ag.sin, ag.cos, ag.tanh, ag.sigmoid, lambda x: ag.exp(-x * x), lambda x: ag.sqrt(x * x + 1),
        lambda x: ag.log(x * x + 0.5), lambda x: -x)
_TWO = (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (1 + b * b),
        ag.maximum)


def _program(seed: int, operations: int, where: bool = False):
    """A function of numbers that combines what it has so far at random."""
    rng = np.random.default_rng(seed)
    plan = [(int(rng.integers(len(_ONE))), int(rng.integers(2 * len(_TWO))),
             *map(float, rng.random(2))) for _ in range(operations)]

    def run(*xs):
        known = list(xs)
        for one, two, i, j in plan:
            a = known[-1 - int(i * min(12, len(known)))]
            b = known[-1 - int(j * min(12, len(known)))]
            known.append(_TWO[two](a, b) if two < len(_TWO) else _ONE[one](a))
            if where:
                known[-1] = ag.where(known[-1] > 3, a, known[-1])
            known[-1] = known[-1] * 0.75
        return sum(known[-8:])

    return run


@pytest.mark.parametrize("operations", [30, 150, 1000])
def test_a_chain_with_its_derivative(operations: int) -> None:
    fn = ag.jit(ag.value_and_grad(science.chain(ag, operations)))
    found = [float(v) for v in fn(ag.tensor(np.float64(0.3)))]
    np.testing.assert_allclose(found, science.chain_by_hand(0.3, operations), rtol=1e-11)


@pytest.mark.share(8)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 3])
def test_random_programs_agree_with_eager(seed: int, count: int) -> None:
    f = _program(seed, 200, where=seed % 2 == 1)
    xs = [ag.tensor(x) for x in np.random.default_rng(seed).normal(size=count)]
    both = ag.value_and_grad(f, argnums=tuple(range(count)))
    value, gradients = ag.jit(both)(*xs)
    expected, slopes = both(*xs)
    np.testing.assert_allclose(float(value), float(expected), rtol=1e-10)
    np.testing.assert_allclose([float(g) for g in gradients], [float(g) for g in slopes],
                               rtol=1e-8, atol=1e-300)


def test_numbers_between_arrays() -> None:
    """What is computed from an array that is computed from numbers is no part of their kernels."""

    def f(x, v):
        for k in range(40):
            x = ag.sin(x) * 0.9 + 0.1 / (k + 1)
            x = x * (v[0] + 0.5 * x)
        s = (v * x).sum()
        for k in range(40):
            s = ag.tanh(s + x) * 0.8 - 0.01 * k
            s = s * (x + v[1])
        return s + (v * s).sum()

    x, v = ag.tensor(np.float64(0.3)), ag.tensor(np.linspace(0.1, 0.6, 4))
    value, (gx, gv) = ag.jit(ag.value_and_grad(f, argnums=(0, 1)))(x, v)
    expected, (hx, hv) = ag.value_and_grad(f, argnums=(0, 1))(x, v)
    np.testing.assert_allclose(float(value), float(expected), rtol=1e-11)
    np.testing.assert_allclose(float(gx), float(hx), rtol=1e-9)
    np.testing.assert_allclose(gv.numpy(), hv.numpy(), rtol=1e-9)


def test_few_kernels_for_many_numbers() -> None:
    fn = ag.jit(ag.value_and_grad(science.chain(ag, 1000)))
    fn(ag.tensor(np.float64(0.3)))
    steps = fn.plan().steps
    assert 20 < len(steps) < 50
    assert len({s.name for s in steps}) < len(steps) / 2, "equal stretches are one function"


def test_long_sums_in_a_small_stack() -> None:
    """No function calls itself for each number of a stretch."""

    def f(x):
        y = x
        for k in range(500):
            y = y * 0.99 + x if k % 2 else x - y * 0.5
        return y

    x = ag.tensor(np.float64(0.3))
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        found = ag.jit(ag.value_and_grad(f))(x)
    finally:
        sys.setrecursionlimit(before)
    expected = ag.value_and_grad(f)(x)
    np.testing.assert_allclose([float(v) for v in found], [float(v) for v in expected], rtol=1e-12)


@pytest.mark.parametrize("x", [0.0, -0.0, 0.3, -0.99, 1.0, 1.5, -3.0, 100.0, 1e9, np.inf, np.nan])
def test_sine_and_cosine_of_one_number(x: float) -> None:
    fn = ag.jit(lambda x: (ag.sin(x), ag.cos(x)))
    sine, cosine = (v.numpy() for v in fn(ag.tensor(np.float64(x))))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_max_ulp(sine, np.sin(x), 2)
        np.testing.assert_array_max_ulp(cosine, np.cos(x), 2)
        assert np.isnan(sine) or np.signbit(sine) == np.signbit(np.sin(x))


def test_derivatives_of_derivatives() -> None:
    f = science.chain(ag, 60)
    x = ag.tensor(np.float64(0.3))
    second = ag.grad(ag.grad(f))
    np.testing.assert_allclose(float(ag.jit(second)(x)), float(second(x)), rtol=1e-9)


def test_numbers_in_the_code_are_not_looked_at_by_calls() -> None:
    fn = ag.jit(science.chain(ag, 300))
    fn(ag.tensor(np.float64(0.3)))
    (made,) = fn.specialisations
    assert not [g for g in made.compiled.guards if g.slot == "requires_grad"]
