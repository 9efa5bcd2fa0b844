"""Shared generators of NumPy's, as PyTensor's programs draw from them: the same numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from agnesi.compat import theano
from agnesi.compat.theano import tensor as T

CASES = {
    "uniform": (-1, 2), "normal": (1.0, 2.0), "integers": (0, 10), "gamma": (2.0, 3.0),
    "beta": (2.0, 3.0), "poisson": (4.0,), "binomial": (100, 0.3), "exponential": (2.0,),
    "lognormal": (0.0, 1.0), "geometric": (0.3,), "triangular": (0.0, 0.5, 1.0),
    "negative_binomial": (5, 0.3), "dirichlet": ([1.0, 2.0],), "multinomial": (5, [0.2, 0.8]),
    "multivariate_normal": ([0.0, 1.0], np.eye(2)), "choice": (np.arange(5),)}
COMPOSED = {"bernoulli": (0.4,), "categorical": ([0.2, 0.3, 0.5],), "halfnormal": (), "t": (3.0,),
            "cauchy": (), "pareto": (2.0,)}


def _numpy(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_numpys(name):
    rng, ours = theano.shared(_numpy()), _numpy()
    following, x = getattr(T.random, name)(*CASES[name], size=(4, 2), rng=rng).owner.outputs
    f = theano.function([], x, updates={rng: following})
    for _ in range(2):
        found, expected = f(), getattr(ours, name)(*CASES[name], size=(4, 2))
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    assert rng.get_value().random() == ours.random()


@pytest.mark.parametrize("name", COMPOSED)
def test_what_is_computed_of_draws_moves_the_generator(name):
    rng = theano.shared(_numpy())
    following, x = getattr(T.random, name)(*COMPOSED[name], size=(50,), rng=rng).owner.outputs
    f = theano.function([], x, updates={rng: following})
    assert f().shape == (50,) and not np.array_equal(f(), f())


def test_open_sizes_and_permutations():
    rng, ours = theano.shared(_numpy()), _numpy()
    mean, n = T.dvector(), T.lscalar()
    following, x = T.random.normal(mean, 2.0, size=(n, mean.shape[0]), rng=rng).owner.outputs
    f = theano.function([mean, n], x, updates={rng: following})
    for k in (2, 5, 0):
        np.testing.assert_array_equal(f(np.arange(3.0), k), ours.normal(np.arange(3.0), 2, (k, 3)))
    found = T.random.permutation(np.arange(6), rng=theano.shared(_numpy())).eval()
    np.testing.assert_array_equal(found, _numpy().permutation(6))


def test_without_update_again_the_same_and_default_updates():
    rng = theano.shared(_numpy())
    x = T.random.normal(rng=rng, size=(2,))
    f = theano.function([], x)
    assert np.array_equal(f(), f())
    rng.set_value(_numpy(9))
    np.testing.assert_array_equal(f(), _numpy(9).normal(size=2))
    rng.default_update = x.owner.outputs[0]
    f, ours = theano.function([], x), _numpy(9)
    for _ in range(2):
        np.testing.assert_array_equal(f(), ours.normal(size=2))


def test_methods_and_scan():
    rng, ours = theano.shared(_numpy()), _numpy()
    second, a = rng.uniform(0.1, 0.9, size=(2,))
    third, b = second.normal(size=(3,))
    found = theano.function([], [a, b], updates={rng: third})()
    np.testing.assert_array_equal(found[0], ours.uniform(0.1, 0.9, 2))
    np.testing.assert_array_equal(found[1], ours.normal(size=3))

    def step(h):
        following, x = T.random.normal(h, 1.0, rng=rng).owner.outputs
        return x, {rng: following}

    steps, updates = theano.scan(step, outputs_info=[T.constant(0.0)], n_steps=4)
    h = 0.0
    expected = [h := ours.normal(h, 1.0) for _ in range(4)]
    np.testing.assert_allclose(theano.function([], steps, updates=updates)(), expected)


def test_generators_are_inputs_and_outputs():
    rng = T.random.rng("rng")
    following, x = T.random.uniform(rng=rng, size=2, return_next_rng=True)
    f, given, ours = theano.function([theano.In(rng, mutable=True)], [following, x]), _numpy(), (
        _numpy())
    for _ in range(2):
        given, found = f(given)
        np.testing.assert_array_equal(found, ours.uniform(size=2))
    assert given.random() == ours.random() and rng.type == T.random.random_generator_type
    with pytest.raises(TypeError, match="no generator of random numbers"):
        f(3)
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(_numpy(3))[1], _numpy(3).uniform(size=2))


def test_seeds_and_a_second_draw_from_one_state():
    rng = T.random.shared_rng(seed=1, name="rng")
    following, x = rng.normal()
    f = theano.function([], x, updates={rng: following})
    first = f()
    assert first != f() and first == _numpy().normal()
    rng.set_value(seed=1)
    assert first == f()
    with pytest.warns(UserWarning, match="both draws are of one state"):
        rng.normal()
    with pytest.raises(ValueError, match="a generator or a seed"):
        T.random.shared_rng()


@pytest.mark.filterwarnings("error")
def test_generators_in_loops_and_graphs():
    rng, ours = T.random.shared_rng(seed=1), _numpy()

    def step(h, rng, mean):
        following, x = rng.normal(mean)
        return h * mean + x, following

    mean = T.dscalar("mean")
    rows, last = theano.scan(step, outputs_info=[T.constant(0.0), rng], non_sequences=[mean],
                             n_steps=3, return_updates=False)
    f = theano.function([mean], [rows[-1], T.grad(rows[-1], mean)], updates={rng: last})
    for _ in range(2):
        x = ours.normal(2.0, size=3) - 2.0  # the result is x0 m² + x1 m + x2, with xi = m + zi
        found = f(2.0)
        np.testing.assert_allclose(found[0], 14 + 4 * x[0] + 2 * x[1] + x[2])
    same = theano.scan(lambda rng: rng.normal()[1], non_sequences=[rng], n_steps=3, strict=True,
                       return_updates=False).eval()
    assert same[0] == same[1] == same[2] == ours.normal()

    inner = T.random.rng()
    following, x = inner.normal()
    graph = theano.OpFromGraph([inner], [following, T.exp(x)])
    second, a = graph(rng)
    third, b = graph(second)
    rng.set_value(seed=2)
    found = theano.function([], [a, b], updates={rng: third})()
    np.testing.assert_allclose(found, np.exp(_numpy(2).normal(size=2)))


def test_mistakes():
    with pytest.raises(TypeError, match="PCG64"):
        theano.shared(np.random.Generator(np.random.MT19937(0)))
    with pytest.raises(TypeError, match="rng is a shared generator"):
        T.random.normal(rng=T.dvector())
