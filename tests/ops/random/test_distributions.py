"""Distributions: against SciPy's, compiled against eager, batched, their errors."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import agnesi as ag
from agnesi.api.random import Generator
from agnesi.ops.random.samplers import _ARRAYS, _factorial

N = 6000
CONTINUOUS = {
    "cauchy": (("cauchy", 1.0, 2.0), st.cauchy(1, 2)),
    "standard_cauchy": (("standard_cauchy",), st.cauchy()),
    "laplace": (("laplace", 1.0, 2.0), st.laplace(1, 2)),
    "logistic": (("logistic", 1.0, 2.0), st.logistic(1, 2)),
    "gumbel": (("gumbel", 1.0, 2.0), st.gumbel_r(1, 2)),
    "uniform": (("uniform", -1.0, 2.0), st.uniform(-1, 3)),
    "random": (("random",), st.uniform()),
    "normal": (("normal", 1.0, 2.0), st.norm(1, 2)),
    "standard_normal": (("standard_normal",), st.norm()),
    "exponential": (("exponential", 3.0), st.expon(scale=3)),
    "standard_exponential": (("standard_exponential",), st.expon()),
    "lognormal": (("lognormal", 1.0, 0.5), st.lognorm(0.5, scale=np.e)),
    "pareto": (("pareto", 3.0), st.lomax(3)),
    "power": (("power", 3.0), st.powerlaw(3)),
    "rayleigh": (("rayleigh", 3.0), st.rayleigh(scale=3)),
    "rice": (("rice", 3.0, 2.0), st.rice(1.5, scale=2)),
    "weibull": (("weibull", 3.0), st.weibull_min(3)),
    "triangular": (("triangular", -1.0, 0.0, 4.0), st.triang(0.2, -1, 5)),
    "wald": (("wald", 2.0, 3.0), st.invgauss(2 / 3, scale=3)),
    "wald, skew": (("wald", 50.0, 0.5), st.invgauss(100, scale=0.5)),
    "truncated_normal": (("truncated_normal", -1.0, 5.0, 1.0, 2.0), st.truncnorm(-1, 2, 1, 2)),
    "truncated_normal, tail": (("truncated_normal", 5.0, 6.0, 0.0, 1.0), st.truncnorm(5, 6)),
    "gamma, tiny": (("gamma", 0.05, 2.0), st.gamma(0.05, scale=2)),
    "gamma, small": (("gamma", 0.5, 2.0), st.gamma(0.5, scale=2)),
    "gamma": (("gamma", 3.0, 2.0), st.gamma(3, scale=2)),
    "standard_gamma": (("standard_gamma", 100.0), st.gamma(100)),
    "chisquare": (("chisquare", 3.0), st.chi2(3)),
    "beta": (("beta", 0.5, 2.0), st.beta(0.5, 2)),
    "f": (("f", 3.0, 7.0), st.f(3, 7)),
    "standard_t": (("standard_t", 3.0), st.t(3)),
    "noncentral_chisquare": (("noncentral_chisquare", 0.5, 3.0), st.ncx2(0.5, 3)),
    "noncentral_chisquare, far": (("noncentral_chisquare", 5.0, 300.0), st.ncx2(5, 300)),
    "noncentral_f": (("noncentral_f", 3.0, 5.0, 2.0), st.ncf(3, 5, 2)),
    "vonmises": (("vonmises", 0.5, 2.0), st.vonmises(2, loc=0.5)),
    "vonmises, even": (("vonmises", 0.0, 0.0), st.uniform(-np.pi, 2 * np.pi)),
    "vonmises, narrow": (("vonmises", 0.0, 1000.0), st.vonmises(1000)),
}
DISCRETE = {
    "poisson, rare": (("poisson", 0.1), st.poisson(0.1)),
    "poisson, few": (("poisson", 9.9), st.poisson(9.9)),
    "poisson": (("poisson", 10.0), st.poisson(10)),
    "poisson, many": (("poisson", 1e6), st.poisson(1e6)),
    "binomial, few": (("binomial", 10, 0.3), st.binom(10, 0.3)),
    "binomial, turned": (("binomial", 20, 0.9), st.binom(20, 0.9)),
    "binomial": (("binomial", 100, 0.3), st.binom(100, 0.3)),
    "binomial, rare": (("binomial", 100_000, 1e-5), st.binom(100_000, 1e-5)),
    "binomial, many": (("binomial", 10**6, 0.7), st.binom(10**6, 0.7)),
    "negative_binomial": (("negative_binomial", 3.5, 0.3), st.nbinom(3.5, 0.3)),
    "hypergeometric, few": (("hypergeometric", 5, 7, 4), st.hypergeom(12, 5, 4)),
    "hypergeometric, most": (("hypergeometric", 5, 7, 9), st.hypergeom(12, 5, 9)),
    "hypergeometric": (("hypergeometric", 50, 700, 400), st.hypergeom(750, 50, 400)),
    "hypergeometric, turned": (("hypergeometric", 700, 50, 100), st.hypergeom(750, 700, 100)),
    "hypergeometric, many": (
        ("hypergeometric", 10_000, 20_000, 15_000), st.hypergeom(30_000, 10_000, 15_000)
    ),
    "zipf": (("zipf", 2.5), st.zipf(2.5)),
    "zipf, long": (("zipf", 1.3), st.zipf(1.3)),
    "geometric": (("geometric", 0.2), st.geom(0.2)),
    "logseries": (("logseries", 0.8), st.logser(0.8)),
    "integers": (("integers", 3, 9), st.randint(3, 9)),
}
OTHERS = {
    "multinomial": ("multinomial", 50, [0.2, 0.3, 0.5]),
    "multivariate_normal": ("multivariate_normal", [1.0, 2.0], [[2.0, 1.0], [1.0, 3.0]]),
    "multivariate_hypergeometric": ("multivariate_hypergeometric", [5, 10, 3], 8),
    "dirichlet": ("dirichlet", [0.5, 1.0, 2.0]),
    "categorical": ("categorical", [0.0, 1.0, -1.0]),
    "choice": ("choice", 5),
}


def draw(generator, what, size, **keywords):
    name, *args = what
    return getattr(generator, name)(*args, size, **keywords)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name):
    what, expected = CONTINUOUS[name]
    x = draw(Generator(3), what, N, dtype="float64")
    assert x.dtype == "float64"
    assert st.kstest(x.numpy(), expected.cdf).pvalue > 1e-3
    single = draw(Generator(4), what, (N // 2, 1)).numpy()
    assert single.dtype == "float32"
    assert single.shape == (N // 2, 1)
    assert st.kstest(single.ravel().astype("float64"), expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name):
    what, expected = DISCRETE[name]
    x = draw(Generator(5), what, N)
    assert x.dtype == "int64"
    edges = np.unique(expected.ppf(np.linspace(0, 1, 25)[1:-1]))
    chances = np.diff([0, *expected.cdf(edges), 1])
    found = np.bincount(np.searchsorted(edges, x.numpy()), minlength=len(chances))
    possible = chances > 1e-12
    assert not found[~possible].any()
    assert st.chisquare(found[possible], chances[possible] * N).pvalue > 1e-3
    assert expected.support()[0] <= x.numpy().min()
    assert x.numpy().max() <= expected.support()[1]


@pytest.mark.share(64)
@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE, *OTHERS])
def test_compiled_draws_are_those_of_eager_ones_and_leave_the_same_state(name):
    what = {**CONTINUOUS, **DISCRETE}.get(name, (OTHERS.get(name),))[0]
    a, b = Generator(6), Generator(6)
    compiled = ag.jit(lambda: draw(b, what, 37))
    for _ in range(2):
        x, y = draw(a, what, 37), compiled()
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=2e-5, atol=2e-6)
    assert (a.state == b.state).all()


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["gamma", "poisson, few", "poisson", "binomial", "normal", "beta"])
def test_parameters_that_compiled_functions_are_given_draw_the_same(name):
    what = {**CONTINUOUS, **DISCRETE}[name][0]
    a, b = Generator(2), Generator(2)
    compiled = ag.jit(lambda *params: getattr(b, what[0])(*params, size=50))
    for _ in range(2):
        expected = getattr(a, what[0])(*what[1:], size=50)
        np.testing.assert_allclose(compiled(*what[1:]).numpy(), expected.numpy(), rtol=2e-5)


STEPPED = [("poisson", 3.0), ("poisson", 50.0), ("binomial", 20, 0.3), ("binomial", 1000, 0.6),
           ("gamma", 2.5), ("gamma", 0.5), ("hypergeometric", 100, 200, 60),
           ("hypergeometric", 10, 20, 6), ("zipf", 2.5), ("vonmises", 0.5, 2.0)]


@pytest.mark.share(18)
@pytest.mark.parametrize("what", STEPPED, ids=lambda what: "-".join(map(str, what)))
@pytest.mark.parametrize("n", [0, 1, 7, 33, 20_001])
def test_numbers_in_steps_are_the_same_eager_compiled_and_on_threads(what, n):
    name, *params = what
    found = []
    for threads in (0, 1, 2):
        g = Generator(5)
        draw = functools.partial(getattr(g, name), *params, size=n)
        if threads:
            with ag.config(threads=threads):
                function = ag.jit(draw)
                found.append([function().numpy(), function().numpy(), g.state.numpy()])
        else:
            found.append([draw().numpy(), draw().numpy(), g.state.numpy()])
    for other in found[1:]:
        for x, y in zip(found[0], other, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5)
    if n > 1000:
        assert (found[0][0] != found[0][1]).mean() > 0.1


def test_numbers_in_steps_differ_from_example_to_example():
    lam = ag.tensor(np.linspace(1.0, 60.0, 5))
    each = ag.vmap(lambda lam: ag.random.poisson(lam, 4000))
    for function in (each, ag.jit(each)):
        x = function(lam).numpy()
        np.testing.assert_allclose(x.mean(1), lam.numpy(), rtol=0.05)
        assert abs(np.corrcoef(x)[np.triu_indices(5, 1)]).max() < 0.06


def test_logarithms_of_factorials():
    k = np.array([0.0, 1, 2, 5, 20, 1e3, 1e6, 1e12, 1e18])
    found = _factorial(_ARRAYS, k)
    np.testing.assert_allclose(found, sp.gammaln(k + 1), rtol=1e-13, atol=1e-12)


def test_counts_of_several_kinds():
    x = Generator(0).multinomial(30, [0.2, 0.5, 0.3], N).numpy()
    p = np.array([0.2, 0.5, 0.3])
    assert (x.sum(1) == 30).all()
    np.testing.assert_allclose(x.mean(0), 30 * p, atol=0.2)
    np.testing.assert_allclose(np.cov(x.T), 30 * (np.diag(p) - np.outer(p, p)), atol=0.5)
    x = Generator(0).multivariate_hypergeometric([5, 10, 3], 8, N).numpy()
    expected = st.multivariate_hypergeom([5, 10, 3], 8)
    assert (x.sum(1) == 8).all()
    np.testing.assert_allclose(x.mean(0), expected.mean(), atol=0.06)
    np.testing.assert_allclose(np.cov(x.T), expected.cov(), atol=0.08)
    many = Generator(0).multinomial([3, 9], [[1.0, 0.0], [0.0, 1.0]])
    assert many.tolist() == [[3, 0], [0, 9]]


@pytest.mark.parametrize("method", ["cholesky", "eigh"])
def test_normal_vectors(method):
    cov = [[2.0, 1.0], [1.0, 3.0]]
    x = Generator(0).multivariate_normal([1.0, -1.0], cov, N, method=method, dtype="float64")
    np.testing.assert_allclose(x.numpy().mean(0), [1, -1], atol=0.1)
    np.testing.assert_allclose(np.cov(x.numpy().T), cov, atol=0.2)
    singular = Generator(0).multivariate_normal([0.0, 0.0], np.ones((2, 2)), 9, method="eigh")
    np.testing.assert_allclose(singular[:, 0], singular[:, 1], atol=1e-5)


def test_shares():
    x = Generator(0).dirichlet([0.5, 1.0, 2.0], N, dtype="float64").numpy()
    np.testing.assert_allclose(x.sum(1), 1)
    assert st.kstest(x[:, 0], st.beta(0.5, 3).cdf).pvalue > 1e-3
    tiny = Generator(0).dirichlet([1e-4, 1e-4], 50).numpy()
    assert np.isfinite(tiny).all()


def test_categories_and_choices():
    x = Generator(0).categorical(np.log([[0.2, 0.8], [0.5, 0.5]]), N, axis=1).numpy()
    assert x.shape == (N, 2)
    np.testing.assert_allclose(x.mean(0), [0.8, 0.5], atol=0.03)
    first = [Generator(s).choice(3, 2, p=[0.6, 0.3, 0.1], replace=False).tolist()
             for s in range(1500)]
    pairs = {(0, 1): 0.6 * 0.3 / 0.4, (1, 0): 0.3 * 0.6 / 0.7, (0, 2): 0.6 * 0.1 / 0.4,
             (2, 0): 0.1 * 0.6 / 0.9, (1, 2): 0.3 * 0.1 / 0.7, (2, 1): 0.1 * 0.3 / 0.9}
    found = [first.count(list(pair)) for pair in pairs]
    assert st.chisquare(found, np.array(list(pairs.values())) * 1500).pvalue > 1e-3


def test_integers_of_all_widths():
    g = Generator(0)
    x = g.integers(0, 2**64 - 1, N, dtype="uint64", endpoint=True).numpy()
    assert st.kstest(x / 2.0**64, st.uniform().cdf).pvalue > 1e-3
    y = g.integers(-(2**62), 2**62 + 5, N).numpy()
    assert y.min() >= -(2**62)
    assert st.kstest(y / 2.0**63 + 0.5, st.uniform().cdf).pvalue > 1e-3
    assert set(g.integers(-1, 1, 200, endpoint=True, dtype="int8").tolist()) == {-1, 0, 1}
    assert g.integers(5).shape == ()
    with pytest.raises(ValueError, match="int8"):
        g.integers(0, 300, 2, dtype="int8")
    with pytest.raises(TypeError, match="integer dtype"):
        g.integers(0, 2**40, 2, dtype="float32")


def test_orders_and_bytes():
    g = Generator(0)
    x = g.permuted(ag.reshape(ag.arange(12), (3, 4)), axis=1).numpy()
    assert (np.sort(x, 1) == np.arange(12).reshape(3, 4)).all()
    assert not (np.diff(x % 4, axis=0) == 0).all()
    assert sorted(g.permuted(x).numpy().ravel()) == list(range(12))
    data = g.bytes(1001)
    assert isinstance(data, bytes)
    assert len(data) == 1001
    assert len(set(data)) > 200


def test_parameters_broadcast_and_size_may_be_missing():
    g = Generator(0)
    x = g.gamma([1.0, 100.0], [[1.0], [1000.0]])
    assert x.shape == (2, 2)
    assert x.dtype == "float32"
    assert g.normal(ag.tensor([0.0, 9.0], dtype="float64"), 1.0).shape == (2,)
    assert g.choice(5, size=(2, 3), p=[0.2] * 5).shape == (2, 3)
    assert g.bernoulli(0.5, size=4).shape == (4,)
    assert g.uniform([0.0, 5.0], np.array([1.0, 6.0])).shape == (2,)
    assert g.normal([[1.0], [2.0]], [1, 2, 3]).shape == (2, 3)
    assert g.poisson(ag.tensor([1.0, 2.0]), (3, 2)).shape == (3, 2)
    assert g.beta(2.0, 3.0).shape == ()
    assert g.gamma(ag.tensor(2.0, dtype="float64")).dtype == "float64"
    assert g.normal(size=3, dtype="float16").dtype == "float16"


def test_examples_of_a_batch_draw_by_their_own_parameters():
    scales = ag.tensor([1.0, 100.0, 10_000.0])
    g, h = Generator(0), Generator(0)
    x = ag.vmap(lambda lam: g.poisson(lam, 4))(scales)
    assert x.shape == (3, 4)
    assert (np.abs(x.numpy() - scales.numpy()[:, None]) < 6 * scales.numpy()[:, None] ** 0.5).all()
    y = ag.jit(ag.vmap(lambda lam: h.poisson(lam, 4)))(scales)
    assert (x == y).all()


def test_no_number_gives_no_number_where_results_are_floats():
    g, nan = Generator(0), ag.tensor([np.nan, np.nan])
    for name in ("gamma", "exponential", "rayleigh", "standard_t", "weibull"):
        assert np.isnan(getattr(g, name)(nan).numpy()).all()
    assert np.isnan(g.normal(0.0, nan).numpy()).all()
    assert np.isnan(g.normal(0.0, np.nan, 2).numpy()).all()
    assert g.gamma(ag.zeros(2)).tolist() == [0, 0]


NAN = float("nan")
#: A distribution, parameters that are out of range, and what is told; NumPy refuses all of them.
OUT_OF_RANGE = [
    ("poisson", (-1.0,), "lam must be at least 0, not -1.0"),
    ("poisson", (NAN,), "lam must be at least 0, not nan"),
    ("binomial", (-3.0, 0.5), "n must be at least 0, not -3.0"),
    ("binomial", (3, 1.5), "p must be in [0, 1], not 1.5"),
    ("binomial", (3, NAN), "p must be in [0, 1], not nan"),
    ("negative_binomial", (0.0, 0.5), "n must be positive, not 0.0"),
    ("negative_binomial", (3.0, 0.0), "p must be in (0, 1], not 0.0"),
    ("geometric", (0.0,), "p must be in (0, 1], not 0.0"),
    ("logseries", (1.0,), "p must be in [0, 1), not 1.0"),
    ("zipf", (1.0,), "a must be greater than 1, not 1.0"),
    ("hypergeometric", (1.0, 2.0, 4.0),
     "nsample <= ngood + nbad must hold, not ngood = 1.0, nbad = 2.0, nsample = 4.0"),
    ("hypergeometric", (-1.0, 2.0, 1.0), "ngood must be at least 0, not -1.0"),
    ("standard_gamma", (-1.0,), "shape must be at least 0, not -1.0"),
    ("gamma", (1.0, -2.0), "scale must be at least 0, not -2.0"),
    ("chisquare", (0.0,), "df must be positive, not 0.0"),
    ("beta", (0.0, 1.0), "a must be positive, not 0.0"),
    ("f", (1.0, -1.0), "dfden must be positive, not -1.0"),
    ("standard_t", (0.0,), "df must be positive, not 0.0"),
    ("dirichlet", ([1.0, -1.0],), "alpha must be at least 0, not -1.0"),
    ("multinomial", (3, [0.5, -0.5]), "pvals must be in [0, 1], not -0.5"),
    ("multinomial", (-3.0, [0.5, 0.5]), "n must be at least 0, not -3.0"),
    ("multivariate_hypergeometric", ([-1.0, 2.0], 1), "colors must be at least 0, not -1.0"),
    ("normal", (0.0, -1.0), "std must be at least 0, not -1.0"),
    ("lognormal", (0.0, -1.0), "sigma must be at least 0, not -1.0"),
    ("exponential", (-1.0,), "scale must be at least 0, not -1.0"),
    ("gumbel", (0.0, -1.0), "scale must be at least 0, not -1.0"),
    ("laplace", (0.0, -1.0), "scale must be at least 0, not -1.0"),
    ("logistic", (0.0, -1.0), "scale must be at least 0, not -1.0"),
    ("cauchy", (0.0, -1.0), "scale must be at least 0, not -1.0"),
    ("rayleigh", (-1.0,), "scale must be at least 0, not -1.0"),
    ("rice", (1.0, -1.0), "sigma must be at least 0, not -1.0"),
    ("pareto", (0.0,), "a must be positive, not 0.0"),
    ("power", (-1.0,), "a must be positive, not -1.0"),
    ("weibull", (-1.0,), "a must be positive, not -1.0"),
    ("wald", (1.0, 0.0), "scale must be positive, not 0.0"),
    ("vonmises", (0.0, -1.0), "kappa must be at least 0, not -1.0"),
    ("noncentral_chisquare", (1.0, -1.0), "nonc must be at least 0, not -1.0"),
    ("noncentral_f", (1.0, 0.0, 1.0), "dfden must be positive, not 0.0"),
    ("triangular", (0.0, 2.0, 1.0),
     "left <= mode <= right and left < right must hold, not left = 0.0, mode = 2.0, right = 1.0"),
    ("truncated_normal", (2.0, 1.0), "low <= high must hold, not low = 2.0, high = 1.0"),
    ("uniform", (2.0, 1.0),
     "low <= high must hold, at a finite distance, not low = 2.0, high = 1.0"),
    ("bernoulli", (1.5,), "p must be in [0, 1], not 1.5"),
]


@pytest.mark.share(12)
@pytest.mark.parametrize(("name", "params", "text"), OUT_OF_RANGE)
@pytest.mark.parametrize("way", ["numbers", "tensors", "compiled"])
def test_parameters_out_of_range(name, params, text, way):
    draw = getattr(Generator(0), name)
    if way != "numbers":
        params = [ag.tensor([p, p], dtype="float64") if np.ndim(p) == 0 else ag.tensor(p)
                  for p in params]
    if way == "compiled":
        draw = ag.jit(lambda *xs: getattr(Generator(0), name)(*xs))
        text = text.partition(", not")[0]
    with pytest.raises(ValueError) as caught:
        draw(*params)
    told, _, place = str(caught.value).partition("\n")
    assert told.startswith(f"{name}(") and told.endswith(f"): {text}")
    assert "test_distributions.py" in place


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda g: g.choice(2, p=[0.0, 0.0]), ValueError, "p must be at least 0 everywhere and"),
        (lambda g: g.choice(2, p=[1.0, -1.0]), ValueError, "p must be at least 0 everywhere and"),
        (lambda g: g.multivariate_hypergeometric([1, 2], 5), ValueError, "the sum of colors"),
        (lambda g: ag.nn.functional.dropout(ag.ones(3), 1.5), ValueError, "p must be in [0, 1]"),
        (lambda g: ag.random.dropout_mask(3, -0.5), ValueError, "p must be in [0, 1]"),
        (lambda g: ag.random.randint(ag.tensor(3), 2), ValueError, "low < high must hold"),
        (lambda g: g.dirichlet(1.0), ValueError, "alpha needs an axis"),
        (lambda g: g.categorical(1.0), ValueError, "logits need an axis"),
        (lambda g: g.multivariate_normal([0.0, 1.0], [1.0, 1.0]), ValueError, "(..., 2, 2)"),
        (lambda g: g.multivariate_normal([0.0], [[1.0]], method="svd"), ValueError, "'eigh'"),
        (lambda g: g.gamma(1.0, dtype="int32"), TypeError, "float dtype"),
        (lambda g: g.normal(0.0, 1.0, 2, 3), TypeError, "takes from 0 to 3 positional arguments"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error) as caught:
        call(Generator(0))
    assert words in str(caught.value)


@pytest.mark.share(2)
@pytest.mark.parametrize("n", [0, 1, 2, 19, 20])
def test_few_trials_are_drawn_alike_whether_or_not_their_number_is_known(n):
    p = ag.tensor(np.linspace(0.0, 1.0, 101))

    def draw(n):
        return ag.random.binomial(n, p), ag.random.uniform(0.0, 1.0, 3)

    found = []
    for run in (lambda: draw(n), lambda: draw(ag.tensor(n)), ag.jit(lambda: draw(n))):
        ag.manual_seed(3)
        found.append([np.asarray(x) for x in run()])
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])
