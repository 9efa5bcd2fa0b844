"""Users' operations whose results' sizes only running them tells, in programs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compat import theano
from agnesi.compat.theano import tensor as TT

CALLS = []


def _scattered(g, y, x):
    return ag.zeros_like(x).masked_scatter(x > 0, g)


@ag.op(vjp=_scattered)
def positive(x):
    CALLS.append(x.shape)
    return x[x > 0]


class Unique(ag.Op):
    outputs = 2

    def perform(self, x):
        return np.unique(x, return_counts=True)


class First(ag.Op):
    def infer(self, x, n):
        return (None, *x.shape[1:]), x.dtype

    def perform(self, x, n):
        return x[:int(n)]


PROGRAMS = {
    "elementwise": lambda x: positive(x) * 2,
    "sum": lambda x: (positive(x) ** 2).sum(),
    "size": lambda x: ag.zeros(positive(x).shape[0]) + 1,
    "grad": ag.grad(lambda x: (positive(x) ** 3).sum()),
    "grad_of_grad": ag.grad(lambda x: (ag.grad(lambda z: (positive(z) ** 3).sum())(x) ** 2).sum()),
    "chain": lambda x: positive(positive(x) - 0.5),
    "two_results": lambda x: Unique()(ag.round(x)),
    "declared": lambda x: First()(x, (x > 0).sum()) + 1,
    "branch": lambda x: ag.cond(x.sum() > 0, lambda: positive(x).sum(), lambda: x.sum()),
    "loop": lambda x: ag.scan(lambda c, r: (c + positive(r).sum(), c), x.sum(),
                              ag.stack([x, x * 2, -x])),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_jit_agrees_with_eager(name, n):
    x = ag.tensor(np.random.default_rng(n).normal(size=n))
    f, g = PROGRAMS[name], ag.jit(PROGRAMS[name])
    for _ in range(2):
        for got, want in zip(ag.tree.leaves(g(x)), ag.tree.leaves(f(x)), strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(got.numpy(), want.numpy())


def test_few_versions_serve_all_sizes():
    f = ag.jit(lambda x: positive(x) * 2)
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = rng.normal(size=rng.integers(3, 30))
        np.testing.assert_array_equal(f(ag.tensor(x)).numpy(), x[x > 0] * 2)
    assert str(f.explain()).count("machine code") < 10


def test_declared_graph():
    x = T.vector("x", dtype="float64")
    y = positive(x)
    f = ag.function([x], [y, y.shape[0], ag.grad((y**2).sum(), x)])
    for v in ([1.0, -2.0, 3.0], [-1.0], []):
        CALLS.clear()
        found, size, g = f(v)
        a = np.array(v)
        np.testing.assert_array_equal(found, a[a > 0])
        assert size == (a > 0).sum() and len(CALLS) == 1
        np.testing.assert_array_equal(g, np.where(a > 0, 2 * a, 0))


def test_another_state_is_another_result():
    grows = [0]

    @ag.op(infer=lambda x: ((None,), x.dtype))
    def more(x):
        grows[0] += 1
        return np.arange(float(grows[0]))

    f = ag.jit(lambda x: more(x) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sizes = [f(ag.ones(2)).shape[0] for _ in range(4)]
    assert np.diff(sizes).tolist()[1:] == [1, 1]


def test_a_mask_as_long_as_what_it_selects_from():
    picked = ag.op(lambda x, mask: x[mask],
                   vjp=lambda g, y, x, mask: (ag.zeros_like(x).masked_scatter(mask, g), None))
    x, m = T.vector("x", dtype="float64"), T.vector("m", dtype="bool")
    y = picked(x, m)
    f = ag.function([x, m], [y * 2, ag.grad((y**2).sum(), x)])
    for mask in ([True, False, True], [False] * 3):
        v, a = np.array([1.0, 2.0, 3.0]), np.array(mask)
        double, slope = f(v, a)
        np.testing.assert_array_equal(double, v[a] * 2)
        np.testing.assert_array_equal(slope, np.where(a, 2 * v, 0))


def test_an_iteration_without_end_for_other_values():
    @ag.op
    def root(x):
        y = np.ones_like(x)
        while np.abs(y * y - x).max(initial=0) > 1e-12:
            y = (y + x / y) / 2
        return y

    found = ag.jit(lambda x: root(x) * 2)(ag.tensor([4.0, 9.0]))
    np.testing.assert_allclose(found.numpy(), [4.0, 6.0])


# -- Theano's classes, which declare no shapes ----------------------------------------------------
def _op(perform, grad=None, kinds=("dvector",)):
    class Made(theano.Op):
        __props__ = ()

        def make_node(self, *xs):
            xs = [TT.as_tensor_variable(x) for x in xs]
            return theano.Apply(self, xs, [getattr(TT, k)() for k in kinds])

        def perform(self, node, inputs, outputs):
            found = perform(*inputs)
            for cell, y in zip(outputs, found if len(kinds) > 1 else [found], strict=True):
                cell[0] = y

    if grad is not None:
        Made.grad = lambda self, inputs, gs: grad(inputs, gs)
    return Made()


def _only_of_four(x):
    if len(x) != 4 or x[0, 0] >= 0:
        raise RuntimeError("other values than these are not for it")
    return x[1:, 0]


@pytest.mark.parametrize(("op", "want"), [
    (_op(lambda x: x[x > 0]), lambda x: x[x > 0]),
    (_op(lambda x: x[x > 3]), lambda x: x[x > 3]),
    (lambda x: _op(_only_of_four)(x[:, None]), lambda x: x[1:]),
    (_op(lambda x: (x[:, None] - x)[np.triu_indices(len(x), 1)]),
     lambda x: (x[:, None] - x)[np.triu_indices(len(x), 1)]),
])
def test_theano(op, want):
    x = TT.dvector()
    y = op(x)
    f = theano.function([x], [y * 2, y.sum(), TT.zeros((y.shape[0], 2))])
    v = np.array([-1.0, 5.0, 0.5, -2.0])
    double, total, zeros = f(v)
    np.testing.assert_array_equal(double, want(v) * 2)
    assert total == want(v).sum() and zeros.shape == (len(want(v)), 2)


def test_theano_in_a_step_of_scan():
    positive = _op(lambda x: x[x > 0], lambda xs, gs: [
        TT.set_subtensor(TT.zeros_like(xs[0])[TT.nonzero(xs[0] > 0)], gs[0])])
    x = TT.dmatrix()
    sums, _ = theano.scan(lambda row: (positive(row) ** 2).sum(), sequences=[x])
    f = theano.function([x], [sums, theano.grad(sums.sum(), x)])
    v = np.random.default_rng(0).normal(size=(4, 3))
    got, g = f(v)
    kept = np.where(v > 0, v, 0)
    np.testing.assert_allclose(got, (kept**2).sum(1))
    np.testing.assert_allclose(g, 2 * kept)


def test_theano_float_gradient_of_an_integer():
    repeat = _op(lambda x, k: np.repeat(x, int(k)), lambda xs, gs: [
        gs[0].reshape((xs[0].shape[0], -1)).sum(1), TT.zeros_like(xs[1]).astype("float64")])
    x, k = TT.dvector(), TT.lscalar()
    y = repeat(x, k)
    np.testing.assert_array_equal(
        theano.function([x, k], theano.grad(y.sum(), x))([1.0, 2.0], 3), [3.0, 3.0])
