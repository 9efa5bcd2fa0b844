"""Operations of a user's: decorated functions, classes, C functions, in every place."""

import copy
import ctypes
import pickle
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
    ag.testing.check_op(lambda x, b: pair(x, b)[1], [[X, X + 1]])


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


def test_sizes_that_cannot_be_guessed_ask_for_infer():
    halved = ag.op(lambda x: x[::2])
    with pytest.raises(ValueError, match="give <lambda> infer"):
        halved(T.vector("x"))
    told = ag.op(lambda x: x[::2], infer=lambda x: (((x.shape[0] + 1) // 2,), x.dtype))
    x = T.vector("x")
    np.testing.assert_array_equal(ag.function([x], told(x))([1.0, 2.0, 3.0]), [1.0, 3.0])


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


def test_the_kit_finds_a_wrong_factor():
    wrong = ag.op(lambda x: x * 2, vjp=lambda g, y, x: g * 4)
    with pytest.raises(AssertionError):
        ag.testing.check_op(wrong, [[X]])


def test_a_wrong_call_is_told_with_the_line():
    with pytest.raises(TypeError, match=r"pair has no keyword-only parameter 'q'(.|\n)*userops"):
        pair(X, X, q=1)
    with pytest.raises(ValueError, match=r"pair\(float64\(4, 3\), float64\(2\)\)(.|\n)*userops"):
        pair(ag.tensor(X), ag.tensor(np.ones(2)))


def test_a_lowering_keeps_python_out():
    from agnesi.core import loops

    def lower(at, x):
        value = x(*at)
        return loops.call("add", value, loops.const(1, value.dtype))

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
    with pytest.raises(TypeError, match="address of a C function, not str"):
        ag.op(lambda x: x, c="f")
