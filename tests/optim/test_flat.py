"""Minimisers of functions of one vector, and L-BFGS over a model's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.optim import flat


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def feval(x: np.ndarray) -> tuple[Any, Any]:
    value, gradient = ag.value_and_grad(rosenbrock)(ag.tensor(x))
    return value, gradient


def newton(f: Any, x: Any, **options: Any) -> flat.Optimum:
    return flat.hessian_free(
        f, lambda x, v: ag.hvp(rosenbrock, (ag.tensor(x),), (ag.tensor(v),)), x, **options)


@pytest.mark.share(2)
@pytest.mark.parametrize("minimise", [flat.cg, flat.bfgs, flat.lbfgs, newton])
@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.3, -0.5, 2.0]])
def test_the_valley_is_followed_to_its_end(minimise: Any, start: list[float]) -> None:
    found = minimise(feval, start)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)
    assert found.value < 1e-8 and (np.diff(found.values) < 0).all()
    assert found.values[0] == pytest.approx(float(rosenbrock(np.array(start))))
    short = minimise(feval, start, max_iter=2)
    assert len(short.values) <= 3 and short.value < found.values[0]


def test_least_squares_reach_the_parameters() -> None:
    t = np.linspace(0, 4, 20)
    target = 2.0 * np.exp(-0.7 * t) + 0.5

    def residuals(p: np.ndarray) -> tuple[Any, Any]:
        e = np.exp(-p[1] * t)
        return p[0] * e + p[2] - target, np.stack([e, -t * p[0] * e, np.ones_like(t)], 1)

    found = flat.levenberg_marquardt(residuals, [1.0, 0.1, 0.0])
    np.testing.assert_allclose(found.x, [2.0, 0.7, 0.5], atol=1e-8)
    assert found.value < 1e-16 and (np.diff(found.values) < 0).all()


def test_a_search_on_numbers_that_are_none_ends() -> None:
    found = flat.bfgs(lambda x: (np.log(x[0]) if x[0] > 0 else np.nan, 1 / x), [2.0], max_iter=5)
    assert np.isfinite(found.value)


@pytest.mark.parametrize("minimise", [flat.cg, flat.bfgs, flat.lbfgs, newton])
def test_functions_without_a_gradient_are_refused(minimise: Any) -> None:
    with pytest.raises(TypeError, match=r"feval\(x\) must return the value and the gradient: "
                       r"ag\.value_and_grad\(f\) gives both, not float64\[\]"):
        minimise(lambda x: rosenbrock(ag.tensor(x)), [0.0, 1.0])
    with pytest.raises(TypeError, match=r"residuals\(x\) must return the differences"):
        flat.levenberg_marquardt(lambda x: ag.tensor(x) ** 2, [0.0, 1.0])


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_a_model_is_fitted_by_its_closure(search: str | None) -> None:
    rng = np.random.default_rng(0)
    x, y = ag.tensor(rng.normal(size=(30, 4))), ag.tensor(rng.normal(size=(30, 1)))
    net = nn.Linear(4, 1, dtype="float64")
    tool = optim.LBFGS(net.parameters(), lr=1.0, line_search_fn=search, max_iter=8,
                       tolerance_change=1e-14)

    @ag.jit
    def closure() -> Any:
        tool.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss

    first = float(closure())
    assert float(tool.step(closure)) == pytest.approx(first)
    saved = tool.state_dict()
    again = optim.LBFGS(net.parameters(), lr=1.0, line_search_fn=search, max_iter=8,
                       tolerance_change=1e-14)
    again.load_state_dict(saved)
    for _ in range(4):
        again.step(closure)
    design = np.concatenate([x.numpy(), np.ones((30, 1))], 1)
    best = np.linalg.lstsq(design, y.numpy(), rcond=None)[0][:, 0]
    np.testing.assert_allclose(net.weight.numpy()[0], best[:4], atol=1e-6)
    np.testing.assert_allclose(net.bias.numpy()[0], best[4], atol=1e-6)
    with pytest.raises(TypeError, match="needs a function"):
        tool.step()


def test_what_a_closure_does_to_parameters_counts() -> None:
    w = ag.tensor([3.0, -2.0], dtype="float64", requires_grad=True)
    tool = optim.LBFGS([w], lr=0.5, max_iter=3)
    met = []

    def closure() -> Any:
        with ag.no_grad():
            w.clamp_(min=0)
        tool.zero_grad()
        loss = ((w - ag.tensor([2.0, -3.0])) ** 2).sum()
        loss.backward()
        met.append(w.detach().tolist())
        return loss

    tool.step(closure)
    np.testing.assert_allclose(met, [[3, 0], [2.875, 0], [0, 0]])  # PyTorch's
    assert w.tolist() == [0, 0]
