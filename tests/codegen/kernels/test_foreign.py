"""C functions called from compiled code: LAPACK's and a user's, in batches, in loops, recalled."""

import ctypes
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import apply, apply_many
from agnesi.core.ir import foreign
from agnesi.core.op import Op
from agnesi.core.support.record import record
from agnesi.runtime import machine

CALLS = []


def _lapack(name):
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__.get(name)
    if capsule is None:
        return None
    ctypes.pythonapi.PyCapsule_GetName.restype = ctypes.c_char_p
    ctypes.pythonapi.PyCapsule_GetName.argtypes = [ctypes.py_object]
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    text = ctypes.pythonapi.PyCapsule_GetName(capsule)
    return ctypes.pythonapi.PyCapsule_GetPointer(capsule, text)


@ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64))
def plus_rank(pointers, sizes):
    """Adds 100 to a vector; negative first elements are its errors."""
    n = sizes[0]
    x = np.ctypeslib.as_array((ctypes.c_double * n).from_address(pointers[0]))
    y = np.ctypeslib.as_array((ctypes.c_double * n).from_address(pointers[1]))
    y[:] = x + 100
    return int(x[0] < 0)


TEST = {"plus": ctypes.cast(plus_rank, ctypes.c_void_p).value}


@pytest.fixture(autouse=True)
def libraries(monkeypatch):
    monkeypatch.setitem(foreign.RESOLVERS, "test_lapack", _lapack)
    monkeypatch.setitem(foreign.RESOLVERS, "test", TEST.get)
    CALLS.clear()


@record
class Factor(Op):
    """Cholesky factors as LAPACK leaves them (the other triangle is as it was), and info."""

    name = "factor"
    outputs = 2

    def infer(self, x):
        return (x.shape, x.dtype), (x.shape[:-2], np.dtype("int32"))

    def perform(self, x):
        CALLS.append(x.shape)
        info = np.zeros(x.shape[:-2], "int32")
        y = x.copy()
        low = np.tril_indices(x.shape[-1])
        for at in np.ndindex(*x.shape[:-2]):
            y[at][low] = np.linalg.cholesky(x[at])[low]
        return y, info

    def foreign(self, x):
        n = x.shape[-1]
        batch = 1
        for size in x.shape[:-2]:
            batch = batch * size
        return foreign.Call(
            "test_lapack:" + ("dpotrf" if x.dtype == "float64" else "spotrf"),
            (foreign.letter("U"), foreign.integer(n), foreign.result(0), foreign.integer(n),
             foreign.result(1)),
            batch, copies=((0, 0),),
        )


@record
class Plus(Op):
    name = "plus"

    def infer(self, x):
        return x.shape, x.dtype

    def perform(self, x):
        CALLS.append(x.shape)
        return x + 100

    def foreign(self, x):
        return foreign.Call("test:plus", (foreign.POINTERS, foreign.SIZES), status=True)


@record
class Eigenvalues(Op):
    name = "eigenvalues"
    outputs = 2

    def infer(self, x):
        return (x.shape[:-1], x.dtype), (x.shape, x.dtype)

    def perform(self, x):
        CALLS.append(x.shape)
        return np.linalg.eigh(x)

    def foreign(self, x):
        n = x.shape[-1]
        return foreign.Call(
            "test_lapack:dsyev",
            (foreign.letter("N"), foreign.letter("U"), foreign.integer(n), foreign.result(1),
             foreign.integer(n), foreign.result(0), foreign.scratch(0), foreign.integer(6 * n),
             foreign.scratch(1)),
            x.shape[0], copies=((1, 0),), scratch=(48 * n, 4),
        )


def factor(x):
    return ag.tril(apply_many(Factor(), x)[0])


def positive(shape, dtype="float64"):
    a = np.random.default_rng(0).normal(size=shape)
    return (a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 4, 4), (2, 3, 7, 7)])
def test_lapack_in_batches(shape, dtype):
    x = positive(shape, dtype)
    f = ag.jit(lambda x: factor(x * 2) + 1)
    np.testing.assert_allclose(f(ag.tensor(x)).numpy(), np.linalg.cholesky(x * 2) + 1, rtol=1e-5)
    assert not CALLS
    assert "C function" in str(f.plan())


def test_scratch_memory():
    x = positive((5, 6, 6))
    f = ag.jit(lambda x: ag.sqrt(apply_many(Eigenvalues(), x)[0]))
    np.testing.assert_allclose(f(ag.tensor(x)).numpy(), np.sqrt(np.linalg.eigvalsh(x)))
    assert not CALLS


def test_info_tells_what_went_wrong():
    x = positive((3, 4, 4))
    x[1] *= -1
    info = ag.jit(lambda x: apply_many(Factor(), x)[1])(ag.tensor(x)).numpy()
    np.testing.assert_array_equal(info, [0, 1, 0])


def test_without_the_library_python_does_it(monkeypatch):
    monkeypatch.delitem(foreign.RESOLVERS, "test_lapack")
    x = positive((2, 3, 3))
    np.testing.assert_allclose(ag.jit(factor)(ag.tensor(x)).numpy(), np.linalg.cholesky(x))
    assert CALLS == [(2, 3, 3)]


def test_no_elements_are_no_call():
    found = ag.jit(lambda x: apply_many(Factor(), x)[1])(ag.zeros((2, 0, 0), dtype="float64"))
    np.testing.assert_array_equal(found.numpy(), [0, 0])
    assert CALLS == [(2, 0, 0)]


def test_state_that_does_not_lie_in_one_piece():
    x = ag.tensor(np.asfortranarray(positive((4, 4)) + np.triu(np.ones((4, 4)))))
    got = ag.jit(lambda: factor(x))().numpy()
    np.testing.assert_allclose(got, np.linalg.cholesky(x.numpy()))
    assert not CALLS


def test_sizes_at_run_time():
    f = ag.jit(factor)
    for n in (3, 5, 8, 13, 21):
        x = positive((2, n, n))
        np.testing.assert_allclose(f(ag.tensor(x)).numpy(), np.linalg.cholesky(x))
    assert not CALLS
    assert len(f.specialisations) < 4, f.explain()


def test_in_a_loop():
    x = positive((6, 3, 3))

    @ag.jit
    def f(x):
        return ag.scan(lambda total, row: (total + factor(row), factor(row)), x[0] * 0, x)

    total, rows = f(ag.tensor(x))
    np.testing.assert_allclose(rows.numpy(), np.linalg.cholesky(x))
    np.testing.assert_allclose(total.numpy(), np.linalg.cholesky(x).sum(0))
    assert not CALLS


def test_status_is_an_error_at_the_users_line():
    f = ag.jit(lambda x: apply(Plus(), x) * 2)
    np.testing.assert_array_equal(f(ag.ones(3, dtype="float64")).numpy(), [202.0] * 3)
    with pytest.raises(RuntimeError, match=r"the C function of plus failed(.|\n)*test_foreign"):
        f(-ag.ones(3, dtype="float64"))
    np.testing.assert_array_equal(f(ag.ones(3, dtype="float64")).numpy(), [202.0] * 3)
    assert not CALLS


def test_pickles_and_other_processes_look_the_address_up(monkeypatch):
    x = ag.symbolic.dvector()
    f = ag.function([x], apply(Plus(), x) * 2)
    f(np.ones(3))
    data = pickle.dumps(f)
    np.testing.assert_array_equal(np.asarray(pickle.loads(data)(np.ones(3))), [202.0] * 3)
    assert not CALLS
    monkeypatch.delitem(foreign.RESOLVERS, "test")
    np.testing.assert_array_equal(np.asarray(pickle.loads(data)(np.ones(3))), [202.0] * 3)
    assert CALLS


def test_as_a_c_function():
    f = ag.jit(lambda x: ag.sum(apply(Plus(), x)))
    c = f.c_function(ag.ones(4, dtype="float64"), form="vector")
    place = (ctypes.c_double * 4)(1, 2, 3, 4)
    assert c.ctypes(4, place) == 410.0
    assert not CALLS


def test_threads_call_at_once():
    f = ag.jit(lambda x: factor(x) * 2)
    xs = [positive((20, 30, 30)) * k for k in range(1, 5)]
    wanted = [np.linalg.cholesky(x) * 2 for x in xs]
    f(ag.tensor(xs[0]))
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for y, z in zip(pool.map(lambda x: f(ag.tensor(x)).numpy(), xs), wanted, strict=True):
                np.testing.assert_allclose(y, z, rtol=1e-10)
    assert not CALLS


def test_under_a_memory_limit():
    def f(x):
        y = factor(x)
        for _ in range(3):
            y = factor(y @ ag.matrix_transpose(y) + x)
        return y

    x = positive((30, 30))
    free = ag.jit(f)
    wanted = free(ag.tensor(x)).numpy()
    tight = ag.jit(f, memory_limit=free.plan().planned_bytes)
    np.testing.assert_array_equal(tight(ag.tensor(x)).numpy(), wanted)
    assert not CALLS


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(25, 40), (3, 7), (60, 1000), (70_001,), (2, 5, 257), (5, 1)])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_and_products_of_rows(dtype, shape, reverse):
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    signs = np.where(x == 0, 1, np.sign(x)).astype(dtype)

    def turned(x):
        return ag.flip(x, -1) if reverse else x

    function = ag.jit(lambda x, s: (turned(ag.cumsum(turned(x), -1)),
                                    turned(ag.cumprod(turned(s), -1))))
    step = -1 if reverse else 1
    sums, products = function(ag.tensor(x), ag.tensor(signs))
    np.testing.assert_array_equal(sums, np.cumsum(x[..., ::step], -1)[..., ::step])
    np.testing.assert_array_equal(products, np.cumprod(signs[..., ::step], -1)[..., ::step])
    if x.dtype.kind == "f":
        weights = ag.tensor(x)
        gradient = ag.jit(ag.grad(lambda x: (ag.cumsum(x, -1) * weights).sum()))
        found = gradient(ag.tensor(x))
        np.testing.assert_array_equal(found, np.cumsum(x[..., ::-1], -1)[..., ::-1])


@pytest.mark.share(12)
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
@pytest.mark.parametrize("places", ["int32", "int64"])
@pytest.mark.parametrize("shape", [(25, 40), (7, 1000), (60_000,), (3, 5, 300), (70, 900)])
def test_places_of_rows(dtype, places, shape):
    random = np.random.default_rng(0)
    n = shape[-1]
    x, base = ((random.standard_normal(shape) * 9).astype(dtype) for _ in range(2))
    i = random.integers(-n, n, n + 3).astype(places)
    new = (random.standard_normal((*shape[:-1], n + 3)) * 9).astype(dtype)
    take = ag.jit(lambda x, i: ag.take(x, i, axis=-1))
    found = take(ag.tensor(x), ag.tensor(i)).numpy()
    np.testing.assert_array_equal(found, np.take(x, i, -1))
    with pytest.raises(IndexError):
        take(ag.tensor(x), ag.tensor(i * 0 + n))
    function = ag.jit(lambda b, i, v: ag.index_add(b, b.ndim - 1, i, v))
    expected = base.astype("complex128") if dtype == "complex64" else base.astype(
        "float64" if dtype == "float32" else dtype)
    np.add.at(np.moveaxis(expected, -1, 0), i, np.moveaxis(new, -1, 0))
    found = function(ag.tensor(base), ag.tensor(i), ag.tensor(new)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_functions_are_left_to_loops_where_operands_are_computed():
    x, i = np.ones((30, 50), "float32"), np.arange(50)
    inside = ag.jit(lambda x, i: ag.take(x * 2, i, axis=-1) + 1)
    np.testing.assert_array_equal(inside(ag.tensor(x), ag.tensor(i)), 2 * x + 1)
    assert "C function" not in str(inside.plan())
    outside = ag.jit(lambda x, i: ag.index_add(ag.zeros_like(x), 1, i, x))
    np.testing.assert_array_equal(outside(ag.tensor(x), ag.tensor(i)), x)
    assert "C function" in str(outside.plan())


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(25, 40), (3, 5, 64), (60, 1000), (40, 333), (2000,), (1, 5000),
                                   (2, 264_333)])
def test_places_of_extremes_of_rows(dtype, shape):
    random = np.random.default_rng(0)
    for most in (3, 1000):
        x = random.integers(-most, most, shape).astype(dtype)
        function = ag.jit(lambda x: (ag.argmax(x, -1), ag.argmin(x, -1, keepdims=True)))
        for _ in range(3):
            low, high = function(ag.tensor(x))
            np.testing.assert_array_equal(low, np.argmax(x, -1))
            np.testing.assert_array_equal(high, np.argmin(x, -1, keepdims=True))
            if x.dtype.kind == "f":  # NaN is the extreme; so may be infinity
                x = np.where(random.random(shape) < 0.02, np.nan, -np.inf).astype(dtype)
        assert "C function" in str(function.plan())


@pytest.mark.share(8)
@pytest.mark.parametrize("places", ["int32", "int64"])
@pytest.mark.parametrize("shape", [(30, 50), (5000,), (1, 200_000)])
def test_functions_tell_of_places_out_of_range(places, shape):
    n, m = shape[-1], 70_003
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    i = np.random.default_rng(0).integers(-n, n, m).astype(places)
    take = ag.jit(lambda x, i: (ag.take(x, i, axis=-1), ag.take(x + 1, i, axis=-1)))
    for wrong in (n, -n - 1, np.iinfo(places).max, np.iinfo(places).min):
        for at in (0, 1000, m // 2, m - 1):
            j = i.copy()
            j[at] = wrong
            with pytest.raises(IndexError, match="an index is out of range: it must be at least"):
                take(ag.tensor(x), ag.tensor(j))
        first, second = take(ag.tensor(x), ag.tensor(i))
        np.testing.assert_array_equal(first, np.take(x, i, -1))
        np.testing.assert_array_equal(second, np.take(x, i, -1) + 1)
    # The sweep over indices is gone, but states wait for the check.
    state = ag.zeros(m)

    def keep(x, i):
        state.copy_(ag.take(x.reshape(-1), i))
    function = ag.jit(keep)
    with pytest.raises(IndexError):
        function(ag.tensor(x), ag.tensor(i * 0 + x.size))
    assert not state.numpy().any()
    assert "all: a" not in str(function.plan())


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["int8", "float16", "complex128"])
@pytest.mark.parametrize("width", [256, 257, 319, 320, 383, 384, 777])
def test_blocks_at_places(dtype, width):
    random = np.random.default_rng(width)
    for lead, n, m, places in (((), 1, 5, "int32"), ((3,), 7, 33, "int64"), ((), 7, 1, "int64")):
        x = (random.standard_normal((*lead, n, width)) * 50).astype(dtype)
        i = random.integers(-n, n, m).astype(places)
        take = ag.jit(lambda x, i: ag.take(x, i, axis=x.ndim - 2))
        np.testing.assert_array_equal(take(ag.tensor(x), ag.tensor(i)), np.take(x, i, len(lead)))
        for wrong in (n, -n - 1):
            i[-1] = wrong
            with pytest.raises(IndexError):
                take(ag.tensor(x), ag.tensor(i))
        assert "C function" in str(take.plan())


def test_blocks_past_the_caches():
    x = np.random.default_rng(0).standard_normal((300, 5003)).astype("float32")
    i = np.random.default_rng(1).integers(0, 300, 900)
    take = ag.jit(lambda x, i: ag.take(x, i, axis=0))
    np.testing.assert_array_equal(take(ag.tensor(x), ag.tensor(i)), x[i])
    assert "C function" in str(take.plan())


def test_planning_does_not_wait_for_functions_that_are_generated(monkeypatch):
    waited = []
    load = machine.load

    def noting(text, **settings):
        waited.append("define void @run" in text and "body" not in text)
        return load(text, **settings)

    monkeypatch.setattr(machine, "load", noting)
    assert foreign.there("running:multiply int64 reverse")
    assert not waited
    assert foreign.address("running:multiply int64 reverse")
    assert waited == [True]
    assert not foreign.there("no library:f")
