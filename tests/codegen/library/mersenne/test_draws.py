"""Draws of ``RandomStreams`` in compiled code: NumPy's numbers and states, without Python."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.api.streams import legacy
from agnesi.core.ir import foreign
from agnesi.core.ir.calls import mersenne

pytestmark = pytest.mark.native_plans  # the scalar target lets NumPy draw

ROWS = np.random.RandomState(5).rand(4, 5)
#: Methods with the parameters of a draw of shape (4, 5).
METHODS = {
    "random_sample": [()], "standard_normal": [()], "standard_exponential": [()],
    "uniform": [(-0.1, 0.7), (ROWS, 2.3), (0, ROWS[0] + 1), (ROWS[:, :1], ROWS.astype("float32"))],
    "normal": [(0.1, 0.7), (ROWS, 2.3), (ROWS[0], ROWS)], "lognormal": [(0.1, 0.7), (ROWS, ROWS)],
    "exponential": [(0.3,), (ROWS[0],)],
    "binomial": [(1, 0.3), (1, ROWS), (1, np.round(ROWS)), (1, 1.0), (7, 0.9), (60, ROWS),
                 (61, 0.5), (100, ROWS), (10**9, 1e-9), (10**6, 0.7), (np.arange(5) * 50, ROWS),
                 (1, np.nextafter([0.0, 1.0, 0.5, 0.5, 0.2], [1.0, 0.0, 1.0, 0.0, 1.0]))],
    "poisson": [(0.0,), (3.5,), (10.0,), (1e6,), (9.9 + ROWS,)],
    "randint": [(-3, 9), (0, 1), (5, 2**32 + 5), (5, 2**32 + 6), (-(2**62), 2**62), (0, 256)],
}
CASES = [(name, params) for name, several in METHODS.items() for params in several]


@pytest.fixture
def native(monkeypatch):
    """Let no draw go through Python."""

    def refused(*args):
        raise AssertionError("a draw went through Python")

    monkeypatch.setattr(legacy, "drawn", refused)


def same_state(rng, twin):
    for found, wanted in zip(rng.get_value().get_state()[1:], twin.get_state()[1:], strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("name", "params"), CASES)
def test_numbers_and_states_are_numpys_own(native, name, params):
    for size in [(4, 5), (3, 4, 5)]:
        x = getattr(T.RandomStreams(7), name)(size, *params)
        twin = x.rng.get_value()
        twin.randint(0, 2**32, size=11)  # an odd place, and a second normal number
        twin.standard_normal()
        x.rng.set_value(twin)
        f = ag.function([], x)
        for _ in range(3):
            wanted = getattr(twin, name)(*params, size=size)
            found = f()
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
            same_state(x.rng, twin)


@pytest.mark.parametrize(("name", "params"), [("poisson", (3.5,)), ("binomial", (60, ROWS))])
def test_counts_where_numpys_library_exports_nothing(monkeypatch, name, params):
    monkeypatch.setitem(foreign.RESOLVERS, "numpy random", lambda name: None)
    x = getattr(T.RandomStreams(7), name)((4, 5), *params)
    twin = x.rng.get_value()
    np.testing.assert_array_equal(ag.function([], x)(), getattr(twin, name)(*params, size=(4, 5)))
    same_state(x.rng, twin)


@pytest.mark.parametrize("n", [1, 7, 8, 311, 312, 313, 623, 624, 625, 2000])
@pytest.mark.parametrize("skipped", [0, 1, 622, 623, 624])
def test_blocks_of_the_key_meet_anywhere(native, n, skipped):
    x = T.RandomStreams(8).uniform((n,))
    twin = x.rng.get_value()
    for _ in range(skipped):
        twin.tomaxint() if skipped % 2 == 0 else twin.randint(0, 2**32)
    x.rng.set_value(twin)
    np.testing.assert_array_equal(ag.function([], x)(), twin.random_sample(n))
    same_state(x.rng, twin)


@pytest.mark.parametrize(("name", "params"), [
    ("multinomial", (1, [0.2, 0.3, 0.5])), ("multinomial", (500, [0.0, 0.4, 0.6, 0.0])),
    ("multinomial", (0, [0.5, 0.5])), ("choice", (7,)), ("choice", (ROWS[0],)),
    ("choice", (4, True, [0.1, 0.2, 0.3, 0.4])), ("choice", (30, False)),
    ("choice", (np.arange(30.0), False)),
])
def test_counts_of_several_things_and_choices(native, name, params):
    x = getattr(T.RandomStreams(13), name)((3, 4), *params)
    twin, f = x.rng.get_value(), ag.function([], x)
    for _ in range(2):
        wanted = (twin.choice(params[0], (3, 4), *params[1:]) if name == "choice" else
                  twin.multinomial(*params, size=(3, 4)))
        np.testing.assert_array_equal(f(), wanted)
        same_state(x.rng, twin)


@pytest.mark.parametrize(("n", "p"), [
    (500, [0.0, 0.4, 0.6, 0.0]), (0, [0.5, 0.5]), (9, [0.2, 0.8])])
def test_counts_that_take_a_number_for_nothing_as_from_numpy_2_5_on(native, monkeypatch, n, p):
    monkeypatch.setattr(mersenne, "skips_zeros", lambda: False)
    x = T.RandomStreams(13).multinomial((4,), n, p)
    twin, wanted = x.rng.get_value(), np.zeros((4, len(p)), int)
    for row in wanted:
        left, total = n, 1.0
        for i, share in enumerate(p[:-1]):
            row[i] = twin.binomial(left, share / total)
            left, total = left - row[i], total - share
            if left <= 0:
                break
        row[-1] = left
    np.testing.assert_array_equal(ag.function([], x)(), wanted)
    same_state(x.rng, twin)


@pytest.mark.parametrize(("draw", "good", "bad", "message"), [
    (lambda s, p: s.poisson((2,), p[0]), [3.0], [-1.0], "lam < 0"),
    (lambda s, p: s.poisson((2,), p[0]), [3.0], [1e19], "lam value too large"),
    (lambda s, p: s.binomial((2,), 100, p[0]), [0.5], [1.5], "p > 1"),
    (lambda s, p: s.binomial((2,), p[0].astype("int64"), 0.5), [70.0], [-1.0], "n < 0"),
    (lambda s, p: s.multinomial(2, 9, p), [0.5, 0.5], [0.7, 0.8, 0.1], "sum"),
    (lambda s, p: s.multinomial(2, 9, p), [0.5, 0.5], [0.7, np.nan], "NaN"),
    (lambda s, p: s.choice(2, 2, True, p), [0.5, 0.5], [0.5, 0.6], "do not sum to 1"),
    (lambda s, p: s.choice(2, 2, True, p), [0.5, 0.5], [1.5, -0.5], "not non-negative"),
    (lambda s, p: s.choice(2, 2, True, p), [0.5, 0.5], [0.5, 0.2, 0.3], "same size"),
])
def test_counts_that_there_are_not_are_refused(native, draw, good, bad, message):
    p = T.dvector("p")
    f = ag.function([p], draw(T.RandomStreams(14), p))
    f(good)
    with pytest.raises(ValueError, match=message):
        f(bad)


def test_orders_and_shuffled_rows(native):
    s, x = T.RandomStreams(9), T.dmatrix("x")
    order, rows = s.permutation((3,), 10), s.shuffle_row_elements(x)
    twins = [rng.get_value() for rng, _ in s.updates()]
    f = ag.function([x], [order, rows])
    for _ in range(2):
        found, mixed = f(ROWS)
        np.testing.assert_array_equal(found, [twins[0].permutation(10) for _ in range(3)])
        np.testing.assert_array_equal(mixed, [row[twins[1].permutation(5)] for row in ROWS])


def test_draws_in_loops_and_branches_of_open_sizes(native):
    s, x = T.RandomStreams(10), T.dmatrix("x")

    def step(h):
        p = ag.sigmoid(h)
        return s.binomial(p.shape, 1, p) + s.normal(p.shape, 0.0, 1.0)

    out, updates = T.scan(step, outputs_info=x, n_steps=4)
    f = ag.function([x], out[-1], updates=updates)
    first, second = f(ROWS), f(ROWS)
    assert np.isfinite(first).all()
    assert (first != second).any()
    g = ag.function([x], ag.cond(x.sum() > 0, lambda: s.uniform(x.shape), lambda: x))
    assert (g(ROWS) != g(ROWS)).any()
    np.testing.assert_array_equal(g(-ROWS), -ROWS)


@pytest.mark.parametrize(("name", "good", "bad", "message"), [
    ("normal", 1.0, -1.0, "scale < 0"), ("normal", 1.0, -0.0, "scale < 0"),
    ("lognormal", 1.0, -2.0, "sigma < 0"), ("uniform", 1.0, np.inf, "Range exceeds"),
    ("uniform", 1.0, np.nan, "Range exceeds"),
])
def test_parameters_that_numpy_refuses_are_refused(native, name, good, bad, message):
    p = T.dvector("p")
    x = getattr(T.RandomStreams(11), name)((2,), 0.0, ag.stop_gradient(p))
    f, before = ag.function([p], x), x.rng.get_value()
    with pytest.raises((ValueError, OverflowError), match=message):
        f([good, bad])
    same_state(x.rng, before)
    np.testing.assert_array_equal(f([good, good]), getattr(before, name)(0.0, [good, good]))


def test_numbers_keep_their_digits():
    s = T.RandomStreams(12)
    x, y = s.normal((3,), 0.1, [0.1, 0.2, 0.3]), s.standard_gamma((3,), 0.1)
    twins = [x.rng.get_value(), y.rng.get_value()]
    found = ag.function([], [x, y])()
    np.testing.assert_array_equal(found[0], twins[0].normal(0.1, [0.1, 0.2, 0.3]))
    np.testing.assert_array_equal(found[1], twins[1].standard_gamma(0.1, 3))
