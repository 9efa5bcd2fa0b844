"""Heavy tails, shares, matrices and shaped transforms, beside SciPy's and their definitions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import agnesi as ag
from agnesi import distributions as D
from agnesi.distributions import crossed
from agnesi.distributions import transforms as T

R = np.random.default_rng(0)
A, B, P = np.array([1.4, 2.7, 6.0]), np.array([2.5, 0.9, 2.1]), np.array([0.2, 0.4995, 0.8])
M, X = np.array([-0.3, 0.0, 1.2]), np.array([0.15, 0.5, 0.85])
C = np.array([0.2, -0.3, 0.0])
REAL = [
    ("Pareto", (A, B), A + X, st.pareto(B, 0, A)), ("HalfCauchy", (A,), X, st.halfcauchy(0, A)),
    ("GeneralizedPareto", (M, A, C), M + X, st.genpareto(C, M, A)),
    ("InverseGamma", (A + 2, B), X, st.invgamma(A + 2, 0, B)),
    ("FisherSnedecor", (A, A + 5), X, st.f(A, A + 5)),
    ("Kumaraswamy", (A, B), X, None), ("ContinuousBernoulli", (P,), X, None),
]


def made(name: str, args: Any) -> Any:
    return getattr(D, name)(*[ag.tensor(a) for a in args])


@pytest.mark.share(2)
@pytest.mark.parametrize(("name", "args", "x", "theirs"), REAL)
def test_one_number(name: str, args: Any, x: Any, theirs: Any) -> None:
    d, value = made(name, args), ag.tensor(x)
    if theirs is None:  # the derivative of the distribution function
        density = np.log(ag.grad(lambda v: d.cdf(v).sum())(value))
        grid = ag.tensor((np.arange(4000) + 0.5)[:, None] / 4000)
        weights = ag.exp(d.log_prob(grid)) / 4000
        np.testing.assert_allclose((weights * grid).sum(0), d.mean, rtol=2e-3)
        np.testing.assert_allclose((weights * (grid - d.mean) ** 2).sum(0), d.variance, rtol=5e-3)
        np.testing.assert_allclose(-(weights * d.log_prob(grid)).sum(0), d.entropy(), atol=5e-3)
    else:
        density = theirs.logpdf(x)
        np.testing.assert_allclose(d.cdf(value), theirs.cdf(x), rtol=1e-9) \
            if name != "FisherSnedecor" else None
        for ours, known in ((d.mean, theirs.mean()), (d.variance, theirs.var())):
            if name != "HalfCauchy":
                np.testing.assert_allclose(ours, known, rtol=1e-9)
        if name not in ("HalfCauchy", "FisherSnedecor"):
            np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-7)
    for run in (d.log_prob, ag.jit(d.log_prob)):
        np.testing.assert_allclose(run(value), density, rtol=1e-9, atol=0 if theirs else 1e-6)
    if name not in ("InverseGamma", "FisherSnedecor"):
        np.testing.assert_allclose(d.cdf(d.icdf(ag.tensor(P))), P, rtol=1e-9)
    ag.manual_seed(0)
    drawn = d.rsample((4000,))
    below = (drawn.numpy() <= np.asarray(x)).mean(0)
    np.testing.assert_allclose(below, theirs.cdf(x) if theirs else d.cdf(value), atol=0.03)
    assert d.expand((2, 3)).log_prob(value).shape == (2, 3)


def test_halves_have_no_density_below_zero() -> None:
    x = ag.tensor([-1.0, -0.0, 2.0])
    for d in (D.HalfCauchy(1.0, validate_args=False), D.HalfNormal(1.0, validate_args=False)):
        for run in (d.log_prob, ag.jit(d.log_prob)):
            assert (np.isneginf(run(x)) == [True, False, False]).all()


def test_counts_of_failures_and_relaxed_draws() -> None:
    n = made("NegativeBinomial", (A, P))
    k, theirs = np.array([0.0, 3.0, 7.0]), st.nbinom(A, 1 - P)
    np.testing.assert_allclose(n.log_prob(ag.tensor(k)), theirs.logpmf(k), rtol=1e-9)
    np.testing.assert_allclose([n.mean, n.variance], [theirs.mean(), theirs.var()], rtol=1e-9)
    ag.manual_seed(0)
    np.testing.assert_allclose(n.sample((4000,)).mean(0), n.mean, rtol=0.1)
    hard = D.OneHotCategoricalStraightThrough(logits=ag.tensor([0.1, 0.2], requires_grad=True))
    drawn = hard.rsample((5,))
    assert set(drawn.detach().numpy().ravel().tolist()) <= {0.0, 1.0} and drawn.requires_grad
    soft = D.RelaxedBernoulli(ag.tensor(0.7), ag.tensor(P))
    grid = ag.tensor((np.arange(20000) + 0.5)[:, None] / 20000)
    np.testing.assert_allclose(ag.exp(soft.log_prob(grid)).mean(0), 1, rtol=5e-3)
    assert abs((soft.sample((4000,)) > 0.5).numpy().mean(0) - P).max() < 0.04
    pair = D.RelaxedOneHotCategorical(ag.tensor(0.7), ag.tensor([0.3, 0.7], dtype="float64"))
    both = ag.concat([grid, 1 - grid], -1)
    np.testing.assert_allclose(ag.exp(pair.log_prob(both)).mean(), 1, rtol=5e-3)
    assert pair.rsample((4,)).shape == (4, 2) and pair.expand((3,)).batch_shape == (3,)
    mixed = D.LogisticNormal(ag.tensor(M), ag.tensor(A))
    assert mixed.event_shape == (4,) and np.allclose(mixed.sample((5,)).sum(-1), 1)


def test_matrices() -> None:
    w = R.normal(size=(3, 2))
    cov = w @ w.T + np.diag(A)
    low, y = D.LowRankMultivariateNormal(*map(ag.tensor, (M, w, A))), R.normal(size=(4, 3))
    full = st.multivariate_normal(M, cov)
    for run in (low.log_prob, ag.jit(low.log_prob)):
        np.testing.assert_allclose(run(ag.tensor(y)), full.logpdf(y), rtol=1e-9)
    np.testing.assert_allclose(low.entropy(), full.entropy(), rtol=1e-9)
    np.testing.assert_allclose(low.variance, np.diag(cov))
    ag.manual_seed(0)
    np.testing.assert_allclose(np.cov(low.rsample((4000,)).numpy().T), cov, atol=0.5)
    other = D.MultivariateNormal(ag.tensor(M + 1), ag.tensor(2 * cov))
    np.testing.assert_allclose(
        D.kl_divergence(low, other),
        D.kl_divergence(D.MultivariateNormal(ag.tensor(M), ag.tensor(cov)), other), rtol=1e-9)
    s, theirs = D.Wishart(ag.tensor(4.5), ag.tensor(cov)), st.wishart(4.5, cov)
    np.testing.assert_allclose(s.log_prob(ag.tensor(3 * cov)), theirs.logpdf(3 * cov), rtol=1e-9)
    np.testing.assert_allclose(s.variance, theirs.var(), rtol=1e-9)
    np.testing.assert_allclose(s.entropy(), theirs.entropy(), rtol=1e-9)
    np.testing.assert_allclose(s.sample((4000,)).mean(0), s.mean, rtol=0.2, atol=0.8)
    with pytest.raises(ValueError, match="df - n"):
        D.Wishart(1.0, ag.eye(3))
    lkj = D.LKJCholesky(3, ag.tensor(1.5, dtype="float64"))
    drawn = lkj.sample((2000,))
    r = (drawn @ drawn.mT).numpy()
    assert np.allclose(r[:, range(3), range(3)], 1) and lkj.support.check(drawn).all()
    assert abs(r[:, 1, 0].var() - 1 / (2 * 1.5 + 2)) < 0.03  # beta on (-1, 1) of 1.5 + 0.5
    with pytest.raises(ValueError, match="dim must be 2 or more"):
        D.LKJCholesky(1)


SHAPED = [
    (T.SoftmaxTransform(), (2, 3)), (T.StickBreakingTransform(), (2, 3)),
    (T.LowerCholeskyTransform(), (2, 3, 3)), (T.PositiveDefiniteTransform(), (3, 3)),
    (T.CorrCholeskyTransform(), (2, 6)), (T.ReshapeTransform((6,), (2, 3)), (4, 6)),
    (T.IndependentTransform(T.ExpTransform(), 1), (2, 3)),
    (T.CatTransform([T.ExpTransform(), T.TanhTransform()], -1, [1, 2]), (2, 3)),
    (T.StackTransform([T.ExpTransform(), T.TanhTransform()], -1), (3, 2)),
    (T.CumulativeDistributionTransform(D.Gumbel(ag.tensor(0.1, dtype="float64"), 2.0)), (3,)),
]


@pytest.mark.parametrize(("t", "shape"), SHAPED, ids=lambda x: type(x).__name__)
def test_transforms_of_vectors(t: Any, shape: Any) -> None:
    x = ag.tensor(R.normal(size=shape))
    y = t(x)
    assert y.shape == t.forward_shape(shape) and t.inverse_shape(y.shape) == shape
    np.testing.assert_allclose(t(t.inv(y)), y, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ag.jit(t)(x), y, rtol=1e-12)
    assert t.inv.inv is t and t == t and t != T.ExpTransform()
    try:
        found = t.log_abs_det_jacobian(x, y)
    except NotImplementedError as error:
        assert "has no log_abs_det_jacobian" in str(error)
        return
    if len(shape) > 1 and t.event_dim == 1:
        one = x.numpy()[0]
        j = ag.jacobian(lambda v: t(v).reshape(-1))(ag.tensor(one)).numpy()
        if isinstance(t, T.CorrCholeskyTransform):  # numbers below the diagonal are free
            j = j.reshape(4, 4, -1)[np.tril_indices(4, -1)]
        j = j[: len(one)]
        np.testing.assert_allclose(found.numpy()[0], np.linalg.slogdet(j)[1], rtol=1e-9, atol=1e-9)


def test_constraints_are_reached() -> None:
    c, x = D.constraints, ag.tensor(R.normal(size=(3, 3)))
    for name in ("real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky",
                 "positive_definite", "corr_cholesky"):
        for reach in (D.biject_to, D.transform_to):
            assert getattr(c, name).check(reach(getattr(c, name))(x)).all(), name
    for made_of in (c.interval(1.0, 3.0), c.greater_than(2.0), c.less_than(-1.0),
                    c.independent(c.interval(ag.ones(3), 2.0), 1), c.half_open_interval(0, 5)):
        assert made_of.check(D.biject_to(made_of)(x)).all()
    assert c.integer_interval(0, 3).check(ag.tensor([1.0, 1.5])).tolist() == [True, False]
    assert c.square.check(x) and not c.symmetric.check(x) and c.positive_integer.check(x + 9).ndim
    with pytest.raises(NotImplementedError, match="no transform reaches"):
        D.biject_to(c.boolean)


GIVEN = {
    "Beta": (A, B), "ContinuousBernoulli": (P,), "Exponential": (A,), "Gamma": (A, B),
    "Gumbel": (M, A), "Laplace": (M, A), "Normal": (M, A), "Pareto": (A, B + 2),
    "Uniform": (0.3 * P, 0.3 * P + 0.5),
}
OTHERS = {**GIVEN, "Uniform": (0.3 * P - 0.7, 0.3 * P + 1.2), "Pareto": (0.02 * A, B)}


def test_divergences_between_families() -> None:
    """Beside the mean of ``log p - log q`` over even steps of probability."""
    u = ag.tensor((np.arange(20000) + 0.5)[:, None] / 20000)
    count = 0
    for a, b in itertools.product(GIVEN, OTHERS):
        kinds = getattr(D, a), getattr(D, b)
        if kinds in crossed._OWN | crossed._NONE or (b == "Laplace" and a != "Normal"):
            continue
        p, q = made(a, GIVEN[a]), made(b, OTHERS[b])
        found = D.kl_divergence(p, q).numpy()
        assert found.shape == (3,)
        if np.isfinite(found).all() and a not in ("Beta", "Gamma"):
            x = p.icdf(u)
            known = (p.log_prob(x) - q.log_prob(x)).mean(0)
            np.testing.assert_allclose(found, known, rtol=2e-2, atol=2e-3, err_msg=f"{a} {b}")
            count += 1
    assert count > 18
    pair = D.kl_divergence(D.Bernoulli(ag.tensor(P)), D.Poisson(ag.tensor(A)))
    one = P * (np.log(P) - st.poisson(A).logpmf(1)) + (1 - P) * (np.log(1 - P) + A)
    np.testing.assert_allclose(pair, one, rtol=1e-9)
    assert math.isinf(D.kl_divergence(D.Poisson(1.0), D.Bernoulli(0.5)))
    assert D.kl_divergence(D.Chi2(3.0), D.Exponential(1.0)) > 0
    moved = [D.TransformedDistribution(D.Normal(loc, 1.0), [T.AffineTransform(1.0, 2.0)])
             for loc in (0.0, 1.0)]
    assert D.kl_divergence(*moved).item() == 0.5
    for mine, like in (("InverseGamma", "Gamma"), ("HalfCauchy", "Cauchy")):
        pairs = [[made(n, a) for a in ((A, B), (B, A))] if like == "Gamma" else
                 [getattr(D, n)(*[0 * M] * (n == "Cauchy"), ag.tensor(a)) for a in (A, B)]
                 for n in (mine, like)]
        np.testing.assert_allclose(*[D.kl_divergence(*pair) for pair in pairs], rtol=1e-12)


def test_divergences_and_supports_beside_sums_over_values() -> None:
    p, q = D.Weibull(0.8, 1.7), D.Weibull(1.3, 2.4)
    x = np.linspace(1e-4, 8.0, 40_001)
    at = np.exp(p.log_prob(x)) * (p.log_prob(x) - q.log_prob(x))
    np.testing.assert_allclose(D.kl_divergence(p, q), np.trapezoid(at, x), rtol=1e-3)
    v = np.array([[2.0, 0.5], [0.5, 1.0]])
    one, two = D.Wishart(5.5, v), D.Wishart(7.0, ag.eye(2, dtype="float64"))
    ag.manual_seed(0)
    draws = one.sample((20_000,))
    np.testing.assert_allclose(D.kl_divergence(one, two),
                               (one.log_prob(draws) - two.log_prob(draws)).mean(), rtol=0.05)
    share = np.array([0.2, 0.5, 0.3])
    counts = np.array([c for c in itertools.product(range(5), repeat=3) if sum(c) == 4], "float64")
    many = D.Multinomial(4, share)
    logs = many.log_prob(counts)
    np.testing.assert_allclose(many.entropy(), -(np.exp(logs) * logs).sum(), rtol=1e-6)
    tosses = D.Binomial(4, share)
    np.testing.assert_allclose(np.exp(tosses.log_prob(tosses.enumerate_support())).sum(0), 1.0)
    with pytest.raises(NotImplementedError, match="trials differ within the batch"):
        D.Binomial(np.array([2.0, 3.0]), 0.5).enumerate_support()
    assert np.isfinite(D.RelaxedBernoulli(0.7, 0.4).log_prob(np.array([0.0, 1.0]))).all()
