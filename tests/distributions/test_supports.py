"""What transforms take and give, and the support of distributions made by them."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import distributions as D


def test_transforms_say_what_they_take_and_give():
    T, C = D.transforms, D.constraints
    exp = T.ExpTransform()
    assert (exp.domain, exp.codomain, exp.inv.domain) == (C.real, C.positive, C.positive)
    chain = T.ComposeTransform([T.AffineTransform(0.0, 2.0), T.SigmoidTransform()])
    assert (chain.domain, chain.codomain) == (C.real, C.unit_interval)
    assert T.IndependentTransform(exp, 2).codomain.event_dim == 2
    assert T.StickBreakingTransform().codomain is C.simplex


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_values_outside_of_the_support_are_refused(wrap):
    """They had a logarithm of a probability, or NaN."""
    T = D.transforms
    normal = D.Normal(0.0, 1.0)
    vector = D.LogisticNormal(ag.zeros(2), ag.ones(2))
    matrix = D.Wishart(4.0, covariance_matrix=ag.tensor([[2.0, 0.5], [0.5, 1.0]]))
    for distribution, good, bad in (
            (D.TransformedDistribution(normal, T.ExpTransform()), 2.0, -1.0),
            (D.TransformedDistribution(normal, [T.TanhTransform()]), 0.5, 1.5),
            (D.TransformedDistribution(normal.expand((2,)), T.ExpTransform()), [1.0, 2.0],
             [1.0, -2.0]),
            (vector, [0.2, 0.3, 0.5], [0.5, 0.5, 0.5]),
            (matrix, [[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]),
            (matrix, [[2.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, -1.0]])):
        log_prob = wrap(distribution.log_prob)
        assert np.isfinite(log_prob(ag.tensor(good)).numpy()).all()
        with pytest.raises(ValueError, match="value must be"):
            log_prob(ag.tensor(bad))
