"""Random streams inside loops, branches, ``vmap`` and graphs: every step and call draws anew."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.api.streams.distributions import FLOATS, INTEGERS

KINDS = pytest.mark.parametrize("kind", [T.RandomStreams, T.MRG_RandomStreams])


def _fresh(*draws):
    """Whether no number was drawn twice."""
    flat = np.concatenate([np.ravel(d) for d in draws])
    assert len(np.unique(flat)) == flat.size, flat


@KINDS
@pytest.mark.parametrize("given", [True, False])
def test_steps_of_scan(kind, given):
    streams, x = kind(seed=1), T.vector("x")
    rows, updates = T.scan(lambda r: r * 0 + streams.uniform((2,)), x)
    assert len(updates) == 1
    sums, more = T.scan(lambda a: a + streams.normal(()), outputs_info=T.zeros(()), n_steps=4)
    f = ag.function([x], [rows, sums], updates={**updates, **more} if given else None)
    (a, b), (c, d) = f(np.ones(3)), f(np.ones(3))
    _fresh(a, np.diff(b), b[0], c, np.diff(d), d[0])
    same = ag.function([x], rows, no_default_updates=True)
    np.testing.assert_array_equal(same(np.ones(3)), same(np.ones(3)))


def test_the_numbers_are_those_of_the_state():
    streams = T.RandomStreams(seed=3)
    rows, updates = T.scan(lambda: streams.normal((2,)), n_steps=3)
    (rng,) = updates
    expect = rng.get_value()
    f = ag.function([], rows, updates=updates)
    for _ in range(2):
        np.testing.assert_array_equal(f(), [expect.normal(size=2) for _ in range(3)])
    first = f()
    streams.seed(3)
    streams.seed()
    assert not (first == f()).any() and streams.updates()[0][0] is rng


@KINDS
def test_branches_and_while_loops(kind):
    streams, x = kind(seed=1), T.scalar("x")
    y = ag.cond(x > 0, lambda: streams.uniform((2,)), lambda: streams.normal((2,)) * x)
    total = T.while_loop(lambda a: a < 3, lambda a: a + streams.uniform(()), T.zeros(()))
    f = ag.function([x], [y, total])
    _fresh(*(part for v in (1.0, 1.0, -1.0, -1.0) for part in f(v)))


@KINDS
def test_nested_loops(kind):
    streams, x = kind(seed=1), T.matrix("x")

    def rows(row):
        return T.scan(lambda e: e * 0 + streams.uniform(()), row)[0]

    f = ag.function([x], T.scan(rows, x)[0])
    _fresh(f(np.ones((2, 3))), f(np.ones((2, 3))))


@KINDS
def test_examples_of_vmap(kind):
    streams, m = kind(seed=1), T.matrix("m")
    y = ag.vmap(lambda r: r * 0 + streams.uniform((2,)))(m)
    z = ag.vmap(lambda r: ag.vmap(lambda e: e * 0 + streams.normal(()))(r))(m)
    f = ag.function([m], [y, z])
    _fresh(*f(np.ones((3, 2))), *f(np.ones((3, 2))))
    same = ag.vmap(lambda r: r * 0 + streams.uniform((2,)), randomness="same")(m)
    rows = ag.function([m], same)(np.ones((3, 2)))
    np.testing.assert_array_equal(rows, rows[:1].repeat(3, 0))


def test_parameters_may_differ_between_examples():
    streams, m = T.RandomStreams(seed=1), T.matrix("m")
    y = ag.vmap(lambda p: streams.binomial((3,), n=5, p=p[0]))(m)
    found = ag.function([m], y)([[0.0], [1.0], [0.0]])
    np.testing.assert_array_equal(found, [[0] * 3, [5] * 3, [0] * 3])


@KINDS
def test_calls_of_a_graph(kind):
    streams, a = kind(seed=1), T.vector("a")
    op = ag.OpFromGraph([a], [a * 0 + streams.uniform((2,)), a])
    x = T.vector("x")
    f = ag.function([x], [op(x)[0], op(x)[0]])
    _fresh(*f(np.ones(2)), *f(np.ones(2)))


@KINDS
@pytest.mark.parametrize("method", ["uniform", "normal", "binomial"])
def test_calls_of_a_graph_draw_as_many_numbers_as_sizes_say(kind, method):
    streams, a, x = kind(seed=1), T.vector("a"), T.vector("x")
    op = ag.OpFromGraph([a], a * 0 + getattr(streams, method)(a.shape))
    f = ag.function([x], op(x))
    for n in (3, 40_000):
        first, second = f(np.ones(n)), f(np.ones(n))
        assert first.shape == (n,) and (n == 3 or (first != second).any())


@KINDS
def test_gradients_flow_past_draws(kind):
    streams, w, x = kind(seed=1), T.scalar("w"), T.vector("x")
    ys, updates = T.scan(lambda r, c: c * w + r * streams.uniform(()), x, outputs_info=w * 0)
    loss = ys.sum()
    f = ag.function([w, x], [ys, T.grad(loss, x), T.grad(loss, w)], updates=updates)
    ys_now, gx, _ = f(1.0, np.ones(3))
    noise = np.diff(ys_now, prepend=0.0)
    np.testing.assert_allclose(gx, noise * [3, 2, 1])
    mean, spread = T.scalar("mean"), T.scalar("spread")
    z = streams.normal((3,), mean, spread)
    dm, ds, found = ag.function([mean, spread], [*T.grad(z.sum(), [mean, spread]), z])(1.0, 2.0)
    np.testing.assert_allclose([dm, ds], [3.0, ((found - 1.0) / 2.0).sum()])


def test_every_distribution_takes_a_dtype_and_sizes():
    streams, x, n = T.RandomStreams(seed=1), T.vector("x"), T.lscalar("n")
    fixed = {"f": (2, 3), "hypergeometric": (3, 3, 2), "zipf": (2.0,), "triangular": (0, 1, 2)}
    names = {**FLOATS, **INTEGERS}
    draws = [
        getattr(streams, name)((n, x.shape[0]), *fixed.get(name, (0.5,) * sum(
            p is not None and not isinstance(p, (int, float)) for p in params.values())),
            dtype="float32")
        for name, params in names.items()
    ]
    found = ag.function([n, x], draws)(2, np.ones(3))
    assert {(f.shape, f.dtype.name) for f in found} == {((2, 3), "float32")}
    for other in (streams, T.MRG_RandomStreams(seed=1)):
        y = other.binomial(x.shape, n=1, p=x, dtype=x.dtype)
        np.testing.assert_array_equal(ag.function([x], y)([0.0, 1.0]), [0.0, 1.0])
