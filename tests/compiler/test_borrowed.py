"""Results that are views of the caller's arrays: inputs that are borrowed."""

from __future__ import annotations

import pickle
import time
import timeit

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as TT
from agnesi import symbolic as T
from agnesi.compiler.inputs import Inputs

X = np.arange(12.0).reshape(4, 3)


def test_t7_views_of_arguments_in_the_time_of_any_size():
    x = T.dmatrix("x")
    f = ag.function([ag.In(x, borrow=True)], x.T[::2])
    found = f(X)
    assert found.strides == X.T[::2].strides and found.ctypes.data == X.ctypes.data
    np.testing.assert_array_equal(found, X.T[::2])
    times = []
    for n in (10, 3000):
        a = np.ones((n, n))
        f(a)
        times.append(min(timeit.repeat(lambda a=a: f(a), time.process_time, number=20, repeat=5)))
    assert times[1] < 20 * times[0]  # a copy takes a thousand times as long


def test_views_beside_what_is_computed_in_copies_and_pickles():
    x, w = T.dmatrix("x"), ag.shared(0.0)
    f = ag.function([ag.In(x, borrow=True)], {"rows": x[1:].reshape(-1), "sum": x.sum(),
                    "turned": x.T}, updates={w: w + 1})
    for g in (f, f.copy(), pickle.loads(pickle.dumps(f))):
        found = g(x=X)
        assert np.shares_memory(found["rows"], X) and np.shares_memory(found["turned"], X)
        np.testing.assert_array_equal(found["rows"], X[1:].reshape(-1))
        assert found["sum"] == 66
    assert w.get_value() == 2
    strided = X[::2]
    assert np.shares_memory(f(strided)["turned"], X)
    assert f(X.astype("float32"))["turned"].dtype == np.float64


def test_arguments_are_ordered_once_a_call(monkeypatch):
    """Ordering notes the values of remembered inputs, besides the time that it takes."""
    x = T.dmatrix("x")
    f = ag.function([ag.In(x, borrow=True)], [x.T, x.sum()])
    calls, ordered = [], Inputs.ordered
    monkeypatch.setattr(Inputs, "ordered", lambda *a: calls.append(a) or ordered(*a))
    for _ in range(3):
        f(X)
    assert len(calls) == 3


def test_calls_in_graphs_under_jit_and_with_gradients():
    x, y, n = T.dmatrix("x"), T.dmatrix("y"), T.lscalar("n")
    f = ag.function([ag.In(x, borrow=True)], [x.T, x.sum()])
    np.testing.assert_array_equal(ag.jit(lambda v: f(v)[0] * f(v)[1])(ag.tensor(X)).numpy(),
                                  X.T * 66)
    np.testing.assert_array_equal(ag.grad(lambda v: (f(v)[0] ** 2).sum())(ag.tensor(X)).numpy(),
                                  2 * X)
    np.testing.assert_array_equal(ag.function([y], f(y * 2)[0])(X), 2 * X.T)
    part = ag.function([ag.In(x, borrow=True), n], x[:n])  # its size is a value
    np.testing.assert_array_equal(part(X, 2), X[:2])


def test_what_is_borrowed_is_asked_for():
    x, n = T.dmatrix("x"), T.lscalar("n")
    assert not np.shares_memory(ag.function([x], x.T)(X), X)
    with pytest.raises(ValueError, match="is borrowed from the caller"):
        ag.In(x, 1.0, borrow=True)
    with pytest.raises(ag.UnusedInputError, match="n"):
        ag.function([ag.In(x, borrow=True), n], x.T, on_unused_input="raise")
    v = TT.dmatrix("v")
    both = theano.function([theano.In(v, borrow=True)], [theano.Out(v.T, borrow=True), v[1:]])
    turned, rows = both(X)
    assert np.shares_memory(turned, X) and not np.shares_memory(rows, X)
    for inner, outer in ((True, False), (False, True)):
        one = theano.function([theano.In(v, borrow=inner)], theano.Out(v.T, borrow=outer))
        assert not np.shares_memory(one(X), X)
