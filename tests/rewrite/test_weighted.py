"""Sums of exponentials with weights, their logarithms and quotients: value and gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import agnesi as ag

MASK = np.array([1.0, 1.0, 0.0])
Z = (np.array([1000.0, 0.0, -1000.0]), np.array([-1000.0, -1001.0, -1003.0]),
     np.array([0.3, -1.2, 2.5]), np.array([800.0, 801.0, 1900.0]))


def _shares(z):
    e = np.exp(np.where(MASK > 0, z - z[:2].max(), -np.inf))
    return e / e.sum()


PROPORTIONS = {
    "mask": lambda z: MASK * ag.exp(z) / ag.sum(MASK * ag.exp(z)),
    "where": lambda z: ag.where(MASK > 0, ag.exp(z), 0) / ag.sum(
        ag.where(MASK > 0, ag.exp(z), 0)),
    "softmax": lambda z: ag.softmax(z, 0) * MASK / ag.sum(ag.softmax(z, 0) * MASK),
}


@pytest.mark.parametrize("z", Z, ids=str)
def test_logarithm_of_masked_sum(z):
    f = lambda z: ag.log(ag.sum(MASK * ag.exp(z)))  # noqa: E731
    value, slope = ag.jit(ag.value_and_grad(f))(ag.tensor(z))
    np.testing.assert_allclose(value, np.logaddexp(z[0], z[1]), 1e-14)
    np.testing.assert_allclose(slope, _shares(z), 1e-12, 1e-300)


@pytest.mark.parametrize("z", Z, ids=str)
@pytest.mark.parametrize("name", PROPORTIONS)
def test_proportions(name, z):
    np.testing.assert_allclose(ag.jit(PROPORTIONS[name])(ag.tensor(z)), _shares(z), 1e-12, 1e-300)


def test_mean_by_exponentials():
    f = lambda z, v: ag.sum(ag.exp(z) * v) / ag.sum(ag.exp(z))  # noqa: E731
    z, v = np.array([800.0, 801.0, 799.5]), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ag.jit(f)(ag.tensor(z), ag.tensor(v)), 1.9090204855439394, 1e-14)


def _pair(z, w):
    return [w[..., i] * ag.exp(z[..., i]) for i in (0, 1)]


def _of_pair(f):
    return lambda z, w: f(z, *_pair(z, w))


OF_WEIGHTS = {
    "log sum": lambda z, w: ag.log(ag.sum(w * ag.exp(z), axis=-1)),
    "log sum of quotients": lambda z, w: ag.log(ag.sum(ag.exp(z) / w, axis=-1)),
    "log of two": _of_pair(lambda z, a, b: ag.log(a + b)),
    "log of difference": _of_pair(lambda z, a, b: ag.log(a - b)),
    "log of difference from sigmoid": lambda z, w: ag.log(
        w[..., 0] * ag.exp(z[..., 0]) - w[..., 1] * ag.sigmoid(z[..., 1])),
    "log of labelled sigmoid": lambda z, w: ag.log(
        w * ag.sigmoid(z) + (1 - w) * (1 - ag.sigmoid(z))),
    "shares": lambda z, w: w * ag.exp(z) / ag.sum(w * ag.exp(z), axis=-1, keepdims=True),
    "masked": lambda z, w: ag.where(w > 0, ag.exp(z), 0) / ag.sum(
        ag.where(w > 0, ag.exp(z), 0), axis=-1, keepdims=True),
    "softmax": lambda z, w: ag.softmax(z, -1) * w / ag.sum(
        ag.softmax(z, -1) * w, axis=-1, keepdims=True),
    "mean": lambda z, w: ag.sum(w * ag.exp(z), axis=-1) / ag.sum(ag.exp(z), axis=-1),
    "share of two": _of_pair(lambda z, a, b: a / (a + b)),
    "mean of two": _of_pair(lambda z, a, b: (a + b) / (ag.exp(z[..., 0]) + ag.exp(z[..., 1]))),
}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0)


@pytest.mark.parametrize("name", OF_WEIGHTS)
def test_special_values(name):
    """Values and slopes are those of the program as written; where a logit or a weight is infinite,
    there may be a limit for NaN."""
    def f(z, w):
        y, pull = ag.vjp(OF_WEIGHTS[name], z, w)
        return (y, *pull(ag.ones_like(y)))

    points = np.array(list(itertools.product(SPECIAL, repeat=4)))
    infinite = np.isinf(points).any(1)
    z, w = ag.tensor(points[:, :2].copy()), ag.tensor(points[:, 2:].copy())
    for written, compiled in zip(f(z, w), ag.jit(f)(z, w), strict=True):
        a, b = (t.numpy().reshape(len(points), -1) for t in (written, compiled))
        nearer = np.isnan(a) & infinite[:, None]
        np.testing.assert_allclose(np.where(nearer, 0, b), np.where(nearer, 0, a), 1e-9, 1e-14)


def test_only_sums_that_overflow_are_shifted():
    """A sum without exponentials, or of sigmoids alone, is as written; no one near 1 is shifted."""
    z, w = ag.tensor(np.array([0.5, 2.0])), ag.tensor(np.array([1.5, -0.25]))
    for f in (lambda z, w: ag.log(ag.sum(w * ag.tanh(z))),
              lambda z, w: ag.log(ag.sum(w * ag.sigmoid(z)))):
        jitted = ag.jit(f)
        jitted(z, w)
        assert "log_inside" not in str(jitted.rewrites())
    f = ag.jit(lambda z, w: ag.log(w * ag.exp(z) + (1 - w) * ag.exp(-z)))
    at = [ag.tensor(np.float64(v)) for v in (-1e-6, 1)]
    np.testing.assert_allclose(f(*at), -1e-6, 1e-9)


def test_greater_exponent_above_the_line_overflows():
    f = ag.jit(lambda x, y, z, w: (w * ag.exp(x) + ag.exp(y)) / (ag.exp(y) + ag.exp(z)))
    x = [ag.tensor(np.float64(v)) for v in (700, -300, -301)]
    assert np.isinf(f(*x, ag.tensor(np.float64(1.5))).numpy())
    np.testing.assert_allclose(f(*x, ag.tensor(np.float64(0))), 1 / (1 + np.exp(-1)), 1e-14)


def test_logarithm_of_power():
    f = ag.jit(lambda z, w: ag.log(ag.sigmoid(z) ** w))
    points = np.array(list(itertools.product((*SPECIAL, 900.0), SPECIAL)))
    z, w = ag.tensor(points[:, 0].copy()), ag.tensor(points[:, 1].copy())
    np.testing.assert_allclose(f(z, w), ag.log(ag.sigmoid(z) ** w), 1e-12)
    np.testing.assert_allclose(f(ag.tensor(np.float64(-900)), ag.tensor(np.float64(2))), -1800.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("f", [
    lambda e, c: ag.log(0.5 * ag.special.erfc(e - c[1]) - 0.5 * ag.special.erfc(e - c[0])),
    lambda e, c: ag.log(ag.special.ndtr(c[1] - e) - ag.special.ndtr(c[0] - e)),
    lambda e, c: ag.log(0.3 * ag.special.ndtr(c[0] - e) + 0.7 * ag.special.ndtr(c[1] - e)),
    lambda e, c: ag.log(0.3 * ag.special.erfc(c[1] - e)
                        + 0.7 * ag.special.erfc(c[0] - e)),
])
@pytest.mark.parametrize("bounds", [(-np.inf, -1), (-1, np.inf), (-np.inf, np.inf)])
def test_intervals_without_an_end_have_gradients(f, bounds, dtype):
    """Those of ordinal and of truncated distributions: an infinite slope has the weight 0."""
    e, c = ag.tensor(0.3, dtype=dtype), ag.tensor(bounds, dtype=dtype)
    for g in (f, ag.grad(f), ag.grad(f, 1)):
        eager = g(e, c).numpy()
        assert np.isfinite(eager).all()
        np.testing.assert_allclose(ag.jit(g)(e, c).numpy(), eager, rtol=1e-5, atol=1e-7)


#: A reduction in some of the places beside the matrix that it is of.
PLACES = ("{r}(0)", "{r}(1)", "{r}(0)[:, None]", "{r}(1, keepdims=True)", "{r}(1, keepdims=True).T")


@pytest.mark.parametrize("peak", ["0.0", "x.max(0)", "x.max(1, keepdims=True)"])
def test_sums_of_square_matrices_may_meet_other_axes_than_their_own(peak):
    """Quotients are softmaxes alone where sums stand beside what they are of; of exponents less a
    peak, where it is the same in all that is summed."""
    texts = [f"{above} / {p.format(r=f'({whole}).sum')}" for p in PLACES for above, whole in (
        ("e", "e"), ("v * e", "v * e"), ("ag.where(v > 0, e, 0.0)", "e"))]
    f = eval(f"lambda x, v: (lambda e: [{', '.join(texts)}])(ag.exp(x - {peak}))", {"ag": ag})
    x, v = (ag.tensor(np.random.default_rng(i).normal(size=(2, 2))) for i in range(2))
    for text, eager, compiled in zip(texts, f(x, v), ag.jit(f)(x, v), strict=True):
        assert np.allclose(eager, compiled, 1e-9, 1e-9), text
