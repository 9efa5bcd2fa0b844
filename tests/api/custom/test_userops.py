"""Operations of a user's: decorated functions, classes, C functions, in every place."""

import copy
import ctypes
import pickle
from contextlib import nullcontext
from types import SimpleNamespace

import cffi
import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

CALLS = []


@ag.op(vjp=lambda g, y, x: g / (1 + ag.abs(x)) ** 2)
def softsign(x):
    CALLS.append(x.shape)
    return x / (1 + np.abs(x))


@ag.op(outputs=2, vjp=lambda g, y, x, b, k=2.0: (
    (0 if g[0] is None else g[0] * k) + (0 if g[1] is None else g[1] * b),
    None if g[1] is None else g[1] * x))
def pair(x, b, *, k=2.0):
    return x * k, x * b


class Scale(ag.Op):
    factor: float

    def perform(self, x):
        return x * self.factor

    def vjp(self, g, y, x):
        return (g * self.factor,)


def double(x):
    return np.asarray(x, "float64")


X = np.random.default_rng(0).normal(size=(4, 3))


KERNEL = ag.elementwise("x * x + 1")
SUM = ag.reduction("x * x", "a + b", 0)


@pytest.mark.parametrize("thing", [Scale(2.0), softsign, KERNEL, SUM])
def test_they_are_pickled_and_copied(thing):
    for other in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
        np.testing.assert_array_equal(other(X).numpy(), thing(X).numpy())


def test_the_number_of_results_is_checked():
    wrong = ag.op(lambda x: (x, x, x), outputs=2)
    with pytest.raises(TypeError, match="returned 3 results, but <lambda> has outputs=2"):
        wrong(X)


@pytest.mark.parametrize("sample", [X, X[:0], X[0, 0], X[:, ::2]])
def test_it_is_checked_like_ours(sample):
    ag.testing.check_op(softsign, [[sample]])
    ag.testing.check_op(Scale(3.0), [[sample]])


def test_several_results_and_settings():
    def both(x, b):
        first, second = pair(x, b, k=3.0)
        return first * second

    ag.testing.check_op(both, [[X, X + 1]])
    ag.testing.check_op(pair, [[X, X + 1]])


def test_a_wrong_rule_for_vmap_is_found():
    for factor in (2, 3):
        double = ag.op(lambda x: x * 2, like=0, vjp=lambda g, y, x: g * 2,
                       batch=lambda node, xs, rows, length, factor=factor: xs[0] * factor)
        with pytest.raises(AssertionError, match="vmap") if factor == 3 else nullcontext():
            ag.testing.check_op(double, [[X]])


def test_numbers_take_the_type_of_tensors_beside_them():
    first, second = pair(ag.ones(2), 3.0)
    assert first.dtype == second.dtype == "float32"
    np.testing.assert_array_equal(second.numpy(), [3.0, 3.0])


@pytest.mark.parametrize("function", [lambda x: x, lambda x: x.T, lambda x: x[::-1]])
def test_results_have_memory_of_their_own(function):
    x = ag.ones((2, 2))
    y = ag.op(function)(x)
    y += 1
    np.testing.assert_array_equal(x.numpy(), np.ones((2, 2)))


def test_batches():
    rows = ag.vmap(softsign)(ag.tensor(X))
    np.testing.assert_allclose(rows.numpy(), X / (1 + np.abs(X)))
    g = ag.vmap(ag.grad(lambda x: softsign(x).sum()))(ag.tensor(X))
    np.testing.assert_allclose(g.numpy(), 1 / (1 + np.abs(X)) ** 2)
    traced = ag.jit(ag.vmap(Scale(2.0)))(ag.tensor(X))
    np.testing.assert_allclose(traced.numpy(), X * 2)


def test_in_loops_of_compiled_code():
    f = ag.jit(lambda x: ag.scan(lambda c, r: (softsign(c + r), c), x[0] * 0, x)[0])
    c = np.zeros(3)
    for row in X:
        c = (c + row) / (1 + np.abs(c + row))
    np.testing.assert_allclose(f(ag.tensor(X)).numpy(), c)


def test_unknown_sizes_are_found_out():
    @ag.op
    def outer(x, y):
        return np.multiply.outer(x, y)[None]

    x, y = T.vectors("x", "y")
    z = outer(x, y)
    assert z.shape == (1, x.shape[0], y.shape[0])
    f = ag.function([x, y], z * 2)
    np.testing.assert_array_equal(f([1.0, 2.0], [3.0]), [[[6.0], [12.0]]])
    np.testing.assert_array_equal(f([1.0], [3.0, 1.0]), [[[6.0, 2.0]]])


def test_sizes_that_cannot_be_guessed_are_told_by_the_call():
    x = T.vector("x")
    told = {"infer": lambda x: (((x.shape[0] + 1) // 2,), x.dtype)}
    for rules in ({}, told):
        halved = ag.op(lambda x: x[::2], **rules)
        np.testing.assert_array_equal(ag.function([x], halved(x))([1.0, 2.0, 3.0]), [1.0, 3.0])


def test_axes_that_depend_on_sizes_ask_for_infer():
    deeper = ag.op(lambda x: x.reshape((1,) * len(x) + x.shape))
    with pytest.raises(ValueError, match="give <lambda> infer"):
        deeper(T.vector("x"))


def test_compiled_for_other_sizes():
    f = ag.jit(lambda x: softsign(x) + 1)
    for n in (2, 5, 9, 3, 14):
        x = np.linspace(-1, 1, n)
        np.testing.assert_allclose(f(ag.tensor(x)).numpy(), x / (1 + np.abs(x)) + 1)


def test_without_derivative_it_says_its_name():
    sign = ag.op(lambda x: np.sign(x))
    with pytest.raises(NotImplementedError, match=r"<lambda> has no reverse-mode"):
        ag.grad(lambda x: sign(x).sum())(ag.ones(2))
    flat = ag.op(lambda x: np.sign(x), differentiable=False)
    g = ag.grad(lambda x: (flat(x) * x).sum())(ag.ones(2))
    np.testing.assert_array_equal(g.numpy(), [1.0, 1.0])


@pytest.mark.parametrize(("vjp", "error", "text"), [
    (lambda g, y, x: (g, g), ValueError, "returned 2 cotangents for 1 operand"),
    (lambda g, y, x: g.sum(), ValueError, r"operand 0.*shapes must agree"),
])
def test_wrong_rules_are_told(vjp, error, text):
    wrong = ag.op(lambda x: x * 2, vjp=vjp)
    with pytest.raises(error, match=text):
        ag.grad(lambda x: wrong(x).sum())(ag.ones(2))


# -- derivatives that follow from what is given ----------------------------------------------------
class Exponential(ag.Op):
    def perform(self, x):
        return np.exp(x)

    def vjp(self, g, y, x):
        return (g * y,)


BY_RESULT = {
    "vjp": ag.op(np.exp, vjp=lambda g, y, x: g * y),
    "jvp": ag.op(lambda x: np.exp(x), jvp=lambda ts, y, x: ts[0] * y),
    "both": ag.op(lambda x: np.exp(x), vjp=lambda g, y, x: g * y, jvp=lambda ts, y, x: ts[0] * y),
    "closure": ag.op(lambda x: np.exp(x), vjp=lambda g, y, x: (lambda: g * y)()),
    "names": ag.op(lambda x: np.exp(x), vjp=lambda g, y, x: g * locals()["y"]),
    "any": ag.op(lambda x: np.exp(x), vjp=lambda *args: args[0] * args[1]),
    "class": Exponential(),
}


@pytest.mark.parametrize("name", BY_RESULT)
def test_rules_may_read_the_result(name):
    """In every mode and order; one of the two rules gives the other."""
    f = BY_RESULT[name]
    ag.testing.check_op(f, [[X[:2]]])
    x = ag.tensor(X)
    for run in (lambda g: g, ag.jit):
        np.testing.assert_allclose(run(ag.grad(lambda x: f(x).sum()))(x).numpy(), np.exp(X))
        pushed = run(lambda x: ag.jvp(f, (x,), (x,))[1])(x)
        np.testing.assert_allclose(pushed.numpy(), np.exp(X) * X)
        np.testing.assert_allclose(run(ag.vmap(ag.hessian(lambda x: f(x).sum())))(x[:1]).numpy(),
                                   [np.diag(np.exp(X[0]))])


def test_results_that_no_rule_reads_are_not_kept():
    x = ag.tensor(X, requires_grad=True)
    for f in (softsign, Scale(2.0)):
        assert f(x).node.value is None
    for f in BY_RESULT.values():
        assert f(x).node.value is not None


def test_a_forward_rule_alone_gives_gradients_of_several_operands_and_results():
    @ag.op(outputs=2, jvp=lambda ts, y, a, b: (
        (0 if ts[0] is None else ts[0] * b) + (0 if ts[1] is None else ts[1] * a),
        None if ts[0] is None else ts[0] * 2))
    def both(a, b):
        return a * b, a * 2

    def total(a, b):
        product, doubled = both(a, b)
        return product * doubled

    ag.testing.check_op(total, [[X, X + 1]])
    graph = ag.OpFromGraph([(a := T.dvector("a"))], ag.sin(a), jvp=lambda ts, y, x: ts[0] * 3)
    assert ag.grad(lambda x: graph(x).sum())(ag.tensor(X[0])).tolist() == [3.0] * 3
    graph = ag.OpFromGraph([a], ag.sin(a), vjp=lambda g, y, x: g * 3)
    pushed = ag.jvp(graph, (ag.tensor(X[0]),), (ag.ones(3, dtype="float64"),))[1]
    assert pushed.tolist() == [3.0] * 3


# -- what rules and functions give is compared with what was declared ------------------------------
class Twice(ag.Op):
    def perform(self, x):
        return x * 2

    def vjp(self, g, y, x):
        return g.sum()


ONES = ag.ones(2)


def graph_with(**rules):
    a = T.fvector("a")
    return ag.OpFromGraph([a], a * 2, **rules)


def ruled(kind, rule):
    f = kind(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, ()), rule) if kind is ag.custom_vjp else f.defjvp(rule)
    return f


def backwards(f):
    return lambda: ag.grad(lambda x: f(x).sum())(ONES)


def forwards(f):
    return lambda: ag.jvp(f, (ONES,), (ONES,))


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(("way", "f", "text"), [
    (backwards, ag.op(lambda x: x * 2, vjp=lambda g, y, x: g.sum()),
     r"the vjp of <lambda> returned float32\[\] for operand 0, which is float32\[2\]; their"),
    (backwards, ag.op(lambda x: x * 2, vjp=lambda g, y, x: g.astype("float64")),
     r"returned float64\[2\] for operand 0, which is float32\[2\]; their dtypes must agree"),
    (forwards, ag.op(lambda x: x * 2, jvp=lambda ts, y, x: ts[0].sum()),
     r"the jvp of <lambda> returned float32\[\] for result 0, which is float32\[2\]"),
    (backwards, ag.op(lambda x: x * 2, jvp=lambda ts, y, x: ts[0].sum()), "the jvp of <lambda>"),
    (forwards, ag.op(lambda x: x * 2, vjp=lambda g, y, x: g.sum()), "the vjp of <lambda>"),
    (backwards, Twice(), r"the vjp of twice returned float32\[\] for operand 0"),
    (backwards, graph_with(vjp=lambda g, y, x: g.sum()), r"the vjp of graph returned float32\[\]"),
    (forwards, graph_with(jvp=lambda ts, y, x: ts[0].sum()), r"the jvp of graph returned"),
    (backwards, ruled(ag.custom_vjp, lambda r, g: (g.sum(),)), "backward rule of <lambda> return"),
    (backwards, ruled(ag.custom_vjp, lambda r, g: (g.astype("float64"),)), "dtypes must agree"),
    (forwards, ruled(ag.custom_jvp, lambda p, t: (p[0] * 2, t[0].sum())), "rule of <lambda> re"),
    (backwards, ruled(ag.custom_jvp, lambda p, t: (p[0] * 2, t[0].sum())), "rule of <lambda> re"),
    (forwards, ruled(ag.custom_jvp, lambda p, t: t[0]), r"must return \(result, its direction\)"),
])  # fmt: skip
def test_rules_of_other_types_are_told_at_the_rule(way, f, text, jitted):
    run = ag.jit(lambda: way(f)()) if jitted else way(f)
    errors = ValueError, TypeError, ag.GradientError
    with pytest.raises(errors, match=text + r"(.|\n)*userops.py"):
        run()


def test_numbers_and_arrays_are_cotangents():
    for x, value in ((ag.ones(()), 3.0), (ONES, np.full(2, 3.0))):
        f = ag.op(lambda x: x * 3, vjp=lambda g, y, x, v=value: v)
        g = ag.grad(lambda x, f=f: f(x).sum())(x)
        assert g.dtype == "float32"
        assert g.tolist() == (3.0 * x).tolist()


class Longer(ag.Op):
    def infer(self, x):
        return (x.shape[0] + 1,), x.dtype

    def perform(self, x):
        return x


class Wide(Longer):
    def infer(self, x):
        return x.shape, x.dtype

    def perform(self, x):
        return x.astype("float64") * 2


@pytest.mark.parametrize("way", [lambda f: f, ag.jit, ag.vmap, lambda f: lambda x: ag.scan(
    lambda c, r: (c, f(r)), 0.0, x)[1]])  # fmt: skip
@pytest.mark.parametrize(("f", "text"), [
    (ag.op(lambda x: x[None], like=0), "it returned shape"),
    (ag.op(lambda x: x, infer=lambda x: ((*x.shape, 1), x.dtype)), "it returned shape"),
    (ag.op(lambda x: x * 1j, like=0), "it returned complex"),
    (Longer(), "it returned shape"),
    (ag.op(lambda x: None, like=0), "returned None, which is no array"),
    (ag.op(lambda x: "a", like=0), "returned 'a', which is no array"),
])  # fmt: skip
def test_results_are_compared_with_what_is_declared(f, text, way):
    with pytest.raises((ValueError, TypeError), match=text + "(.|\n)*userops"):
        way(f)(ag.ones((2, 2)))


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_a_list_is_one_result_where_one_is_declared(way):
    doubled = ag.op(lambda x: [2 * v for v in x.tolist()], like=0)
    assert way(doubled)(ag.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
@pytest.mark.parametrize("declared", [{"like": 0}, {}])
@pytest.mark.parametrize("held", [lambda y: y, lambda y: [y], lambda y: (y,)])
def test_an_array_in_a_list_or_a_tuple_is_the_one_result(held, declared, way):
    doubled = ag.op(lambda x: held(2 * x), **declared)
    for n in (1, 3):
        assert way(doubled)(ag.ones(n)).tolist() == [2] * n


class Held(ag.Op):
    how: object

    def perform(self, x):
        return self.how(x)

    def vjp(self, g, y, x):
        return (g * 2,)


class HeldLike(Held):
    def infer(self, x):
        return x.shape, x.dtype

    def perform(self, x):
        return super().perform(x)


class Chained(ag.Function):
    def __init__(self, how):
        self.how = how

    def forward(self, inputs):
        return (self.how(inputs[0]),)

    def backward(self, inputs, grads):
        return (grads[0].astype("float64") * 2,)


KINDS = [Held, HeldLike, lambda how: ag.op(how, vjp=lambda g, y, x: g * 2),
         lambda how: ag.op(how, vjp=lambda g, y, x: g * 2, like=0)]
BUFFER = np.zeros(3, "float32")


@pytest.mark.share(2)
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("kind", [*KINDS, Chained])
@pytest.mark.parametrize("how", [
    lambda x: [2 * x], lambda x: (2 * x,), lambda x: (2 * x).astype(">f4"),
    lambda x: np.multiply(x, 2, out=BUFFER), lambda x: np.multiply(x, 2, out=BUFFER)[:]])
def test_results_are_one_thing_in_every_mode(kind, how):
    """A list of one, other byte orders, arrays that the user keeps."""
    if kind is Chained and isinstance(how(np.ones(3, "float32")), (list, tuple)):
        return
    f, x, weights = kind(how), ag.tensor([1.0, 2, 3]), ag.tensor([1.0, 2, 3])
    for run in (lambda f: f, ag.jit):
        y = run(f)(x)
        run(f)(x * 5)
        assert (y.tolist(), y.dtype, x.tolist()) == ([2, 4, 6], "float32", [1, 2, 3])
        value, g = run(ag.value_and_grad(lambda x: (f(x) * weights).sum()))(x)
        assert (value.item(), g.tolist(), g.dtype) == (28, [2, 4, 6], "float32")
        assert run(ag.vmap(f))(ag.stack([x, x])).tolist() == [[2, 4, 6]] * 2


@pytest.mark.parametrize("kind", [*KINDS[:3], Chained])
@pytest.mark.parametrize("how", [lambda x: None, lambda x: x.astype(object), lambda x: "a",
                                 lambda x: np.ma.array(x, mask=[1, 0, 0]),
                                 lambda x: np.zeros(3, [("a", "f4")])])
def test_what_is_no_array_of_numbers_is_refused_in_every_mode(kind, how):
    for run in (lambda f: f, ag.jit):
        with pytest.raises(TypeError, match=r"no array of numbers|tensors have no masks"):
            run(kind(how))(ag.ones(3))


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[3]])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_dtypes_are_the_declared_ones_before_gradients_flow(kind, dtype):
    f = kind(lambda x: (x * 2).astype(dtype))
    for run in (lambda f: f, ag.jit):
        g = run(ag.grad(lambda x: f(x).sum()))(ag.ones(2))
        assert (g.tolist(), g.dtype) == ([2, 2], "float32")


@pytest.mark.parametrize("kind", [*KINDS, Chained, lambda how: lambda x: ag.callback(how, x, x)])
def test_operands_cannot_be_written(kind):
    """Callbacks write copies, which they may keep; what keeps them sees no later change."""
    kept, x = [], ag.tensor([2.0, 1.0])

    def how(x):
        kept.append(x)
        x.sort()
        return x

    for run in (lambda f: f, ag.jit):
        try:
            y = run(kind(how))(x)
        except ValueError as error:
            assert "read-only" in str(error)
            assert "x.copy()" in str(error)
        else:
            x += 1
            assert (y.tolist(), kept[-1].tolist()) == ([1, 2], [1, 2])
            x -= 1
        assert x.tolist() == [2, 1]


def test_tensors_may_be_used_where_types_are_found_out():
    f = ag.op(lambda x: ag.softmax(ag.asarray(x)).numpy() * 2)
    assert ag.jit(f)(ag.zeros(2)).tolist() == [1, 1]


@pytest.mark.parametrize("told, text", [
    (((3,), "floot"), "infer of .*unsupported dtype 'floot'"),
    (((-1,), "float64"), "for its result, such as"),
    (((1.5,), "float64"), "for its result, such as"),
    ((((3,), "float64"), ((3,), "float64")), "an operation of several has outputs = 2"),
])
def test_what_infer_may_return(told, text):
    op = ag.op(lambda x: x, infer=lambda x: told)
    for run in (lambda: op(ag.ones(3)), lambda: op(T.dvector("x"))):
        with pytest.raises(TypeError, match=text):
            run()


@pytest.mark.parametrize("rules", [{"vjp": lambda g, y, x: g[:1]},
                                   {"jvp": lambda ts, y, x: ts[0].sum(keepdims=True)}])
def test_rules_are_compared_with_sizes_when_these_are_known(rules):
    op, x = ag.op(lambda x: x * 1, like=0, **rules), T.dvector("x")
    moved = T.grad(op(x).sum(), x) if "vjp" in rules else ag.Rop(op(x), x, x)
    f = ag.function([x], moved)
    assert f([1.0]).tolist() == [1]
    with pytest.raises(ValueError, match=r"the (vjp|jvp) of .*their sizes of axis 0 must agree"):
        f([1.0, 2.0])


def test_results_get_the_dtype_that_is_declared():
    for f in (ag.op(lambda x: x.astype("float64") * 2, like=0, vjp=lambda g, y, x: g * 2), Wide()):
        for way in (f, ag.jit(f)):
            assert way(ONES).dtype == "float32"
            assert way(ONES).tolist() == [2.0, 2.0]


def test_integers_that_the_declared_dtype_does_not_hold_are_refused():
    """They were taken modulo 2**32."""
    def cubes(x):
        return x.astype("int64") ** 3

    f = ag.op(cubes, infer=lambda x: (x.shape, "int32"))
    for way in (f, ag.jit(f)):
        assert way(ag.tensor([3, -4])).dtype == "int32" and way(ag.tensor([3])).tolist() == [27]
        with pytest.raises(ag.DTypeError, match=r"int64 where int32 was declared.*68719476736"):
            way(ag.tensor([3, 4096]))


def test_the_kit_finds_a_wrong_factor():
    wrong = ag.op(lambda x: x * 2, vjp=lambda g, y, x: g * 4)
    with pytest.raises(AssertionError):
        ag.testing.check_op(wrong, [[X]])


def test_a_wrong_call_is_told_with_the_line():
    with pytest.raises(TypeError, match=r"pair has no keyword-only parameter 'q'(.|\n)*userops"):
        pair(X, X, q=1)
    with pytest.raises(ValueError, match=r"pair\(float64\[4, 3\], float64\[2\]\)(.|\n)*userops"):
        pair(ag.tensor(X), ag.tensor(np.ones(2)))


def test_a_lowering_keeps_python_out():
    def lower(at, x):
        return x(*at) + 1

    calls = []

    @ag.op(like=0, lower=lower)
    def plus_one(x):
        calls.append(1)
        return x + 1

    f = ag.jit(lambda x: plus_one(x * 2) * 3)
    np.testing.assert_allclose(f(ag.tensor(X)).numpy(), (X * 2 + 1) * 3)
    assert not calls
    assert len(f.plan().steps) == 1


def test_functions_with_it_are_pickled_by_name():
    x = T.dvector("x")
    f = pickle.loads(pickle.dumps(ag.function([x], softsign(x) * 2)))
    np.testing.assert_allclose(f([1.0, 3.0]), [1.0, 1.5])


# -- C functions ------------------------------------------------------------------------------
_KIND = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
)


def c_function(factor):
    @_KIND
    def f(pointers, sizes):
        n = sizes[0] * sizes[1]
        x, y = ((ctypes.c_double * n).from_address(pointers[i]) for i in (0, 1))
        y[:] = [v * factor for v in x]
        return int(n > 100)

    return f


@pytest.mark.parametrize("form", ["ctypes", "address", "object", "cffi"])
def test_a_c_function_in_compiled_code(form):
    c = c_function(7.0)
    address = ctypes.cast(c, ctypes.c_void_p).value
    pointer = cffi.FFI().cast("int32_t (*)(void **, int64_t *)", address)
    given = {"ctypes": c, "address": address, "object": SimpleNamespace(address=address),
             "cffi": pointer}[form]
    seven = ag.op(lambda x: CALLS.append(0) or x * 7, like=0, c=given)
    CALLS.clear()
    f = ag.jit(lambda x: seven(x[:, ::2]) + 1)
    np.testing.assert_allclose(f(ag.tensor(X)).numpy(), X[:, ::2] * 7 + 1)
    assert not CALLS
    with pytest.raises(RuntimeError, match="the C function of <lambda> failed"):
        f(ag.ones((40, 6), dtype="float64"))


def test_a_function_of_cffi():
    ffi = cffi.FFI()

    @ffi.callback("int32_t(double **, int64_t *)")
    def cube(places, sizes):
        for i in range(sizes[0]):
            places[1][i] = places[0][i] ** 3
        return 0

    own = ag.op(lambda x: x ** 3, like=0, c=cube)
    x = ag.tensor(np.array([1.0, 2.0, -3.0]))
    f = ag.jit(lambda x: own(x) * 2)
    assert f(x).tolist() == [2.0, 16.0, -54.0]
    assert ": C function" in str(f.plan())


def test_c_functions_of_one_name_are_told_apart():
    made = [ag.op(lambda x: x, like=0, c=c_function(k)) for k in (2.0, 3.0)]
    x = ag.ones((2, 2), dtype="float64")
    for k, f in zip((2.0, 3.0), made, strict=True):
        np.testing.assert_array_equal(ag.jit(lambda x, f=f: f(x))(x).numpy(), np.full((2, 2), k))


def test_what_is_no_c_function_is_refused():
    with pytest.raises(TypeError, match="address of a C function, not bytes"):
        ag.op(lambda x: x, c=b"f")


def test_unknown_sizes_that_have_to_be_equal_need_no_infer():
    product, total = ag.op(lambda a, b: a @ b), ag.op(lambda a, b, c: a * b + c)
    x, y, u, v, w = T.dmatrix("x"), T.dmatrix("y"), *(T.dvector(n) for n in "uvw")
    f = ag.function([x, y], product(x, y).sum(0))
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(f(a, a.T), (a @ a.T).sum(0))
    with pytest.raises(ValueError, match="mismatch"):
        f(a, a)
    g = ag.function([u, v, w], total(u, v, w))
    assert g([1.0, 2.0], [3.0, 4.0], [1.0, 1.0]).tolist() == [4, 9]
    with pytest.raises(ValueError, match="cannot reshape"):
        ag.op(lambda a: a.reshape(7, 11, 3))(u)


def test_an_operation_that_nobody_reads_raises_in_compiled_code_too():
    class Positive(ag.Op):
        def infer(self, x):
            return x.shape, x.dtype

        def perform(self, x):
            if (x < 0).any():
                raise ValueError("there are negative numbers")
            return x

    @ag.op
    def positive(x):
        if (x < 0).any():
            raise ValueError("there are negative numbers")
        return x

    for op in (Positive(), positive):
        for f in (lambda x, op=op: (op(x), x * 2)[1],
                  lambda x, op=op: ag.fori_loop(0, 2, lambda i, c: (op(c), c * 2)[1], x)):
            for run in (f, ag.jit(f)):
                assert run(ag.ones(2)).shape == (2,)
                with pytest.raises(ValueError, match="there are negative numbers"):
                    run(-ag.ones(2))


# -- names -----------------------------------------------------------------------------------------
def test_an_operation_with_a_name_of_ours_is_not_taken_for_it():
    class Exp(ag.Op):
        def infer(self, x):
            return x.shape, x.dtype

        def perform(self, x):
            return x + 1

    class Overlay(Exp):  # named before ours is loaded, or behind
        pass

    @ag.op
    def reshape(x):
        return x + 1

    x = ag.tensor([[1.0, 2.0]])
    for f in (lambda x: ag.log(Exp()(x)), lambda x: Exp()(x) * Exp()(-x),
              lambda x: ag.concat([Overlay()(x), x]), lambda x: reshape(x).reshape(2)):
        np.testing.assert_allclose(ag.jit(f)(x).numpy(), f(x).numpy(), rtol=1e-12)
    assert Exp.name == "exp_"
