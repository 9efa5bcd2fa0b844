"""Leading sizes that change: one version for all of them, with the results of eager code."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agnesi as ag
from agnesi.core.ir.extents import Extent, combined
from tests.compiler.specialization.sizes import SIZES, agree, check, dynamic, rows
from tests.compiler.ways import interpreted
from tests.share import EVERY

COUNT = int(os.environ.get("AGNESI_FUZZ", "80" if EVERY else "12"))
fuzz = settings(
    max_examples=COUNT, deadline=None, derandomize="AGNESI_FUZZ" not in os.environ, database=None,
    suppress_health_check=list(HealthCheck),
)


# -- what one version does for all sizes ----------------------------------------------------
def test_elementwise_and_broadcast():
    check(lambda x, w: (ag.tanh(x * w + 1), x > 0), (None, 6), (6,))
    check(lambda x, y: x * 2 - y, (None,), (None,))


def test_reductions():
    check(lambda x: (x.sum(), x.sum(axis=0), x.mean(axis=1), x.mean()), (None, 9), sizes=SIZES[:5])
    check(lambda x: (x.max(axis=0), x.min(axis=1), x.argmax(axis=1)), (None, 9), sizes=(5, 3, 40))
    check(lambda x: x / x.shape[0] + x.var(axis=0), (None, 4), sizes=(5, 3, 40))


def test_softmax_along_the_axis_that_changes():
    check(lambda x: (ag.softmax(x, axis=0), ag.log_softmax(x, axis=1)), (None, 5),
          sizes=(6, 1, 3, 33, 80))
    check(lambda x: ag.softmax(x, axis=0), (None,), sizes=(6, 1, 3, 33, 80))


def test_movement():
    check(lambda x: x[1:] - x[:-1], (None, 3), sizes=(5, 9, 3, 40))
    check(lambda x: (x[0], x[-1], x[:, 1:], x[::-1]), (None, 3), sizes=(5, 9, 3, 40))
    check(lambda x: x.reshape(x.shape[0] * 3, 2) * 2, (None, 6), sizes=(5, 9, 3, 40))
    check(lambda x: x.reshape(x.shape[0], -1).sum(axis=1), (None, 3, 4), sizes=(5, 9, 3, 40))
    check(lambda x, y: ag.concat([x, y * 2]), (None, 3), (4, 3), sizes=(5, 9, 3, 40))
    check(lambda x, y: ag.stack([x, y], axis=1), (None, 3), (None, 3), sizes=(5, 9, 3, 40))


@pytest.mark.share(8)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 10, 33, 70])
def test_products(n, dtype):
    sizes = (5, 2, 3, 4, 6, 7, 12, 13, 14, 15, 16, 27, 29, 31, 64, 70)
    check(lambda x, w: ag.tanh(x @ w), (None, 20), (20, n), sizes=sizes, dtype=dtype)
    check(lambda x, y: x.T @ y, (None, 12), (None, n), sizes=sizes, dtype=dtype)


@pytest.mark.share(4)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(40, 70), (70, 40), (300, 17), (130, 200)])
def test_every_number_of_rows(shape, threads):
    before = ag.get_num_threads()
    ag.set_num_threads(threads)
    try:
        k, m = shape
        f = ag.jit(lambda x, w, v: (x @ w.T + 1, x @ v))
        w, v = rows(m, k, dtype="float64"), rows(k, m, dtype="float64", seed=1)
        for n in range(2, 60):
            agree(f, f.function, rows(n, k, dtype="float64"), w, v, tolerance=1e-10)
        assert len(f.specialisations) == 2
    finally:
        ag.set_num_threads(before)


def test_products_with_vectors_and_batches():
    sizes = (5, 2, 3, 17, 64, 100)
    check(lambda x, w: x @ w, (None, 20), (20,), sizes=sizes)
    check(lambda x, y: x @ y, (None,), (None,), sizes=sizes)
    check(lambda x, y: x @ y, (None, 4, 5), (None, 5, 3), sizes=sizes)
    check(lambda x, w: ag.relu(x @ w), (None, 4, 5), (5, 3), sizes=sizes)
    check(lambda x, w: x @ w, (None, 300), (300, 40), sizes=sizes)
    check(lambda x, w: x @ w.T, (None, 30), (40, 30), sizes=sizes)


def test_large_products_are_cut_the_same():
    check(lambda x, w: x @ w, (None, 900), (900, 600), sizes=(600, 520, 513, 700, 37))
    check(lambda x, y: x.T @ y, (None, 90), (None, 60), sizes=(3000, 2900, 2, 700, 37))


def test_two_sizes():
    def function(x, y):
        return ag.exp(-x).sum(axis=0), (y * y).mean(axis=1), x.sum() * y.sum()

    f = ag.jit(function)
    for n, m in [(4, 9), (5, 7), (6, 6), (30, 2), (3, 50)]:
        agree(f, function, rows(n, 5), rows(m, 3, seed=1))
    assert len(f.specialisations) == 2 and "n1" in f.explain()


def test_sizes_that_must_agree():
    f = ag.jit(lambda x, y: (x + y).sum(axis=1))
    for n in (5, 6, 9):
        f(rows(n, 3), rows(n, 3))
    with pytest.raises(ag.ShapeError):
        f(rows(5, 3), rows(6, 3))
    assert f(rows(7, 3), rows(1, 3)).shape == (7,)
    assert f(rows(1, 3), rows(8, 3)).shape == (8,)


def test_size_one_broadcasts_and_has_its_own_version():
    f = ag.jit(lambda x, y: x * y)
    for n in (3, 4, 5):
        assert f(ag.ones((n, 2)), ag.ones((n, 2))).shape == (n, 2)
    assert f(ag.ones((1, 2)), ag.ones((6, 2))).shape == (6, 2)
    assert f(ag.ones((6, 2)), ag.ones((1, 2))).shape == (6, 2)


# -- state, gradients -----------------------------------------------------------------------
def trained(optimizer: Any) -> Any:
    model = ag.nn.Sequential(ag.nn.Linear(12, 16), ag.nn.ReLU(), ag.nn.Linear(16, 3))
    rng = np.random.default_rng(3)
    for p in model.parameters():
        p.array[...] = rng.normal(size=p.shape) * 0.3
    opt = optimizer(model.parameters())

    def step(x, labels):
        opt.zero_grad()
        loss = ag.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        opt.step()
        return loss

    return step, model


@pytest.mark.share(3)
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_training(optimizer):
    made = {
        "sgd": lambda p: ag.optim.SGD(p, lr=0.1),
        "momentum": lambda p: ag.optim.SGD(p, lr=0.05, momentum=0.9),
        "adam": lambda p: ag.optim.Adam(p, lr=0.01),
    }[optimizer]
    (eager, a), (compiled, b) = trained(made), trained(made)
    f = ag.jit(compiled)
    for n in (60, 33, 60, 7, 2, 100, 1, 17, 60, 64, 9):
        x = rows(n, 12)
        labels = ag.tensor(np.random.default_rng(n).integers(0, 3, n))
        np.testing.assert_allclose(f(x, labels).array, eager(x, labels).array, rtol=1e-4)
        for p, q in zip(a.parameters(), b.parameters(), strict=True):
            np.testing.assert_allclose(q.array, p.array, rtol=2e-3, atol=1e-5)
    assert dynamic(f) == 1
    assert len(f.specialisations) <= 4, f.explain()


def test_gradients_through_calls():
    def function(x, w):
        return ag.tanh(x @ w).sum(axis=1)

    f = ag.jit(function)
    for n in (4, 6, 9, 30):
        found = []
        for run in (f, function):
            x, w = rows(n, 5), rows(5, 3, seed=2)
            x.requires_grad = w.requires_grad = True
            (run(x, w) ** 2).sum().backward()
            found.append((x.grad.array, w.grad.array))
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_arguments_changed_in_place():
    def function(x, y):
        x.add_(y * 2)
        return x.sum()

    f = ag.jit(function)
    for n in (4, 6, 9, 30):
        x, y = rows(n, 5), rows(n, 5, seed=1)
        wanted = x.array + 2 * y.array
        total = f(x, y)
        np.testing.assert_allclose(x.array, wanted, rtol=1e-6)
        np.testing.assert_allclose(total.array, wanted.sum(), rtol=1e-4)
    x = rows(12, 5)
    wanted = 3 * x.array
    f(x, x)  # overlaps what is written
    np.testing.assert_allclose(x.array, wanted, rtol=1e-6)


def test_compare_mode():
    f = ag.jit(lambda x: ag.softmax(x, axis=1).sum(axis=0), mode="compare")
    for n in (4, 6, 9, 30):
        f(rows(n, 5))
    assert dynamic(f) == 1


# -- what cannot be general -----------------------------------------------------------------
def test_python_that_needs_the_number():
    def function(x):
        total = ag.zeros(3)
        for i in range(x.shape[0]):
            total = total + x[i] * i
        return total

    f = ag.jit(function)
    for n in (4, 6, 9):
        agree(f, function, rows(n, 3))
    assert len(f.specialisations) == 3
    assert "no version for all sizes" in f.explain() and "n0" in f.explain()


@pytest.mark.share(2)
@pytest.mark.parametrize("function", [
    lambda x: x * 2 if x.shape[0] > 5 else x * 3,
    lambda x: x * 2 if x.shape[0] == 6 else x * 3,
    lambda x: x * 2 if x.shape == (6, 3) else x * 3,
    lambda x: x[3] + x[0] if x.shape[0] > 3 else x[0],
    lambda x: x * float(x.shape[0]),
    lambda x: ag.zeros(2) + len(x),
])
def test_decisions_on_sizes(function):
    f = ag.jit(function)
    for n in (4, 5, 6, 7, 3, 2):
        agree(f, function, rows(n, 3))


def test_an_index_that_some_sizes_do_not_have():
    f = ag.jit(lambda x: x[4] * 2)
    for n in (6, 8, 9):
        np.testing.assert_allclose(f(rows(n, 3)).array, rows(n, 3).array[4] * 2)
    with pytest.raises(IndexError):
        f(rows(3, 3))


def test_sizes_that_are_multiples_of_others():
    def function(labels, x):
        return x.reshape(-1, 5) * labels[:, None], x + 1

    f = ag.jit(function)
    for n in (5, 7, 2, 9, 40, 7):
        agree(f, function, rows(12 * n, seed=1), rows(n, 12, 5))
    assert [s.signature for s in f.specialisations] == [
        "float32[60], float32[5, 12, 5]", "float32[12*n0], float32[n0, 12, 5]"]
    for sizes in [(7, 12), (85, 7), (83, 7)]:  # no multiple, or of another number
        with pytest.raises(ag.ShapeError):
            f(rows(sizes[0]), rows(sizes[1], 12, 5))


def test_sizes_that_were_multiples_by_chance():
    def function(x, y):
        return x.sum() + y * 2

    f = ag.jit(function)
    for n, m in [(4, 8), (5, 10), (6, 9), (7, 30), (30, 7), (8, 16)]:
        agree(f, function, rows(n), rows(m, seed=1))
    assert [s.signature.count("n") for s in f.specialisations] == [0, 2, 2], f.explain()


@pytest.mark.parametrize("function", [
    lambda x, table: x + table[: x.shape[0]],
    lambda x, table: x + table[-x.shape[0] :],
    lambda x, table: x * 2 + table[10:][: x.shape[0]] if x.shape[0] < 60 else x,
])
def test_tables_that_are_long_enough(function):
    f, table = ag.jit(function), rows(256, 3, seed=1)
    for n in (100, 7, 2, 40, 200, 256, 190, 250):
        agree(f, function, rows(n, 3), table)
    assert len(f.specialisations) <= 4, f.explain()


def test_a_table_that_is_not_long_enough():
    f, table = ag.jit(lambda x, table: x + table[: x.shape[0]]), rows(256, 3, seed=1)
    for n in (100, 7, 256):
        assert f(rows(n, 3), table).shape == (n, 3)
    with pytest.raises(ag.ShapeError):
        f(rows(300, 3), table)


def test_bounds_hold():
    rng = np.random.default_rng(0)
    n, m = Extent.named("n0", 2, 40, 16), Extent.named("n1", 3, 30, 16)

    def any_size(depth):
        if not depth:
            return [n, m, int(rng.integers(0, 12))][rng.integers(0, 3)]
        op = ["+", "-", "*", "max", "//", "%"][rng.integers(0, 6)]
        second = any_size(depth - 1) if op not in ("//", "%") else int(rng.integers(1, 6))
        return combined(op, any_size(depth - 1), second)

    k = Extent.named("k", 4, 40, 16)
    assert (3 * k * k - 12 * k + 12).least == 12 and (n * n - 2 * n).most == 1520
    assert (k - 2 * k // 3).least == 2 and (k * k - 2 * k // 3 * k + 5).least == 4 * 2 + 5
    assert (k - k // 2) * (2 * n + 1) + 4 * n > 0 and 5 * k * (n + 5) // 2 - 5 * k * n // 2 > 0
    assert bool(-k)
    assert (combined("max", n // 3, m) + combined("max", 0, m - n)).least == 3
    for _ in range(800):
        size = any_size(rng.integers(1, 4))
        for a, b in [(2, 3), (2, 30), (40, 3), (40, 30), (11, 12), (9, 25)]:
            if isinstance(size, Extent):
                value = size.value({n: a, m: b})
                assert size.least is None or size.least <= value, size
                assert size.most is None or size.most >= value, size


def test_sizes_as_results():
    f = ag.jit(lambda x: (x * 2, x.shape[0]))
    for n in (4, 6, 9):
        assert f(rows(n, 3))[1] == n


def test_a_broadcast_that_only_one_size_has():
    f = ag.jit(lambda x, y: x + y)
    for n in (4, 1):
        assert f(rows(n, 3), rows(4, 3)).shape == (4, 3)
    with pytest.raises(ag.ShapeError):
        f(rows(5, 3), rows(4, 3))


# -- versions -------------------------------------------------------------------------------
def test_a_hundred_sizes_take_two_versions():
    f = ag.jit(lambda x, w: ag.relu(x @ w).mean(axis=1))
    w = rows(8, 4)
    for n in range(1, 101):
        agree(f, f.function, rows(n, 8), w)
    assert len(f.specialisations) <= 3, f.explain()
    text = f.explain()
    assert "argument 0 was float32[1, 8], now float32[2, 8]" in text
    assert "n0 is any size from 2 to 128" in text


def test_versions_reach_so_far():
    f = ag.jit(lambda x: x * 2)
    for n in (10, 11, 5000, 12, 6000, 20):
        assert f(ag.ones(n)).sum() == 2 * n
    assert [s.signature for s in f.specialisations] == ["float32[10]", "float32[n0]", "float32[n0]"]


def test_native_calls_take_other_sizes_at_once():
    f = ag.jit(lambda x, y: x + y)
    for n in (4, 5):
        f(ag.ones((n, 2)), ag.ones((n, 2)))
    f.dispatch = None  # whatever Python would be asked now is an error
    assert f(ag.ones((9, 2)), ag.ones((9, 2))).shape == (9, 2)


# -- random programs ------------------------------------------------------------------------
WIDE, FLAT, STILL = "wide", "flat", "still"  # (n, m), (n,), (m,)


def _steps() -> dict[str, tuple[tuple[str, ...], str, Any]]:
    return {
        "add": ((WIDE, WIDE), WIDE, lambda a, b: a + b),
        "scale": ((WIDE, STILL), WIDE, lambda a, b: a * b),
        "outer": ((WIDE, FLAT), WIDE, lambda a, b: a * b[:, None]),
        "tanh": ((WIDE,), WIDE, ag.tanh),
        "exp": ((FLAT,), FLAT, lambda a: ag.exp(-a * a)),
        "softmax": ((WIDE,), WIDE, lambda a: ag.softmax(a, axis=1)),
        "over all": ((WIDE,), WIDE, lambda a: ag.softmax(a, axis=0)),
        "centre": ((WIDE,), WIDE, lambda a: a - a.mean(axis=0)),
        "row sums": ((WIDE,), FLAT, lambda a: a.sum(axis=1)),
        "column sums": ((WIDE,), STILL, lambda a: a.mean(axis=0)),
        "largest": ((WIDE,), STILL, lambda a: a.max(axis=0)),
        "product": ((WIDE, WIDE), WIDE, lambda a, b: a @ (b.T @ a) / a.shape[0]),
        "vector": ((WIDE, STILL), FLAT, lambda a, b: a @ b),
        "columns": ((WIDE, FLAT), STILL, lambda a, b: b @ a),
        "pick": ((WIDE,), STILL, lambda a: a[-1] + a[1]),
        "flip": ((WIDE,), WIDE, lambda a: a[::-1]),
        "shift": ((WIDE,), WIDE, lambda a: ag.concat([a[1:], a[:1]])),
        "running": ((FLAT,), FLAT, lambda a: ag.cumsum(a, axis=0) / a.shape[0]),
        "turn": ((WIDE,), WIDE, lambda a: a.T.reshape(a.shape[0], a.shape[1])),
        "choose": ((WIDE, WIDE), WIDE, lambda a, b: ag.where(a > b, a, -b)),
        "spread": ((STILL, WIDE), WIDE, lambda a, b: ag.broadcast_to(a, b.shape) + b),
        "number": ((FLAT,), FLAT, lambda a: a + ag.arange(a.shape[0], dtype="float64")),
        "norm": ((WIDE,), FLAT, lambda a: ag.sqrt((a * a).sum(axis=1) + 1)),
    }


@fuzz
@given(
    st.lists(st.tuples(st.sampled_from(sorted(_steps())), st.integers(0, 9), st.integers(0, 9)),
             min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(2, 70), st.integers(2, 40)), min_size=4, max_size=5),
    st.booleans(), st.booleans(),
)
def test_random_programs(steps, sizes, both, gradient):
    table = _steps()

    def value(x, v, w):
        pool = {WIDE: [x], FLAT: [v], STILL: [w]}
        last = x
        for name, *numbers in steps:
            kinds, result, run = table[name]
            last = run(*(pool[k][i % len(pool[k])] for k, i in zip(kinds, numbers, strict=False)))
            pool[result].append(last)
        return last

    def function(x, v, w):
        if not gradient:
            return value(x, v, w)
        return ag.grad(lambda *xs: (value(*xs) ** 2).mean(), argnums=(0, 1, 2))(x, v, w)

    f = ag.jit(function)
    for n, m in sizes:
        m = m if both else 4
        args = (rows(n, m, dtype="float64"), rows(n, dtype="float64", seed=1),
                rows(m, dtype="float64", seed=2))
        agree(f, function, *args, tolerance=1e-9)


# -- declared functions ---------------------------------------------------------------------
def test_declared_functions():
    x, w = ag.symbolic.matrix("x"), ag.symbolic.matrix("w")
    y = ag.tanh(x @ w)
    f = ag.function([x, w], [y, y.sum(), ag.grad(y.sum(), w)])
    weights = rows(6, 3, seed=1).array
    for n in (4, 7, 1, 30, 2, 64):
        a = rows(n, 6).array
        out, total, slope = f(a, weights)
        np.testing.assert_allclose(out, np.tanh(a @ weights), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(total, out.sum(), rtol=1e-3)
        np.testing.assert_allclose(slope, a.T @ (1 - out**2), rtol=1e-3, atol=1e-4)
    assert dynamic(f) == 1 and len(f.specialisations) == 3, f.explain()


def test_declared_functions_with_updates():
    total = ag.shared(np.zeros(3, "float32"))
    x = ag.symbolic.matrix("x", dtype="float32")
    f = ag.function([x], updates=[(total, total + x.sum(axis=0))])
    wanted = np.zeros(3)
    for n in (4, 7, 1, 30, 2, 64):
        a = rows(n, 3).array
        f(a)
        wanted += a.sum(axis=0)
        np.testing.assert_allclose(total.get_value(), wanted, rtol=1e-4, atol=1e-4)
    assert dynamic(f) == 1, f.explain()


def test_wrong_sizes_do_not_spoil_later_versions():
    f = ag.jit(lambda x, y: (x * y).sum(axis=0))
    f(rows(4, 3), rows(4, 3))
    with pytest.raises(ag.ShapeError):
        f(rows(5, 3), rows(6, 3))
    assert f(rows(1, 3), rows(4, 3)).shape == (3,)
    for n in (5, 7, 9):
        f(rows(n, 3), rows(n, 3))
    assert dynamic(f) == 1 and len(f.specialisations) == 3, f.explain()


# -- where Python has a part ----------------------------------------------------------------
def test_operations_that_python_evaluates():
    upside_down = ag.op(like=0)(lambda x: x[::-1].copy())
    f = ag.jit(lambda x: (upside_down(x) * 2, (x * 1j).sum(axis=0)))
    for n in (4, 6, 9):
        agree(f, f.function, rows(n, 3))
    assert dynamic(f) == 1


def test_gradients_of_some_results():
    def function(x, w):
        return ag.tanh(x @ w), (x * x).sum(axis=1), x.sum()

    f = ag.jit(function)
    for n in (4, 6, 9, 30):
        found = []
        for run in (f, function):
            x, w = rows(n, 5), rows(5, 3, seed=2)
            x.requires_grad = w.requires_grad = True
            run(x, w)[1].sum().backward()
            found.append(x.grad.array)
        np.testing.assert_allclose(*found, rtol=1e-5)
    assert dynamic(f) == 1


def test_arguments_that_may_be_overwritten():
    x = ag.symbolic.matrix("x")
    f = ag.function([ag.In(x, mutable=True)], [ag.exp(x) + 1, x.sum(axis=0)])
    for n in (4, 6, 9, 30):
        a = rows(n, 3).array
        wanted, total = np.exp(a) + 1, a.sum(axis=0)
        y, s = f(a)
        np.testing.assert_allclose(y, wanted, rtol=1e-5)
        np.testing.assert_allclose(s, total, rtol=1e-4, atol=1e-5)
    assert dynamic(f) == 1


def test_the_interpreter_has_a_version_for_each_size():
    f = ag.jit(lambda x: x * 2)
    with interpreted():
        for n in (4, 6, 9):
            agree(f, f.function, rows(n, 3))
    assert dynamic(f) == 0 and len(f.specialisations) == 3
