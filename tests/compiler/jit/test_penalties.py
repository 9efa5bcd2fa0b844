"""Gradients by arguments, taken inside a jitted function: penalties, residuals of equations."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.autodiff.hooks import HOOKED

W = ag.tensor(np.linspace(-1.0, 1.0, 9).reshape(3, 3), requires_grad=True)


def slope(x):
    return ag.autograd.grad(ag.tanh(W @ x).sum(), x)[0]


def penalty(x):
    found, = ag.autograd.grad(ag.tanh(W @ x).sum(), x, create_graph=True)
    return ((found.norm() - 1) ** 2).sum()


def residual(x):
    u = ag.tanh(W @ x)
    first, = ag.autograd.grad(u.sum(), x, create_graph=True)
    second, = ag.autograd.grad(first.sum(), x, create_graph=True)
    return ((second + u) ** 2).mean()


def outcomes(f, x):
    """The result, and the gradients that its backward pass leaves."""
    result = f(x)
    if not result.requires_grad:
        return [result]
    W.grad = x.grad = None
    result.sum().backward()
    found = [result.detach(), W.grad, x.grad]
    W.grad = x.grad = None
    return found


@pytest.mark.parametrize("f", [slope, penalty, residual])
def test_gradients_by_arguments_are_compiled(f, monkeypatch):
    monkeypatch.setattr(HOOKED, "any", False)  # other tests had some
    compiled = ag.jit(f)
    x = ag.tensor([0.3, -0.5, 0.2], dtype="float64", requires_grad=True)
    for _ in range(3):
        for ours, eager in zip(outcomes(compiled, x), outcomes(f, x), strict=True):
            np.testing.assert_allclose(ours.numpy(), eager.numpy(), rtol=1e-12, atol=1e-15)
    assert "eagerly" not in str(compiled.explain())
    handle = x.register_hook(lambda g: g * 2)
    try:
        for ours, eager in zip(outcomes(compiled, x), outcomes(f, x), strict=True):
            np.testing.assert_allclose(ours.numpy(), eager.numpy(), rtol=1e-12)
    finally:
        handle.remove()


def test_what_backward_leaves_at_arguments_is_left_there():
    x = ag.tensor([0.3, -0.5, 0.2], dtype="float64", requires_grad=True)
    f = ag.jit(lambda x: (W * x).sum().backward())
    for count in (1, 2, 3):
        f(x)
        np.testing.assert_allclose(x.grad.numpy(), W.numpy().sum(0) * count)
    W.grad = None


def test_steps_whose_argument_requires_a_gradient_are_compiled(monkeypatch):
    """A residual of an equation at points that require gradients, by gradients that it returns."""
    monkeypatch.setattr(HOOKED, "any", False)
    x = ag.tensor([0.3, -0.5, 0.2], dtype="float64", requires_grad=True)
    found = []
    for way in (lambda f: f, ag.jit):
        model = ag.nn.Linear(3, 3, dtype="float64")
        with ag.no_grad():
            model.weight.copy_(W)
            model.bias.fill_(0.1)
        optimizer = ag.optim.SGD(model.parameters(), lr=0.1)

        def step(x, model=model, optimizer=optimizer):
            u = ag.tanh(model(x))
            first, = ag.autograd.grad(u.sum(), x, create_graph=True)
            loss = ((first + u) ** 2).sum()
            parameters = list(model.parameters())
            for p, g in zip(parameters, ag.autograd.grad(loss, parameters), strict=True):
                p.grad = g
            optimizer.step()
            return loss.detach()

        run = way(step)
        found.append([float(run(x)) for _ in range(4)])
        assert x.grad is None
        if way is ag.jit:
            monkeypatch.setattr(type(run), "_eagerly", lambda *a: pytest.fail("it ran eagerly"))
        found[-1].append(float(run(x)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
