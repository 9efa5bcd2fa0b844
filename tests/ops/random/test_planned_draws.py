"""Draws that come often go by plans: with the numbers that they had before, from the same state."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.calls.plans import Plan
from agnesi.core.support.config import HOOKS

R, F = ag.random, ag.nn.functional
X = ag.tensor([0.25, 0.5, 0.75, 0.5])
IMAGES = ag.ones(2, 3, 4, 4)
DRAWS = {
    "poisson": lambda: ag.poisson(40 * X), "binomial": lambda: ag.binomial(100 * X, X),
    "bernoulli": lambda: ag.bernoulli(X), "multinomial": lambda: ag.multinomial(X, 2),
    "replacement": lambda: ag.multinomial(X, 5, replacement=True),
    "gamma": lambda: R.gamma(X),
    "standard_gamma": lambda: R.standard_gamma(X + 1), "beta": lambda: R.beta(X, X + 1),
    "dirichlet": lambda: R.dirichlet(X), "chisquare": lambda: R.chisquare(X),
    "f": lambda: R.f(X, X), "standard_t": lambda: R.standard_t(X + 3),
    "negative_binomial": lambda: R.negative_binomial(X + 1, X),
    "hypergeometric": lambda: R.hypergeometric(5, 7, 6, 4), "zipf": lambda: R.zipf(X + 2),
    "vonmises": lambda: R.vonmises(X, X), "cauchy": lambda: R.cauchy(X, X),
    "laplace": lambda: R.laplace(X, X), "categorical": lambda: R.categorical(X, 3),
    "pareto": lambda: R.pareto(X), "weibull": lambda: R.weibull(X),
    "integers": lambda: R.integers(0, 9, 5), "dropout": lambda: F.dropout(X, 0.5),
    "dropout2d": lambda: F.dropout2d(IMAGES, 0.5),
    "gumbel_softmax": lambda: F.gumbel_softmax(X), "normal": lambda: ag.normal(X, X),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_and_states_are_those_without_a_plan(name, monkeypatch):
    draw, outer, plan = DRAWS[name], [], HOOKS.plan

    def noted(function, *call):
        made = plan(function, *call)
        outer.append(made)
        return made

    monkeypatch.setattr(HOOKS, "plan", noted)
    HOOKS.recount()
    ag.manual_seed(7)
    expected = [draw().numpy() for _ in range(3)]
    after = ag.random.default_generator().get_state().numpy()
    for _ in range(40):
        draw()
    ag.manual_seed(7)
    found = [draw().numpy() for _ in range(3)]
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=1e-5)
    np.testing.assert_array_equal(ag.random.default_generator().get_state().numpy(), after)
    last = outer[-1]
    assert isinstance(last, Plan) and any("draws" in op.traits for op, *_ in last.steps)


def test_errors_of_planned_draws_stay():
    def draw(rates):
        return ag.poisson(rates)

    told = set()
    for _ in range(30):
        with pytest.raises(ValueError, match="at least 0") as error:
            draw(X - 0.5)
        told.add(str(error.value))
        draw(X)
    assert len(told) == 1 and "test_planned_draws.py" in told.pop()
