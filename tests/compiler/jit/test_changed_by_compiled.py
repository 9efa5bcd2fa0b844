"""What compiled code changes, an older record that needs the value refuses, as in eager code."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

X = np.array([1.0, 2.0, 3.0])
REFUSED = "was changed in place afterwards"
TIMES = 3  # the first call traces, the second is dispatched, the third is native


def weight() -> Any:
    return ag.tensor(X, requires_grad=True)


def refuses(loss: Any) -> None:
    with pytest.raises(ag.GradientError, match=REFUSED):
        loss.backward()


@pytest.fixture(params=["fast_run", "fast_compile"])
def jit(request: Any) -> Any:
    return lambda f: ag.jit(f, optimizer=request.param)


def test_a_training_step(jit: Callable[..., Any]) -> None:
    w = weight()
    optimizer = ag.optim.SGD([w], lr=0.1, momentum=0.9)

    @jit
    def step(x):
        optimizer.zero_grad()
        loss = ((w * x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    x = ag.tensor(X)
    for _ in range(TIMES):
        square, straight, moved = (w * w).sum(), (w * x).sum(), w + 1
        step(x)
        refuses(square)
        refuses((moved * w).sum() + square)
        assert ag.grad(straight, w).tolist() == X.tolist()
        assert ag.grad((w * w).sum(), w).tolist() == (2 * w).tolist()


def test_a_step_that_leaves_the_value_alone(jit: Callable[..., Any]) -> None:
    w, other = weight(), weight()

    @jit
    def step(x):
        with ag.no_grad():
            other.sub_(x * w)

    for _ in range(TIMES):
        square = (w * w).sum()
        step(ag.tensor(X))
        assert ag.grad(square, w).tolist() == (2 * X).tolist()


def test_recorded_calls_of_compiled_functions(jit: Callable[..., Any]) -> None:
    w = weight()
    f = jit(lambda x: (w * w * x).sum())

    @jit
    def step(x):
        with ag.no_grad():
            w.add_(x)

    for _ in range(TIMES):
        loss = f(ag.tensor(X))
        step(ag.tensor(X))
        refuses(loss)


def test_arguments(jit: Callable[..., Any]) -> None:
    w = weight()

    @jit
    def increase(y):
        with ag.no_grad():
            y += 1

    for _ in range(TIMES):
        for y in (ag.tensor(X), ag.tensor(np.ones((3, 3)))[:, 0], ag.tensor(X).reshape(3)):
            product, total = (w * y).sum(), (w + y).sum()
            increase(ag.tensor(X))  # another one's change counts for itself
            increase(X.copy())
            assert ag.grad(product, w).tolist() == y.tolist()
            increase(y)
            refuses(product)
            assert ag.grad(total, w).tolist() == [1.0, 1.0, 1.0]
        y = ag.tensor(X)
        product = (w * y).sum()
        increase(y=y)
        refuses(product)


def test_one_argument_after_another_without_a_record_between(jit: Callable[..., Any]) -> None:
    w = weight()

    @jit
    def increase(y):
        with ag.no_grad():
            y += 1

    for _ in range(TIMES):
        ys = [ag.tensor(X) for _ in range(3)]
        products = [(w * y).sum() for y in ys]
        for y in ys:
            increase(y)
        for product in products:
            refuses(product)


def test_several_functions_change_one_tensor_in_turn(jit: Callable[..., Any]) -> None:
    w, b = weight(), weight()

    def change(*tensors):
        def body(x):
            with ag.no_grad():
                for t in tensors:
                    t += x

        return jit(body)

    one, both, other = change(w), change(w, b), change(b)
    for _ in range(TIMES):
        first, second = (w * w).sum(), (b * b).sum()
        other(ag.tensor(X))
        assert ag.grad(first, w).tolist() == (2 * w).tolist()
        refuses(second)
        one(ag.tensor(X))
        refuses(first)
        first, second = (w * w).sum(), (b * b).sum()
        both(ag.tensor(X))
        refuses(first)
        refuses(second)


def test_through_a_step_in_a_step(jit: Callable[..., Any]) -> None:
    w = weight()

    @jit
    def inner(x):
        with ag.no_grad():
            w.mul_(x)

    @jit
    def outer(x):
        inner(x)
        inner(x)

    for _ in range(TIMES):
        square = (w * w).sum()
        outer(ag.tensor(X))
        refuses(square)


def test_memory_that_overlaps_goes_through_python(jit: Callable[..., Any]) -> None:
    w = weight()

    @jit
    def add(a, b):
        with ag.no_grad():
            a += b

    for _ in range(TIMES):
        y = ag.tensor(X)
        product = (w * y).sum()
        add(y, y)
        refuses(product)


def test_views_and_detached_tensors_of_what_is_changed(jit: Callable[..., Any]) -> None:
    w, state = weight(), ag.tensor(X)
    same, part = state.detach(), state[:2]

    @jit
    def step(x):
        with ag.no_grad():
            state.add_(x)

    for _ in range(TIMES):
        first, second = (w * same).sum(), (w[:2] * part).sum()
        step(ag.tensor(X))
        refuses(first)
        refuses(second)


@pytest.mark.parametrize("way", [lambda f, s: (f, s), lambda f, s: (f.copy(), s),
                                 lambda f, s: pickle.loads(pickle.dumps((f, s)))],
                         ids=["made", "copied", "loaded"])
@pytest.mark.parametrize("compiled", [True, False])
def test_functions_with_updates(way: Callable[..., Any], compiled: bool) -> None:
    w = weight()
    total, v = ag.shared(X.copy()), T.vector("v")
    add, total = way(ag.function([v], total.sum(), updates={total: total + v}), total)
    for _ in range(TIMES):
        product, straight = (w * total.storage).sum(), (w + total.storage).sum()
        with ag.config(compile=compiled):
            add(X)
        refuses(product)
        assert ag.grad(straight, w).tolist() == [1.0, 1.0, 1.0]


def test_arguments_that_results_take_over() -> None:
    w, v = weight(), T.vector("v")
    double = ag.function([ag.In(v, mutable=True)], v + v)
    for _ in range(TIMES):
        y = ag.tensor(X)
        product, straight = (w * y).sum(), (w + y).sum()
        double(y)
        assert y.tolist() == (2 * X).tolist()
        refuses(product)
        assert ag.grad(straight, w).tolist() == [1.0, 1.0, 1.0]


def test_gradients_that_a_step_adds_to(jit: Callable[..., Any]) -> None:
    w, other = weight(), weight()
    w.grad = ag.tensor(X)

    @jit
    def accumulate(x):
        (w * x).sum().backward()

    for _ in range(TIMES):
        product = (other * w.grad).sum()
        accumulate(ag.tensor(X))
        refuses(product)


def test_rows_that_a_compiled_function_changes_in_a_loop(jit: Callable[..., Any]) -> None:
    """A loop over values notices it as well, whoever changes them."""

    @jit
    def clear(row):
        row.zero_()

    def step(c, x):
        clear(x)
        return c + x, c

    for _ in range(TIMES):
        with pytest.raises(ag.TraceError, match="changes a row or non-sequence in place"):
            ag.scan(step, ag.zeros(3, dtype="float64"), ag.tensor(np.ones((4, 3))))
