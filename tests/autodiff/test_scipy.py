"""Functions and derivatives go into ``scipy.optimize`` as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import agnesi as ag

START = np.array([1.1, 0.9, 1.05])


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@ag.custom_vjp
def custom(x: Any) -> Any:
    return rosenbrock(x)


custom.defvjp(lambda x: (rosenbrock(x), x), lambda x, g: (g * ag.grad(rosenbrock)(x),))
FIRST = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")
SECOND = ("Newton-CG", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr")
WITHOUT = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")
PRODUCTS = ("Newton-CG", "trust-ncg", "trust-krylov", "trust-constr")


def check(found: Any, within: float = 1e-2) -> None:
    assert found.success
    np.testing.assert_allclose(np.asarray(found.x, float), np.ones(3), atol=within)


@pytest.mark.share(12)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("f", [rosenbrock, custom], ids=["plain", "custom"])
@pytest.mark.parametrize("method", [*FIRST, *SECOND, *WITHOUT])
def test_every_method(method: str, f: Any, compiled: bool) -> None:
    jit = ag.jit if compiled else lambda f: f
    if method in WITHOUT:
        options = {"maxiter": 4000} if method != "COBYQA" else {}
        check(optimize.minimize(jit(f), START, method=method, options=options), 0.25)
        return
    # Where the Hessian is positive.
    start = np.array([1.02, 1.04, 1.08]) if method == "dogleg" else START
    second = {"hess": jit(ag.hessian(rosenbrock))} if method in SECOND else {}
    check(optimize.minimize(jit(ag.value_and_grad(f)), start, jac=True, method=method, **second))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", PRODUCTS)
def test_products_with_the_hessian(method: str, compiled: bool) -> None:
    jit = ag.jit if compiled else lambda f: f
    product = jit(lambda x, p: ag.hvp(rosenbrock, (x,), (p,)))
    check(optimize.minimize(jit(ag.value_and_grad(rosenbrock)), START, jac=True, method=method,
                            hessp=product))


def test_doubles_stay_doubles() -> None:
    value, gradient = ag.value_and_grad(rosenbrock)(START)
    assert value.dtype == gradient.dtype == np.float64
    assert isinstance(np.asarray(gradient), np.ndarray) and isinstance(float(value), float)


def test_equations_and_least_squares() -> None:
    def residuals(x: Any) -> Any:
        return ag.stack([x[0] ** 2 + x[1] - 3, x[0] - x[1] + 1])

    for found in (
        optimize.root(residuals, [1.0, 1.0], jac=ag.jacobian(residuals)),
        optimize.least_squares(residuals, [1.0, 1.0], jac=ag.jit(ag.jacobian(residuals))),
    ):
        np.testing.assert_allclose(np.asarray(found.x, float), [1.0, 2.0], 1e-6)
