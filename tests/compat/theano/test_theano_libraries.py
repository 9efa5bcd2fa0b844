"""What Keras 1 and 2 and PyMC3 3.0 ask of Theano, and what stood in their way."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano import scalar
from agnesi.compat.theano.d3viz.formatting import PyDotFormatter
from agnesi.compat.theano.ifelse import ifelse
from agnesi.compat.theano.sandbox.softsign import softsign
from agnesi.compat.theano.tensor.nnet import conv3d2d
from agnesi.compat.theano.tensor.sharedvar import tensor_constructor
from agnesi.compat.theano.tests import unittest_tools
from agnesi.compat.theano.tests.unittest_tools import InferShapeTester

ATOL = 1e-10


class Product(scalar.BinaryScalarOp):
    def impl(self, x, y):
        return x * y + 1

    def grad(self, inputs, output_grads):
        x, y = inputs
        return output_grads[0] * y, output_grads[0] * x


@pytest.mark.parametrize(("a", "b"), [((2, 3), (3,)), ((2, 1), (4,)), ((0, 3), (3,))])
def test_scalar_operations_go_element_by_element(a, b):
    op = T.Elemwise(Product(scalar.upgrade_to_float, name="product"))
    x, y = T.matrix(), T.vector()
    z = op(x, y)
    f = theano.function([x, y], [z, *T.grad(z.sum(), [x, y])])
    p, q = np.random.default_rng(0).normal(size=a), np.arange(float(b[0]))
    found = f(p, q)
    wide, tall = np.broadcast_arrays(q, p)
    assert_allclose(found[0], p * q + 1, atol=ATOL)
    assert_allclose(found[1], wide.sum(1, keepdims=True) if a[1] == 1 else wide, atol=ATOL)
    assert_allclose(found[2], tall.sum(0), atol=ATOL)


def test_scalar_operations_tell_their_types():
    class Both(scalar.ScalarOp):
        nout = 2

        def impl(self, x):
            return x + 1, x * 2

    x = T.ivector()
    same, wide = Both(scalar.transfer_type(0, scalar.float64))(x)
    assert (same.dtype, wide.dtype) == ("int32", "float64")
    assert_allclose(theano.function([x], wide)(np.array([1, 2], "int32")), [2, 4])
    assert scalar.upgrade_to_float(scalar.int8)[0].dtype == "float32"
    with pytest.raises(TypeError, match="complex"):
        scalar.upgrade_to_float_no_complex(scalar.complex64)
    with pytest.raises(TypeError, match="takes 2 operands, not 1"):
        Product()(x)
    with pytest.raises(TypeError, match="must be a function of types"):
        Product("float64")


class Free(T.TensorVariable):
    """A variable of a class of a library's own, as PyMC3's random variables."""

    def __init__(self, type=None, owner=None, index=None, name=None, scale=None):
        super().__init__(type, owner, index, name)
        self.scale = scale


def test_variables_of_classes_of_ones_own():
    x = Free(T.TensorType("float64", (False,)), name="x", scale=3.0)
    y = (x * x.scale).sum()
    assert [v for v in theano.gof.graph.inputs([y]) if isinstance(v, Free)] == [x]
    assert_allclose(theano.function([x], T.grad(y, x))([1.0, 2.0]), [3, 3])
    shared = theano.shared(np.ones(2))
    assert not isinstance(shared, (T.TensorVariable, Free)) and isinstance(y, T.TensorVariable)
    assert not isinstance(T.constant(1.0), T.TensorVariable) and not isinstance(y, Free)


@pytest.mark.parametrize("constant", [False, True])
def test_a_view_is_another_variable(constant):
    x = T.constant(np.arange(3.0)) if constant else T.vector("x")
    y = Free(T.TensorType("float64", (False,)), name="y")
    theano.gof.Apply(theano.compile.view_op, inputs=[x], outputs=[y])
    given = [] if constant else [x]
    z = y * 2
    assert y.name == "y" and z.owner.inputs[0] is y
    assert_allclose(theano.function(given, z)(*[np.arange(3.0)][:len(given)]), [0, 2, 4])
    with pytest.raises(TypeError, match="cannot be"):
        theano.gof.Apply(theano.compile.view_op, [T.matrix()], [T.vector()])


def test_steps_of_loops_have_no_test_values():
    with theano.config.change_flags(compute_test_value="raise"):
        x = T.vector("x")
        x.tag.test_value = np.array([1.0, 2.0])
        squares, _ = theano.map(lambda i, v: T.grad((v ** 3).sum(), v)[i],
                                T.arange(x.shape[0]), [x])
        assert_allclose((squares + 1).tag.test_value, [4, 13])


@pytest.mark.parametrize("axes", [(0,), (0, 2)])
def test_means_of_a_batch_have_the_axes_of_gamma(axes):
    x = T.TensorType("float64", (False,) * max(2, axes[-1] + 1))()
    gamma = theano.shared(np.ones(3))
    found = T.nnet.bn.batch_normalization_train(x, gamma, gamma, axes, 1e-4)
    assert [v.ndim for v in found] == [x.ndim, 1, 1]
    wide = T.nnet.bn.batch_normalization_train(x, T.ones_like(x), T.ones_like(x), axes, 1e-4)
    assert [v.ndim for v in wide] == [x.ndim] * 3
    array = np.random.default_rng(1).normal(size=(5, 3, 4)[:x.ndim])
    if axes == (0,):
        _, mean, inverse = theano.function([x], found)(array)
        assert_allclose(mean, array.mean(0), atol=ATOL)
        assert_allclose(inverse, (array.var(0) + 1e-4) ** -0.5, atol=ATOL)
    with pytest.raises(ValueError, match="gamma, beta, mean and var have"):
        T.nnet.bn.batch_normalization_train(T.tensor4(), gamma, gamma, (0, 2))


def test_branches_whose_sizes_are_broadcast():
    x, c = T.matrix(), T.bscalar()
    w, b = theano.shared(np.full(3, 2.0)), theano.shared(np.ones(3))
    first, second = x * w + b, x * T.addbroadcast(w.reshape((1, 3)), 0)
    y = ifelse(c, first, second)
    f = theano.function([c, x], [y, T.grad(y.sum(), x)])
    array = np.random.default_rng(2).normal(size=(4, 3))
    for chosen, expected in ((1, array * 2 + 1), (0, array * 2)):
        found = f(chosen, array)
        assert_allclose(found[0], expected)
        assert_allclose(found[1], np.full((4, 3), 2.0))


def test_volumes_with_time_second():
    rng = np.random.default_rng(3)
    a, w = rng.normal(size=(2, 4, 3, 5, 6)), rng.normal(size=(2, 2, 3, 3, 2))
    x, y = T.TensorType("float64", (False,) * 5)(), T.TensorType("float64", (False,) * 5)()
    made = conv3d2d.conv3d(x, y, filters_shape=(None, 2, 3, None, None))
    found = theano.function([x, y], made)(a, w)
    assert found.shape == (2, 3, 2, 3, 5)
    expected = sum(a[1, 1 + t, c, 1 + i, 2 + j] * w[0, 1 - t, c, 2 - i, 1 - j]
                   for t in range(2) for c in range(3) for i in range(3) for j in range(2))
    assert_allclose(found[1, 1, 0, 1, 2], expected, atol=ATOL)


def test_older_places_of_names():
    assert_allclose(softsign(T.constant(1.0)).eval(), 0.5)
    assert theano.theano is theano

    class GammaLn(scalar.UnaryScalarOp):
        def impl(self, x):
            return gammaln(x)

    x = T.vector()
    assert_allclose(theano.function([x], GammaLn(scalar.upgrade_to_float)(x))([0.5, 4.0]),
                    gammaln([0.5, 4.0]))


def test_classes_of_linear_algebra_and_the_half_that_eigh_reads():
    from agnesi.compat.theano.tensor.nlinalg import Det, Eigh, MatrixInverse, eigh
    from agnesi.compat.theano.tensor.slinalg import Cholesky, Solve

    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    A = T.dmatrix("A")
    slope = T.grad(eigh(A)[0][0], A)
    half, x, inverse, det, values, slope = theano.function(
        [A], [Cholesky()(A), Solve()(A, A), MatrixInverse()(A), Det()(A), Eigh()(A)[0], slope])(a)
    np.testing.assert_allclose(half, np.linalg.cholesky(a))
    np.testing.assert_allclose(x, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(inverse @ a, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(det, 11)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a))
    assert slope[0, 1] == 0 and isinstance(Cholesky()(A).owner.op, Cholesky)
    by_differences = [(np.linalg.eigvalsh(a + d)[0] - np.linalg.eigvalsh(a - d)[0]) / 2e-6
                      for d in 1e-6 * np.eye(4).reshape(4, 2, 2)]
    np.testing.assert_allclose(slope.ravel(), by_differences, atol=1e-6)


def test_pytensors_optimize_solves_and_has_gradients():
    from agnesi.compat.theano.tensor.optimize import minimize, minimize_scalar, root, root_scalar

    x, a, b = T.dvector(), T.dscalar(), T.dscalar()
    found, success = minimize((a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2, x)
    f = theano.function([x, a, b], [found, success, *theano.grad(found.sum(), [a, b])])
    place, success, by_a, by_b = f([0.0, 0.0], 1.5, 10.0)
    assert_allclose(place, [1.5, 2.25], atol=1e-5)
    assert success and success.dtype == bool
    assert_allclose([by_a, by_b], [1 + 2 * 1.5, 0], atol=1e-4)
    (p, q), _ = minimize((x[0] - a) ** 2 + (b - 2 * a) ** 2 + x[1] ** 2, [x, b], jac=False)
    assert_allclose(theano.function([x, a, b], [p[0], q])([0.0, 0.0], 3.0, 0.0), [3, 6], atol=1e-5)
    w = theano.shared(np.array([1.0, 2.0]))
    zero, _ = root(x ** 3 - w, x)
    assert_allclose(theano.function([x], theano.grad(zero.sum(), w))([1.0, 1.0]),
                    w.get_value() ** (-2 / 3) / 3, atol=1e-8)
    least, _ = minimize_scalar((b - a) ** 2, b)
    number, _ = root_scalar(b ** 2 - a, b, method="newton", jac=True)
    assert_allclose(theano.function([a, b], [least, theano.grad(least, a), number, theano.grad(
        number, a)])(2.0, 1.0), [2, 1, 2 ** 0.5, 0.5 / 2 ** 0.5])
    with pytest.raises(ValueError, match="not among the inputs"):
        root(b ** 2, a)


class TestDoubled(InferShapeTester):
    """Written as Theano's page on operations of one's own says."""

    def test_values_shapes_and_gradients(self):
        class Doubled(theano.Op):
            __props__ = ()

            def make_node(self, x):
                return theano.Apply(self, [x], [x.type()])

            def perform(self, node, inputs, outputs):
                outputs[0][0] = inputs[0] * 2

            def infer_shape(self, node, shapes):
                return shapes

            def grad(self, inputs, output_grads):
                return [output_grads[0] * 2]

        x, values = T.dmatrix(), np.random.rand(5, 4)
        unittest_tools.assert_allclose(values * 2, Doubled()(x).eval({x: values}))
        self._compile_and_check([x], [Doubled()(x)], [values], Doubled)
        unittest_tools.verify_grad(Doubled(), [values])
        with pytest.raises(AssertionError):
            unittest_tools.assert_allclose(values, values + 1e-5)


def test_graphs_for_graphviz(tmp_path, monkeypatch):
    x = T.dvector("input")
    dot = PyDotFormatter()(theano.function([x], T.exp(x)))
    assert dot.write_raw(tmp_path / "a.dot")
    assert (tmp_path / "a.dot").read_text() == dot.to_string()
    assert dot.to_string().startswith("digraph")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="write_raw"):
        dot.write_png(tmp_path / "a.png")


def test_constructors_of_shared_variables():
    s = tensor_constructor(np.ones(3), name="s")
    s.set_value(np.zeros(4))
    assert s.name == "s" and s.get_value().shape == (4,)
