"""Hooks of gradients that a jitted step registers, takes off or leaves: as when it runs eagerly."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import agnesi as ag

X = ag.ones(3)


def _parameter() -> Any:
    return ag.tensor([1.0, 2.0, 3.0], requires_grad=True)


def _gradient(w: Any, x: Any) -> Any:
    (w * x).sum().backward()
    g, w.grad = w.grad, None
    return g


def _order(J: Any) -> Any:
    """Hooks run in the order in which they were registered, outside or inside."""
    w, log = _parameter(), list[str]()
    w.register_hook(lambda g: (log.append("outer"), g + 1)[1])

    def step(x: Any) -> Any:
        with w.register_hook(lambda g: (log.append("inner"), g * 2)[1]):
            return _gradient(w, x)

    step = J(step)
    yield from (step(X), step(X), list(log))
    w.register_hook(lambda g: -g)
    yield step(X)


def _left(J: Any) -> Any:
    w = _parameter()

    def step(x: Any) -> Any:
        w.register_hook(lambda g: g * 2)
        return _gradient(w, x)

    step = J(step)
    yield from (step(X), step(X), step(X), _gradient(w, X))


def _left_at_an_argument(J: Any) -> Any:
    def step(w: Any, x: Any) -> Any:
        w.register_hook(lambda g: g * 2)
        return (w * x).sum()

    step, w = J(step), _parameter()
    for _ in range(3):
        step(w, X).backward()
        yield w.grad.clone()


def _changed_for_the_next_call(J: Any) -> Any:
    w, handles = _parameter(), list[Any]()

    def step(x: Any) -> Any:
        while handles:
            handles.pop().remove()
        handles.append(w.register_hook(lambda g: g * 2))
        return _gradient(w, x)

    step = J(step)
    yield from (step(X), step(X), _gradient(w, X), len(handles))


def _behind_the_gradient(J: Any) -> Any:
    w = _parameter()

    def step(x: Any) -> Any:
        with w.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(3)):
            return _gradient(w, x)

    step = J(step)
    yield from (step(X), step(X * 2), _gradient(w, X))


def _left_behind_the_gradient(J: Any) -> Any:
    w, log = _parameter(), list[int]()

    def step(x: Any) -> Any:
        w.register_post_accumulate_grad_hook(lambda p: log.append(1))
        return _gradient(w, x)

    step = J(step)
    yield from (step(X), step(X), step(X), len(log))


def _at_what_is_computed(J: Any) -> Any:
    w, log = _parameter(), list[int]()

    def step(x: Any) -> Any:
        y = w * x
        y.register_hook(lambda g: (log.append(1), g * 5)[1])
        return (y ** 2).sum()

    step = J(step)
    for _ in range(3):
        step(X).backward()
        yield w.grad.clone(), len(log)


def _at_what_is_made(J: Any) -> Any:
    def step(x: Any) -> Any:
        w = _parameter()
        w.register_hook(lambda g: g * 2)
        w.register_hook(lambda g: g + 1)
        return _gradient(w, x)

    step = J(step)
    yield from (step(X), step(X * 2))


COMPILED = (_order, _behind_the_gradient, _at_what_is_computed, _at_what_is_made)
EAGER = (_left, _left_at_an_argument, _changed_for_the_next_call, _left_behind_the_gradient)


@pytest.mark.parametrize("program", [*COMPILED, *EAGER], ids=lambda p: p.__name__[1:])
def test_hooks_of_a_step_are_those_of_the_eager_step(program: Any) -> None:
    found, said = [], list[str]()
    for J in (lambda f: f, ag.jit):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            outputs = ag.tree.leaves(list(program(J)))
        found.append([v.tolist() if isinstance(v, ag.Tensor) else v for v in outputs])
        said = [str(w.message) for w in seen]
    assert found[0] == found[1]
    assert bool(said) is (program in EAGER)
    assert all("it leaves a hook at a tensor" in text for text in said)


def test_forward_mode_does_not_call_hooks():
    def f(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return (y * y).sum()

    assert ag.jvp(f, (X,), (X,))[1].item() == 24.0
    for g in (f, ag.grad(f)):
        with pytest.raises(ag.GradientError, match=r"forward-mode.*hooks on gradients"):
            ag.jvp(ag.jit(g), (X,), (X,))


@pytest.mark.parametrize("end", [
    lambda y: y.sum().backward(), lambda y: y.mean().backward(), lambda y: y.backward(ag.ones(2)),
    lambda y: (y + 2 * y).sum().backward(), lambda y: y.reshape(2, 1).sum().backward()])
def test_hooks_change_gradients_in_place_for_what_comes_behind_them_only(end):
    def step(c, scale):
        w = ag.tensor([1.0, 2.0]).requires_grad_()
        hooked, plain = w * 3, w * 5
        if scale:
            hooked.register_hook(lambda g: g.mul_(c))
        end(hooked + plain)
        return w.grad

    plain = step(ag.tensor(2.0), False)
    for run in (step, ag.jit(step)):
        for c in (2.0, 3.0):
            assert ag.allclose(run(ag.tensor(c), True), plain * (3 * c + 5) / 8)


def test_a_hook_changes_the_gradient_that_a_pass_begins_with():
    for c in (2.0, 3.0):
        w = ag.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * 3).sum()
        loss.register_hook(lambda g, c=c: g.mul_(c))
        loss.backward()
        assert w.grad.tolist() == [3 * c, 3 * c]
