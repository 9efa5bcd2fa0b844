"""Unstable expressions of several values, beside mpmath: values and all derivatives, also in bodies
of loops, of many examples at once, and of vectors whose sizes are not known."""

from __future__ import annotations

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

EXACT = SimpleNamespace(exp=mpmath.exp, log=mpmath.log, sin=mpmath.sin, cos=mpmath.cos,
                        tan=mpmath.tan, tanh=mpmath.tanh, sqrt=mpmath.sqrt, atan=mpmath.atan,
                        softplus=lambda x: mpmath.log1p(mpmath.exp(x)), cosh=mpmath.cosh)
ULPS = 8
# Of each: the function, where it is asked, and whether derivatives are exact there, too.
CASES = {
    "interest": (lambda m, r, t: (m.exp(r * t) - 1) / t, [(0.05, 1e-10), (1e-10, 1.0)], True),
    "celu": (lambda m, x, a: a * (m.exp(x / a) - 1), [(-1e-10, 1.0), (1e-3, 1e5)], True),
    "Vasicek": (lambda m, a, t: (1 - m.exp(-a * t)) / a, [(1e-10, 1.0), (1.0, 2.0)], True),
    "its integral": (lambda m, a, t: (t - (1 - m.exp(-a * t)) / a) / a,
                     [(1e-8, 1.0), (1e-3, 2.0), (1.0, 2.0)], True),
    "Yukawa": (lambda m, r, k: m.exp(-k * r) / r - 1 / r, [(1.0, 1e-10), (1e-5, 1.0)], True),
    "Brillouin": (lambda m, x, j: 2 * j / m.tanh(2 * j * x) - j / m.tanh(j * x),
                  [(1e-8, 2.0), (1e-3, 1.0), (1.0, 2.0), (40.0, 3.0)], True),
    "Poisson deviance": (lambda m, y, u: y * m.log(y / u) - (y - u), [(3.0, 3.0001)], True),
    "gamma deviance": (lambda m, y, u: (y - u) / u - m.log(y / u), [(3.0, 3.0001)], True),
    "divergence": (lambda m, p, q: p * m.log(p / q) + (1 - p) * m.log((1 - p) / (1 - q)),
                   [(0.3, 0.30001), (1e-10, 0.5)], True),
    "exponentials": (lambda m, x, a: m.exp(a * x) - m.exp(-(1 - a) * x),
                     [(1e-10, 0.5), (1.0, 0.3), (400.0, 0.5), (-200.0, 2.0)], False),
    "sines": (lambda m, x, h: m.sin(x + h) - m.sin(x), [(1.0, 1e-8), (3.0, 1e-12), (0.5, 0.1)],
              True),
    "cosines": (lambda m, x, h: m.cos(x + h) - m.cos(x), [(1.0, 1e-8), (3.0, 1e-12)], True),
    "tangents": (lambda m, x, h: m.tan(x + h) - m.tan(x), [(1.0, 1e-8), (0.3, 1e-12)], True),
    "central": (lambda m, x, h: m.sin(x + h) - m.sin(x - h), [(1.0, 1e-8), (3.0, 1e-12)], True),
    "logs": (lambda m, x, h: m.log(x + h) - m.log(x), [(1.0, 1e-12), (1e-300, 1e300)], True),
    "potentials": (lambda m, r, h: 1 / r - 1 / (r + h), [(1.0, 1e-12), (1e5, 1e-3), (2.0, 3.0)],
                   True),
    "shell": (lambda m, r, h: (r + h) ** 3 - r ** 3, [(1.0, 1e-12), (1e8, 1.0)], True),
    "Fermi": (lambda m, x, h: 1 / (m.exp(x) + 1) - 1 / (m.exp(x + h) + 1),
              [(1.0, 1e-9), (30.0, 1e-6), (-20.0, 0.5)], True),
    "Michaelis": (lambda m, x, k: 1 - x / (k + x), [(1e9, 1.0), (1.0, 2.0), (1e-9, 1.0)], True),
    "divergence of normals": (lambda m, v, u: 0.5 * (m.exp(v) + u ** 2 - 1 - v),
                              [(1e-6, 1e-9), (0.5, 0.5), (-1e-4, 1e-9)], True),
    "leg": (lambda m, x, y: m.sqrt(x ** 2 + y ** 2) - x, [(1.0, 1e-8), (1e200, 1e190)], True),
    "of a unit vector": (lambda m, x, y, z: x / m.sqrt(x ** 2 + y ** 2 + z ** 2),
                         [(1e200, 1e200, 1.0), (3.0, 4.0, 5.0)], True),
    "sagitta": (lambda m, r, c: r - m.sqrt(r ** 2 - c ** 2), [(1.0, 1e-8), (1e10, 1.0)], True),
    "Box and Cox back": (lambda m, y, k: (k * y + 1) ** (1 / k), [(2.0, 1e-10), (0.1, 1e-5)],
                         False),
    "activations": (lambda m, x, h: m.tanh(x + h) - m.tanh(x),
                    [(1.0, 1e-8), (-30.0, 1.0), (3.0, -2.875), (0.5, 1e-200)], True),
    "angles": (lambda m, x, h: m.atan(x + h) - m.atan(x),
               [(1.0, 1e-8), (-800.0, 0.5), (1e200, 5e199), (0.5, 1e-200)], True),
    "softplus": (lambda m, x, h: m.softplus(x + h) - m.softplus(x),
                 [(1.0, 1e-8), (800.0, 0.5), (0.5, 1e-200), (-3.0, -1e-9)], True),
    "roots": (lambda m, x, h: m.sqrt(x + h) - m.sqrt(x),
              [(1.0, 1e-8), (1e200, 0.5), (0.5, 1e-200)], True),
    "contrast": (lambda m, x, y: (x - y) / (x + y),
                 [(1.0, 1e-8), (1e-200, 0.5), (-800.0, 0.5)], True),
    "share of squares": (lambda m, x, y: x * x / (x * x + y * y),
                         [(1.0, 1e-8), (-800.0, 0.5), (3.0, 4.0)], True),
    "direction": (lambda m, x, y: x / m.sqrt(x * x + y * y),
                  [(1.0, 1e-8), (-800.0, 0.5), (3.0, 4.0)], True),
    "polarised": (lambda m, x, y: (x + y) ** 2 - (x - y) ** 2,
                  [(1.0, 1e-8), (1e-8, 1.0), (3.0, 4.0)], True),
    "square of a difference": (lambda m, x, y: x * x - 2 * x * y + y * y,
                               [(1.0, 1.00001), (1e200, 1e200), (3.0, 4.0)], False),
    "root of a quadratic": (lambda m, x, y: m.sqrt(x * x - y) - x,
                            [(1e200, 0.5), (1e200, 1e199), (3.0, 4.0)], False),
    "ratio of cosh": (lambda m, x, y: m.cosh(x) / m.cosh(y), [(800.0, 799.5), (0.5, 1e-3)], False),
    "next power": (lambda m, x, p: (x + 1) ** p - x ** p, [(1e10, 0.3), (1e8, 2.5)], False),
    "difference quotient of a power": (
        lambda m, x, y: (x ** 3.7 - y ** 3.7) / (x - y), [(2.0, 2.0 + 1e-9), (3.0, 1.0)], False),
}
OF_ONE = {
    "1 - cos": lambda m, x: (1 - m.cos(x)) / x ** 2,
    "Bessel": lambda m, x: m.sin(x) / x ** 2 - m.cos(x) / x,
    "Debye": lambda m, x: 2 * (m.exp(-x) + x - 1) / x ** 2,
    "Stumpff": lambda m, x: (1 - m.cos(m.sqrt(x))) / x,
    "cubes": lambda m, x: (x + 1e5) ** 3 - x ** 3,
}


def exactly(function, at):
    """Value, gradient and Hessian from many digits."""
    with mpmath.workdps(600):
        at = [mpmath.mpf(x) for x in at]
        steps = [mpmath.mpf(10) ** -120 * abs(x) for x in at]
        n = range(len(at))

        def f(*moved):
            return function(EXACT, *[x + k * h for x, k, h in zip(at, moved, steps, strict=True)])

        def unit(*axes):
            return [sum(s for i, s in axes if i == k) for k in n]

        slopes = [(f(*unit((i, 1))) - f(*unit((i, -1)))) / (2 * steps[i]) for i in n]
        second = [[(f(*unit((i, 1), (j, 1))) - f(*unit((i, 1), (j, -1)))
                    - f(*unit((i, -1), (j, 1))) + f(*unit((i, -1), (j, -1))))
                   / (4 * steps[i] * steps[j]) for j in n] for i in n]
        return f(*unit()), slopes, second


def is_right(got, exact, slopes, at):
    """Whether a value is within some ulp times its condition."""
    near = float(exact)
    if not math.isfinite(got):
        return got == near
    with mpmath.workdps(50):
        size = sum(abs(x * s) for x, s in zip(at, slopes, strict=True))
        condition = size / abs(exact) if exact else mpmath.mpf(1)
        ulp = mpmath.mpf(float(np.spacing(abs(near))))
        return abs(got - exact) <= ULPS * max(1, condition) * ulp


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    function, points, slopes_too = CASES[name]
    axes = tuple(range(len(points[0])))
    columns = [ag.tensor(np.array(c)) for c in zip(*points, strict=True)]

    @ag.jit
    def both(*xs):
        slopes = ag.grad(lambda *xs: function(ag, *xs).sum(), axes)(*xs)
        return slopes, function(ag, *xs)

    slopes, values = both(*columns)
    for k, at in enumerate(points):
        value, first, second = exactly(function, at)
        assert is_right(float(values.numpy()[k]), value, first, at), (at, values.numpy()[k])
        for i in axes if slopes_too else ():
            got = float(slopes[i].numpy()[k])
            assert is_right(got, first[i], second[i], at), (at, i, got, float(first[i]))


@pytest.mark.parametrize("name", OF_ONE)
@pytest.mark.parametrize("how", ["vmap", "scan", "both"])
def test_derivatives_in_bodies(name, how):
    """Numbers that stable forms are written with stay numbers there."""
    function, points = OF_ONE[name], (1e-6, 1e-3, 0.7)

    def f(x):
        return function(ag, x)

    def scanned(x):
        return ag.scan(lambda c, x: (c, f(x)), ag.zeros((), dtype=x.dtype), x)[1].sum()

    def mapped(x):
        return ag.scan(lambda c, x: (c, ag.grad(f)(x)), ag.zeros((), dtype=x.dtype), x)[1]

    made = {"vmap": ag.vmap(ag.grad(f)), "scan": ag.grad(scanned), "both": mapped}[how]
    slopes = ag.jit(made)(ag.tensor(np.array(points))).numpy()
    for at, got in zip(points, slopes, strict=True):
        _, (first,), ((second,),) = exactly(function, (at,))
        assert is_right(float(got), first, (second,), (at,)), (at, got, float(first))


@pytest.mark.parametrize("name", ["leg", "celu", "interest"])
def test_vectors_of_sizes_that_are_not_known(name):
    function, points, _ = CASES[name]
    xs = [T.dvector("a"), T.dvector("b")]
    result = function(ag, *xs)
    f = ag.function(xs, [result, *ag.grad(result.sum(), xs)])
    value, *slopes = f(*[np.array(c) for c in zip(*points, strict=True)])
    for k, at in enumerate(points):
        exact, first, second = exactly(function, at)
        assert is_right(float(value[k]), exact, first, at)
        for i in (0, 1):
            assert is_right(float(slopes[i][k]), first[i], second[i], at), (at, i, slopes[i][k])


def test_logarithms_of_quotients_at_their_ends():
    """Where the quotient is zero, infinite or negative, eager and compiled agree."""
    ends = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 1e-300, 1e300, np.inf, -np.inf, np.nan])
    a, b = (ag.tensor(x.ravel()) for x in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        f = lambda a, b: ag.log(a / b) + 1.0  # noqa: E731
        eager, compiled = f(a, b).numpy(), ag.jit(f)(a, b).numpy()
    np.testing.assert_allclose(compiled, eager, rtol=1e-14)


def test_tails_of_the_normal_distribution_in_single_precision():
    """There 1 + erf(x) is no erfc(-x), which takes longer; its logarithm is one of erfc."""
    x = ag.tensor(np.array([-40.0, -5.0, 0.5], np.float32))
    log = ag.jit(lambda x: ag.log(0.5 * (1 + ag.erf(x * 0.7071067811865476))))(x).numpy()
    np.testing.assert_allclose(log, [-804.608442, -15.0649983, -0.3689464], rtol=3e-6)


@pytest.mark.parametrize("f", [ag.tanh, ag.atan, ag.softplus, ag.sigmoid, ag.sin, ag.sqrt])
@pytest.mark.parametrize("x", [0.5, 2.0])
def test_slopes_where_a_step_is_zero(f, x):
    slopes = ag.jit(ag.grad(lambda h, x: f(x + h) - f(x)))
    zero, x = ag.tensor(0.0, dtype="float64"), ag.tensor(x, dtype="float64")
    np.testing.assert_allclose(slopes(zero, x), ag.grad(f)(x), rtol=1e-15)


@pytest.mark.parametrize("f", [
    lambda x: x / x ** 2, lambda x: ag.exp(ag.log(x)), lambda x: ag.expm1(ag.log1p(x)),
    lambda x: ag.exp(ag.log1p(x)), lambda x: ag.exp(0.5 * ag.log(x)),
    lambda x: ag.expm1(ag.log(x)), lambda x: 1 - x / (x + 1 / x)])
def test_what_cancels_leaves_nan_and_infinities(f):
    x = ag.tensor(np.array([0.0, -0.0, 0.5, -0.5, -2.0, np.inf, -np.inf, np.nan, 5e-324]))
    np.testing.assert_allclose(ag.jit(f)(x).numpy()[:-1], f(x).numpy()[:-1], rtol=1e-14)


def test_shares_of_infinite_wholes():
    x, y = ag.tensor([-2.0, 1.0, 0.5]), ag.tensor([-np.inf, np.inf, 3.0])
    for f in (lambda x, y: 1 - x / (x + y), lambda x, y: x / (x - y) - 1,
              lambda x, y: 1 / (x + y) - (x - y) / ag.square(x + y)):
        np.testing.assert_allclose(ag.jit(f)(x, y), f(x, y), rtol=1e-6)


def test_slopes_at_tiny_values():
    """Powers of the value that a series is in are left to the series."""
    x = ag.tensor(np.array([1e-300, 1e-9]))
    slopes = ag.jit(ag.grad(lambda x: (ag.asinh(x) / x).sum()))(x)
    np.testing.assert_allclose(slopes.numpy(), x.numpy() / -3, rtol=1e-15)
