"""Random streams of symbolic graphs: NumPy's own draws, and MRG31k3p against another writing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.stats as st

import agnesi as ag
from agnesi import symbolic as T
from agnesi.api.streams.mrg import streams_from

SEED = 234


def twins(streams=1):
    """Generators of NumPy's that are seeded as the variables of ``RandomStreams(SEED)``."""
    seeds = np.random.RandomState(SEED)
    return [np.random.RandomState(int(seeds.randint(2**30))) for _ in range(streams)]


# -- NumPy's own draws --------------------------------------------------------------------------
DRAWS = {
    "uniform": (-1.0, 2.0), "normal": (1.0, 2.0), "binomial": (10, 0.3),
    "poisson": (4.0,), "beta": (1.0, 2.0), "chisquare": (3.0,),
    "exponential": (2.0,), "f": (2.0, 3.0), "gamma": (2.0, 3.0),
    "geometric": (0.3,), "gumbel": (1.0, 2.0),
    "hypergeometric": (5, 6, 4), "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0), "lognormal": (1.0, 0.5), "logseries": (0.5,),
    "negative_binomial": (3, 0.4), "noncentral_chisquare": (3.0, 1.0),
    "noncentral_f": (3.0, 4.0, 1.0), "pareto": (3.0,), "power": (3.0,),
    "randint": (2, 9), "random_sample": (), "rayleigh": (2.0,),
    "standard_cauchy": (), "standard_exponential": (),
    "standard_gamma": (2.0,), "standard_normal": (), "standard_t": (3.0,), "tomaxint": (),
    "random": (),
    "triangular": (0.0, 1.0, 3.0), "vonmises": (0.0, 2.0),
    "wald": (1.0, 2.0), "weibull": (2.0,), "zipf": (2.5,),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_numpys_own(name):
    params = DRAWS[name]
    f = ag.function([], getattr(T.RandomStreams(SEED), name)((3, 2), *params))
    (twin,) = twins()
    for _ in range(2):
        expected = getattr(twin, name)(*params, size=(3, 2))
        found = f()
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


CHANCES = np.random.RandomState(3).rand(40, 50)


@pytest.mark.parametrize("p", [
    0.0, 0.3, 0.5, 0.7, 1.0, CHANCES, CHANCES.astype("float32"), np.round(CHANCES),
    np.where(CHANCES < 0.5, 1.0, CHANCES), np.where(CHANCES < 0.5, 0.0, CHANCES), CHANCES[0] * 1e-9,
    np.zeros((0, 3)), np.nextafter([0.0, 1.0, 0.5], [1.0, 0.0, 1.0]),
])
def test_binomial_numbers_of_one_trial_are_numpys_own(p):
    f = ag.function([], T.RandomStreams(SEED).binomial((3, *np.shape(p)), 1, p))
    (twin,) = twins()
    for _ in range(3):
        np.testing.assert_array_equal(f(), twin.binomial(1, p, (3, *np.shape(p))))


def test_draws_between_others_of_a_thread_are_those_of_their_own_state():
    s = T.RandomStreams(SEED)
    draws = [s.normal((3,)), s.uniform((2,)), s.standard_t((5,), 3.0), s.binomial((4,), 1, 0.4)]
    f, each = ag.function([], draws), twins(4)
    for _ in range(3):
        expected = [each[0].normal(size=3), each[1].uniform(size=2),
                    each[2].standard_t(3.0, size=5), each[3].binomial(1, 0.4, 4)]
        for got, want in zip(f(), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    bad = T.dvector("p")
    g = ag.function([bad], s.binomial((2,), 1, bad))
    for wrong in ([0.5, -0.1], [0.5, 1.1], [0.5, np.nan]):
        with pytest.raises(ValueError, match="p < 0, p > 1"):
            g(wrong)
    assert set(g([0.0, 1.0])) == {0, 1}


def test_vectors_orders_and_choices_are_numpys_own():
    s = T.RandomStreams(SEED)
    x = T.dmatrix("x")
    f = ag.function([x], [
        s.multinomial((4,), 5, [0.2, 0.3, 0.5]), s.permutation((2,), 6), s.choice((3,), 7),
        s.choice((2,), 4, False, [0.1, 0.2, 0.3, 0.4]), s.random_integers((5,), 1, 6),
        s.dirichlet((2,), [1.0, 2.0]), s.multivariate_normal((), [0.0, 1.0], np.eye(2)),
        s.shuffle_row_elements(x), s.normal(None, [0.0, 100.0], 1.0),
    ])
    a, b, c, d, e, g, h, i, j = twins(9)
    rows = np.arange(6.0).reshape(2, 3)
    orders = [i.permutation(3) for _ in rows]
    expected = [
        a.multinomial(5, [0.2, 0.3, 0.5], size=(4,)), [b.permutation(6) for _ in range(2)],
        c.choice(7, (3,)), d.choice(4, (2,), False, [0.1, 0.2, 0.3, 0.4]),
        e.randint(1, 7, size=(5,)), g.dirichlet([1.0, 2.0], (2,)),
        h.multivariate_normal([0.0, 1.0], np.eye(2)),
        [row[order] for row, order in zip(rows, orders, strict=True)],
        j.normal([0.0, 100.0], 1.0),
    ]
    for found, want in zip(f(rows), expected, strict=True):
        np.testing.assert_array_equal(found, want)


def test_short_names_are_numpys_own():
    s, x = T.RandomStreams(SEED), T.dmatrix("x")
    f = ag.function([x], [s.rand(2, 3), s.randn(4), s.shuffle(x), s.bytes(x.shape[0]),
                          s.rand(), s.randn(x.shape[1])])
    rows = np.arange(10.0).reshape(5, 2)
    a, b, c, d, e, g = twins(6)
    shuffled = rows.copy()
    c.shuffle(shuffled)
    expected = [a.rand(2, 3), b.randn(4), shuffled, np.frombuffer(d.bytes(5), np.uint8), e.rand(),
                g.randn(2)]
    for found, want in zip(f(rows), expected, strict=True):
        np.testing.assert_array_equal(found, want)
    with pytest.raises(ag.ShapeError, match="shuffle brings rows"):
        s.shuffle(T.dscalar())


def test_short_names_of_mrg():
    s, x = T.MRG_RandomStreams(SEED), T.dvector("x")
    f = ag.function([x], [
        s.rand(4000), s.randn(4000), s.random((40, 100)), s.tomaxint(4000), s.bytes(4000),
        s.shuffle(x), s.permutation((3,), 50)])
    values = np.arange(2000.0)
    u, z, r, most, raw, shuffled, orders = f(values)
    for numbers, law in ((u, st.uniform()), (z, st.norm()), (r.ravel(), st.uniform()),
                         (most / 2.0**63, st.uniform()), ((raw + 0.5) / 256, st.uniform())):
        assert st.kstest(numbers, law.cdf).pvalue > 1e-4
    assert (most.dtype, raw.dtype, most.min() >= 0) == ("int64", "uint8", True)
    assert set(np.unique(raw)) == set(range(256)) and len({*(most & 0xFFFF)}) > 3000
    assert (np.sort(shuffled) == values).all() and (shuffled != values).sum() > 1900
    assert (np.sort(orders) == np.arange(50)).all() and len({tuple(o) for o in orders}) == 3
    assert (f(values)[5] != shuffled).sum() > 1900


def test_parameters_and_sizes_may_be_symbolic():
    s, x, lam = T.RandomStreams(SEED), T.dvector("x"), T.dscalar("lam")
    f = ag.function([x, lam], x + s.poisson(x.shape, lam))
    (twin,) = twins()
    for n in (3, 5, 4, 7):
        np.testing.assert_array_equal(f(np.zeros(n), 3.0), twin.poisson(3.0, n))


def test_two_calls_differ_a_reset_repeats_and_no_update_stands_still():
    s = T.RandomStreams(SEED)
    u = s.uniform((2, 2))
    f = ag.function([], u)
    still = ag.function([], u, no_default_updates=True)
    also = ag.function([], u, no_default_updates=[u.rng])
    first, second = f(), f()
    assert not (first == second).any()
    s.seed(SEED)
    assert (still() == first).all()
    assert (still() == first).all()
    assert (also() == first).all()
    assert (f() == first).all()
    assert (f() == second).all()
    s.seed()
    assert (f() == first).all()


def test_the_state_of_a_variable_can_be_taken_and_given():
    u = T.RandomStreams(SEED).normal((3,))
    f = ag.function([], u)
    f()
    kept = u.rng.get_value(borrow=True)
    assert isinstance(kept, np.random.RandomState)
    then = f()
    np.testing.assert_array_equal(kept.normal(size=3), then)
    u.rng.set_value(np.random.RandomState(89234))
    np.testing.assert_array_equal(f(), np.random.RandomState(89234).normal(size=3))
    with pytest.raises(TypeError, match="RandomState, not int"):
        u.rng.set_value(3)


def test_variables_of_one_stream_differ_and_one_variable_is_drawn_once():
    s = T.RandomStreams(SEED)
    a, b = s.uniform((4,)), s.uniform((4,))
    f = ag.function([], [a, b, a - a, a + b])
    x, y, zero, total = f()
    assert not (x == y).any()
    assert not zero.any()
    np.testing.assert_array_equal(total, x + y)
    assert [rng for rng, _ in s.updates()] == [a.rng, b.rng]
    assert a.update == s.updates()[0]


def test_explicit_updates_go_before_default_ones():
    count = ag.shared(0)
    count.default_update = count + 1
    assert count.default_update is not None
    f = ag.function([], count * 10)
    assert [f(), f(), count.get_value()] == [0, 10, 2]
    g = ag.function([], count, updates={count: count + 5})
    assert [g(), count.get_value()] == [2, 7]
    total = ag.shared(0)
    h = ag.function([], [], updates={total: total + count})
    assert [h(), h(), total.get_value(), count.get_value()] == [None, None, 15, 9]
    k = ag.function([], count, givens={count: T.Constant(3)})
    assert [int(k()), count.get_value()] == [3, 9]


def test_functions_of_streams_without_a_compiler_draw_the_same():
    f = ag.function([], T.RandomStreams(SEED).normal((3,)))
    with ag.config(compile=False):
        g = ag.function([], T.RandomStreams(SEED).normal((3,)))
        found = g()
    np.testing.assert_array_equal(found, f())


# -- MRG31k3p -----------------------------------------------------------------------------------
class Reference:
    """MRG31k3p in Python's numbers, from the paper's recurrences."""

    M1, M2 = 2**31 - 1, 2**31 - 21069

    def __init__(self, state):
        *xs, y1, y2, y3 = (int(s) for s in state)
        self.x, self.y = list(xs), [y1, y2, y3]  # the latest first

    def number(self):
        x = (2**22 * self.x[1] + (2**7 + 1) * self.x[2]) % self.M1
        y = (2**15 * self.y[0] + (2**15 + 1) * self.y[2]) % self.M2
        self.x, self.y = [x, *self.x[:2]], [y, *self.y[:2]]
        return (x - y) % self.M1 or self.M1

    def uniform(self):
        return self.number() / 2**31


def far(state, steps):
    """A state after many steps: powers of the matrices, in Python's numbers."""
    found = []
    for part, first, m in ((state[:3], [0, 2**22, 2**7 + 1], Reference.M1),
                           (state[3:], [2**15, 0, 2**15 + 1], Reference.M2)):
        power = np.array([first, [1, 0, 0], [0, 1, 0]], object)
        result, n = np.eye(3, dtype=int).astype(object), steps
        while n:
            if n & 1:
                result = result.dot(power) % m
            power, n = power.dot(power) % m, n >> 1
        found += list(result.dot(np.array([int(s) for s in part], object)) % m)
    return found


def reference_uniforms(state, nstreams, n):
    """``n`` uniform numbers from streams in turn."""
    streams = [Reference(far(state, i * 2**72)) for i in range(nstreams)]
    return np.array([streams[i % nstreams].uniform() for i in range(n)])


@pytest.mark.parametrize(("n", "nstreams"), [(1, 1), (7, 3), (12, 4), (50, 50), (1000, 7)])
def test_uniforms_are_those_of_the_reference_bit_for_bit(n, nstreams):
    f = ag.function([], T.MRG_RandomStreams(SEED).uniform((n,), dtype="float64",
                                                          nstreams=nstreams))
    expected = reference_uniforms([SEED] * 6, nstreams, 2 * n)
    np.testing.assert_array_equal(f(), expected[:n])
    if n % nstreams == 0:
        np.testing.assert_array_equal(f(), expected[n:])


def test_a_million_uniforms_are_those_of_the_reference():
    nstreams, n = 60, 1_000_020
    u = T.MRG_RandomStreams(7).uniform((n,), dtype="float64", nstreams=nstreams)
    found = ag.function([], u)()
    expected = reference_uniforms([7] * 6, nstreams, n)
    np.testing.assert_array_equal(found, expected)


def test_jumps_are_those_of_the_reference():
    states = streams_from(np.array([1, 2, 3, 4, 5, 6], np.uint64), 5)
    for i in range(5):
        assert states[:, i].tolist() == far([1, 2, 3, 4, 5, 6], i * 2**72)
    s = T.MRG_RandomStreams([1, 2, 3, 4, 5, 6])
    s.uniform((3,))
    assert s.rstate.tolist() == far([1, 2, 3, 4, 5, 6], 2**134)
    second = ag.function([], s.uniform((2,), dtype="float64", nstreams=1))
    twin = Reference(far([1, 2, 3, 4, 5, 6], 2**134))
    assert second().tolist() == [twin.uniform(), twin.uniform()]


def test_streams_that_some_numbers_are_left_for_go_on():
    f = ag.function([], T.MRG_RandomStreams(SEED).uniform((5,), dtype="float64", nstreams=3))
    streams = [Reference(far([SEED] * 6, i * 2**72)) for i in range(3)]
    for _ in range(3):
        assert f().tolist() == [streams[i % 3].uniform() for i in range(5)]


def test_mrg_distributions():
    s, n = T.MRG_RandomStreams(99), 20_001
    pvals = np.tile([0.2, 0.5, 0.3], (n, 1))
    f = ag.function([], [
        s.uniform((n,), -1.0, 3.0), s.uniform((n,), dtype="float32"), s.normal((n,), 1.0, 2.0),
        s.binomial((n,), 1, 0.3), s.binomial((n,), 12, 0.3), s.multinomial(None, 1, pvals),
        s.multinomial(None, 4, pvals[:5]), s.choice(2, None, False, pvals),
    ])
    u, single, x, one, twelve, hot, many, chosen = f()
    assert st.kstest(u, st.uniform(-1, 4).cdf).pvalue > 1e-3
    assert single.dtype == "float32"
    assert single.min() > 0
    assert single.max() < 1
    assert st.kstest(single.astype("float64"), st.uniform().cdf).pvalue > 1e-3
    assert st.kstest(x, st.norm(1, 2).cdf).pvalue > 1e-3
    assert abs(one.mean() - 0.3) < 0.015
    expected = st.binom(12, 0.3).pmf(np.arange(13)) * n
    seen = np.bincount(twelve, minlength=13)
    assert st.chisquare([*seen[:9], seen[9:].sum()],
                        [*expected[:9], expected[9:].sum()]).pvalue > 1e-3
    assert (hot.sum(1) == 1).all()
    np.testing.assert_allclose(hot.mean(0), [0.2, 0.5, 0.3], atol=0.015)
    assert many.sum(1).tolist() == [4] * 5
    assert (chosen[:, 0] != chosen[:, 1]).all()
    assert abs((chosen[:, 0] == 1).mean() - 0.5) < 0.015


def test_mrg_has_every_distribution_of_numpy():
    s, twin = T.MRG_RandomStreams(SEED), np.random.RandomState(SEED)
    plain = [m for m in dir(twin) if not m.startswith(("_", "get_", "set_"))]
    assert [m for m in plain if not hasattr(s, m)] == []
    names = ("gamma", "vonmises", "poisson", "zipf", "standard_exponential", "random_sample")
    f = ag.function([], [getattr(s, name)((2000,), *DRAWS[name]) for name in names])
    first, again = f(), f()
    for name, a, b in zip(names, first, again, strict=True):
        expected = getattr(twin, name)(*DRAWS[name], size=2000)
        assert a.dtype == expected.dtype and (a != b).any(), name
        assert st.ks_2samp(a, expected).pvalue > 1e-4, name


def test_mrg_draws_of_vectors_have_their_means():
    s = T.MRG_RandomStreams(SEED)
    p = T.dvector("p")
    normal = s.multivariate_normal((4000,), [1.0, 2.0, 5.0], np.eye(3))
    f = ag.function([p], [s.dirichlet((4000,), p), normal, s.poisson(None, p),
                          s.randint((4000,), 2, 4)])
    shares, vectors, counts, bits = f([1.0, 2.0, 5.0])
    np.testing.assert_allclose(shares.mean(0), np.array([1, 2, 5]) / 8, atol=0.02)
    np.testing.assert_allclose(vectors.mean(0), [1, 2, 5], atol=0.1)
    assert counts.shape == (3,) and set(bits) == {2, 3}
    rows, updates = T.scan(lambda: s.gamma((2,), 2.0), n_steps=3)
    g = ag.function([], rows, updates=updates)
    assert len({*g().ravel(), *g().ravel()}) == 12


def test_streams_are_independent():
    f = ag.function([], T.MRG_RandomStreams(5).uniform((4000, 6), dtype="float64", nstreams=6))
    correlations = np.corrcoef(f().T) - np.eye(6)
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)


def test_mrg_states_repeat_and_sizes_may_be_symbolic():
    s = T.MRG_RandomStreams(SEED)
    x = T.dvector("x")
    u = s.uniform(x.shape, dtype="float64", nstreams=4)
    f, still = ag.function([x], u + x), ag.function([x], u + x, no_default_updates=True)
    expected = reference_uniforms([SEED] * 6, 4, 40)
    np.testing.assert_array_equal(still(np.zeros(6)), expected[:6])
    np.testing.assert_array_equal(f(np.zeros(8)), expected[:8])
    np.testing.assert_array_equal(f(np.zeros(12)), expected[8:20])
    s.seed()
    np.testing.assert_array_equal(f(np.zeros(7)), expected[:7])
    again = pickle.loads(pickle.dumps(f))
    assert again(np.zeros(3)).shape == (3,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: T.MRG_RandomStreams(0), "neither"),
        (lambda s: T.MRG_RandomStreams([1, 2]), "six"),
        (lambda s: s.multinomial((2,), 1, [[0.5, 0.5]]), "matrix"),
        (lambda s: s.choice(1, None, True, [[0.5, 0.5]]), "without replacement"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call(T.MRG_RandomStreams(1))


def test_a_few_numbers_are_those_of_many() -> None:
    """Blocks are made ahead for small draws; a generator that draws them at once gives the same."""
    for draw in (ag.random.normal, ag.random.exponential, ag.random.uniform):
        for dtype in ("float32", "float64"):
            ag.random.manual_seed(7)
            few = [draw(size=(4,), dtype=dtype).numpy().copy() for _ in range(600)]
            for place in (0, 63, 300, 599):
                ag.random.manual_seed(7)
                for _ in range(place):
                    draw(size=(4,), dtype=dtype)
                assert draw(size=(4,), dtype=dtype).numpy().tobytes() == few[place].tobytes()
