"""Distributions beside SciPy's: densities, moments, draws, divergences, gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from scipy.integrate import quad

import agnesi as ag
from agnesi import distributions as D

R = np.random.default_rng(0)
A, B, M = np.array([0.4, 1.7, 3.2]), np.array([0.5, 0.9, 2.1]), np.array([-0.3, 0.0, 1.2])
P, X = np.array([0.2, 0.5, 0.8]), np.array([0.15, 0.5, 0.85])
N = np.array([3.0, 4.0, 5.0])
#: Name, parameters, values, SciPy's.
REAL = [
    ("Normal", (M, A), X, st.norm(M, A)), ("Laplace", (M, A), X, st.laplace(M, A)),
    ("Cauchy", (M, A), X, st.cauchy(M, A)), ("Gumbel", (M, A), X, st.gumbel_r(M, A)),
    ("Uniform", (M, M + A), M + A * X, st.uniform(M, A)),
    ("Exponential", (A,), X, st.expon(0, 1 / A)), ("Gamma", (A, B), X, st.gamma(A, 0, 1 / B)),
    ("Chi2", (A,), X, st.chi2(A)), ("StudentT", (A + 2, M, B), X, st.t(A + 2, M, B)),
    ("Weibull", (A, B), X, st.weibull_min(B, 0, A)), ("HalfNormal", (A,), X, st.halfnorm(0, A)),
    ("LogNormal", (M, B), X, st.lognorm(B, 0, np.exp(M))), ("Beta", (A, B), X, st.beta(A, B)),
]
WHOLE = [
    ("Bernoulli", (P,), np.array([0.0, 1.0, 1.0]), st.bernoulli(P)),
    ("Geometric", (P,), np.array([0.0, 1.0, 4.0]), st.geom(P, -1)),
    ("Binomial", (N, P), np.array([0.0, 2.0, 5.0]), st.binom(N, P)),
    ("Poisson", (A,), np.array([0.0, 1.0, 4.0]), st.poisson(A)),
]


def made(name: str, args: Any, **keywords: Any) -> Any:
    return getattr(D, name)(*[ag.tensor(a, **keywords) for a in args])


@pytest.mark.share(2)
@pytest.mark.parametrize(("name", "args", "x", "theirs"), REAL + WHOLE)
def test_one_number(name: str, args: Any, x: Any, theirs: Any) -> None:
    d, value = made(name, args), ag.tensor(x)
    assert d.batch_shape == (3,) and d.event_shape == ()
    density = theirs.logpdf(x) if hasattr(theirs.dist, "logpdf") else theirs.logpmf(x)
    np.testing.assert_allclose(d.log_prob(value), density, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ag.jit(d.log_prob)(value), density, rtol=1e-9, atol=1e-12)
    if name not in ("Cauchy",):
        np.testing.assert_allclose(d.mean, theirs.mean(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(d.stddev, theirs.std(), rtol=1e-9)
    for ours, call, at in (("cdf", theirs.cdf, x), ("icdf", theirs.ppf, P)):
        if name not in [w[0] for w in WHOLE] and getattr(D, name).__dict__.get(ours):
            np.testing.assert_allclose(getattr(d, ours)(ag.tensor(at)), call(at), rtol=1e-7)
    if name not in ("Binomial", "Poisson"):
        np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-7, atol=1e-9)
    ag.manual_seed(0)
    draws = d.sample((4000,))
    assert draws.shape == (4000, 3) and draws.dtype == "float64" and not draws.requires_grad
    if name != "Cauchy":
        far = np.abs(draws.numpy().mean(0) - d.mean.numpy()) / d.stddev.numpy()
        assert far.max() < 0.12
    wide = d.expand((2, 3))
    assert wide.batch_shape == (2, 3) and wide.sample().shape == (2, 3)
    np.testing.assert_allclose(wide.log_prob(value)[1], density, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name, theirs", [
    ("Normal", st.norm), ("Laplace", st.laplace), ("Cauchy", st.cauchy)])
def test_tails_are_as_exact_as_the_middle(name: str, theirs: Any) -> None:
    p = np.array([1e-300, 1e-30, 1e-10, 0.2, 0.25, 0.3, 0.5, 0.7, 0.75, 0.8, 1 - 1e-10])
    d = getattr(D, name)(ag.asarray(np.array(0.5)), ag.asarray(np.array(2.0)))
    x = theirs(0.5, 2).ppf(p)
    for f in (d.icdf, ag.jit(lambda p: d.icdf(p))):
        np.testing.assert_allclose(f(ag.asarray(p)), x, rtol=1e-6 if name == "Cauchy" else 1e-12)
    np.testing.assert_allclose(d.cdf(ag.asarray(x)), p, rtol=1e-6 if name == "Cauchy" else 1e-12)
    slopes = ag.grad(lambda x: d.cdf(x).sum())(ag.asarray(x)), ag.exp(d.log_prob(ag.asarray(x)))
    np.testing.assert_allclose(*slopes, rtol=1e-9, atol=1e-290)
    slopes = ag.grad(lambda p: d.icdf(p).sum())(ag.asarray(p[2:])), 1 / slopes[1][2:]
    np.testing.assert_allclose(*slopes, rtol=1e-6)


def test_directions() -> None:
    d, theirs = made("VonMises", (M, A)), st.vonmises(A, M)
    for form in (d.log_prob, ag.jit(d.log_prob)):
        np.testing.assert_allclose(form(ag.tensor(X)), theirs.logpdf(X), rtol=1e-9)
    np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-7)
    np.testing.assert_allclose(d.variance, [1 - quad(
        lambda x, k=k: np.cos(x) * st.vonmises.pdf(x, k), -np.pi, np.pi)[0] for k in A], rtol=1e-7)
    ag.manual_seed(0)
    drawn = d.sample((4000,)).numpy()
    assert (abs(drawn) <= np.pi).all()
    middle = np.angle(np.exp(1j * drawn).mean(0))
    np.testing.assert_allclose(middle, M, atol=0.15)
    slope = ag.grad(lambda k: D.VonMises(M, k).log_prob(X).sum())(A)
    near = 1e-6
    by_hand = (st.vonmises(A + near, M).logpdf(X) - st.vonmises(A - near, M).logpdf(X)) / 2 / near
    np.testing.assert_allclose(slope, by_hand, rtol=1e-6)
    with pytest.raises(ValueError, match="concentration"):
        D.VonMises(0.0, -1.0)


@pytest.mark.parametrize(("name", "args"), [(n, a) for n, a, *_ in REAL])
def test_draws_are_functions_of_the_parameters(name: str, args: Any) -> None:
    """The gradient of a mean of draws is that of the mean (of the middle, where there is none)."""
    ag.manual_seed(1)
    leaves = [ag.tensor(a, requires_grad=True) for a in args]
    d = getattr(D, name)(*leaves)
    assert d.has_rsample
    if name == "Cauchy":
        d.rsample((9,)).sum().backward()
        np.testing.assert_allclose(leaves[0].grad, 9)
        return
    drawn = d.rsample((6000,)).mean(0).sum()
    found = ag.grad(drawn, leaves)
    expected = ag.grad(d.mean.sum(), leaves, disconnected="zero")
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.15, atol=0.15)


def test_logits_stand_for_probabilities() -> None:
    logit = np.log(P / (1 - P))
    for name, args, x, theirs in WHOLE[:3]:
        d = getattr(D, name)(*[ag.tensor(a) for a in args[:-1]], logits=ag.tensor(logit))
        np.testing.assert_allclose(d.log_prob(ag.tensor(x)), theirs.logpmf(x), rtol=1e-9)
        np.testing.assert_allclose(d.probs, P, rtol=1e-9)
        np.testing.assert_allclose(made(name, args).logits, logit, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="probs or logits, and one of them"):
        D.Bernoulli()
    assert D.Bernoulli(ag.tensor([0.3, 0.6])).enumerate_support().tolist() == [[0, 0], [1, 1]]


def test_categories() -> None:
    w = ag.tensor([[1.0, 3.0, 0.0], [2.0, 2.0, 4.0]], dtype="float64")
    p = w.numpy() / w.numpy().sum(1, keepdims=True)
    c, o, m = D.Categorical(w), D.OneHotCategorical(w), D.Multinomial(5, w)
    assert (c.batch_shape, c.event_shape, o.event_shape, m.event_shape) == ((2,), (), (3,), (3,))
    np.testing.assert_allclose(c.log_prob(ag.tensor([1, 2])), np.log([0.75, 0.5]))
    assert c.log_prob(ag.tensor([[0], [1]])).shape == (2, 2) and c.mode.tolist() == [1, 2]
    np.testing.assert_allclose(D.Categorical(logits=ag.log(w)).probs, p)
    for d in (c, o):
        np.testing.assert_allclose(d.entropy(), [st.entropy(q) for q in p])
    np.testing.assert_allclose(o.log_prob(ag.tensor([[0.0, 1, 0], [0, 0, 1]])), np.log([0.75, 0.5]))
    ag.manual_seed(0)
    assert c.sample((4,)).shape == (4, 2) and o.sample((4,)).shape == m.sample((4,)).shape == (
        4, 2, 3)
    np.testing.assert_allclose(o.sample((4000,)).mean(0), p, atol=0.04)
    np.testing.assert_allclose(m.sample((2000,)).mean(0), 5 * p, atol=0.15)
    x = np.array([[2.0, 3, 0], [1, 1, 3]])
    np.testing.assert_allclose(m.log_prob(ag.tensor(x)), [
        st.multinomial(5, q).logpmf(v) for q, v in zip(p, x, strict=True)])
    assert o.enumerate_support().shape == (3, 2, 3) and c.enumerate_support(False).shape == (3, 1)
    assert m.expand((4, 2)).sample().shape == (4, 2, 3)

    @ag.jit
    def policy(logits: Any) -> Any:
        d = D.Categorical(logits=logits)
        action = d.sample()
        loss = -(d.log_prob(action) * 2.0)
        return action, loss, ag.grad(loss, logits)

    logits = ag.tensor([0.1, 0.2, 0.7], requires_grad=True)
    action, loss, g = policy(logits)
    q = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum()
    np.testing.assert_allclose(loss.detach(), -2 * np.log(q[int(action)]), rtol=1e-5)
    np.testing.assert_allclose(g, 2 * (q - np.eye(3)[int(action)]), rtol=1e-5)


def test_vectors() -> None:
    a = np.array([0.7, 2.0, 3.0])
    d = D.Dirichlet(ag.tensor(a))
    x = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(d.log_prob(ag.tensor(x)), st.dirichlet(a).logpdf(x))
    np.testing.assert_allclose(d.entropy(), st.dirichlet(a).entropy())
    np.testing.assert_allclose(d.variance, st.dirichlet(a).var())
    low = np.array([[1.0, 0, 0], [0.5, 0.7, 0], [-0.3, 0.2, 1.1]])
    c = low @ low.T
    theirs = st.multivariate_normal(M, c)
    y = R.normal(size=(4, 3))
    for form in ({"covariance_matrix": c}, {"precision_matrix": np.linalg.inv(c)},
                 {"scale_tril": low}):
        n = D.MultivariateNormal(ag.tensor(M), **{k: ag.tensor(v) for k, v in form.items()})
        np.testing.assert_allclose(n.log_prob(ag.tensor(y)), theirs.logpdf(y), rtol=1e-9)
        np.testing.assert_allclose(n.entropy(), theirs.entropy(), rtol=1e-9)
        np.testing.assert_allclose(n.covariance_matrix, c, rtol=1e-9)
    ag.manual_seed(0)
    np.testing.assert_allclose(np.cov(n.sample((5000,)).numpy().T), c, atol=0.12)
    assert n.expand((2,)).rsample((4,)).shape == (4, 2, 3)
    ind = D.Independent(D.Normal(ag.tensor(M), ag.tensor(A)), 1)
    assert (ind.batch_shape, ind.event_shape) == ((), (3,))
    np.testing.assert_allclose(ind.log_prob(ag.tensor(X)), st.norm(M, A).logpdf(X).sum())
    np.testing.assert_allclose(ind.entropy(), st.norm(M, A).entropy().sum())
    for wrong, text in (
        (lambda: D.MultivariateNormal(ag.zeros(2)), "takes one of covariance_matrix"),
        (lambda: D.MultivariateNormal(ag.zeros(2), ag.tensor([[1.0, 0.5], [0, 1]])), "symmetric"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "has no 1 axes"),
        (lambda: D.Dirichlet(1.0), "one axis or more"),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()


def test_mixtures() -> None:
    w = np.array([1.0, 3.0])
    d = D.MixtureSameFamily(D.Categorical(ag.tensor(w)),
                            D.Normal(ag.tensor([-1.0, 2.0], dtype="float64"), 0.5))
    parts, x = [st.norm(-1, 0.5), st.norm(2, 0.5)], np.array([-1.0, 0.0, 2.5])
    np.testing.assert_allclose(ag.exp(d.log_prob(ag.tensor(x))),
                               0.25 * parts[0].pdf(x) + 0.75 * parts[1].pdf(x))
    np.testing.assert_allclose(d.cdf(ag.tensor(x)), 0.25 * parts[0].cdf(x) + 0.75 * parts[1].cdf(x))
    np.testing.assert_allclose([float(d.mean), float(d.variance)],
                               [1.25, 0.25 + 0.25 * 2.25**2 + 0.75 * 0.75**2])
    ag.manual_seed(0)
    assert abs(float(d.sample((4000,)).mean()) - 1.25) < 0.1
    many = D.MixtureSameFamily(
        D.Categorical(ag.ones(4, 2)), D.Independent(D.Normal(ag.zeros(4, 2, 3), 1.0), 1))
    assert (many.batch_shape, many.event_shape) == ((4,), (3,))
    assert many.sample((5,)).shape == (5, 4, 3) and many.log_prob(many.sample()).shape == (4,)


def test_transforms() -> None:
    T = D.transforms
    x = ag.tensor([0.3, 1.1, 2.0], dtype="float64")
    kinds = [T.ExpTransform(), T.SigmoidTransform(), T.TanhTransform(), T.SoftplusTransform(),
             T.AffineTransform(1.0, -2.0), T.PowerTransform(3.0)]
    kinds.append(T.ComposeTransform([kinds[3], kinds[4], kinds[0]]))
    for t in kinds:
        leaf = x.clone().requires_grad_()
        slope = ag.grad(t(leaf).sum(), leaf)
        np.testing.assert_allclose(t.inv(t(x)), x, rtol=1e-9)
        np.testing.assert_allclose(t.log_abs_det_jacobian(x, t(x)), np.log(np.abs(slope)),
                                   rtol=1e-9, err_msg=type(t).__name__)
        d = D.TransformedDistribution(D.Gamma(ag.tensor(2.0, dtype="float64"), 1.0), [t])
        total = quad(lambda v, d=d: math.exp(float(d.log_prob(ag.tensor(v, dtype="float64")))),
                     *sorted(t(ag.tensor([1e-6, 3.0], dtype="float64")).tolist()))[0]
        assert abs(total - st.gamma(2).cdf(3.0)) < 1e-3, type(t).__name__
    d = D.TransformedDistribution(D.Normal(ag.tensor(M), ag.tensor(B)), T.ExpTransform())
    e = D.LogNormal(ag.tensor(M), ag.tensor(B))
    for name in ("log_prob", "cdf", "icdf"):
        np.testing.assert_allclose(getattr(d, name)(ag.tensor(X)), getattr(e, name)(ag.tensor(X)))
    falling = D.TransformedDistribution(D.Normal(0.0, 1.0), [T.AffineTransform(0.0, -1.0)])
    np.testing.assert_allclose(falling.cdf(0.5), st.norm.cdf(0.5), rtol=1e-6)
    assert d.rsample((2,)).shape == (2, 3) and d.expand((4, 3)).batch_shape == (4, 3)


KL = [*((n, a) for n, a, *_ in REAL if n not in ("Gumbel", "StudentT", "Weibull", "Uniform")),
      *((n, a) for n, a, *_ in WHOLE)]


@pytest.mark.parametrize(("name", "args"), KL)
def test_divergences(name: str, args: Any) -> None:
    """Beside the integral or sum of ``p (log p - log q)``."""
    others = [a if name == "Binomial" and i == 0 else a * 1.15 for i, a in enumerate(args)]
    p, q = made(name, args), made(name, others)
    found = D.kl_divergence(p, q)
    assert np.abs(D.kl_divergence(p, p)).max() < 1e-12 and (found >= 0).all()
    if name in [w[0] for w in WHOLE]:
        n = 2 if name == "Bernoulli" else 6 if name == "Binomial" else 120
        grid, step = np.arange(n, dtype=float)[:, None] * np.ones(3), 1.0
        inside = grid <= N if name == "Binomial" else grid >= 0
        grid = np.where(inside, grid, 0)
    else:
        u = (np.arange(20000) + 0.5)[:, None] / 20000 * np.ones(3)
        grid, inside, step = SCIPY[name].ppf(u), True, 1 / 20000
    log_p, log_q = (d.log_prob(ag.tensor(grid)).numpy() for d in (p, q))
    weight = np.exp(log_p) if step == 1.0 else step
    with np.errstate(invalid="ignore"):
        total = np.nansum(np.where(inside, weight * (log_p - log_q), 0), 0)
    np.testing.assert_allclose(found, total, rtol=5e-3, atol=3e-4)


SCIPY = {name: theirs for name, _, _, theirs in REAL}


def test_divergences_of_vectors_and_categories() -> None:
    w, u = ag.tensor([0.2, 0.3, 0.5]), ag.tensor([0.3, 0.3, 0.4])
    expected = (w * ag.log(w / u)).sum()
    for kind in (D.Categorical, D.OneHotCategorical):
        np.testing.assert_allclose(D.kl_divergence(kind(w), kind(u)), expected, rtol=1e-5)
    c = np.array([[2.0, 0.3], [0.3, 1.0]])
    p = D.MultivariateNormal(ag.tensor([1.0, 2.0]), ag.tensor(c))
    q = D.MultivariateNormal(ag.tensor([0.0, 0.5]), ag.tensor(np.eye(2) * 2))
    gap = np.array([1.0, 1.5])
    known = 0.5 * (np.trace(c) / 2 + gap @ gap / 2 - 2 + np.log(4 / np.linalg.det(c)))
    np.testing.assert_allclose(D.kl_divergence(p, q), known, rtol=1e-6)
    one = D.Uniform(ag.tensor([0.0, 0.0]), 1.0)
    np.testing.assert_allclose(D.kl_divergence(one, D.Uniform(ag.tensor([-1.0, 0.5]), 1.0)),
                               [math.log(2), math.inf], rtol=1e-6)
    i = [D.Independent(D.Normal(ag.zeros(3), s), 1) for s in (1.0, 2.0)]
    each = D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(0.0, 2.0))
    np.testing.assert_allclose(D.kl_divergence(*i), 3 * each, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="no formula for the divergence of Normal from C"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))


def test_what_cannot_be_is_told() -> None:
    for wrong, text in (
        (lambda: D.Normal(0.0, -1.0), "Normal: scale must be positive"),
        (lambda: D.Uniform(1.0, 0.0), "high - low must be positive"),
        (lambda: D.Bernoulli(1.5), r"probs must be in \[0, 1\]"),
        (lambda: D.Normal(0.0, 1.0).log_prob(math.nan), "value must be real"),
        (lambda: D.Categorical(ag.ones(3)).log_prob(3), r"in \[0, 2\]"),
        (lambda: D.Poisson(1.0).log_prob(0.5), "whole number"),
        (lambda: D.Beta(1.0, 1.0).log_prob(1.5), r"in \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()
    D.Normal(0.0, -1.0, validate_args=False)
    for absent, text in ((lambda: D.Poisson(1.0).rsample(), "Poisson has no rsample"),
                         (lambda: D.Poisson(1.0).entropy(), "Poisson has no entropy"),
                         (lambda: D.Gamma(1.0, 1.0).icdf(0.5), "Gamma has no icdf")):
        with pytest.raises(NotImplementedError, match=text):
            absent()
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: float32[], scale: float32[])"
    np.testing.assert_allclose(D.Normal(0.0, 1.0).perplexity(), math.sqrt(2 * math.pi * math.e),
                               rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_quantiles_of_log_normal_rise_vertically_at_both_ends(wrap: Any) -> None:
    d = D.LogNormal(0.3, ag.tensor(0.7))
    value, slope = wrap(ag.value_and_grad(lambda q: d.icdf(q).sum()))(ag.tensor([0.0, 1.0]))
    assert value == np.inf and (np.asarray(slope) == np.inf).all()
    assert np.isnan(D.LogNormal(0.3, 0.7, False).icdf(ag.tensor([np.nan]))).all()


def test_mixtures_of_a_family_expand():
    parts = D.MultivariateNormal(ag.tensor([[0.0, 1.0], [2.0, 3.0]]), ag.eye(2))
    d = D.MixtureSameFamily(D.Categorical(ag.tensor([0.3, 0.7])), parts)
    x = ag.tensor([1.0, 2.0])
    many = d.expand((3,))
    assert (many.batch_shape, many.event_shape, many.sample((4,)).shape) == ((3,), (2,), (4, 3, 2))
    assert many.log_prob(x).tolist() == [float(d.log_prob(x))] * 3
