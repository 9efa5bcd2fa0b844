"""Programs in Theano's words: values, names, and what Theano means by them."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams
from agnesi.compat.theano.tensor.signal import pool

RNG = np.random.default_rng(0)
A = RNG.standard_normal((4, 3))


def test_a_variable_tells_what_it_is_as_in_theano():
    x = T.fmatrix("x")
    y = T.tanh(x).sum(axis=1)
    assert (x.dtype, y.ndim, x.name, x.broadcastable) == ("float32", 1, "x", (False, False))
    assert y.type == T.TensorType("float32", [False]) == T.fvector().type
    assert T.Tensor is T.TensorType
    assert y.owner.inputs[0].owner.inputs[0] is x
    assert x.owner is None
    assert T.row().broadcastable == (True, False)
    assert T.matrix().dtype == "float64" == theano.config.floatX
    assert T.scalar("c", dtype="int32").dtype == "int32"


def test_floatx_decides_over_what_has_no_dtype():
    kept = theano.config.floatX
    try:
        for kind in ("float32", "float64"):
            theano.config.floatX = kind
            c = T.bscalar("c")
            made = [T.matrix(), T.zeros((2, 2)), T.switch(c, 0.1, 0.2), T.alloc(0.1, 3), T.eye(2),
                    T.ones_like(T.matrix()), theano.shared(np.asarray(1, kind)) * 0.5]
            assert [m.dtype for m in made] == [kind] * len(made)
            assert T.constant(1.5).dtype == "float32" and T.constant(0.1).dtype == kind
    finally:
        theano.config.floatX = kept
    assert T.lvector().mean().dtype == "float64"


def test_truth_and_comparison():
    x, y = T.dscalars("x", "y")
    assert x
    assert x == x
    assert x != y
    with pytest.raises(TypeError, match="boolean"):
        bool(x < y)
    f = theano.function([x, y], [T.eq(x, y), T.neq(x, y), x < y])
    assert [bool(v) for v in f(1.0, 2.0)] == [False, True, True]
    assert theano.function([x], [*divmod(x, 2), *divmod(7, x)])(3) == [1, 1, 2, 1]


def test_in_place_operators_make_new_expressions():
    x = T.dvector("x")
    h = y = T.tanh(x)
    y += 1
    found = theano.function([x], [h, y])([0.0])
    assert (found[0], found[1]) == (0.0, 1.0)
    with pytest.raises(TypeError, match="set_subtensor"):
        x[0] = 5


def test_numbers_of_axes_that_differ_are_type_errors():
    x, m, w = T.dvector("x"), T.dmatrix("m"), theano.shared(np.zeros(3))
    for call in (lambda: T.concatenate([x, m]), lambda: theano.function([x], x)([[1.0]]),
                 lambda: w.set_value(np.zeros((2, 2)))):
        with pytest.raises(TypeError):
            call()


def test_sizes_are_expressions():
    v = T.dmatrix("v")
    n = v.shape[0]
    found = theano.function([v], [n, 0.5 * n, T.eq(n, 4), T.prod(v.shape), T.arange(n), v.shape,
                                  T.cast(n, "float32"), -n, n ** 2, T.switch(n > 3, 1.0, 0.0)])(A)
    expected = [4, 2.0, True, 12, np.arange(4), [4, 3], 4.0, -4, 16, 1.0]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert found[6].dtype == "float32"


SHAPES = {
    "flatten": (lambda x: x.flatten(2), lambda a: a.reshape(2, 6)),
    "flatten all": (lambda x: x.flatten(), np.ravel),
    "dimshuffle": (lambda x: x.dimshuffle(2, "x", 0, 1), lambda a: a.transpose(2, 0, 1)[:, None]),
    "dimshuffle list": (lambda x: x.dimshuffle([0, 2, 1]), lambda a: a.transpose(0, 2, 1)),
    "reshape": (lambda x: x.reshape((x.shape[0], -1)), lambda a: a.reshape(2, 6)),
    "reshape vector": (lambda x: T.reshape(x, x.shape[::-1]), lambda a: a.reshape(3, 2, 2)),
    "join": (lambda x: T.join(1, x, x), lambda a: np.concatenate([a, a], 1)),
    "stack": (lambda x: T.stack(x[0], x[1]), lambda a: a),
    "stack list": (lambda x: T.stack([x[0], x[1]], axis=1), lambda a: np.stack(list(a), 1)),
    "split": (lambda x: T.split(x, [1, 1], 2, axis=1)[1], lambda a: a[:, 1:]),
    "tile": (lambda x: T.tile(x, (1, 2, 1)), lambda a: np.tile(a, (1, 2, 1))),
    "repeat": (lambda x: T.repeat(x, 2, axis=1), lambda a: np.repeat(a, 2, 1)),
    "padleft": (lambda x: T.shape_padleft(x, 2), lambda a: a[None, None]),
    "padright": (T.shape_padright, lambda a: a[..., None]),
    "take": (lambda x: T.take(x, [1, 0], axis=0), lambda a: a[[1, 0]]),
    "roll": (lambda x: T.roll(x, 1, axis=2), lambda a: np.roll(a, 1, 2)),
    "set": (lambda x: T.set_subtensor(x[0], 0.0), lambda a: np.stack([0 * a[0], a[1]])),
    "inc": (lambda x: T.inc_subtensor(x[:, 0], 1.0), lambda a: np.add(a, [[[1.0], [0.0]]])),
    "where": (lambda x: T.where(x > 1, x, 0.0), lambda a: np.where(a > 1, a, 0)),
    "fill": (lambda x: T.fill(x, 2.0), lambda a: np.full_like(a, 2)),
    "choose": (lambda x: T.choose(x > 1, [x, -x]), lambda a: np.where(a > 1, -a, a)),
    "permutation": (lambda x: T.inverse_permutation(T.as_tensor_variable([2, 0, 1])),
                    lambda a: np.array([1, 2, 0])),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    make, expected = SHAPES[name]
    a = RNG.standard_normal((2, 2, 3))
    a = a if name != "reshape vector" else a.reshape(2, 2, 3)
    x = T.tensor3("x")
    np.testing.assert_array_equal(theano.function([x], make(x), on_unused_input="ignore")(a),
                                  expected(a))


REDUCTIONS = {
    "sum": (lambda x: x.sum(axis=[0]), lambda a: a.sum(0)),
    "mean": (lambda x: T.mean(x, axis=1, keepdims=True), lambda a: a.mean(1, keepdims=True)),
    "norm": (lambda x: x.norm(2), lambda a: np.sqrt((a * a).sum())),
    "std": (lambda x: x.std(axis=0, ddof=1), lambda a: a.std(0, ddof=1)),
    "max": (lambda x: T.max_and_argmax(x, axis=1)[1], lambda a: a.argmax(1)),
    "ptp": (lambda x: x.ptp(axis=0), lambda a: np.ptp(a, 0)),
    "cumsum": (lambda x: T.cumsum(x), lambda a: np.cumsum(a)),
    "sort": (lambda x: T.sort(x, axis=None), lambda a: np.sort(a, None)),
    "topk": (lambda x: T.topk(x, 2, axis=1), lambda a: np.sort(a, 1)[:, :0:-1]),
    "batched": (lambda x: T.batched_tensordot(x, x, axes=1), lambda a: (a * a).sum(1)),
    "dot": (lambda x: T.dot(x, x.T), lambda a: a @ a.T),
    "tensordot": (lambda x: T.tensordot(x, x, axes=[[0], [0]]), lambda a: a.T @ a),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    make, expected = REDUCTIONS[name]
    x = T.dmatrix("x")
    np.testing.assert_allclose(theano.function([x], make(x))(A), expected(A), rtol=1e-12)


def test_a_regression_learns_and_is_pickled():
    x, y = T.matrix("x"), T.ivector("y")
    w = theano.shared(np.zeros((3, 2)), name="w", borrow=True)
    b = theano.shared(np.zeros(2), "b")
    p = T.nnet.softmax(T.dot(x, w) + b)
    cost = -T.mean(T.log(p)[T.arange(y.shape[0]), y])
    grads = T.grad(cost, [w, b])
    train = theano.function([x, y], cost, updates=[(v, v - 0.5 * g) for v, g in
                                                   zip([w, b], grads, strict=True)],
                            allow_input_downcast=True)
    labels = (A[:, 0] > 0).astype("int32")
    losses = [float(train(A, labels)) for _ in range(200)]
    assert losses[-1] < 0.1 < losses[0]
    predict = theano.function([x], T.argmax(p, axis=1))
    np.testing.assert_array_equal(predict(A), labels)
    other_x, other_p = pickle.loads(pickle.dumps((x, p)))
    np.testing.assert_allclose(theano.function([other_x], other_p)(A),
                               theano.function([x], p)(A))
    assert copy.deepcopy(w).get_value().tolist() == w.get_value().tolist()


def test_functions_take_numbers_names_and_defaults():
    i, x = T.iscalar("i"), T.dscalar("x")
    state = T.dscalar("state")
    f = theano.function([i, theano.In(x, value=2.0),
                         theano.In(state, value=10.0, update=state + x)], [i * x, state])
    assert f(4) == [8.0, 10.0]
    assert f(4, x=3.0) == [12.0, 12.0]
    assert f[state] == 15.0
    with pytest.raises(TypeError, match="int32"):
        f(2**40)
    with pytest.raises(TypeError, match="needs a value for i"):
        f()
    assert theano.function([x], {"a": x + 1})(1)["a"] == 2.0


def test_loops():
    x, n = T.dvector("x"), T.iscalar("n")
    total, updates = theano.scan(lambda v, acc: acc + v, sequences=x, outputs_info=T.zeros(()))
    powers, _ = theano.scan(lambda p, v: p * v, outputs_info=T.ones_like(x), non_sequences=x,
                            n_steps=n)
    last, _ = theano.reduce(lambda v, acc: acc * v, x, T.as_tensor_variable(np.asarray(1.0)))
    first, _ = theano.foldr(lambda v, acc: acc * 2 + v, x, T.as_tensor_variable(np.asarray(0.0)))
    until, _ = theano.scan(lambda p: (p * 2, theano.until(p > 3)), outputs_info=1.0, n_steps=10)
    found = theano.function([x, n], [total, powers[-1], last, first, until], updates=updates)
    a = np.array([1.0, 2.0, 3.0])
    expected = [np.cumsum(a), a**3, 6.0, ((3 * 2) + 2) * 2 + 1, [2.0, 4.0, 8.0]]
    for got, want in zip(found(a, 3), expected, strict=True):
        np.testing.assert_allclose(got, want)
    count = theano.shared(0)
    out, updates = theano.scan(lambda: ([count * 1.0], {count: count + 1}), n_steps=3)
    f = theano.function([], out, updates=updates)
    assert f().tolist() == [0.0, 1.0, 2.0]
    assert f().tolist() == [3.0, 4.0, 5.0]


def test_derivatives():
    x, v = T.dvector("x"), T.dvector("v")
    y = (x**3).sum()
    found = theano.function([x, v], [
        T.jacobian(x**2, x), T.hessian(y, x), T.Rop(x**2, x, v), T.Lop(x**2, x, v),
        theano.gradient.hessian_vector_product(y, [x], [v])[0],
        T.grad((x * theano.gradient.disconnected_grad(x)).sum(), x),
        T.grad(theano.gradient.grad_clip(x * 9.0, -1, 1).sum(), x),
        T.grad((theano.gradient.zero_grad(v * 2) * x).sum(), v)])
    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    expected = [np.diag(2 * a), np.diag(6 * a), 2 * a * b, 2 * a * b, 6 * a * b, a, [9.0, 9.0],
                [0.0, 0.0]]
    for got, want in zip(found(a, b), expected, strict=True):
        np.testing.assert_allclose(got, want)
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.grad(y, v)
    assert theano.function([x, v], T.grad(y, v, disconnected_inputs="ignore"),
                           on_unused_input="ignore")(a, b).tolist() == [0, 0]
    theano.gradient.verify_grad(lambda x: T.tanh(x).sum(), [a])


def test_operations_of_ones_own():
    class Scale(theano.Op):
        __props__ = ("factor",)
        itypes, otypes = [T.dvector().type], [T.dvector().type]

        def __init__(self, factor):
            self.factor = factor

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * self.factor

        def infer_shape(self, node, shapes):
            return [shapes[0]]

        def grad(self, inputs, output_grads):
            return [output_grads[0] * self.factor]

    x = T.dvector("x")
    y = Scale(3.0)(x)
    assert Scale(3.0) == Scale(3.0) != Scale(4.0)
    f = theano.function([x], [y, T.grad((y**2).sum(), x)])
    for got, want in zip(f([1.0, 2.0]), ([3.0, 6.0], [18.0, 36.0]), strict=True):
        np.testing.assert_allclose(got, want)

    @theano.compile.as_op(itypes=[T.dvector], otypes=[T.dscalar])
    def longest(a):
        return np.array(np.abs(a).max())

    assert longest(x).eval({x: [1.0, -4.0]}) == 4.0
    double = theano.OpFromGraph([x], [x * 2])
    assert double(x + 1).eval({x: [1.0]}) == [4.0]


def test_networks():
    x, w = T.TensorType("float64", shape=(2, 1, 5, 6))("x"), T.tensor4("w")
    image, kernel = RNG.standard_normal((2, 1, 5, 6)), RNG.standard_normal((3, 1, 2, 3))
    found = theano.function([x, w], [
        T.nnet.conv2d(x, w), T.nnet.conv2d(x, w, filter_shape=(3, 1, 2, 3), border_mode="half"),
        pool.pool_2d(x, (2, 2), ignore_border=True), pool.pool_2d(x, (2, 2), ignore_border=False),
        pool.pool_2d(x, (2, 2), ignore_border=True, mode="average_exc_pad"),
        pool.pool_2d(x, (2, 2), ignore_border=True, mode="sum")])(image, kernel)
    windows = np.lib.stride_tricks.sliding_window_view(image[:, 0], (2, 3), (1, 2))
    conv = np.einsum("bijrc,orc->boij", windows, kernel[:, 0, ::-1, ::-1])
    np.testing.assert_allclose(found[0], conv, rtol=1e-10)
    assert found[1].shape == (2, 3, 6, 6)
    blocks = image[:, :, :4].reshape(2, 1, 2, 2, 3, 2)
    np.testing.assert_allclose(found[2], blocks.max((3, 5)))
    assert found[3].shape == (2, 1, 3, 3)
    np.testing.assert_allclose(found[3][:, :, 2], image[:, :, 4].reshape(2, 1, 3, 2).max(-1))
    np.testing.assert_allclose(found[4], blocks.mean((3, 5)))
    np.testing.assert_allclose(found[5], blocks.sum((3, 5)))


def test_activations_and_losses():
    x, t = T.dmatrix("x"), T.ivector("t")
    p = T.nnet.softmax(x)
    f = theano.function([x, t], [
        T.nnet.categorical_crossentropy(p, t), T.nnet.relu(x, 0.1), T.nnet.hard_sigmoid(x),
        T.nnet.elu(x), T.nnet.logsoftmax(x), T.nnet.sigmoid_binary_crossentropy(x, x > 0),
        T.nnet.batch_normalization_train(x, T.ones(3), T.zeros(3))[0]])
    labels = np.array([0, 2, 1, 1], "int32")
    e = np.exp(A - A.max(1, keepdims=True))
    q = e / e.sum(1, keepdims=True)
    normal = (A - A.mean(0)) / np.sqrt(A.var(0) + 1e-4)
    expected = [-np.log(q[np.arange(4), labels]), np.where(A > 0, A, 0.1 * A),
                np.clip(A * 0.2 + 0.5, 0, 1), np.where(A > 0, A, np.expm1(A)), np.log(q),
                np.log1p(np.exp(-np.abs(A))), normal]
    for got, want in zip(f(A, labels), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_random_streams_go_on():
    streams = RandomStreams(seed=7)
    f = theano.function([], [streams.uniform((2, 2)), streams.normal(size=(3,), avg=5.0)])
    (u, n), (v, _) = f(), f()
    assert u.dtype == "float64"
    assert not np.array_equal(u, v)
    assert 0 <= u.min() <= u.max() < 1
    assert n.shape == (3,)
    held = theano.function([], streams.binomial((4,), p=0.5), no_default_updates=True)
    assert held().tolist() == held().tolist()


def test_linear_algebra():
    a = T.dmatrix("a")
    m = A.T @ A + np.eye(3)
    f = theano.function([a], [T.nlinalg.matrix_inverse(a), T.slinalg.cholesky(a), T.nlinalg.det(a),
                              T.slinalg.solve(a, T.ones(3)), T.nlinalg.trace(a)])
    expected = [np.linalg.inv(m), np.linalg.cholesky(m), np.linalg.det(m),
                np.linalg.solve(m, np.ones(3)), np.trace(m)]
    for got, want in zip(f(m), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)


def test_conditions_and_printing(capsys):
    x = T.dscalar("x")
    y = theano.ifelse.ifelse(x > 0, x * 2, -x)
    assert theano.function([x], y)(-3.0) == 3.0
    shown = theano.printing.Print("value of x")(x)
    assert theano.function([x], shown + 1)(2.0) == 3.0
    assert "value of x" in capsys.readouterr().out
    assert "add" in theano.printing.debugprint(x + 1, file="str")
    checked = T.Assert("too small")(x, x > 1)
    with pytest.raises(Exception, match="too small"):
        theano.function([x], checked)(0.0)


def test_what_is_not_here_is_told():
    with pytest.raises(AttributeError, match=r"use T\.topk"):
        T.TopKOp  # noqa: B018
    with pytest.raises(AttributeError, match="set_subtensor"):
        T.AdvancedIncSubtensor1  # noqa: B018


def test_pytensors_words_for_loops_and_numbers():
    x = T.dvector("x")
    double = theano.map(lambda v: 2 * v, x, return_updates=False)
    start = T.constant(0.0, dtype="float64")
    total = theano.reduce(lambda v, a: a + v, x, start, return_updates=False)
    f = theano.function([x], [double, total])
    assert [v.tolist() for v in f([1.0, 2.0])] == [[2, 4], 3]
    n = theano.scalar.ScalarType("int64")("n")
    assert theano.function([n], n + 1)(2) == 3
    assert T.as_tensor(1, dtype="floatX").dtype == "float64" == T.scalar(dtype="floatX").dtype
    w = theano.shared(0.0)
    with pytest.raises(ValueError, match="return_updates=True"):
        theano.scan(lambda v: (v, {w: w + v}), x, return_updates=False)


def test_names_are_there_or_explained():
    path = Path(__file__).parents[3] / "tools/theano_names.py"
    spec = importlib.util.spec_from_file_location("theano_names", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for title, names in tool.listed().items():
        assert len(names) > 400
        lacking = [n for n in names if tool.standing(n) == "neither"]
        assert len(lacking) <= 0.03 * len(names), (title, lacking)
    assert tool.standing("TopKOp") == "explained" and tool.standing("exp") == "there"
    assert tool.standing("no_such_name") == "neither"


@pytest.mark.parametrize("wide", ["int32", "int64", "uint32"])
def test_integers_beside_short_floats_are_float64_as_in_theano(wide):
    n, m = T.vector("n", dtype=wide), T.vector("m", dtype="int16")
    for short, found in [("float32", "float64"), ("complex64", "complex128")]:
        x = T.vector("x", dtype=short)
        for y in (n + x, x * n, x / n, T.add(x, n), T.switch(n > 0, n, x), T.dot(x, n),
                  T.outer(n, x), T.tensordot(x, n, 1), T.concatenate([n, x]), T.stack([x, n]),
                  T.batched_dot(x.dimshuffle("x", "x", 0), n.dimshuffle("x", 0, "x"))):
            assert y.dtype == found
        assert (m + x).dtype == (2 * x).dtype == (x + x).dtype == short
    x = T.fvector("x")
    f = theano.function([n, x], [n + x, T.grad((n * x).sum(), x)])
    total, slope = f(np.array([2**24 + 1], wide), np.array([0.5], "float32"))
    assert total.tolist() == [2**24 + 1.5] and slope.dtype == "float32"


def test_means_are_summed_in_the_dtype_that_is_told():
    x = T.matrix("x", dtype="int8")
    a = np.array([[100, 100], [27, 3]], "int8")
    for dtype, expected in [("int64", 57.5), ("float32", 57.5), ("int8", -26 / 4),
                            ("complex64", 57.5), ("float16", 57.5), (None, 57.5)]:
        y = x.mean(dtype=dtype)
        assert y.dtype == ("float64" if dtype in ("int64", "int8", None) else dtype)
        assert theano.function([x], y)(a) == expected
    rows = theano.function([x], T.mean(x, axis=1, dtype="int64", keepdims=True))(a)
    assert rows.tolist() == [[100.0], [15.0]]


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_spaces_between_arrays_along_an_axis(name):
    first, last = np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]])
    for start, stop, more in [
            (1, 3, {}), (1, 3, {"num": 1}), (first, last, {"num": 5, "axis": 1}),
            (first, 4, {"num": 6, "axis": -1, "endpoint": False}),
            (1, 3, {"num": 7, "dtype": "int64"})]:
        found = theano.function([], getattr(T, name)(start, stop, **more))()
        np.testing.assert_allclose(found, getattr(np, name)(start, stop, **more), rtol=1e-12)
    found, step = theano.function([], list(T.linspace(0, 1, 3, retstep=True)))()
    assert found.tolist() == [0.0, 0.5, 1.0] and step == 0.5


def test_jacobians_by_scan_as_theanos_tutorial_writes_them():
    x = T.dvector("x")
    y = x**2 * T.sum(x)
    rows, updates = theano.scan(lambda i, y, x: T.grad(y[i], x), sequences=T.arange(y.shape[0]),
                                non_sequences=[y, x])
    closed, _ = theano.scan(lambda i: T.grad(y[i], x), sequences=T.arange(y.shape[0]))
    f = theano.function([x], [rows, closed], updates=updates)
    for n in (1, 4):
        a = np.linspace(-1.0, 2.0, n)
        expected = np.diag(2 * a * a.sum()) + np.outer(a**2, np.ones(n))
        for found in f(a):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_elements_that_each_step_selects_are_summed_in_it():
    x = T.dmatrix("x")
    sums, _ = theano.scan(lambda row: T.sum(row[(row > 0).nonzero()] ** 2), sequences=x)
    f = theano.function([x], [sums, T.grad(sums.sum(), x)])
    a = np.array([[1.0, -2, 3], [-1, -1, 0], [2, 2, 2]])
    np.testing.assert_allclose(f(a)[0], (np.maximum(a, 0) ** 2).sum(1))
    np.testing.assert_allclose(f(a)[1], 2 * np.maximum(a, 0))


def test_strict_scans_take_random_streams_as_state_of_the_loop():
    streams, w = RandomStreams(3), theano.shared(np.ones(2), "w")
    draws, updates = theano.scan(lambda: streams.uniform((2,)), n_steps=3, strict=True)
    f = theano.function([], draws, updates=updates)
    first, second = f(), f()
    assert len(np.unique([first, second])) == 12
    with pytest.raises(ag.TraceError, match="it also uses w"):
        theano.scan(lambda: streams.uniform((2,)) * w, n_steps=3, strict=True)


def test_scan_widens_what_begins_in_float32_though_sizes_have_other_names():
    x, mask = T.dtensor3(), T.dmatrix()
    h, _ = theano.scan(lambda m, v, h: m[:, None] * T.tanh(v + h) + (1.0 - m)[:, None] * h,
                       sequences=[mask, x], outputs_info=T.alloc(np.float32(0), x.shape[1], 2))
    found = theano.function([x, mask], h)(np.ones((2, 3, 2)), np.eye(2, 3))
    assert found.dtype == "float64" and found[1].tolist() == [
        [np.tanh(1.0)] * 2, [np.tanh(1.0)] * 2, [0.0] * 2]


@pytest.mark.parametrize(("float_x", "kinds"), [
    ("float64", ["int64", "float64", "float64", "int64", "float64", "float64"]),
    ("float32", ["int64", "float32", "float64", "int64", "float32", "float32"])])
def test_the_cast_policy_of_numpy_but_for_float_x(float_x, kinds):
    i, f, d = T.iscalar(), T.fscalar(), T.dscalar()
    with theano.config.change_flags(cast_policy="numpy+floatX", floatX=float_x):
        found = [T.arange(i), T.arange(i, f), T.arange(f, d), i * 2, i * 2.5, f * 2]
        assert [x.dtype for x in found] == kinds
    assert [(i * 2).dtype, (i * 2.5).dtype, (f * 2).dtype] == ["int32", "float64", "float32"]


def test_inc_subtensor_may_put_instead():
    x = T.dvector()
    found = T.inc_subtensor(x[1:], 5.0, set_instead_of_inc=True)
    assert found.eval({x: [1.0, 2.0]}).tolist() == [1, 5]
