"""Scattering and gathering, compiled: against NumPy, in place, in order, checked, and how fast."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.optim import SGD

RANDOM = np.random.default_rng(0)


def steps(compiled):
    """What the kernels of a compiled function are, line by line."""
    return re.findall(r"(?m)^\d+: (.*)$", str(compiled.plan()))


def both(function, *arrays):
    """The eager and the compiled result; they must not differ in type."""
    eager = function(*map(ag.tensor, arrays)).numpy()
    compiled = ag.jit(function)
    found = compiled(*arrays).numpy()
    assert found.dtype == eager.dtype and found.shape == eager.shape
    assert not any(s.startswith("python") for s in steps(compiled))
    return eager, found


SHAPES = [(7, 5), (1, 1), (64, 33), (3, 0), (300, 1)]


@pytest.mark.share(9)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_rows_are_added_in_order(shape, dtype, kind):
    base = (RANDOM.normal(size=shape) * 4).astype(dtype)
    low = 0 if kind == "uint8" else -shape[0]
    ids = RANDOM.integers(low, min(shape[0], 255), size=(4, 6)).astype(kind)
    new = (RANDOM.normal(size=(4, 6, shape[1])) * 4).astype(dtype)
    expected = base.copy()
    np.add.at(expected, ids, new)
    for found in both(lambda x, i, v: ag.index_put(x, i, v, accumulate=True), base, ids, new):
        close = {"float16": 2e-2, "float32": 2e-6}.get(dtype, 1e-13)
        np.testing.assert_allclose(found, expected, close, close)
    expected = base.copy()
    expected[ids] = new
    for found in both(ag.index_put, base, ids, new):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(both(lambda x, i: x[i], base, ids)[1], base[ids])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_each_axis(axis):
    x = RANDOM.normal(size=(4, 5, 6))
    index = RANDOM.integers(0, x.shape[axis], size=(3, 4, 5))
    source = RANDOM.normal(size=(3, 4, 5))
    every = list(np.indices(index.shape))
    every[axis] = index
    put, added = x.copy(), x.copy()
    np.add.at(added, tuple(every), source)
    for place in np.ndindex(index.shape):
        put[tuple(e[place] for e in every)] = source[place]
    for found in both(lambda x, i, v: ag.scatter_add(x, axis, i, v), x, index, source):
        np.testing.assert_allclose(found, added, 1e-13)
    for found in both(lambda x, i, v: ag.scatter(x, axis, i, v), x, index, source):
        np.testing.assert_array_equal(found, put)
    rows = RANDOM.integers(0, x.shape[axis], size=7)
    new = RANDOM.normal(size=(*x.shape[:axis], 7, *x.shape[axis + 1 :]))
    expected = x.copy()
    np.add.at(expected.swapaxes(0, axis), rows, new.swapaxes(0, axis))
    for found in both(lambda x, i, v: ag.index_add(x, axis, i, v), x, rows, new):
        np.testing.assert_allclose(found, expected, 1e-13)


def test_several_indices_masks_and_one_place_again_and_again():
    x = RANDOM.normal(size=(4, 5, 6))
    i, j = np.array([[0], [3], [0]]), np.array([1, -1])
    for key in [(i, j), (i, slice(None), j), (slice(None), i, j), (2, i)]:
        new = RANDOM.normal(size=x[key].shape)
        expected = x.copy()
        np.add.at(expected, key, new)
        for found in both(
            lambda x, v, key=key: ag.index_put(x, key, v, accumulate=True), x, new
        ):
            np.testing.assert_allclose(found, expected, 1e-13)
    constant = both(lambda x: ag.index_put(x, [2, 2, 2], 1.0, accumulate=True), x)[1]
    np.testing.assert_allclose(constant[2], x[2] + 3)
    one = both(lambda x, k: ag.index_put(x, k.reshape(1).expand(5), 1.0, accumulate=True), x,
               np.array(-1))[1]
    np.testing.assert_allclose(one[3], x[3] + 5)


@pytest.mark.native_plans
def test_threads_do_not_change_the_result():
    x = np.zeros((200, 900), "float32")
    rows = RANDOM.integers(0, 900, size=(200, 4000))
    new = RANDOM.normal(size=(200, 4000)).astype("float32")
    f = ag.jit(lambda x, i, v: ag.scatter_add(x, 1, i, v))
    found = f(x, rows, new).numpy()
    assert "on all threads" in steps(f)[-1]
    expected = x.copy()
    np.add.at(expected, (np.arange(200)[:, None], rows), new)
    np.testing.assert_array_equal(found, expected)


def test_an_index_out_of_range_stops_compiled_code_and_state_stays():
    state = ag.zeros((5, 2), "float64")
    table = ag.tensor(RANDOM.normal(size=(10, 2)))

    @ag.jit
    def step(rows, ids):
        state[rows] = 1.0
        return table[ids]

    step(np.array([0]), np.array([[9, -10]]))
    kept = state.numpy().copy()
    for rows, ids in [([1], [10]), ([1], [-11]), ([5], [0])]:
        with pytest.raises(IndexError, match=r"item\(float64.*out of range.*\n.*gather_scatter.py"):
            step(np.array(rows), np.array([ids]))
        np.testing.assert_array_equal(state.numpy(), kept)
    assert sum(s.startswith("check") for s in steps(step)) == 2
    with pytest.raises(IndexError):
        table[ag.tensor([10])]


def test_indices_that_are_known_to_fit_are_not_checked():
    x = RANDOM.normal(size=(30, 50)).astype("float32")

    def best(x):
        return ag.take_along_axis(x, ag.argmax(x, 1, keepdims=True), 1)

    f = ag.jit(best)
    np.testing.assert_array_equal(f(x).numpy()[:, 0], x.max(1))
    assert len(steps(f)) == 2  # places, then elements
    g = ag.jit(lambda x: x[ag.argsort(x[:, 0])])
    g(x)
    assert not any(s.startswith("check") for s in steps(g))
    h = ag.jit(lambda x, i: x[i.astype("uint8")])
    assert h(np.ones((256, 2)), np.array([255])).shape == (1, 2)
    assert len(steps(h)) == 1


def test_errors_come_from_the_disk_cache_too(tmp_path):
    with ag.config(cache_dir=str(tmp_path)):
        for _ in range(2):
            f = ag.jit(lambda x, i: x[i])
            f(np.ones(3), np.array([0]))
            with pytest.raises(IndexError, match=r"less than 3\n.*test_gather_scatter.py:"):
                f(np.ones(3), np.array([3]))


def test_writing_touches_only_what_is_named():
    big = ag.zeros((5000, 8))

    @ag.jit
    def write(i, v):
        big[i] = v

    write(np.array([3, 4999]), np.ones((2, 8), "float32"))
    assert big.sum().item() == 16
    assert [s.split()[0] for s in steps(write)] == ["loops", "check", "loops"]
    assert "loops scatter_put" in steps(write)[-1]


@pytest.mark.parametrize("tied", [False, True])
def test_updates_touch_only_the_rows_that_were_used(tied):
    weight = RANDOM.normal(size=(50, 4))
    ids, labels = np.array([[1, 7], [1, 49]]), RANDOM.integers(0, 50, size=(2, 2))

    def loss(w, i, y):
        x = ag.tanh(w[i])
        if tied:
            return ag.cross_entropy(x @ w.T, y, axis=-1)
        return (x * x).sum() + (w[i[0]] * 3).sum()

    w = ag.tensor(weight, requires_grad=True)
    optimizer = SGD([w], lr=0.1)

    @ag.jit
    def train(i, y):
        value = loss(w, i, y)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        return value

    train(ids, labels)
    gradient = ag.grad(loss)(ag.tensor(weight), ag.tensor(ids), ag.tensor(labels)).numpy()
    np.testing.assert_allclose(w.numpy(), weight - 0.1 * gradient, 1e-12)
    scattered = [s for s in steps(train) if "scatter_add" in s]
    assert all("-> o" in s for s in scattered) and len(scattered) == (1 if tied else 2)
    if not tied:  # nothing has the size of the weight
        assert int(re.search(r"(\d+) of them in the arena", str(train.plan()))[1]) < weight.nbytes


def test_loops_gather_scatter_and_check():
    table = RANDOM.normal(size=(10, 4))

    def last(w, ids):
        def step(h, i):
            return ag.tanh(h + w[i]), None

        return (ag.scan(step, ag.zeros(4, "float64"), ids)[0] ** 2).sum()

    line = last.__code__.co_firstlineno + 2
    ids = np.array([1, 2, 1, 9])
    slope = ag.jit(ag.grad(last))
    expected = ag.grad(last)(ag.tensor(table), ag.tensor(ids)).numpy()
    np.testing.assert_allclose(slope(ag.tensor(table), ids).numpy(), expected, 1e-12)
    with pytest.raises(IndexError, match=rf"out of range.*\n.*test_gather_scatter.py:{line}"):
        slope(ag.tensor(table), ids + 1)


def test_any_number_of_indices_shares_one_version():
    f = ag.jit(lambda w, i, v: ag.index_put(w, i, v, accumulate=True))
    for n in range(3, 9):
        i, v = np.arange(n) % 3, RANDOM.normal(size=(n, 4))
        expected = np.zeros((10, 4))
        np.add.at(expected, i, v)
        np.testing.assert_allclose(f(np.zeros((10, 4)), i, v).numpy(), expected, 1e-14)
    with pytest.raises(IndexError, match="less than 10"):
        f(np.zeros((10, 4)), np.array([1, 2, 10, 3]), np.ones((4, 4)))
    assert "2 specialisations" in str(f.explain())


@pytest.mark.parametrize("term", [
    lambda s, x: s * ag.full((3,), 2.0), lambda s, x: s / ag.full((3,), 2.0),
    lambda s, x: -(x - s), lambda s, x: s + 0 * x, lambda s, x: s - x * x,
])
def test_scattered_terms_that_are_broadcast(term):
    """Sums with terms that are larger than what is scattered into."""
    def f(x, i):
        s = ag.scatter_add(ag.zeros(1), 0, i, ag.arange(3.0) + 1)
        return x + term(s, x), x - term(s, x)

    x, i = ag.tensor([1.0, 2.0, 3.0]), ag.tensor([0, 0, 0])
    for found, expected in zip(ag.jit(f)(x, i), f(x, i), strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("call, message", [
    (lambda x: ag.scatter(x, 1, ag.tensor([0, 1, 2]), 1.0), "must have the 2 axes of the operand"),
    (lambda x: ag.scatter_add(x, 0, ag.zeros((3, 5), dtype=int), ag.ones((3, 5))),
     "none but axis 0 longer"),
    (lambda x: ag.index_add(x, 0, ag.tensor([0, 1]), ag.ones(3)), "have the shape (2, 4)"),
    (lambda x: ag.index_add(x, 1, ag.zeros((2, 2), dtype=int), ag.ones((3, 4))), "be a vector"),
])
def test_what_does_not_fit_is_refused(call, message):
    x = ag.zeros((3, 4))
    for mode in (call, ag.jit(call)):
        with pytest.raises(ag.ShapeError, match=re.escape(message)):
            mode(x)


@pytest.mark.parametrize("several", [
    lambda v: ag.repeat(v, 2), lambda v: ag.tile(v, 2), lambda v: ag.broadcast_to(v, (2, 4))])
def test_elements_that_are_one_several_times_are_no_place(several):
    def call(v):
        return ag.inc_subtensor(several(v), 1.0)

    for run in (call, ag.jit(call), lambda v: call(T.dvector("v"))):
        with pytest.raises(TypeError, match="must be an indexed tensor"):
            run(ag.zeros(4))
    with pytest.raises(TypeError, match="give x and the key, and index inside"):
        ag.jit(ag.inc_subtensor)(ag.ones(3)[1:], 2.0)


I2, Z = ag.tensor([0, 1]), ag.tensor([1 + 2j, 3j])
WRITES = {
    "index_add": lambda x: x.index_add(0, I2, Z), "scatter": lambda x: x.scatter(0, I2, Z),
    "index_put": lambda x: ag.index_put(x, (I2,), Z), "slice": lambda x: x.__setitem__([0, 1], Z),
    "copy_": lambda x: x[:2].copy_(Z), "mask": lambda x: x.__setitem__(x == x, Z[0]),
    "masked_scatter": lambda x: x.masked_scatter(x == x, ag.concatenate([Z, Z])),
    "scatter_reduce": lambda x: x.scatter_reduce(0, I2, Z, "sum"),
    "insert": lambda x: ag.insert(x, 0, Z), "put": lambda x: x.put_(I2, Z),
}


@pytest.mark.parametrize("name", WRITES)
def test_imaginary_parts_that_are_lost_are_told(name):
    with pytest.warns(np.exceptions.ComplexWarning, match="loses its imaginary part") as told:
        WRITES[name](ag.zeros(3))
    assert len(told) == 1 and told[0].filename == __file__


@pytest.mark.parametrize("laid", [
    lambda a: a.copy().T.copy().T, lambda a: a[::-1].copy()[::-1],
    lambda a: a[:, ::-1].copy()[:, ::-1], lambda a: np.repeat(a, 2, 0)[::2],
], ids=["transposed", "reversed", "other axis", "steps"])
def test_of_repeated_places_the_last_counts_wherever_indices_lie_in_memory(laid: Any) -> None:
    """NumPy goes through indices and values in the order of memory where both lie alike."""
    rng = np.random.default_rng(3)
    places, values = rng.integers(0, 3, (3, 4)), rng.normal(size=(3, 4))
    line, board = np.zeros(3), np.zeros((3, 4))
    for (i, j), place in np.ndenumerate(places):
        line[place] = board[place, j] = values[i, j]

    def write(x: Any, i: Any, v: Any) -> Any:
        x[i] = v
        return x

    def write_rows(x: Any, i: Any, v: Any) -> Any:
        x[i, ag.arange(4)] = v
        return x

    for f, expected in ((write, line), (write_rows, board),
                        (lambda x, i, v: (ag.put_along_axis(x, i, v, 0), x)[1], board),
                        (lambda x, i, v: ag.scatter(x, 0, i, v), board),
                        (lambda x, i, v: ag.index_put(x, (i, ag.arange(4)), v), board)):
        for run in (f, ag.jit(f)):
            x, i, v = (ag.asarray(a) for a in (np.zeros_like(expected), laid(places), laid(values)))
            np.testing.assert_array_equal(run(x, i, v), expected)
