"""Gradients of what jitted functions return that change state: as if Python had run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(params=["fast_run", "fast_compile"])
def jit(request: Any) -> Any:
    return lambda f: ag.jit(f, optimizer=request.param)


def _array(x: Any) -> np.ndarray:
    return x.numpy() if isinstance(x, ag.Tensor) else np.asarray(x)


def both(program: Callable[[Any], Any], jit: Any) -> None:
    """The same from the function itself and from the compiled one."""
    for a, b in zip(program(lambda f: f), program(jit), strict=True):
        np.testing.assert_allclose(_array(b), _array(a), rtol=1e-9, atol=1e-12)


def parameter() -> Any:
    return ag.tensor(X, requires_grad=True)


def test_batch_normalization_and_dropout(jit: Any) -> None:
    """The derivative sees statistics and random numbers of its call, and changes none."""

    def program(way: Any) -> list[Any]:
        ag.manual_seed(3)
        rng = np.random.default_rng(0)
        net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.4), nn.Tanh())
        for p in [*net.parameters(), *net.buffers()]:
            p.array = rng.normal(size=p.shape)
        w = parameter()
        f, found = way(lambda x: net(x)), []
        for _ in range(3):
            x = ag.tensor(rng.normal(size=(8, 3)))
            a, b = f(x), f(x * 2)
            loss = (a * b).sum() + (b**3).sum() + (w**2).sum()
            found += [*ag.grad(loss, [*net.parameters(), w]), *(t.numpy() for t in net.buffers())]
        return found

    both(program, jit)


def test_derivatives_again_backwards_twice_and_for_many_cotangents(jit: Any) -> None:
    def program(way: Any) -> list[Any]:
        count, w, x = ag.tensor(X), parameter(), parameter()

        def f(x: Any) -> Any:
            count.add_(1.0)
            return ag.sin(x * w) * (count * 1) * w

        run = way(f)
        y = run(x)
        run(x)
        first = ag.grad(y.sum(), [x, w], create_graph=True)
        second = ag.grad((first[0] * first[1]).sum(), [x, w])
        _, pullback = ag.vjp(lambda x: run(x), x)
        many = ag.vmap(lambda g: pullback(g)[0])(ag.tensor(np.eye(3)))
        return [y, *first, *second, *ag.grad(y.sum(), [x, w]), many, ag.jacfwd(run)(x), count]

    both(program, jit)


def test_parameters_that_are_changed_without_a_record(jit: Any) -> None:
    """Each part gets the gradient at the value that it saw."""

    def program(way: Any) -> list[Any]:
        w, found = parameter(), []

        def f(x: Any) -> Any:
            linear = (x * w).sum()
            with ag.no_grad():
                w.clamp_(-2.0, 2.0)
            straight = w * 1
            return linear + (x * straight * straight).sum()

        run = way(f)
        for _ in range(3):
            y = run(ag.tensor(X))
            (g,) = ag.grad(y * y, [w], create_graph=True)
            found += [y, g, ag.grad((g * g).sum(), w), w.numpy().copy()]
            with ag.no_grad():
                w.mul_(1.5)
        return found

    both(program, jit)


def test_parameters_that_are_changed_beside_a_derivative(jit: Any) -> None:
    """A training step is what changes parameters by their gradients."""

    def program(way: Any) -> list[Any]:
        w, found = parameter(), []

        def f(x: Any) -> Any:
            with ag.no_grad():
                w.clamp_(-2.0, 2.0)
            straight = w * 1
            return ag.grad((ag.sin(straight) * x).sum(), straight, create_graph=True)

        run = way(f)
        for _ in range(2):
            y = run(ag.tensor(X))
            found += [y, ag.grad((y * y).sum(), w), w.numpy().copy()]
        return found

    both(program, jit)


def test_what_eager_code_refuses_is_refused(jit: Any) -> None:
    for way in (lambda f: f, jit):
        w, b = parameter(), ag.tensor(X)

        def given(x: Any, w: Any = w) -> Any:
            y = (x * w).sum()
            x.mul_(2.0)
            return y

        def used(x: Any, w: Any = w, b: Any = b) -> Any:
            y = (b * w * x).sum()
            with ag.no_grad():
                b.add_(1.0)
            return y

        for f in (given, used):
            run = way(f)
            for _ in range(2):
                y = run(ag.tensor(X))
                with pytest.raises(ag.GradientError, match="changed in place afterwards"):
                    (y + (w * w).sum()).backward()


def test_arguments_that_are_changed(jit: Any) -> None:
    def program(way: Any) -> list[Any]:
        w, found = parameter(), []

        def f(x: Any) -> Any:
            x.mul_(2.0)
            return (x * w * w).sum()

        run = way(f)
        for x in (ag.tensor(X), ag.tensor(np.ones((3, 3)))[:, 0], X.copy()):
            y = run(ag.asarray(x) if way is not jit else x)
            run(ag.tensor(X))
            found += [y, ag.grad(y, w), ag.grad(y, w), np.array(x)]
        return found

    both(program, jit)


def test_views_of_state_look_into_what_it_was(jit: Any) -> None:
    def program(way: Any) -> list[Any]:
        state, w = ag.tensor(X), parameter()
        first = state[:2]

        def f(x: Any) -> Any:
            with ag.no_grad():
                first.add_(1.0)
            return (x * w[:2] * (first * 1)).sum() * (state[2] * 1)

        run = way(f)
        y = run(ag.tensor(X[:2]))
        run(ag.tensor(X[:2]))
        _, pullback = ag.vjp(lambda w: run(w[:2]), parameter())
        many = ag.vmap(lambda g: pullback(g)[0])(ag.tensor(X))
        return [y, ag.grad(y, w), many, state, first]

    both(program, jit)


def test_gradients_that_flow_into_state(jit: Any) -> None:
    """Only Python can go on with the state's record: ``explain()`` says that it runs."""

    def program(way: Any) -> list[Any]:
        w, b = parameter(), ag.zeros(3, dtype="float64")
        run = way(lambda a: b.add_(w * a))
        for i in range(3):
            run(ag.tensor(X + i))
        if way is jit:
            assert "runs eagerly, for gradients flow into tensors that it changes" in run.explain()
        return [b, ag.grad((b * b).sum(), w)]

    both(program, jit)

    def given(way: Any) -> list[Any]:
        w, b = parameter(), ag.zeros(3, dtype="float64")
        run = way(lambda b, a: b.add_(w * a))
        for i in range(3):
            run(b, ag.tensor(X + i))
        return [b, ag.grad((b * b).sum(), w)]

    both(given, jit)


def test_a_trace_changes_nothing(jit: Any) -> None:
    """Where the function then runs eagerly, older records still have what they kept."""

    def program(way: Any) -> list[Any]:
        w, b, found = parameter(), ag.tensor(X), []

        def f(x: Any) -> Any:
            b.copy_(ag.tanh(w * x))
            return w * b

        run = way(f)
        for i in range(3):
            found.append(run(ag.tensor(X * i)))
        return [*found, ag.grad(sum(y.sum() for y in found), w), b]

    both(program, jit)


def test_state_with_a_gradient_that_a_loop_changes_without(jit: Any) -> None:
    def program(way: Any) -> list[Any]:
        w, b, x = parameter(), ag.tensor(X), ag.tensor(X)

        def f(x: Any) -> Any:
            b.mul_(ag.cos(w))

            def body(c: Any, r: Any) -> Any:
                with ag.no_grad():
                    b.mul_(0.5)
                return ag.tanh(c * b.clone() + r), c

            return ag.scan(body, w * 0.5, x.reshape(3, 1))[0].sum()

        y = way(f)(x)
        return [y, ag.grad(y, w), b]

    both(program, jit)

    def unread(way: Any) -> list[Any]:
        w, b = parameter(), ag.tensor(X)

        def f(x: Any) -> None:
            b.add_(w)

            def body(c: Any, r: Any) -> Any:
                with ag.no_grad():
                    b.mul_(0.5)
                return c * r, c

            ag.scan(body, x, x)

        way(f)(ag.tensor(X))
        return [b, ag.grad((b * b).sum(), w)]

    both(unread, jit)


def test_training_steps_stay_native(jit: Any) -> None:
    """They take their gradients themselves, and no further ones flow through what they return."""
    w, count = parameter(), ag.zeros(3, dtype="float64")

    def by_backward(x: Any) -> Any:
        w.grad = None
        loss = ((w * x) ** 2).sum()
        loss.backward()
        with ag.no_grad():
            w.sub_(0.1 * w.grad)
        return loss

    def by_grad(x: Any) -> Any:
        loss = ((w * x) ** 2).sum()
        g = ag.grad(loss, w)
        count.add_(w)
        with ag.no_grad():
            w.sub_(0.1 * g)
        return loss

    for f in (by_backward, by_grad):
        step = jit(f)
        loss = step(ag.tensor(X))
        with pytest.raises(ag.GradientError, match=f"{f.__name__}, a jitted function, takes"):
            loss.backward()
        assert step.specialisations[-1].compiled.direct is not None


def test_printing_and_counting_happen_once(jit: Any, capsys: Any) -> None:
    w, count = parameter(), ag.tensor(0)

    def f(x: Any) -> Any:
        ag.print("x", x)
        count.add_(1)
        return (x * w * w).sum()

    run = jit(f)
    for _ in range(2):
        assert ag.grad(run(ag.tensor(X)) ** 2, w).shape == (3,)
    assert capsys.readouterr().out == "x [1. 2. 3.]\n" * 2
    assert count.item() == 2


def test_statistics_may_be_read_again_behind_the_call(jit: Any) -> None:
    """The derivative leaves no trace of a change: older records keep their values."""
    w, state = parameter(), ag.tensor(X)

    def f(x: Any) -> Any:
        with ag.no_grad():
            state.add_(1.0)
        return (x * w * w).sum()

    run = jit(f)
    for _ in range(3):
        y = run(ag.tensor(X))
        other = (w * state).sum()
        assert ag.grad(y, w).tolist() == (2 * X * X).tolist()
        assert ag.grad(other, w).tolist() == state.tolist()


def test_a_branch_that_did_not_run_needs_nothing(jit: Any) -> None:
    def program(way: Any) -> list[Any]:
        w, state = parameter(), ag.tensor(X)

        def f(x: Any) -> Any:
            y = ag.cond(x.sum() > 0, lambda q: q * w, lambda q: q * w * state, x)
            with ag.no_grad():
                state.add_(1.0)
            return y

        y = way(f)(ag.tensor(X))
        return [y, ag.grad(y.sum(), w)]

    both(program, jit)
