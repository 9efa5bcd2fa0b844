"""What rewriting does to loops: the graphs inside, and values against the unchanged ones."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.rewrite import engine, rewrite
from tests.compiler.loops.bodies import inside, kinds, scans


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    return ag.tensor(np.asarray(np.random.default_rng(seed).normal(size=shape), dtype))


def compared(function: Any, *args: Any, tolerance: float = 1e-9) -> Any:
    """The function compiled, after its values were compared with those without rules."""
    plain = ag.jit(function, optimizer="None")(*args)
    compiled = ag.jit(function)
    found = compiled(*args)
    pairs = zip(found, plain, strict=True) if isinstance(found, tuple) else [(found, plain)]
    for a, b in pairs:
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)
    return compiled


# -- what leaves the loop -------------------------------------------------------------------
def test_invariants_are_computed_once():
    def f(x, c, w):
        return ag.scan(lambda c, x: (c + x * ag.exp(w).sum(), c), c, x)

    compiled = compared(f, normal(5, 100), normal(100, seed=1), normal(100, seed=2))
    (scan,) = scans(compiled)
    assert "exp" not in inside(scan)
    assert "sum" not in inside(scan)


def test_spread_constants_stay_inside():
    def f(x, c, w):
        return ag.scan(lambda c, x: (c * ag.broadcast_to(w, (3, 100)) + x, c), c, x)

    compiled = compared(f, normal(5, 3, 100), normal(3, 100, seed=1), normal(100, seed=2))
    (scan,) = scans(compiled)
    assert all(n.shape != (3, 100) for n in scan.inputs[2:])


@pytest.mark.native_plans
def test_products_over_time_become_one():
    def f(x, h, a, b):
        return ag.scan(lambda h, x: ((y := ag.tanh(x @ a + h @ b)), y), h, x)

    args = normal(6, 4, 50), normal(4, 30, seed=1), normal(50, 30, seed=2), normal(30, 30, seed=3)
    compiled = compared(f, *args)
    (scan,) = scans(compiled)
    assert inside(scan).count("matmul") == 1
    assert kinds(compiled) == ["Product", "Loop[Product]"]


@pytest.mark.share(2)
@pytest.mark.parametrize("shapes", [
    ((4, 1), (1, 1)), ((1, 1), (4, 1)), ((1, 4), (1, 1)), ((1, 1), (1, 4)), ((4, 1), (1, 3)),
    ((1, 3), (4, 1)), ((1, 1), (1, 1)), ((4, 1), (4, 1)),
])
def test_sums_of_rows_times_columns(shapes):
    def f(a, b):
        def step(carry, rows):
            total, h, g = carry
            h, g = ag.tanh(h + rows[0]), ag.tanh(g * rows[1] + 1)
            return (total + h * g, h, g), ()

        first = [ag.zeros(s, dtype="float64") for s in (np.broadcast_shapes(*shapes), *shapes)]
        return ag.scan(step, tuple(first), (a, b))[0][0]

    compared(f, normal(3, *shapes[0]), normal(3, *shapes[1], seed=1))


@pytest.mark.native_plans
@pytest.mark.parametrize("count", [None, 3])
def test_products_with_vectors_become_one(count):
    def f(x, h, a, b):
        return ag.scan(lambda h, x: ((y := ag.tanh(a @ x + b @ h)), y), h, x)

    args = normal(6, 50), normal(30, seed=1), normal(30, 50, seed=2), normal(30, 30, seed=3)
    compiled = compared(f, *args)
    assert kinds(compiled)[0] == "Product"
    assert sum(k == "Product" for k in kinds(compiled)) == 1


def test_costly_work_on_rows_is_done_for_all_at_once():
    def f(x, c):
        return ag.scan(lambda c, x: (c * 0.5 + ag.sin(x), c), c, x)

    (scan,) = scans(compared(f, normal(40), normal(seed=1)))
    assert "sin" not in inside(scan)


def test_results_of_rows_alone_leave_the_loop():
    def f(x, c):
        return ag.scan(lambda c, x: (c + x, (c, ag.exp(x), 2.0)), c, x)[1][1:]

    assert scans(compared(lambda x, c: f(x, c)[0], normal(4, 300), normal(300))) == []


def test_until_keeps_rows_inside():
    def f(x, c):
        return ag.scan(lambda c, x: (c + x, ag.exp(x)), c, x, until=lambda c: c > 1.0)[1]

    x = ag.tensor(np.full(8, 0.4))
    c = ag.zeros((), "float64")
    np.testing.assert_allclose(ag.jit(f)(x, c).numpy(), f(x, c).numpy())


# -- what is not needed -----------------------------------------------------------------------
def test_carries_and_results_without_use_are_dropped():
    def f(x, a, b):
        _, (y, _) = ag.scan(lambda c, x: ((c[0] + x, c[1] * 2), (c[0], c[1])), (a, b), x)
        return y

    (scan,) = scans(compared(f, normal(5), normal(seed=1), normal(seed=2)))
    assert (scan.op.carries, scan.op.stacked) == (1, 1)


def test_carries_that_never_change_are_constants():
    def f(x, a, b):
        (a, b), y = ag.scan(lambda c, x: ((c[0] * c[1] + x, c[1]), c[0]), (a, b), x)
        return a, b, y

    compiled = compared(f, normal(5), normal(seed=1), normal(seed=2))
    (scan,) = scans(compiled)
    assert scan.op.carries == 1


def test_equal_carries_are_one():
    def f(x, a):
        (a, b), _ = ag.scan(lambda c, x: ((c[0] / 2 + x, c[1] / 2 + x), None), (a, a), x)
        return a + b

    (scan,) = scans(compared(f, normal(5), normal(seed=1)))
    assert scan.op.carries == 1


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(), (300,)], ids=str)
def test_of_the_last_row_alone_no_history_is_kept(shape, reverse):
    def f(x, c):
        y = ag.scan(lambda c, x: (c * 0.5 + x, c * 2), c, x, reverse=reverse)[1]
        return y[0 if reverse else -1]

    compiled = compared(f, normal(100, *shape), normal(*shape, seed=1))
    (scan,) = scans(compiled)
    assert scan.op.stacked == 0


@pytest.mark.parametrize("reverse", [False, True])
def test_the_last_row_may_be_a_sum_that_no_step_reads(reverse):
    def f(x):
        rows = ag.scan(lambda c, x: (ag.sin(c) * x, x + c), 0.5, x, reverse=reverse)[1]
        return rows[0 if reverse else -1], ag.scan(
            lambda c, x: ((ag.sin(c[0]) * x, x - c[0]), None), (0.5, 0.5), x, reverse=reverse
        )[0][1]

    compared(f, normal(5))


def test_long_scans_for_their_last_row_take_no_memory():
    def f(c):
        return ag.scan(lambda c, _: (c * 0.9999, c), c, None, length=100_000)[1][-1]

    compiled = ag.jit(f)
    np.testing.assert_allclose(compiled(ag.ones(100)).numpy(), 0.9999**99_999, rtol=1e-2)
    assert compiled.plan().planned_bytes < 10_000


def test_scans_without_operands():
    def f(x):
        a = ag.scan(lambda c, _: (c * 2, c + 1), ag.ones((), "float64"), None, length=5)
        return a[1] + x, ag.scan(lambda c, x: (c, ag.broadcast_to(x - x, (2, 2))), None, x)[1]

    compared(f, normal(5))
    compared(f, ag.arange(5))


def test_first_rows_are_another_thing():
    def f(x, c):
        return ag.scan(lambda c, x: (c * 0.5 + x, c * 2), c, x)[1][0]

    compared(f, normal(10), normal(seed=1))


# -- several loops ----------------------------------------------------------------------------
def test_scans_over_one_sequence_are_merged():
    def f(x, a, b):
        first = ag.scan(lambda c, x: (c + x, c), a, x)
        second = ag.scan(lambda c, x: (c * 0.5 + x, c), b, x)
        return first[0], first[1], second[0], second[1]

    assert len(scans(compared(f, normal(5), normal(seed=1), normal(seed=2)))) == 1


def test_scans_that_need_each_other_stay_apart():
    def f(x, a):
        first = ag.scan(lambda c, x: (c + x, c), a, x)[1]
        return ag.scan(lambda c, xs: (c + xs[0] * xs[1], c), a, (x, first))[1]

    assert len(scans(compared(f, normal(5), normal(seed=1)))) == 2


def test_scans_in_other_directions_stay_apart():
    def f(x, a):
        return tuple(ag.scan(lambda c, x: (c + x, c), a, x, reverse=r)[1] for r in (False, True))

    assert len(scans(compared(f, normal(5), normal(seed=1)))) == 2


# -- gradients ----------------------------------------------------------------------------------
def recurrence(x: Any, h: Any, w: Any) -> Any:
    return (ag.scan(lambda h, x: ((y := ag.tanh(x + h @ w)), y), h, x)[1] ** 2).sum()


@pytest.mark.parametrize("size", [(6, 4, 20), (5, 1, 16), (3, 2, 1)])
def test_gradients_of_weights_become_one_product(size):
    _, rows, width = size
    args = normal(*size), normal(rows, width, seed=1), normal(width, width, seed=2)
    compiled = compared(ag.grad(recurrence, (0, 1, 2)), *args)
    forward, reverse = scans(compiled)
    assert forward.op.carries == reverse.op.carries == 1
    if width > 1:
        assert inside(reverse).count("matmul") == 1
    eager = ag.grad(recurrence, (0, 1, 2))(*args)
    for a, b in zip(compiled(*args), eager, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-7, atol=1e-10)


def test_checkpoints_stay_small():
    def loss(w, x, h, keep):
        step = lambda h, x: ((y := ag.tanh(x + h @ w)), y.sum())  # noqa: E731
        return ag.scan(step, h, x, checkpoint=keep)[1].sum()

    args = normal(16, 16, seed=2), normal(144, 4, 16), normal(4, 16, seed=1)
    kept, again = (ag.jit(ag.grad(lambda *a, n=n: loss(*a, n))) for n in (False, True))
    np.testing.assert_allclose(kept(*args).numpy(), again(*args).numpy(), rtol=1e-8)
    assert again.plan().arena_bytes < 0.4 * kept.plan().arena_bytes


@pytest.mark.native_plans
def test_products_over_time_stay_in_checkpoints():
    def loss(a, w, x, h, keep):
        step = lambda h, x: ((y := ag.tanh((x @ a)[:, :16] + h @ w)), y.sum())  # noqa: E731
        return ag.scan(step, h, x, checkpoint=keep)[1].sum()

    args = normal(16, 64), normal(16, 16, seed=2), normal(144, 4, 16), normal(4, 16, seed=1)
    kept, again = (ag.jit(ag.grad(lambda *a, n=n: loss(*a, n))) for n in (False, True))
    np.testing.assert_allclose(kept(*args).numpy(), again(*args).numpy(), rtol=1e-8)
    assert again.plan().arena_bytes < 0.4 * kept.plan().arena_bytes


def test_gradients_of_biases_are_sums_behind_the_loop():
    def loss(b, x, h, w):
        return (ag.scan(lambda h, x: ((y := ag.tanh(x + h @ w + b)), y), h, x)[1] ** 2).sum()

    args = normal(20), normal(6, 4, 20), normal(4, 20, seed=1), normal(20, 20, seed=2)
    compiled = compared(ag.grad(loss, (0, 3)), *args)
    assert scans(compiled)[-1].op.carries == 1


def coupled(n: int) -> Any:
    """Carries that each depend on the next one."""

    def loss(cs, u):
        def step(c, u):
            new = tuple(c[i] * 0.9 + ag.sin(c[(i + 1) % n]) * u * 0.1 for i in range(n))
            return new, new[0]

        last, y = ag.scan(step, cs, u)
        return y.sum() + sum(last)

    return loss


@pytest.mark.parametrize("n", [1, 3, 9])
def test_gradients_of_many_carries(n):
    cs = tuple(normal(seed=i) for i in range(n))
    compiled = compared(lambda *cs: ag.grad(coupled(n), 0)(cs, normal(30)), *cs)
    eager = ag.grad(coupled(n), 0)(cs, normal(30))
    for a, b in zip(compiled(*cs), eager, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-7)
    assert len(scans(compiled)) == 2


def test_rewriting_takes_about_linear_time():
    def seconds(n: int) -> float:
        cs = tuple(normal(seed=i) for i in range(n))
        compiled = ag.jit(ag.grad(coupled(n), 0))
        compiled(cs, normal(10))
        graph = compiled._last().graph
        start = time.perf_counter()
        rewrite(graph)
        return time.perf_counter() - start

    seconds(3)
    few, many = min(seconds(10) for _ in range(3)), seconds(50)
    assert many < 5 * 2.5 * few


def test_second_derivatives_of_a_scan():
    def loss(w, x):
        return (ag.scan(lambda h, x: ((y := ag.tanh(x + h * w)), y), w, x)[1] ** 2).sum()

    x, w = normal(7, 3), normal(3, seed=1)
    compared(ag.hessian(loss), w, x, tolerance=1e-8)


def test_nested_loops_are_rewritten_too():
    def f(x, c, w):
        def outer(c, row):
            return ag.scan(lambda c, v: (c * ag.exp(w) + v, c), c, row)

        return ag.scan(outer, c, x)

    compiled = compared(f, normal(4, 5), normal(seed=1), normal(seed=2))
    (scan,) = scans(compiled)
    (inner,) = (n for n in scan.op.body.graph.nodes if n.op is not None and n.op.name == "scan")
    assert "exp" not in inside(inner)
    assert "exp" not in inside(scan)


def test_invariants_leave_while_loops():
    def f(a, w):
        return ag.while_loop(lambda a: a.sum() < ag.exp(w).sum(),
                             lambda a: a + ag.exp(w) * 0.1 + ag.cosh(w).max(), a)

    compiled = compared(f, normal(5), normal(5, seed=1))
    (loop,) = (n for n in compiled.graph.nodes if n.op is not None and n.op.bodies)
    names = [n.op.name for body in (loop.op.test, loop.op.body) for n in body.graph.nodes if n.op]
    assert set(names) <= {"sum", "less", "add"}


def test_while_and_cond_are_settled_inside():
    def f(a):
        a = ag.while_loop(lambda a: a < 100.0, lambda a: a * 2 - 0, a)
        return ag.cond(a > 120.0, lambda a: a * 1, lambda a: ag.log(1 + ag.exp(a)), a)

    compiled = compared(f, normal())
    loop, branch = (n for n in compiled.graph.nodes if n.op is not None and n.op.bodies)
    assert [n.op.name for n in loop.op.body.graph.nodes if n.op] in (["multiply"], ["add"])
    assert len(branch.op.then.graph) == 0


LOGARITHMS = {
    "of the carry": lambda c, x, w: (ag.logsumexp(c[:, None] + w, 0) + x, c.sum()),
    "beside what leaves the loop": lambda c, x, w: (
        ag.logsumexp(c[:, None] + w * 2 + ag.exp(w), 0) + x, c.sum()),
    "of rows": lambda c, x, w: (c * 0.5 + ag.logsumexp(x * 2, 0), c.sum()),
    "of what never changes": lambda c, x, w: (c * 0.5 + ag.logsumexp(w.sum(0), 0), c.sum()),
    "of probabilities": lambda c, x, w: (c * 0.5 + ag.log_softmax(c + w[0] * 3, 0), c.sum()),
    "as written": lambda c, x, w: (c * 0.1 + ag.log(ag.exp(c + w[0] * 3).sum()), c.sum()),
}


@pytest.mark.parametrize("case", LOGARITHMS)
def test_exponents_are_shifted_once(case):
    body = LOGARITHMS[case]

    def f(x, w):
        return ag.scan(lambda c, row: body(c, row, w), x[0], x)

    compiled = compared(f, normal(9, 4), normal(4, 4, seed=1))
    graph = compiled.graph
    names = [n.op.name for n in graph.nodes if n.op is not None]
    found = names + [name for scan in scans(compiled) for name in inside(scan)]
    assert found.count("max") == 1


def test_exponents_that_another_maximum_was_taken_off_are_shifted():
    x = ag.tensor([[0.0, 1.0], [-2000.0, -2001.0]], dtype="float64")
    found = ag.jit(lambda x: ag.log(ag.exp(x - x.max()).sum(1)))(x)
    np.testing.assert_allclose(found.numpy(), [0.31326169, -2000.68673831], rtol=1e-8)


def test_loops_in_loops_are_settled_about_as_often_as_there_are_loops(monkeypatch):
    settled = engine._Rewriting.settled
    sizes = []

    def counted(self, graph, *rest):
        sizes.append(len(graph))
        return settled(self, graph, *rest)

    def deep(n):
        def step(c, x):
            y = ag.logsumexp(c + x, 0) * c
            return (ag.tanh(y + (deep(n - 1)(y) if n else y)), c[0])
        return lambda w: ag.scan(step, w, ag.outer(w, w))[0]

    monkeypatch.setattr(engine._Rewriting, "settled", counted)
    ag.jit(ag.grad(lambda w: deep(3)(w).sum()))(normal(3))
    assert len(sizes) < 60 and max(sizes) < 200
