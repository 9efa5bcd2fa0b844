"""What PyTensor added to Theano's words: parts that are set, stacks of graphs, linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from agnesi.compat import theano
from agnesi.compat.theano import tensor as T
from agnesi.compat.theano.graph.replace import vectorize_graph

A = np.random.RandomState(0).randn(2, 3, 3)


def test_parts_are_set_and_added_to_by_methods():
    x, y = T.dmatrix("x"), T.dvector("y")
    new, more = x[1].set(y), x[:, [0, 0]].inc(1.0)
    slope = T.grad((new**2).sum(), y)
    found = theano.function([x, y], [new, more, slope])(A[0], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found[0][1], [1, 2, 3])
    np.testing.assert_allclose(found[1] - A[0], [[2, 0, 0]] * 3)
    np.testing.assert_allclose(found[2], [2, 4, 6])
    with pytest.raises(TypeError, match="an indexed tensor"):
        x.set(y)


def test_failing_assertions_raise_pythons_error():
    x = T.dvector("x")
    f = theano.function([x], T.opt.Assert("no negative ones")(x, T.all(x >= 0)) * 2)
    np.testing.assert_array_equal(f([1.0]), [2.0])
    with pytest.raises(AssertionError, match="no negative ones"):
        f([-1.0])
    with pytest.raises(AssertionError, match="never"):
        theano.function([x], T.opt.Assert("never")(x, T.constant(0) > 1))([1.0])


def test_graphs_are_made_for_stacks():
    x, w, xs, ws = T.dvector("x"), T.dvector("w"), T.dmatrix("xs"), T.dtensor3("ws")
    share, total = T.exp(x) / T.exp(x).sum(), T.dot(x, w)
    only = vectorize_graph(share, {x: xs})
    both = vectorize_graph([share, total], {x: xs, w: ws})
    rows = A[0]
    wanted = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    np.testing.assert_allclose(theano.function([xs], only)(rows), wanted)
    found = theano.function([xs, ws], both)(rows, A)
    np.testing.assert_allclose(found[0], np.broadcast_to(wanted, found[0].shape))
    np.testing.assert_allclose(found[1], np.einsum("ik,jik->ji", rows, A))


def test_linear_algebra_of_stacks_is_in_one_module():
    from agnesi.compat.theano.tensor import linalg

    a, b = T.dtensor3("a"), T.dmatrix("b")
    m = T.matmul(a, a.mT) + T.eye(3)
    vectors, matrices = linalg.solve(m, b, b_ndim=1), linalg.solve(m, a, b_ndim=2)
    low = linalg.solve_triangular(linalg.cholesky(m), b, lower=True, trans=1, b_ndim=1)
    right = A[:, 0]
    f = theano.function([a, b], [vectors, matrices, low, linalg.inv(m), T.grad(vectors.sum(), b)])
    found, wanted = f(A, right), A @ A.swapaxes(1, 2) + np.eye(3)
    np.testing.assert_allclose(found[0], np.linalg.solve(wanted, right[..., None])[..., 0])
    np.testing.assert_allclose(found[1], np.linalg.solve(wanted, A))
    factor = np.linalg.cholesky(wanted).swapaxes(1, 2)
    np.testing.assert_allclose(found[2], np.linalg.solve(factor, right[..., None])[..., 0])
    np.testing.assert_allclose(found[3], np.linalg.inv(wanted))
    np.testing.assert_allclose(found[4], np.linalg.inv(wanted).sum(1))


def test_jacobians_may_be_asked_for_at_once():
    x = T.dvector("x")
    found = theano.function([x], theano.gradient.jacobian(x**2, x, vectorize=True))([1.0, 2.0])
    np.testing.assert_allclose(found, [[2, 0], [0, 4]])
