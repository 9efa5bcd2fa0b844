"""Gradients flow through calls of jitted functions as through the functions themselves."""

from __future__ import annotations

import numpy as np

import agnesi as ag


def _pair() -> tuple[ag.Tensor, ag.Tensor]:
    rng = np.random.default_rng(3)
    w = ag.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    x = ag.tensor(rng.normal(size=(5, 3)), requires_grad=True)
    return w, x


def test_arguments_and_captured_tensors_get_gradients() -> None:
    w, x = _pair()

    def f(x: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
        return ag.tanh(x @ w), (x * 2).sum()

    found = []
    for g in (f, ag.jit(f)):
        x.grad = w.grad = None
        y, s = g(x)
        assert y.requires_grad and s.requires_grad
        ((y**2).sum() + s).backward()
        found.append((x.grad.numpy(), w.grad.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_no_record_without_recording() -> None:
    w, x = _pair()
    f = ag.jit(lambda x: ag.tanh(x @ w))
    with ag.no_grad():
        assert not f(x).requires_grad
    assert f(x.detach()).requires_grad


def test_higher_order_by_nesting() -> None:
    _, x = _pair()
    h = ag.jit(lambda x: (x**3).sum())
    second = ag.grad(lambda x: ag.grad(h)(x).sum())(x)
    np.testing.assert_allclose(second.numpy(), 6 * x.numpy(), rtol=1e-12)


def test_functions_that_change_state_give_detached_results() -> None:
    w, x = _pair()

    @ag.jit
    def step(x: ag.Tensor) -> ag.Tensor:
        y = (x * w.sum()).sum()
        with ag.no_grad():
            w.mul_(0.5)
        return y

    assert not step(x.detach()).requires_grad


def test_derivatives_inside_are_not_recorded_for_arguments_that_ask_for_none():
    step = ag.jit(ag.grad(lambda x: (x * x * x).sum()))
    x = ag.tensor([1.0, 2.0])
    assert not step(x).requires_grad
    assert step.specialisations[-1].compiled.direct is not None
    x.requires_grad_()
    step(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * x.numpy())
