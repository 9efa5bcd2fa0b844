"""Functions of Theano's that other libraries have with another meaning, or not at all."""

import warnings

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.sandbox.rng_mrg import MRG_RandomStreams
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams

x, k = T.matrix("x"), T.iscalar("k")
X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("offset", [-1, 0, 2])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_whose_diagonal_is_a_variable(name, offset):
    ours, theirs = getattr(T, name), getattr(np, name)
    part = ours(x, k)
    found, slope = theano.function([x, k], [part, T.grad((part**2).sum(), x)])(X, offset)
    np.testing.assert_array_equal(found, theirs(X, offset))
    np.testing.assert_array_equal(slope, 2 * theirs(X, offset))
    places = theano.function([x, k], getattr(T, f"{name}_indices_from")(x, k))(X, offset)
    np.testing.assert_array_equal(places, getattr(np, f"{name}_indices_from")(X, offset))
    fixed = theano.function([], getattr(T, f"{name}_indices")(4, offset, 3))()
    np.testing.assert_array_equal(fixed, getattr(np, f"{name}_indices")(4, offset, 3))


def test_products_of_batches_and_their_dtype():
    rng = np.random.default_rng(0)
    a, v, w = rng.random((3, 2, 4)), rng.random((3, 4)), rng.random((3, 2))
    m, left, right = T.tensor3(), T.matrix(), T.matrix()
    f = theano.function([m, left, right], [
        T.matvec(m, right), T.vecmat(left, m), T.vecdot(10 * right, right, dtype="int32")])
    for found, wanted in zip(f(a, w, v), (
            np.einsum("bij,bj->bi", a, v), np.einsum("bi,bij->bj", w, a),
            (10 * v * v).sum(1).astype("int32")), strict=True):
        np.testing.assert_allclose(found, wanted)
        assert found.dtype == wanted.dtype


def test_bounds_that_cross():
    """What is below the lower bound becomes that, all else the upper one."""
    low, high = T.dscalars("low", "high")
    f = theano.function([x, low, high], T.clip(x, low, high))
    np.testing.assert_array_equal(f(X - 6, 1.0, -1.0), np.where(X - 6 < 1, 1.0, -1.0))
    np.testing.assert_array_equal(f(X, 2.0, 5.0), X.clip(2, 5))


def test_values_in_every_element_of_what_broadcasts():
    y = T.fmatrix("y")
    found = theano.function([x, y], T.fill(x, y))(X[:, :1], np.ones((1, 4), "float32"))
    assert found.shape == (3, 4) and found.dtype == "float32"
    sizes = theano.function([x, k], list(T.broadcast_shape((x.shape[0], 1), (1, k),
                                                           arrays_are_shapes=True)))
    assert sizes(X, 7) == [3, 7]
    assert theano.function([x, y], list(T.broadcast_shape(x, y)))(X, np.ones(
        (1, 4), "float32")) == [3, 4]
    joined = theano.function([x, y], T.concat_with_broadcast([x, y], axis=1))
    assert joined(X, np.ones((1, 2), "float32")).shape == (3, 6)


def test_dtypes_of_ranges():
    i, f, d = T.iscalar(), T.fscalar(), T.dscalar()
    told = [T.arange(*given).dtype for given in (
        (i,), (f,), (i, f), (i, d), (0, f, 1), (f, d), (5,), (i, i, 0.5))]
    assert told == ["int64", "float32", "float64", "float64", "float32", "float64", "int64",
                    "float64"]
    with theano.config.change_flags(floatX="float32"):
        assert T.as_tensor_variable([]).dtype == "float32"


def test_places_by_sizes_in_a_vector():
    dims = T.lvector("dims", shape=(2,))
    f = theano.function([x, dims, k], [
        *T.unravel_index(k, x.shape), *T.unravel_index(k, dims, order="F"),
        T.ravel_multi_index((k - 5, k - 4), dims), T.ravel_multi_index([k, k], dims, "wrap")])
    assert f(X, [3, 4], 7) == [1, 3, 1, 2, 11, 7]
    assert theano.function([], T.zeros(np.array([2, 3])))().shape == (2, 3)


def test_values_by_names_of_inputs():
    assert (x * k).sum().eval({"x": X, "k": 2}) == 132
    with pytest.raises(TypeError, match="not by 'z'"):
        (x * k).eval({"z": X})


def test_strict_inputs_take_arrays_of_their_dtype_alone():
    v = T.dvector("v")
    f = theano.function([theano.In(v, strict=True)], 2 * v)
    assert f(np.ones(2)).tolist() == f(v=np.ones(2)).tolist() == [2.0, 2.0]
    for other in ([1.0, 2.0], np.ones(2, "float32"), np.ones(2, "int64")):
        with pytest.raises(TypeError, match="v is strict and takes an array of float64 alone"):
            f(other)
    assert theano.function([theano.In(v)], 2 * v)([1, 2]).tolist() == [2.0, 4.0]


@pytest.mark.parametrize(("kind", "value", "fits"), [
    ("iscalar", 1.0, True), ("iscalar", 2.5, False), ("iscalar", np.float64(1), True),
    ("iscalar", np.array(1.0), False), ("ivector", [1.0, 2.0], True), ("ivector", [1.5], False),
    ("ivector", [2**40], False), ("ivector", np.array([1.0]), False), ("bscalar", 200, False),
    ("fvector", [0.1], True), ("fvector", [1e300], False), ("fscalar", float("inf"), True),
    ("fvector", np.array([0.1]), False), ("fvector", np.array([3]), True)])
def test_numbers_and_lists_go_where_they_are_held(kind, value, fits):
    x = getattr(T, kind)()
    f = theano.function([x], x)
    if fits:
        found = f(value)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, np.asarray(value, x.dtype))
        return
    with pytest.raises(TypeError):
        f(value)


def test_inputs_of_which_something_was_computed_are_used():
    """Theano's graphs of these have the input in them, whose value nothing needs."""
    x, y, shared = T.dvector(), T.dscalar(), theano.shared(np.ones(3))
    steps, _ = theano.scan(lambda v: v, sequences=x, n_steps=3)
    for given, output, expected in [
            (y, theano.grad(3 * y, y), 3.0), (y, theano.grad((shared * y).sum(), y), 3.0),
            (y, T.zeros_like(y), 0.0), (y, T.ones_like(y) * 2, 2.0), (x, steps.shape[0], 3)]:
        f = theano.function([given], output)
        assert f(2.0 if given is y else np.ones(9)) == expected
    with pytest.raises(ValueError, match="nothing depends on input"):
        theano.function([x, T.dscalar()], x * 2)
    z = T.dscalar()
    with pytest.raises(ValueError, match="nothing depends on inputs"):
        theano.function([y, z], theano.grad(3 * y, y))


MASKED = np.ma.array(X, mask=X > 3)
TAKES = {
    "input": lambda m: theano.function([x], x * 2)(m),
    "input by name": lambda m: theano.function([x], x * 2)(x=m),
    "downcast": lambda m: theano.function([x], x * 2, allow_input_downcast=True)(m),
    "strict": lambda m: theano.function([theano.In(x, strict=True)], x * 2)(m),
    "default": lambda m: theano.function([theano.In(x, value=m)], x * 2),
    "givens": lambda m: theano.function([], x * 2, givens={x: m}),
    "list": lambda m: theano.function([x], x * 2)([m[0], m[1]]),
    "eval": lambda m: (x * 2).eval({x: m}), "filter": lambda m: x.type.filter(m),
    "shared": theano.shared, "set_value": lambda m: theano.shared(X).set_value(m),
    "constant": T.constant, "as_tensor_variable": T.as_tensor_variable,
    "operand": lambda m: x + m, "stack": lambda m: T.stack([x, m]),
}


@pytest.mark.parametrize("name", TAKES)
def test_masked_arrays_are_refused(name):
    """Their masks would be ignored."""
    with pytest.raises(TypeError, match="tensors have no masks"):
        TAKES[name](MASKED)


def test_complex_values_are_refused_for_real_inputs_without_a_warning():
    x, z = T.fvector("x"), T.TensorType("complex64", (False,))("z")
    f = theano.function([x], x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (np.array([1 + 2j]), np.complex64([1]), [1 + 2j]):
            with pytest.raises(TypeError, match="takes no complex"):
                f(value)
        assert theano.function([z], z)([1 + 2j]).dtype == "complex64"


def test_variables_that_a_cost_does_not_depend_on_are_warned_of():
    x, z = T.dvector("x"), T.dvector("z")
    with pytest.warns(UserWarning, match="does not depend on z"):
        found = T.grad((x**2).sum(), [x, z], disconnected_inputs="warn")
    assert theano.function([x, z], found)([1.0], [3.0])[1].tolist() == [0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        T.grad((x**2).sum(), x, disconnected_inputs="warn")
        T.grad((x**2).sum(), z, disconnected_inputs="ignore")


def test_variables_know_where_they_were_made():
    x = T.dvector("x")
    y = T.tanh(x) + 1
    (file, line, function, text), = y.tag.trace[-1]
    assert file == __file__ and text == "y = T.tanh(x) + 1" and function == (
        "test_variables_know_where_they_were_made") and line > 1
    nodes = theano.function([x], y).maker.fgraph.toposort()
    assert all(o.tag.trace[-1][0][:2] == (file, line) for n in nodes for o in n.outputs)
    y.tag.trace = [[]]
    assert y.tag.trace == [[]] and not hasattr(y.tag, "test_value")


SOME, v, w = [0.1, 0.3], T.dvector("v"), theano.shared(np.zeros(2))
#: Programs in which a number or list stands where a variable could.
STATED = {
    "updates": lambda: ([], [], {"updates": {w: SOME}}),
    "updates of scalars": lambda: ([], [], {"updates": {theano.shared(0.0): 0.1, w: SOME}}),
    "givens": lambda: ([], v * 1, {"givens": {v: SOME}}),
    "clone": lambda: ([], theano.clone(v * 1, replace={v: SOME}), {}),
    "outputs_info": lambda: ([v], theano.scan(
        lambda a: a * v[0], outputs_info=[SOME], n_steps=1)[0][0], {}),
    "taps": lambda: ([v], theano.scan(lambda a: a * v[0], outputs_info=[
        {"initial": SOME, "taps": [-2]}], n_steps=2)[0], {}),
    "sequences": lambda: ([v], theano.scan(lambda s: s * v[0], sequences=[SOME])[0], {}),
    "non_sequences": lambda: ([v], theano.scan(
        lambda x, s: x * s, sequences=[v], non_sequences=[SOME])[0][0], {}),
    "results": lambda: ([v], T.stack([theano.scan(lambda s, k=k: k, sequences=[v])[0][0]
                                      for k in SOME]), {}),
    "reduce": lambda: ([v], theano.reduce(lambda s, a: a * s, [v], [SOME])[0], {})}


@pytest.mark.parametrize("where", list(STATED))
def test_numbers_and_lists_beside_float64_keep_all_their_digits(where):
    inputs, output, options = STATED[where]()
    found = theano.function(inputs, output, on_unused_input="ignore", **options)(*[
        [1.0] for _ in inputs])
    np.testing.assert_array_equal(w.get_value() if "updates" in where else found, SOME)


def test_lists_are_rounded_to_the_float32_that_they_update():
    short = theano.shared(np.zeros(2, "float32"))
    theano.function([], [], updates={short: SOME})()
    assert short.get_value().tolist() == np.float32(SOME).tolist()


@pytest.mark.parametrize("kind", [RandomStreams, MRG_RandomStreams])
def test_draws_whose_first_argument_is_no_shape(kind):
    streams, x, n = kind(3), T.matrix("self"), T.lscalar("n")
    f = theano.function([x, n], [
        streams.shuffle(x), streams.shuffle_row_elements(x), streams.rand(n, 2),
        streams.randn(3, n), streams.bytes(n)])
    rows, elements, *others = f(self=X, n=5)
    np.testing.assert_array_equal(np.sort(rows, 0), X)
    np.testing.assert_array_equal(np.sort(elements, 1), X)
    assert [o.shape for o in others] == [(5, 2), (3, 5), (5,)]


def test_integers_that_loops_begin_with_are_int64():
    x = T.lvector("x")
    total = theano.scan(lambda i, c: c + i, sequences=[x], outputs_info=[1])[0]
    assert total.dtype == "int64" and theano.function([x], total)([2, 3]).tolist() == [3, 6]


@pytest.mark.parametrize("made", [
    T.eye, T.tri, T.zeros, lambda n: T.tri(3, n), lambda n: T.linspace(0, 1, n),
    lambda n: T.alloc(0, n)])
@pytest.mark.parametrize("size", [2.0, T.dscalar("n")], ids=["number", "variable"])
def test_sizes_are_integers(made, size):
    with pytest.raises(TypeError, match="must be an integer"):
        made(size)
