"""Gradients and quotients whose factors overflow or vanish between."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.testing.samples import cases

ALGEBRA = pytest.mark.parametrize("algebra", ["exact", "real"])


@ALGEBRA
def test_gradients_of_directions(algebra):
    def cosine(x, y):
        return (x / ag.sqrt(x * x + y * y)).sum()

    x, y = np.array([1.0, 3, 1, -2]), np.array([1.0, 1, 2, 0.5])
    wanted = [g.numpy() for g in ag.grad(cosine, (0, 1))(ag.tensor(x), ag.tensor(y))]
    f = ag.jit(ag.grad(cosine, (0, 1)), algebra=algebra)
    for size in (1.0, 1e200, 1e-200, 1e150):
        for found, near in zip(f(x * size, y * size), wanted, strict=True):
            np.testing.assert_allclose(found.numpy() * size, near, 1e-14)


@ALGEBRA
@pytest.mark.parametrize(("function", "power", "wanted"), [
    (lambda x, y: x * x / y, 1, (0.5, 1, -0.25)),
])
@pytest.mark.parametrize("size", [1.0, 1e200, 1e-150])
def test_powers_that_overflow_or_vanish(algebra, function, power, wanted, size):
    """At size and 2 * size, value and derivatives over powers of the size."""
    x, y = (ag.tensor(np.full(3, v)) for v in (size, 2 * size))
    found = ag.jit(lambda x, y: (function(x, y), *ag.grad(
        lambda x, y: function(x, y).sum(), (0, 1))(x, y)), algebra=algebra)(x, y)
    scales = [size ** power, size ** (power - 1), size ** (power - 1)]
    for value, near, scale in zip(found, wanted, scales, strict=True):
        np.testing.assert_allclose(value.numpy() / scale, near, 2e-15)


def test_slope_that_is_nothing_where_factors_overflow():
    slope = ag.jit(ag.grad(lambda x: (ag.cosh(x) ** 2 - ag.sinh(x) ** 2).sum()))
    found = slope(np.array([0.5, 800, -800, 1e200, np.inf, np.nan])).numpy()
    np.testing.assert_array_equal(found, [0, 0, 0, 0, np.nan, np.nan])


def test_slopes_of_angles_of_what_is_small():
    slope = ag.jit(ag.grad(lambda y: ag.atan2(y * 3 * 5, y * 3 * 5).sum()))
    y = np.array([1e-300, 1e-200, 1.0, 1e200])
    np.testing.assert_allclose(slope(y).numpy() * y, 0, atol=1e-15)


def test_factors_that_are_left_stay_in_pairs():
    slope = ag.jit(ag.grad(lambda y, x: ((y * x) ** -2).sum()))
    np.testing.assert_allclose(slope(np.array([1e-300]), np.array([1e308])), [-2e284], 1e-14)


@ALGEBRA
@pytest.mark.parametrize("name", ["sigmoid", "erfc", "ndtr"])
def test_quotients_of_tails(name, algebra):
    tail = getattr(ag.special, name, None) or getattr(ag, name)
    sign = -1.0 if name == "erfc" else 1.0
    x, y = sign * np.array([-800.0, -800, -1]), sign * np.array([-800.001, -799.999, 2])
    f = ag.jit(ag.value_and_grad(lambda x, y: (tail(x) / tail(y)).sum(), (0, 1)), algebra=algebra)
    _, slopes = f(x, y)
    found = ag.jit(lambda x, y: tail(x) / tail(y), algebra=algebra)(x, y).numpy()
    assert np.isfinite(found).all() and (found > 0).all()
    for slope, by in zip(slopes, (1, -1), strict=True):
        assert (np.sign(slope.numpy()) == by * sign).all()
    steps = 1e-6 * np.abs(x)
    moved = ag.jit(lambda x, y: tail(x) / tail(y), algebra=algebra)(x + steps, y).numpy()
    if name == "sigmoid":
        np.testing.assert_allclose((moved - found) / steps, slopes[0].numpy(), 1e-2)
        np.testing.assert_allclose(found[:2], np.exp([0.001, -0.001]), 1e-10)


@ALGEBRA
def test_slopes_beside_nan(algebra):
    for f in (lambda x: ag.log(ag.exp(x)), lambda x: ag.log2(ag.exp2(x)),
              lambda x: ag.log1p(ag.expm1(x))):
        slope = ag.jit(ag.grad(lambda x, f=f: f(x).sum()), algebra=algebra)
        found = slope(np.array([np.nan, np.inf, -np.inf, 0.0, 1000, -1000])).numpy()
        np.testing.assert_array_equal(found, [np.nan, 1, 1, 1, 1, 1])


def test_gradients_do_not_flow_through_shifts():
    """What is taken off exponents above and below the line has no part in derivatives."""
    slope = ag.jit(ag.grad(lambda x: ag.atan(ag.exp(x)).sum()))
    found = slope(np.array([np.inf, -np.inf, 0.0, 800, -800])).numpy()
    np.testing.assert_array_equal(found[[0, 1, 2, 4]], [0, 0, 0.5, 0])

    def f(a, b):
        return (ag.exp(b) / (b * (ag.exp(a) + ag.exp(-a)))).sum()

    compiled = ag.jit(ag.grad(f, (0, 1)))
    a, b = np.array([2.0, 300, 800]), np.array([1.5, 299, 801])
    for found, wanted in zip(compiled(a, b), _by_hand(a, b), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, 1e-12)


def _by_hand(a, b):
    """Derivatives of ``exp(b) / (2 b cosh(a))`` for a > 0."""
    value = np.exp(b - a) / (b * (1 + np.exp(-2 * a)))
    return -value * np.tanh(a), value * (1 - 1 / b)


def test_sign_of_a_determinant_that_is_nan():
    for a in (np.array([[1, np.nan], [2, 3]]), np.full((2, 2), np.nan), np.array([[np.nan]])):
        for f in (ag.linalg.slogdet, ag.jit(lambda a: tuple(ag.linalg.slogdet(a)))):
            assert all(np.isnan(x.item()) for x in f(ag.tensor(a)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("inverse, function", [
    (ag.log, ag.exp), (ag.log2, ag.exp2), (ag.log1p, ag.expm1), (ag.exp, ag.log)])
def test_slopes_of_inverse_functions_have_the_dtype(inverse, function, dtype):
    x = ag.tensor([0.5, 1.5]).astype(dtype)
    slope = ag.jit(ag.grad(lambda x: inverse(function(x)).sum()))(x)
    assert slope.dtype == x.dtype and slope.float().tolist() == [1, 1]


@ALGEBRA
@pytest.mark.parametrize("x", [2.0, 4.0, 6.0, 8.0])
def test_exponentials_stay_beside_sums_that_overflow_with_them(algebra, x):
    """exp(x) and exp(exp(x)) over expm1(exp(x)): the second goes with what is below."""
    def curvature(x, w):
        return ag.grad(lambda x: log_cloglog(x) * w)(x)

    log_cloglog = cases()["log_cloglog"].function
    x, w = ag.tensor(x, dtype="float32"), ag.tensor(1.0)
    found = ag.jit(ag.grad(curvature), algebra=algebra)(x, w)
    wanted = ag.grad(curvature)(x.double(), w.double())
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-4, 1e-20)
