"""Values that a gradient needs, changed behind its back: jitted functions refuse as eager ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag

X = np.array([1.0, 2.0, 3.0])


def add(y: Any, value: float = 1.0) -> None:
    with ag.no_grad():
        y += value


def operand(x):
    y = x * 2
    z = y * y
    add(y)
    return z.sum()


def operand_used_again(x):
    y = x * 2
    z = y * y
    add(y)
    return (z + y * y).sum()


def result(x):
    y = ag.exp(x)
    add(y)
    return y.sum()


def view(x):
    y = x * 2
    z = y[:1] * y[1:2]
    add(y)
    return z.sum()


def base_of_a_view(x):
    y = x * 2
    z = y * y
    add(y[:1])
    return z.sum()


def other_view(x):
    y = (x * 2).reshape(3, 1)
    z = y * y
    add(y.reshape(-1))
    return z.sum()


def detached(x):
    y = x * 2
    z = y.detach() * x
    add(y)
    return z.sum()


def buffer(x):
    b = ag.ones(3, dtype="float64")
    z = x * b
    b += 1
    return z.sum()


def buffer_of_a_loop(x):
    b = ag.ones(3, dtype="float64")
    z = x * b

    def step(c, r):
        add(b)
        return c + r, None

    return (z + ag.scan(step, 0.0, x)[0]).sum()


REFUSED = [operand, operand_used_again, result, view, base_of_a_view, other_view, detached, buffer,
           buffer_of_a_loop]


@pytest.mark.parametrize("f", REFUSED)
@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_refused(f: Any, way: Callable[..., Any]) -> None:
    x = ag.tensor(X, requires_grad=True)
    needed = r"(?s)needs the value of float64.*\((made by|a leaf)"
    with pytest.raises(ag.GradientError, match=needed) as found:
        way(lambda x: ag.grad(f(x), x))(x)
    assert "was changed in place afterwards; change a copy instead" in str(found.value)
    assert "test_overwritten.py" in str(found.value)
    with pytest.raises(ag.GradientError, match="changed in place"):
        way(lambda x: f(x).backward())(x)


def not_read(x):
    y = x * 2
    z = y + 1
    add(y)
    return (z + y * 3).sum()


def recorded(x):
    y = x * 2
    z = y * y
    y += x
    return (z * y).sum()


def used_afterwards_only(x):
    y = x * 2
    add(y)
    return (y * y).sum()


def twin(x):
    """What was assigned is another's value, but not its memory."""
    state, y = ag.zeros(3, dtype="float64"), ag.tensor(2.0) * ag.ones(3, dtype="float64")
    state[...] = y
    z = x * y
    state += 1
    return z.sum()


def counter(x):
    n = ag.zeros((), dtype="float64")

    def step(c, r):
        add(n)
        return c * r, None

    c, _ = ag.scan(step, 1.0, x)
    n += 1
    return c * n


def segments(x):
    b = ag.zeros((), dtype="float64")

    def step(c, r):
        add(b)
        return c * r, c

    c, ys = ag.scan(step, 1.0, x, checkpoint=2)
    return ag.checkpoint(lambda c: c * c, c) + ys.sum() + b


@pytest.mark.parametrize("f", [not_read, recorded, used_afterwards_only, twin, counter, segments])
def test_allowed(f: Any) -> None:
    x = ag.tensor(X, requires_grad=True)
    expected = ag.grad(f(x), x)
    np.testing.assert_allclose(ag.jit(lambda x: ag.grad(f(x), x))(x).numpy(), expected.numpy())


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_steps_change_their_parameters_and_go_on(way: Callable[..., Any]) -> None:
    """Several steps in one function, the second derivative of one, averages beside them."""
    w = ag.tensor(X, requires_grad=True)
    average = ag.zeros(3, dtype="float64")
    optimizer = ag.optim.SGD([w], lr=0.01, momentum=0.9)

    def train(x):
        for _ in range(3):
            optimizer.zero_grad()
            loss = ((w * w - x) ** 2).sum()
            loss.backward()
            loss.backward(create_graph=False)
            optimizer.step()
            with ag.no_grad():
                average.mul_(0.5).add_(0.5 * w)
        g = ag.grad((w**3).sum(), w, create_graph=True)
        return (g * w).sum() + loss.detach()

    found = [way(train)(ag.tensor(X)).item() for _ in range(2)]
    expected_w, v, expected = X.copy(), np.zeros(3), []
    for _ in range(2):
        for _ in range(3):
            loss = ((expected_w**2 - X) ** 2).sum()
            v = 0.9 * v + 8 * expected_w * (expected_w**2 - X)
            expected_w = expected_w - 0.01 * v
        expected.append((3 * expected_w**3).sum() + loss)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_parameter_is_what_it_was_for_one_record_and_changed_for_another() -> None:
    w = ag.tensor(X, requires_grad=True)
    old = (w * w).sum()
    add(w)
    (w * w).sum().backward()
    assert w.grad.tolist() == [4.0, 6.0, 8.0]
    with pytest.raises(ag.GradientError, match="changed in place"):
        old.backward()


def test_what_a_recorded_change_keeps_does_not_hide_an_earlier_one() -> None:
    x = ag.tensor(X, requires_grad=True)
    y = x * 2
    old = (y * y).sum()
    add(y)
    y *= y
    y.sum().backward()
    assert x.grad.tolist() == [12.0, 20.0, 28.0]
    with pytest.raises(ag.GradientError, match="changed in place"):
        old.backward()
