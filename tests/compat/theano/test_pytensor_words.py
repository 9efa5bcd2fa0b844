"""What PyTensor added to Theano's words: parts that are set, stacks of graphs, linear algebra."""

from __future__ import annotations

import itertools

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


def test_slices_in_one_form():
    b, e, s, n = T.iscalars("b", "e", "s", "n")
    part = T.get_canonical_form_slice
    for start, stop, step in ((b, e, s), (None, e, -1), (b, None, 2), (None, None, s), (2, -1, 1)):
        found, direction = part(slice(start, stop, step), n)
        f = theano.function([b, e, s, n], [*map(T.as_tensor, (
            found.start, found.stop, found.step, direction))], on_unused_input="ignore")
        for values in itertools.product((-8, -1, 0, 4), (-8, -2, 3, 8), (-3, -1, 2), (0, 1, 5)):
            key = [v if isinstance(k, T.Variable) else k
                   for k, v in zip((start, stop, step), values, strict=False)]
            a, (first, last, by, way) = np.arange(values[3]), f(*values)
            np.testing.assert_array_equal(a[first:last:by][::way], a[slice(*key)])
    assert part(slice(7, 2, -2), 10) == (slice(3, 9, 2), -1) and part(-1, 5) == (4, 1)
    assert part(n, 5)[0].eval({n: -2}) == 3
    with pytest.raises(ValueError, match="not a supported slice"):
        part(None, 5)


def test_shapes_of_indexed_arrays_and_shared_variables():
    index = np.array([0, 1]), slice(1, 3), np.array([[0], [1]])
    x = np.zeros((3, 4, 5))
    assert [n.eval() for n in T.indexed_result_shape(T.as_tensor(x).shape, index)] == [2, 2, 2]
    assert x[T.slice_at_axis(slice(1, 2), 1)].shape == x[T.slice_at_axis(
        slice(1, 2), -2)].shape == (3, 1, 5)
    assert theano.shared(np.zeros((3, 1)), shape=(None, 1)).type.shape == (None, 1)
    with pytest.raises(TypeError, match="is not what shape="):
        theano.shared(np.zeros((3, 2)), shape=(None, 1))


def test_types_are_one_object_each():
    assert T.dvector("x").type is T.dvector and T.drow.broadcastable == (True, False)
    assert str(T.fmatrix) == repr(T.fmatrix) == "TensorType(float32, matrix)"
    assert T.dvector(shape=(3,)).type.shape == (3,)
    with pytest.raises(ValueError, match="variables of this type have"):
        T.drow(shape=(2, 3))


def test_one_product_of_second_derivatives_and_a_vector():
    x, v = T.dvector(), T.dvector()
    found = theano.gradient.hessian_vector_product((x**3).sum(), x, v)
    np.testing.assert_allclose(found.eval({x: [1.0, 2.0], v: [1.0, -1.0]}), [6, -12])
