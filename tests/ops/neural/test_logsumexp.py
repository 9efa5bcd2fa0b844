"""Derivatives of logsumexp are probabilities: they add up to 1, however large its operand is."""

import numpy as np
import pytest

import agnesi as ag

LOSSES = {
    "all": lambda x: ag.logsumexp(x) * x.shape[0],
    "rows": lambda x: ag.logsumexp(x, axis=1).sum(),
    "columns": lambda x: ag.logsumexp(x, axis=0, keepdims=True).sum() * (x.shape[0] / x.shape[1]),
    "composed": lambda x: ag.log(ag.exp(x - x.max()).sum()) * x.shape[0] + x.max() * x.shape[0],
    "log_softmax": lambda x: (x - ag.log_softmax(x, axis=1)).mean(1).sum(),
    "cross_entropy": lambda x: (ag.cross_entropy(x, np.zeros(len(x), int), reduction="none")
                                + x[:, 0]).sum(),
}


def either(compiled):
    return ag.jit if compiled else lambda f: f


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("level", [0, 20000, -3e6])
@pytest.mark.parametrize("name", LOSSES)
def test_gradient_sums_to_one(name, level, compiled):
    x = (level + np.random.default_rng(0).normal(size=(4, 50)) * 3).astype(np.float32)
    g = either(compiled)(ag.grad(LOSSES[name]))(ag.tensor(x)).numpy()
    assert g.sum(dtype=np.float64) == pytest.approx(4, rel=1e-6)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_tangent_of_a_shift_is_one(compiled):
    x = ag.tensor((20000 + np.arange(5)).astype(np.float32))
    push = either(compiled)(lambda x: ag.jvp(ag.logsumexp, (x,), (ag.ones_like(x),))[1])
    assert float(push(x)) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("row, gradient", [
    ([-np.inf, -np.inf], [0, 0]), ([-np.inf, 0], [0, 1]), ([np.nan, 0], [np.nan, np.nan]),
])
def test_gradient_at_infinity(row, gradient, compiled):
    g = either(compiled)(ag.grad(ag.logsumexp))(ag.tensor(row))
    np.testing.assert_array_equal(g.numpy(), gradient)


def test_counts_of_a_long_hidden_markov_model():
    """Expected transitions and states of 10 000 steps in float32, which add up to the steps."""
    steps, states = 10_000, 8
    rng = np.random.default_rng(0)
    emissions = rng.normal(size=(steps, states))
    transitions = np.log(rng.dirichlet(np.ones(states), states))

    def likelihood(transitions, emissions):
        def step(alpha, e):
            alpha = ag.logsumexp(alpha[:, None] + transitions, axis=0) + e
            return alpha, alpha[0]

        return ag.logsumexp(ag.scan(step, emissions[0], emissions[1:])[0])

    counts = ag.jit(ag.grad(likelihood, (0, 1)))
    exact = counts(ag.tensor(transitions), ag.tensor(emissions))
    single = counts(*(ag.tensor(v, dtype="float32") for v in (transitions, emissions)))
    for found, known, total in zip(single, exact, (steps - 1, steps), strict=True):
        assert float(found.sum()) == pytest.approx(total, rel=1e-5)
        np.testing.assert_allclose(found.numpy(), known.numpy(), rtol=1e-3)
