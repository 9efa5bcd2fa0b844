"""Gradients of draws to the parameters of their distributions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import agnesi as ag
from agnesi.api.random import Generator
from agnesi.ops.implicit import gamma_path, gamma_slope

N = 40_000


@pytest.mark.parametrize("a", [1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0, 1e4])
@pytest.mark.parametrize("q", [1e-6, 0.01, 0.3, 0.5, 0.9, 0.9999])
def test_slopes_of_gamma_numbers_are_those_of_their_quantiles(a, q):
    z, h = sp.gammaincinv(a, q), a * 1e-4
    if z < 1e-290:
        return  # nothing is left of it in float64
    left, right = (sp.gammaincinv(a + k * h, q) - sp.gammaincinv(a - k * h, q) for k in (1, 2))
    expected = (8 * left - right) / (12 * h)
    found = gamma_slope(ag.tensor(z, dtype="float64"), ag.tensor(a, dtype="float64"))
    np.testing.assert_allclose(float(found), expected, rtol=1e-5)


def test_the_path_of_gamma_numbers_passes_all_checks():
    z = np.array([0.3, 1.0, 5.0])
    a = np.array([0.5, 1.5, 4.0])
    assert gamma_path(ag.tensor(z), ag.tensor(a)).tolist() == z.tolist()

    def slope(a, z):
        return ag.jvp(lambda a: gamma_path(z, a), (a,), (ag.ones_like(a),))[1]

    x, y = (ag.tensor(v, dtype="float64") for v in (z, a))
    reverse = ag.grad(lambda a: gamma_path(x, a).sum())(y)
    np.testing.assert_allclose(reverse, slope(y, x), rtol=1e-12)
    np.testing.assert_allclose(ag.jit(slope)(y, x), slope(y, x), rtol=1e-10)
    np.testing.assert_allclose(ag.vmap(slope)(y, x), slope(y, x), rtol=1e-10)


#: A draw, parameters, the derivative of the mean of its square to each.
MEANS = {
    "gamma": (lambda g, a, s: g.gamma(a, s, N), (2.0, 3.0),
              lambda a, s: ((2 * a + 1) * s**2, 2 * s * a * (a + 1))),
    "gamma, small": (lambda g, a: g.standard_gamma(a, N), (0.3,), lambda a: (2 * a + 1,)),
    "beta": (lambda g, a, b: g.beta(a, b, N), (2.0, 3.0), None),
    "normal": (lambda g, m, s: g.normal(m, s, N), (1.0, 2.0), lambda m, s: (2 * m, 2 * s)),
    "laplace": (lambda g, m, s: g.laplace(m, s, N), (1.0, 2.0), lambda m, s: (2 * m, 4 * s)),
    "logistic": (lambda g, m, s: g.logistic(m, s, N), (1.0, 2.0),
                 lambda m, s: (2 * m, 2 * s * np.pi**2 / 3)),
    "uniform": (lambda g, a, b: g.uniform(a, b, N), (1.0, 2.0),
                lambda a, b: ((2 * a + b) / 3, (a + 2 * b) / 3)),
    "weibull": (lambda g, a: g.weibull(a, N), (2.0,),
                lambda a: (-2 / a**2 * sp.gamma(1 + 2 / a) * sp.digamma(1 + 2 / a),)),
}


@pytest.mark.share(8)
@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_means(name, compiled):
    draw, params, expected = MEANS[name]
    if expected is None:
        def moment(a, b):
            return a * (a + 1) / ((a + b) * (a + b + 1))

        h, (a, b) = 1e-5, params
        wanted = [(moment(a + h, b) - moment(a - h, b)) / (2 * h),
                  (moment(a, b + h) - moment(a, b - h)) / (2 * h)]
    else:
        wanted = expected(*params)
    g = Generator(1)
    slope = ag.grad(lambda *ps: (draw(g, *ps) ** 2).mean(), argnums=tuple(range(len(params))))
    found = (ag.jit(slope) if compiled else slope)(
        *[ag.tensor(p, dtype="float64") for p in params]
    )
    np.testing.assert_allclose([float(x) for x in found], wanted, rtol=0.06)


def test_gradients_of_shares_and_vectors():
    g = Generator(0)
    alpha = ag.tensor([1.0, 2.0, 3.0], dtype="float64")
    slope = ag.grad(lambda a: g.dirichlet(a, N)[:, 0].mean())(alpha).numpy()
    np.testing.assert_allclose(slope, [5 / 36, -1 / 36, -1 / 36], atol=0.005)
    cov = ag.tensor([[2.0, 1.0], [1.0, 3.0]], dtype="float64")
    slope = ag.grad(lambda c: (g.multivariate_normal(ag.zeros(2), c, N)[:, 1] ** 2).mean())(cov)
    assert abs(float(slope[1, 1]) - 1) < 0.1


def test_what_is_chosen_by_the_parameters_has_no_gradients():
    lam = ag.tensor(3.0, requires_grad=True)
    assert not Generator(0).poisson(lam, 4).requires_grad
    assert not Generator(0).wald(lam, lam, 4).requires_grad
