"""Functions and methods in Theano's words, found by PyTensor's own tests and by programs."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T

A = np.random.default_rng(0).standard_normal((2, 3, 4))


def value(expression, **given):
    variables = {v.name: v for v in given.pop("over")}
    return theano.function(list(variables.values()), expression)(**given)


def test_grids_and_triangles_of_run_time_sizes():
    n, k = T.iscalar("n"), T.iscalar("k")
    dense = value(T.mgrid[0:n, 1:4], over=[n], n=2)
    np.testing.assert_array_equal(dense, np.mgrid[0:2, 1:4])
    for found, wanted in zip(value(T.ogrid[0:n, 1:4], over=[n], n=2), np.ogrid[0:2, 1:4],
                             strict=True):
        np.testing.assert_array_equal(found, wanted)
    tri, eye = value([T.tri(n, n + 1, k), T.eye(n, n, k)], over=[n, k], n=3, k=-1)
    np.testing.assert_array_equal(tri, np.tri(3, 4, -1))
    np.testing.assert_array_equal(eye, np.eye(3, 3, -1))
    for m in (1, 5):
        np.testing.assert_allclose(value(T.bartlett(n), over=[n], n=m), np.bartlett(m))


def test_places_of_extremes_over_several_axes():
    x = T.tensor3("x")
    highest, where, kept = value([*T.max_and_argmax(x, axis=[0, 2]),
                                  T.argmin(x, axis=(0, 2), keepdims=True)], over=[x], x=A)
    rows = A.transpose(1, 0, 2).reshape(3, -1)
    np.testing.assert_allclose(highest, rows.max(1))
    np.testing.assert_array_equal(where, rows.argmax(1))
    np.testing.assert_array_equal(kept, rows.argmin(1)[None, :, None])
    assert T.argmax(x, axis=(1,)).ndim == 2 and x.transpose(0, 2, 1).ndim == 3


def test_counts_choices_and_what_is_different():
    x, w, c = T.vector("x", dtype="int8"), T.vector("w"), T.matrix("c")
    counts, sums, different, *whole = value(
        [T.bincount(x), T.bincount(x, w, minlength=6), T.unique(x, True, False, True)[0],
         *T.extra_ops.Unique(return_counts=True)(x)],
        over=[x, w], x=np.int8([1, 2, 2]), w=[1.0, 2.0, 3.0])
    assert counts.tolist() == [0, 1, 2] and sums.tolist() == [0, 1, 5, 0, 0, 0]
    assert different.tolist() == [1, 2] and [x.tolist() for x in whole] == [[1, 2], [1, 2]]
    found = value(T.choose(x, c), over=[x, c], x=np.int8([0, 1]), c=np.arange(4.0).reshape(2, 2))
    assert found.tolist() == [0, 3]


def test_negative_numbers_to_count_are_refused_as_asked():
    x = T.lvector("x")
    f = theano.function([x], T.bincount(x, assert_nonneg=True))
    assert f([1, 1]).tolist() == [0, 2]
    with pytest.raises(AssertionError, match="negative values"):
        f([1, -1])


def test_integers_and_diagonals():
    x, y, z = T.vector("x", dtype="uint8"), T.vector("y", dtype="uint8"), T.tensor3("z")
    found = value(T.ceil_intdiv(x, y), over=[x, y], x=np.uint8([7, 255, 6]), y=np.uint8([2, 2, 3]))
    assert found.tolist() == [4, 128, 2]
    wanted = np.zeros((3, 3, 3))
    np.fill_diagonal(wanted, 2)
    np.testing.assert_array_equal(
        value(T.fill_diagonal(z, 2), over=[z], z=np.zeros((3, 3, 3))), wanted)


def test_types_names_and_refusals():
    c = T.as_tensor_variable(np.zeros((2, 3)))
    assert c.type.shape == (2, 3) and T.max(c, axis=0).type.shape == (3,)
    assert T.matrix().type.shape == (None, None) and T.iscalar().type.filter(3) == 3
    for named in (T.scalars("xy"), T.vectors(["x", "y"]), T.matrices("x", "y")):
        assert [v.name for v in named] == ["x", "y"]
    assert len(T.matrices(2)) == 2
    assert T.TensorConstant(T.lvector().type, [1, 2]).data.tolist() == [1, 2]
    assert value(T.zeros(T.as_tensor_variable([2, 3])).shape, over=[])[1] == 3
    with pytest.raises(TypeError, match="use real"):
        T.cast(T.vector(dtype="complex64"), "float32")
    with pytest.raises(TypeError, match="is no TensorType"):
        T.iscalar().type.filter(2.5)
    with pytest.raises(ValueError, match="flatten"):
        T.flatten(T.matrix(), 0)


def test_the_graph_of_a_function():
    x = T.vector("x")
    f = theano.function([x], T.exp(x) + 1)
    f([1.0])
    graph = f.maker.fgraph
    assert [node.op.name for node in graph.toposort()] == ["exp", "add"]
    assert graph.outputs[0].owner.op.name == "add" and len(graph.inputs) == 1
    assert {node.op.name for node in graph.apply_nodes} == {"exp", "add"}
    assert graph.inputs[0] in graph.variables


def test_copies_with_other_state():
    state, new, step = theano.shared(0), theano.shared(0), T.lscalar("step")
    count = theano.function([step], state, updates=[(state, state + step)])
    count(10)
    other = count.copy(swap={state: new}, name="other")
    other(100)
    still = count.copy(delete_updates=True)
    assert still(9000) == 10 and other.name == "other"
    assert (state.get_value(), new.get_value()) == (10, 100)
    assert count.copy()(1) == 10 and state.get_value() == 11


def test_copies_are_not_compiled_again():
    x = T.matrix("x")
    w, other = theano.shared(np.eye(3)), theano.shared(2 * np.eye(3))
    loss = (T.tanh(x.dot(w)) ** 2).sum()
    train = theano.function([x], loss, updates=[(w, w - 0.1 * T.grad(loss, w))])
    seen = train(np.ones((2, 3)))
    copy = train.copy(swap={w: other})
    assert copy(np.ones((2, 3))) > seen and copy.get_shared() == [other]
    assert "optimised graph" in copy.explain()
    with pytest.raises(ValueError, match="nothing can take its place"):
        train.copy(swap={theano.shared(np.eye(3)): other})


@pytest.mark.parametrize(("first", "second", "letters"), [
    ((3, 4), (3, 4), "bi,bi->b"), ((3, 2, 4), (3, 4), "bij,bj->bi"),
    ((3, 4), (3, 4, 2), "bi,bij->bj"), ((3, 2, 4), (3, 4, 5), "bij,bjk->bik"),
    ((3,), (3, 4), "b,bi->bi"), ((3, 4), (3,), "bi,b->bi"),
    ((3, 2, 2, 4), (3, 4, 5), "bxij,bjk->bxik")])
def test_products_for_each_entry_of_the_first_axis(first, second, letters):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(first), rng.standard_normal(second)
    found = T.batched_dot(T.constant(a), T.constant(b)).eval()
    np.testing.assert_allclose(found, np.einsum(letters, a, b), rtol=1e-12)


def test_modules_that_theano_imports_with_itself():
    s = T.dscalar("s")
    rows, _ = theano.scan(lambda p: (p * 2, theano.scan_module.until(p * 2 > s)),
                          outputs_info=T.constant(1.0), n_steps=100)
    np.testing.assert_array_equal(value(rows, over=[s], s=20.0), [2, 4, 8, 16, 32])
    assert theano.sandbox.rng_mrg.MRG_RandomStreams(3).normal((4,)).eval().shape == (4,)


def test_values_are_compared_as_their_dtypes_allow():
    ones = np.ones(3, "float32")
    for more, narrow, wide in ((1e-5, True, True), (1.9e-5, True, False), (1e-3, False, False)):
        assert T._allclose(ones, ones.astype("float64") + more) is narrow
        assert T._allclose(ones.astype("float64"), ones.astype("float64") + more) is wide
    assert T._allclose(1.0, 1.5, atol=1.0)


def test_gradients_to_constants_tell_what_to_write():
    x, c = T.dscalar("x"), T.constant(2.0)
    for wrt in (c, [x, c]):
        with pytest.raises(ag.GradientError, match=r"grad: .*constant.*theano.shared"):
            theano.grad(x * c, wrt)
    v = T.dscalar("v")
    f = theano.function([x], theano.grad(x * v**2, v), givens={v: c})
    assert f(3.0) == 12


def test_integers_of_python_and_small_integers_have_theanos_dtypes():
    i, u, f = T.vector(dtype="int8"), T.vector(dtype="uint8"), T.vector(dtype="float32")
    found = [T.clip(i, 0, 1000), T.clip(i, 0, 9), i + 1, i + 300, 300 - i, u * 2, T.lvector() * 2,
             f + 70000, i // 70000, T.exp(i), T.sqrt(u), T.log(T.ivector()), T.floor(i),
             T.cumsum(i), T.cumprod(u), i * 2.5, 1.0 / u, i * 0.1, T.maximum(i, 1e300),
             T.switch(f, T.lvector(), 2), T.switch(i, i, 1.5)]
    assert [v.dtype for v in found] == [
        "int16", "int8", "int8", "int16", "int16", "int16", "int64", "float64", "int32", "float32",
        "float32", "float64", "float32", "int8", "uint8", "float32", "float32", "float64",
        "float64", "int64", "float32"]
    v = T.vector("v", dtype="uint8")
    assert value(v * 2, over=[v], v=np.uint8([200])).tolist() == [400]


def test_constants_keep_their_dtype_beside_variables():
    f, h, i = T.fmatrix(), T.vector(dtype="float16"), T.ivector()
    wide = [f * [1, 2], f * [0.1, 0.2], np.array([0.5, 1.0]) * f, f + np.int64(3), f * 0.1,
            f.sum() / f.shape[0], f / f.size, i * np.float32(2), np.float32(2) * i, h + 70000,
            T.dot(f, [1, 2]), T.maximum(f, 0.1), T.switch(i, f, 0.1), T.clip(f, 0.0, 0.1)]
    assert {v.dtype for v in wide} == {"float64"}
    narrow = [f * 0.5, f + np.int8(2), f * 300, h + 300, h * 1.5, T.as_tensor_variable(1.5),
              T.stack([f[0, 0], 1]), T.sqrt(2), T.fill(f, 0.5)]
    assert {v.dtype for v in narrow} == {"float32"}
    assert [T.as_tensor_variable(n).dtype for n in (1, 300, 0.1)] == ["int8", "int16", "float64"]
    with theano.config.change_flags(floatX="float32"):
        assert (f * 0.1).dtype == "float32" and (i * 0.1).dtype == "float64"


def test_what_a_cost_does_not_depend_on():
    x, y = T.dvector("x"), T.dvector("y")
    cost, ignored = (x**2).sum(), {"disconnected_inputs": "ignore"}
    zero = theano.grad(cost, y, **ignored)
    assert value(zero, over=[y], y=[1.0, 2.0]).tolist() == [0, 0]
    slope, none = theano.grad(cost, [x, y], return_disconnected="none", **ignored)
    assert none is None and value(slope, over=[x], x=[3.0]) == 6
    found = theano.grad(cost, y, return_disconnected="disconnected", **ignored)
    assert isinstance(found.type, theano.gradient.DisconnectedType)
    with pytest.raises(ValueError, match="return_disconnected"):
        theano.grad(cost, x, return_disconnected="None")


def test_gradients_of_subgraphs_end_and_wrong_ones_are_found():
    x = T.dvector("x")
    h = T.tanh(x)
    (beyond,), (there,) = theano.subgraph_grad([x], [h], cost=(h**2).sum())
    assert [v.tolist() for v in value([beyond, there], over=[x], x=[1.0])] == [
        [0], [2 * np.tanh(1.0)]]
    theano.gradient.verify_grad(T.exp, [A[0]], rng=np.random.RandomState(0))
    with pytest.raises(theano.gradient.GradientError):
        theano.gradient.verify_grad(lambda x: theano.gradient.grad_scale(x, 2.0), [A[0]],
                                    rng=np.random.RandomState(0))


def test_a_cholesky_factor_depends_on_the_half_that_is_read():
    s = T.dmatrix("s")
    at = np.array([[2.0, 7.0], [0.5, 3.0]])  # the other half is not looked at
    factor = T.slinalg.cholesky(s)
    found, slope = value([factor, theano.grad(factor.sum(), s)], over=[s], s=at)
    np.testing.assert_allclose(found, np.linalg.cholesky(at))
    assert slope[0, 1] == 0
    step = 1e-6
    more = np.linalg.cholesky(at + np.array([[0, 0], [step, 0]])).sum() - found.sum()
    np.testing.assert_allclose(slope[1, 0], more / step, rtol=1e-4)


def test_strict_loops_and_sizes_behind_parameters():
    w, u = theano.shared(2.0, "w"), T.dvector("u")
    with pytest.raises(Exception, match="w"):
        theano.scan(lambda x: x * w, sequences=u, strict=True)
    rows, _ = theano.scan(lambda x, w: x * w, sequences=u, non_sequences=[w], strict=True)
    assert value(rows, over=[u], u=[1.0, 2.0]).tolist() == [2, 4]
    streams = T.shared_randomstreams.RandomStreams(1)
    draws = value(streams.normal(5.0, 0.1, size=(3,)), over=[])
    assert draws.shape == (3,) and (abs(draws - 5) < 1).all()


def test_inputs_of_other_ranks_are_refused_by_name():
    x = T.dvector("x")
    with pytest.raises(TypeError, match="input x"):
        theano.function([x], x)([[1.0]])


SIZES = {
    "zeros": lambda m, n: T.zeros((m, n)), "alloc": lambda m, n: T.alloc(1.0, m, n),
    "reshape": lambda m, n: T.ones((6,)).reshape((m, n)), "eye": T.eye, "arange": T.arange,
    "tile": lambda m, n: T.tile(T.ones((2,)), (m, n)), "repeat": lambda m, n: T.repeat(m, n),
    "draws": lambda m, n: T.shared_randomstreams.RandomStreams(1).uniform((m, n)) * 0,
    "steps": lambda m, n: theano.scan(lambda s: s + m, outputs_info=T.zeros(()), n_steps=n)[0],
}


@pytest.mark.parametrize("name", SIZES)
def test_known_sizes_are_sizes_in_bodies_of_loops(name):
    x, k = T.dvector("x"), T.zeros((2, 3))
    rows, updates = theano.scan(lambda v, s: s + v + SIZES[name](*k.shape).sum(), sequences=x,
                                outputs_info=T.zeros(()))
    alone = float(SIZES[name](*k.shape).sum().eval())
    found = theano.function([x], rows, updates=updates)([1.0, 2.0])
    np.testing.assert_allclose(found, [1 + alone, 3 + 2 * alone])


def test_pytensors_special_functions_are_those_of_all_elements_or_of_an_axis():
    special = importlib.import_module("agnesi.compat.theano.tensor.special")
    x, a = T.dmatrix("x"), np.array([[1.0, 2.0], [3.0, 0.5]])
    shares = np.exp(a) / np.exp(a).sum()
    found = value([special.softmax(x), special.log_softmax(x), special.softmax(x, axis=0),
                   special.poch(x, 2), special.factorial(x), special.betaln(x, 2.0)], over=[x], x=a)
    wanted = (shares, np.log(shares), np.exp(a) / np.exp(a).sum(0), a * (a + 1),
              [[1, 2], [6, 0.8862269254527579]], -np.log(a * (a + 1)))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(("module", "name"), [
    ("compile.io", "In"), ("scan_module.scan_utils", "until"), ("scan.utils", "until"),
    ("scan.basic", "scan")])
def test_modules_of_both_libraries_lead_to_their_names(module, name):
    found = importlib.import_module(f"agnesi.compat.theano.{module}")
    assert getattr(found, name) is getattr(theano, name)


def test_a_scalar_has_nothing_to_iterate_over():
    with pytest.raises(TypeError, match="a scalar has no axes, so it cannot be iterated over"):
        sum(T.dscalar())


def test_types_are_written_with_the_axes_along_which_they_broadcast():
    kinds = [T.dscalar(), T.dcol(), T.frow(), T.lmatrix(), T.dtensor3(),
             T.TensorType("int8", (True, False, False))()]
    assert [str(x.type).partition(", ")[2] for x in kinds] == [
        "scalar)", "col)", "row)", "matrix)", "3D)", "(True, False, False))"]


def test_of_equal_operands_the_first_has_the_gradient_of_maximum_and_minimum():
    x, y, v = T.dvector("x"), T.fvector("y"), np.array([0.0, -1.0, 2.0, np.nan])
    for f, sign in ((T.maximum, 1), (T.minimum, -1)):
        z, of_x, of_0 = f(x, 0), *(T.grad(f(*xs).sum(), x) for xs in ((x, 0), (0, x)))
        found = value([z, of_x, of_0], over=[x], x=sign * v)
        np.testing.assert_array_equal(found, [sign * np.maximum(v, 0), [1, 0, 1, 1], [0, 0, 1, 1]])
        assert (f(y, 0).dtype, f(0, y).dtype) == ("float32", "float32")
        assert f(T.ivector(), 3).dtype == "int32"


@pytest.mark.parametrize("known", [True, False])
def test_specified_shapes_are_checked_when_the_function_runs(known):
    x, n = T.dmatrix("x"), T.lscalar("n")
    f = theano.function([x, n], T.specify_shape(x, (2, 3 if known else n)),
                        on_unused_input="ignore")
    assert f(np.ones((2, 3)), 3).shape == (2, 3)
    with pytest.raises(ValueError, match="the size of axis 1 is not"):
        f(np.ones((2, 4)), 3)


@pytest.mark.parametrize("dtype", [np.dtype("float32"), np.float32, "<f4"], ids=str)
def test_dtypes_are_written_in_any_of_numpys_ways(dtype):
    x = T.vector("x", dtype=dtype)
    for made in (x, T.scalar(dtype=dtype), T.tensor3("t", dtype), T.cast(x, dtype), x.astype(dtype),
                 T.zeros(2, dtype=dtype), T.TensorType(dtype, (False,))("y")):
        assert made.dtype == "float32"


def test_streams_of_every_kind_draw_in_the_dtype_that_is_asked_for():
    for kind in (theano.sandbox.rng_mrg.MRG_RandomStreams, T.shared_randomstreams.RandomStreams):
        streams = kind(1)
        for drawn in (streams.uniform((2,), dtype="float32"), streams.normal((2,), dtype="float32"),
                      streams.binomial((2,), p=T.constant(1) - np.float32(0.5), dtype="float32")):
            assert drawn.dtype == drawn.eval().dtype == "float32"
        assert streams.uniform((2,)).dtype == "float64"


def test_constants_have_the_smallest_integers():
    kinds = [T.constant(n).dtype for n in (1, -128, 128, 70000)]
    assert kinds == ["int8", "int8", "int16", "int32"]
    assert (T.fvector() * T.constant(2)).dtype == "float32"


def test_strict_scans_take_what_is_given_by_its_name():
    W, x = theano.shared(np.eye(2), "W"), T.dmatrix("x")
    both = T.concatenate([W, W], axis=1)
    out, _ = theano.scan(lambda v, s, *held: s + T.dot(v, both)[:2], x, [T.zeros(2)], [W, both],
                         strict=True)
    f = theano.function([x], [out, T.grad(out[-1].sum(), W)])
    assert [v.tolist() for v in f(np.ones((2, 2)))] == [[[1, 1], [2, 2]], [[2, 2], [2, 2]]]
    m = T.dvector()  # of an input it is no matter
    out, _ = theano.scan(lambda v, s, W: s + T.dot(v, W) + m.sum(), x, [T.zeros(2)], W, strict=True)
    assert theano.function([x, m], out)(np.ones((1, 2)), [3.0]).tolist() == [[4, 4]]
    for used in (W, T.exp(W)):
        with pytest.raises(ag.TraceError, match="strict=True"):
            theano.scan(lambda v, s, u=used: s + T.dot(v, u), x, [T.zeros(2)], strict=True)


def test_sizes_that_cannot_all_be_alike():
    """Gates of a GRU in one matrix, as in dl4mt-tutorial."""
    U, x = theano.shared(np.ones((2, 4))), T.dmatrix("x")
    n = theano.shared(np.ones((2, 2))).shape[1]
    both = T.dot(x, U)
    last = (both[:, :n] * both[:, n:2 * n] + x)[None, :, :]
    assert theano.function([x], last)(np.ones((1, 2))).tolist() == [[[5, 5]]]


def test_fixed_sizes_of_shared_variables():
    c = theano.shared(np.ones((3, 1)), broadcastable=(False, True))
    assert c.broadcastable == (False, True)
    c.set_value(np.ones((5, 1)))
    assert theano.function([], c + np.zeros((5, 2)))().shape == (5, 2)
    with pytest.raises(ValueError, match="fixed sizes"):
        c.set_value(np.ones((3, 2)))


def test_graphs_are_compared_and_walked_as_theano_does():
    x, y, z = T.dvectors("x", "y", "z")
    same = theano.gof.graph.is_same_graph
    assert same(T.exp(x + 1), T.exp(x + 1)) and same(x * y, z * y, {x: z})
    assert not same(T.exp(x), T.exp(y)) and not same(x + 1, x + 2)
    assert theano.gof.graph.inputs([x, y * z]) == [y, z, x]
    assert theano.function([x], x[[slice(1, None)]])([1.0, 2.0]).tolist() == [2.0]
    assert T.nnet.relu(np.array([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert not theano.sandbox.cuda.dnn.dnn_available()
    assert sum(T.grad(x.sum() + y.sum(), [x, y])).eval({x: [1], y: [2]}).tolist() == [2.0]
    assert importlib.import_module("agnesi.compat.theano.compat.six.moves").xrange is range


def test_scans_that_give_every_so_many_steps():
    v = T.dvector("v")
    given = {"sequences": [v], "outputs_info": [T.constant(np.float64(0))]}
    rows, _ = theano.scan_checkpoints(lambda a, s: T.tanh(a + s), save_every_N=3, **given)
    every, _ = theano.scan(lambda a, s: T.tanh(a + s), **given)
    f = theano.function([v], [rows, every, theano.grad(rows[-1], v), theano.grad(every[-1], v)])
    for n in (9, 10, 2):
        found, wanted, g, h = f(np.linspace(-1, 1, n))
        np.testing.assert_array_equal(found, wanted[[*range(2, n - 1, 3), n - 1]])
        np.testing.assert_allclose(g, h, rtol=1e-12)
    with pytest.raises(RuntimeError, match="taps"):
        theano.scan_checkpoints(lambda a: a, outputs_info={"initial": v, "taps": [-2]}, n_steps=4)


def test_patches_go_back_to_images_of_sizes_that_a_graph_knows():
    x, images = T.dtensor4("x"), np.arange(32.0).reshape(1, 2, 4, 4)
    rows = T.nnet.neighbours.images2neibs(x, (2, 2))
    for shape in (x.shape, (1, 2, x.shape[2], 4)):
        f = theano.function([x], T.nnet.neighbours.neibs2images(rows, (2, 2), shape))
        np.testing.assert_array_equal(f(images), images)


def test_gradients_of_normalized_logits_of_any_size():
    """Rules that compare sizes for speed decide where none is known."""
    x, scale = T.dmatrix("x"), theano.shared(np.ones(3))
    inverse = 1 / T.sqrt(x.var(0) + 1e-4)
    cost = T.log(T.nnet.softmax((x - x.mean(0)) * (scale * inverse)))[:, 0].sum()
    f = theano.function([x], [cost, theano.grad(cost, x), theano.grad(cost, scale)])
    values = np.random.default_rng(0).normal(size=(4, 3))
    _, slope, _ = f(values)
    step = 1e-6 * np.eye(12)[5].reshape(4, 3)
    numeric = (f(values + step)[0] - f(values - step)[0]) / 2e-6
    np.testing.assert_allclose(slope[1, 2], numeric, rtol=1e-5)


def test_streams_in_pytensors_words():
    from agnesi.compat.theano.tensor.random.utils import RandomStream

    s = RandomStream(seed=3)
    far, near = s.normal(loc=50.0, scale=[0.1, 0.2]), s.uniform(2, 3, size=(2, 3))
    f = theano.function([], [far, near, s.integers(5, size=(40,)), s.bernoulli(0.5, size=4)])
    assert s.normal(0.0, 1.0, name="noise").name == "noise"
    a, b, c, d = f()
    assert a.shape == (2,) and abs(a - 50).max() < 2 and b.shape == (2, 3)
    assert b.min() >= 2 and b.max() < 3 and set(c) <= set(range(5)) and set(d) <= {0, 1}
    assert f.maker.inputs == [] and f.maker.outputs[1].variable.ndim == 2
    assert (f()[1] != b).all()
    s.seed(3)
    np.testing.assert_array_equal(f()[1], b)


def test_shapes_are_vectors_as_results_and_whole_numbers_have_derivatives_of_zero():
    x, m = T.dvector("x"), T.dmatrix("m")
    assert value(x.shape, over=[x], x=[1, 2]).tolist() == [2]
    whole, rows = value([m.shape, theano.clone(m.shape[0])], over=[m], m=A[0])
    assert whole.tolist() == [3, 4] and rows == 3
    assert value(T.grad(T.argmax(x), x), over=[x], x=[1, 2]).tolist() == [0, 0]
    with pytest.raises(theano.gradient.DisconnectedInputError, match="does not depend on m"):
        T.grad(T.sum(x > 0), m)


def test_constants_indexed_by_tensors_have_a_place_to_be_set():
    steps, _ = theano.scan(lambda i, row: T.inc_subtensor(row[i], 2.0), sequences=T.arange(3),
                           outputs_info=T.zeros(3))
    assert steps[-1].eval().tolist() == [2, 2, 2]
    assert T.set_subtensor(T.zeros(3)[T.arange(2)], 1.0).eval().tolist() == [1, 1, 0]
    twice = T.zeros(2)[T.constant([0, 0])]
    assert T.inc_subtensor(twice, 1.0).eval().tolist() == [2, 0]
    assert T.inc_subtensor(twice, 1.0, ignore_duplicates=True).eval().tolist() == [1, 0]


def test_functions_of_variables_are_vectorized():
    x, y = T.dmatrix("x"), T.dvector("y")
    dots = T.vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()")
    np.testing.assert_allclose(value(dots(x, y), over=[x, y], x=A[0], y=A[0, 0]), A[0] @ A[0, 0])


def test_a_known_derivative_of_the_cost_itself_stands_for_one():
    x = T.dvector("x")
    cost = (x**2).sum()
    found = T.grad(cost, x, known_grads={cost: T.constant(3.0, dtype="float64")})
    assert value(found, over=[x], x=[1.0, 2.0]).tolist() == [6, 12]


def test_some_outputs_of_a_function():
    x = T.dscalar("x")
    f = theano.function([x], [x, x * 2, x * 3])
    assert [float(v) for v in f(1.0, output_subset=[0, 2])] == [1, 3] and f.trust_input is False


def test_states_that_begin_as_short_floats_are_of_floatx_where_steps_return_that():
    x = T.dmatrix("x")
    rows, _ = theano.scan(lambda row, h: T.tanh(row + h), sequences=x,
                          outputs_info=T.alloc(0.0, x.shape[1]))
    total, _ = theano.reduce(lambda row, s: s + row.sum(), x, T.constant(0.0))
    got = theano.function([x], [rows, total])(np.ones((2, 3)))
    assert [v.dtype.name for v in got] == ["float64", "float64"] and got[1] == 6
    np.testing.assert_allclose(got[0][1], np.tanh(1 + np.tanh(np.ones(3))))
    with pytest.raises(TypeError, match="begins as int8"):
        theano.scan(lambda row, h: row.sum() + h, sequences=x, outputs_info=T.constant(1))


def test_complex_numbers_are_ordered_as_numpys():
    a, b = np.array([1 + 2j, 1 - 1j, 0, 3]), np.array([1 + 1j, 2, 0, 1j])
    x, y = T.zvector("x"), T.zvector("y")
    found = theano.function([x, y], [x < y, x <= y, x > b, T.ge(x, y), T.lt(T.real(x), y),
                                    T.maximum(x, y), T.minimum(x, y)])(a, b)
    wanted = [a < b, a <= b, a > b, a >= b, a.real < b, np.maximum(a, b), np.minimum(a, b)]
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_advanced_subtensors_have_names_and_functions_print(capsys):
    x, i = T.dmatrix("x"), T.lvector("i")
    f = theano.function([x, i], [T.advanced_subtensor1(x, i), T.advanced_subtensor(x, i, i),
                                 T.advanced_inc_subtensor1(x, 1.0, i),
                                 T.advanced_set_subtensor(x, 5.0, i, i)])
    a, k = np.arange(6.0).reshape(2, 3), np.array([1, 1])
    rows, picked, more, other = f(a, k)
    assert rows.tolist() == a[k].tolist() and picked.tolist() == [4, 4]
    assert more.tolist() == [[0, 1, 2], [5, 6, 7]] and other.tolist() == [[0, 1, 2], [3, 5, 5]]
    f.dprint()
    assert "gather" in capsys.readouterr().out
    assert theano.printing.pp(x[0]) == "x[0]" and theano.printing.pp(x[:, 1:]) == "x[:, 1:]"
