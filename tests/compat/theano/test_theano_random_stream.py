"""PyTensor's ``RandomStream``: its distributions beside SciPy's, and how they are called."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

from agnesi.compat import theano
from agnesi.compat.theano import tensor as T
from agnesi.compat.theano.tensor.random.utils import RandomStream

N = 4000
#: PyTensor's words, and SciPy's distribution of the same numbers.
CASES = {
    "halfnormal": ((1.0, 2.0), st.halfnorm(1.0, 2.0)), "cauchy": ((1.0, 2.0), st.cauchy(1.0, 2.0)),
    "halfcauchy": ((1.0, 2.0), st.halfcauchy(1.0, 2.0)),
    "t": ((5.0, 1.0, 2.0), st.t(5.0, 1.0, 2.0)),
    "invgamma": ((3.0, 2.0), st.invgamma(3.0, scale=2.0)),
    "gengamma": ((2.0, 3.0, 1.5), st.gengamma(2.0 / 3.0, 3.0, scale=1.5)),
    "pareto": ((3.0, 2.0), st.pareto(3.0, scale=2.0)),
    "truncexpon": ((2.0, 1.0, 3.0), st.truncexpon(2.0, 1.0, 3.0)),
    "gamma": ((2.0, 3.0), st.gamma(2.0, scale=3.0)), "weibull": ((2.0,), st.weibull_min(2.0)),
    "beta": ((2.0, 3.0), st.beta(2.0, 3.0)), "normal": ((1.0, 2.0), st.norm(1.0, 2.0)),
    "lognormal": ((0.5, 0.3), st.lognorm(0.3, scale=np.exp(0.5))),
    "triangular": ((0.0, 1.0, 3.0), st.triang(1 / 3, 0.0, 3.0)),
}
COUNTS = {
    "nbinom": ((3, 0.4), st.nbinom(3, 0.4)),
    "betabinom": ((5, 2.0, 3.0), st.betabinom(5, 2.0, 3.0)),
    "bernoulli": ((0.3,), st.bernoulli(0.3)), "integers": ((2, 7), st.randint(2, 7)),
    "hypergeometric": ((5, 6, 4), st.hypergeom(11, 5, 4)), "geometric": ((0.3,), st.geom(0.3)),
}


def drawn(x):
    return theano.function([], x)()


@pytest.mark.parametrize("name", CASES)
def test_numbers_have_scipys_distribution(name):
    params, wanted = CASES[name]
    found = drawn(getattr(RandomStream(4), name)(*params, size=(N,)))
    assert st.kstest(found, wanted.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", COUNTS)
def test_counts_have_scipys_distribution(name):
    params, wanted = COUNTS[name]
    found = drawn(getattr(RandomStream(5), name)(*params, size=N))
    assert found.dtype.kind == "i"
    assert abs(found.mean() - wanted.mean()) < 5 * wanted.std() / np.sqrt(N)
    assert found.min() >= wanted.support()[0]


def test_categories_come_up_by_their_chances():
    p = np.array([[0.1, 0.6, 0.3], [0.0, 0.0, 1.0]])
    s = RandomStream(6)
    rows, many = drawn(s.categorical(p)), drawn(s.categorical(p[0], size=(N,)))
    assert rows.shape == (2,)
    assert rows[1] == 2
    assert many.dtype == "int64"
    np.testing.assert_allclose(np.bincount(many) / N, p[0], atol=0.04)


def test_parameters_broadcast_and_every_number_is_another_draw():
    s, loc = RandomStream(7), T.dvector("loc")
    f = theano.function(
        [loc], [s.t(5.0, loc, [[1.0], [2.0]]), s.cauchy(loc), s.halfnormal(loc, 0.1)])
    for _ in range(2):
        wide, line, half = f(np.zeros(3))
        assert wide.shape == (2, 3)
        assert len(np.unique(wide)) == 6
        assert len(np.unique(line)) == len(np.unique(half)) == 3
        assert (half >= 0).all()


def test_calls_are_pytensors():
    s = RandomStream(8)
    x = T.dvector("x")
    assert drawn(s.normal(0.0, 1.0, (2, 3))).shape == (2, 3)
    assert drawn(s.beta(alpha=1.0, beta=2.0, size=2)).shape == (2,)
    assert drawn(s.choice([5, 6], (4,), True, [0.0, 1.0])).tolist() == [6] * 4
    assert drawn(s.multinomial(4, [0.0, 1.0])).tolist() == [0, 4]
    assert drawn(s.dirichlet(alphas=[1.0, 2.0])).shape == (2,)
    assert sorted(drawn(s.permutation(5))) == list(range(5))
    mixed = theano.function([x], s.permutation(x))([3.0, 1.0, 2.0])
    assert sorted(mixed) == [1.0, 2.0, 3.0]
    assert s.uniform(name="u", dtype="float32").dtype == "float32"
    assert s.uniform(name="u").name == "u"
    with pytest.raises(TypeError, match="scale"):
        s.halfnormal(1.0, scales=2.0)


def test_distributions_are_functions_too():
    f = theano.function([], [T.random.normal(0.0, 1.0, size=(3,)), T.random.uniform(size=2)])
    first, second = f(), f()
    assert first[0].shape == (3,)
    assert (first[0] != second[0]).all()
    assert (first[1] != second[1]).all()
