"""Loops whose number of steps a tensor tells: compiled as eagerly, up to their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

X = np.arange(1.0, 6.0)


def running(reverse: bool, until: Any) -> Any:
    def f(x: Any, n: Any) -> Any:
        return ag.scan(lambda c, r: (c + r, c * 10), ag.zeros((), dtype="float64"), x, length=n,
                       reverse=reverse, until=until)

    return f


def reference(n: int, reverse: bool, stops: bool) -> tuple[float, list[float]]:
    carry, rows = 0.0, np.zeros(5)
    order = range(n)[::-1] if reverse else range(n)
    for i, t in enumerate(order):
        carry, rows[t] = carry + X[t], carry * 10
        if stops and carry > 4:
            rows[list(order)[i + 1 :]] = rows[t]
            break
    return carry, rows.tolist()


@pytest.mark.share(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 4, 5])
def test_as_many_steps_as_a_tensor_tells(n: int, reverse: bool, stops: bool) -> None:
    f = running(reverse, (lambda c: c > 4) if stops else None)
    for run in (f, ag.jit(f), ag.jit(f, optimizer="fast_compile")):
        carry, rows, *_ = run(ag.tensor(X), ag.tensor(n))
        assert (carry.item(), rows.tolist()) == reference(n, reverse, stops)


@pytest.mark.parametrize("reverse", [False, True])
def test_their_gradients(reverse: bool) -> None:
    def loss(x: Any, n: Any) -> Any:
        carry, rows = running(reverse, None)(x, n)
        return (rows**2).sum() + carry**3

    for n in (0, 3, 5):
        eager = ag.grad(loss)(ag.tensor(X), ag.tensor(n))
        found = ag.jit(ag.grad(loss))(ag.tensor(X), ag.tensor(n))
        np.testing.assert_allclose(found, eager)
        assert (found.numpy()[n:] == 0).all()


@pytest.mark.parametrize("n", [-1, 6])
def test_lengths_that_cannot_be_are_refused(n: int) -> None:
    f = running(False, None)
    for run in (f, ag.jit(f)):
        with pytest.raises(ValueError, match="length"):
            run(ag.tensor(X), ag.tensor(n))


def test_open_loops_do_not_take_negative_lengths() -> None:
    f = ag.jit(lambda n: ag.scan(lambda c, _: (c + 1, None), 0.0, length=n)[0])
    assert [f(ag.tensor(n)).item() for n in (0, 3)] == [0.0, 3.0]
    with pytest.raises(ValueError, match=r"scan\(int64\[\]\): length must be at least 0\n"):
        f(ag.tensor(-1))


@pytest.mark.share(4)
@pytest.mark.parametrize("checkpoint", [4, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_checkpoints_of_loops_of_any_length(checkpoint: bool | int, reverse: bool) -> None:
    """One version for all lengths of two segments and more: the last one does what is left."""
    seen = ag.zeros(3, dtype="float64")

    def cost(w: ag.Tensor, x: ag.Tensor) -> Any:
        def step(c: Any, r: Any) -> Any:
            with ag.no_grad():
                seen.mul_(0.5).add_(r)
            return ag.tanh(c * w + r), c * r

        c, ys = ag.scan(step, x[0], x, checkpoint=checkpoint, reverse=reverse)
        return (c * seen).sum() + (ys * ag.arange(x.shape[0])[:, None]).sum()

    values, run = ag.value_and_grad(cost), ag.jit(ag.value_and_grad(cost))
    rows, w = np.random.default_rng(0).normal(size=(40, 3)), ag.tensor([0.3, -0.5, 0.9])
    w = w.astype("float64")
    for n in (23, 20, 37, 10, 11, 12, 13, 40):
        expected, found = [], []
        for f, results in ((values, expected), (run, found)):
            seen.detach().fill_(0)
            results += [*f(w, ag.tensor(rows[:n])), seen.detach() * 1]
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
    assert len(run.specialisations) <= 2


def doubled(c: Any, _: Any) -> Any:
    return c * 2 + 1, c


@pytest.mark.parametrize("reverse", [False, True])
def test_results_are_as_many_as_a_value_says(reverse):
    n, c = T.variable("n", "int64", ()), T.scalar("c")
    last, rows = ag.scan(doubled, c, None, n, reverse=reverse)
    f = ag.function([n, c], [last, rows, T.grad(rows.sum() + last, c)])
    g = ag.jit(lambda n, c: ag.scan(doubled, c, None, n, reverse=reverse))
    for steps in (3, 0, 1, 5):
        wanted = ag.scan(doubled, ag.tensor(2.0, dtype="float64"), None, steps, reverse=reverse)
        found = g(ag.tensor(steps), ag.tensor(2.0, dtype="float64"))
        for results in (f(steps, 2.0)[:2], [y.numpy() for y in found]):
            for a, b in zip(results, wanted, strict=True):
                np.testing.assert_array_equal(a, b.numpy())
        assert f(steps, 2.0)[2] == 2.0 ** (steps + 1) - 1
    with pytest.raises(ValueError, match="length must be at least 0"):
        f(-1, 2.0)


def test_a_loop_in_a_loop_takes_as_many_steps_as_the_step_says():
    """Its beginning is a constant, so that only its length makes it symbolic."""
    def total(c: Any, r: Any) -> Any:
        inner = ag.scan(doubled, ag.ones((), dtype="float64"), None, r.astype("int64"))[1]
        return c + inner.sum(), c

    x = T.vector("x")
    last, rows = ag.function([x], ag.scan(total, 0.0, x))([1.0, 2.0, 3.0, 0.0])
    assert last == 16 and rows.tolist() == [0, 1, 5, 16]
