"""Under `fast_compile` a library evaluates matrix products, however their operands lie."""

import numpy as np
import pytest

import agnesi as ag

SIZES = [(20, 30, 40), (17, 65, 33), (2, 100, 50), (64, 256, 128), (24, 700, 90), (3, 4, 5)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def _operand(rng, shape, turned, dtype):
    x = rng.normal(size=shape).astype(dtype)
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) if turned else x


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("turns", [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1)])
def test_products_with_what_follows(sizes, turns, dtype, rng):
    m, k, n = sizes
    a = _operand(rng, (m, k), turns[0], "float64").astype(dtype, order="K")
    b = _operand(rng, (k, n), turns[1], "float64").astype(dtype, order="K")
    c = rng.normal(size=n).astype(dtype)

    def f(a, b, c):
        y = a @ b
        z = y * 2 + c
        return z.swapaxes(0, 1) if turns[2] else z, z.sum(0), y

    found = ag.jit(f, optimizer="fast_compile")(*map(ag.tensor, (a, b, c)))
    rtol = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-10)
    for x, y in zip(found, f(a.copy(), b.copy(), c), strict=True):
        np.testing.assert_allclose(np.asarray(x), y, rtol=rtol, atol=rtol * k * 4)


@pytest.mark.parametrize("shapes", [
    ((3, 20, 30), (3, 30, 40)), ((2, 3, 20, 30), (3, 30, 40)), ((20, 30), (4, 30, 40)),
    ((2, 1, 20, 30), (1, 3, 30, 40)), ((0, 20, 30), (30, 40)),
])
@pytest.mark.parametrize("turned", [False, True])
def test_stacks(shapes, turned, rng):
    a, b = (_operand(rng, s, turned, "float32") for s in shapes)
    f = ag.jit(lambda a, b: ag.maximum(a @ b, 0), optimizer="fast_compile")
    expected = np.maximum(a @ b, 0)
    np.testing.assert_allclose(np.asarray(f(ag.tensor(a), ag.tensor(b))), expected, rtol=1e-4,
                               atol=1e-4)


def test_heads_of_attention_are_read_in_place(rng):
    """Operands and results are parts of one array, a batch axis between rows and columns."""
    x = rng.normal(size=(2, 16, 3, 4, 32)).astype("float32")

    def f(x):
        q, k, v = (x[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
        return ((q @ k.swapaxes(-1, -2)) @ v).transpose(0, 2, 1, 3).reshape(2, 16, 128)

    found = ag.jit(f, optimizer="fast_compile")(ag.tensor(x))
    np.testing.assert_allclose(np.asarray(found), f(x), rtol=1e-3, atol=1e-3)


def test_inside_of_a_loop(rng):
    w = ag.tensor(rng.normal(size=(32, 32)).astype("float32") / 8, requires_grad=True)
    x = rng.normal(size=(24, 32)).astype("float32")

    def f(x):
        last, _ = ag.scan(lambda h, _: (ag.tanh(h @ w), None), x, None, length=5)
        return ag.grad((last * last).sum(), w)

    expected, found = f(ag.tensor(x)), ag.jit(f, optimizer="fast_compile")(ag.tensor(x))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-3, atol=1e-4)


def test_sums_that_are_added(rng):
    a, b, c = (rng.normal(size=s).astype("float32") for s in ((64, 40), (64, 30), (40, 30)))

    def f(a, b, c):
        y = a.T @ b
        return c - 0.5 * y, y - c, 0.25 * c + 2 * y, -y * 2, c.T + (b.T @ a), 2 * c - c

    found = ag.jit(f, optimizer="fast_compile")(*map(ag.tensor, (a, b, c)))
    for x, y in zip(found, f(a, b, c), strict=True):
        np.testing.assert_allclose(np.asarray(x), y, rtol=1e-4, atol=1e-4)


def test_update_in_place(rng):
    w = ag.tensor(np.zeros((40, 30), "float32"))
    a, b = (rng.normal(size=s).astype("float32") for s in ((64, 40), (64, 30)))

    @ag.jit(optimizer="fast_compile")
    def step(a, b):
        w[...] = 0.5 * w - a.T @ b

    for _ in range(3):
        step(a, b)
    np.testing.assert_allclose(w.numpy(), -1.75 * (a.T @ b), rtol=1e-4, atol=1e-4)


def test_update_by_a_rate_in_memory(rng):
    """The rate is a tensor of another dtype; the step is scaled twice."""
    w, rate = ag.tensor(np.zeros((40, 30), "float32")), ag.tensor(np.array(0.5))
    a, b = (rng.normal(size=s).astype("float32") for s in ((64, 40), (64, 30)))

    @ag.jit(optimizer="fast_compile")
    def step(a, b):
        w[...] = w - rate.astype("float32") * ((a.T @ b) / 64)

    step(a, b)
    rate[...] = 0.25
    step(a, b)
    np.testing.assert_allclose(w.numpy(), -0.75 / 64 * (a.T @ b), rtol=1e-4, atol=1e-4)


def _squares(**settings):
    f = ag.jit(lambda a, b: a @ b, **settings)
    x = ag.tensor(np.ones((32, 32), "float32"))
    np.testing.assert_array_equal(np.asarray(f(x, x)), 32.0)
    return f


def test_where_a_library_is_called():
    hasty = _squares(optimizer="fast_compile")
    assert ("sgemm(" in hasty.ir()) == ("generated" not in ag.linalg.backend())
    assert "sgemm(" not in _squares().ir()


def test_without_a_library_code_is_generated():
    with ag.config(lapack="none"):
        assert "sgemm(" not in _squares(optimizer="fast_compile").ir()
