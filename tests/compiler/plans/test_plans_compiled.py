"""Calls that compute much in Python become one compiled function: with the values, errors and lines
that they had before."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.calls.plans import RegionPlan
from agnesi.core.support.config import HOOKS

F = ag.nn.functional
DRAW = np.random.default_rng(0).standard_normal
IMAGE, KERNEL, LOGITS = (ag.tensor(DRAW(s).astype("float32"))
                         for s in ((1, 2, 5, 5), (3, 2, 2, 2), (4, 5)))
X, PLACES, NEW = ag.arange(6.0), ag.tensor([1, 3, 1]), ag.ones(3)
LABELS, FAR = ag.tensor([1, 0, 4, 2]), ag.tensor([1, 0, 7, 2])
CALLS = {
    "conv2d": lambda: F.conv2d(IMAGE, KERNEL, padding=1),
    "conv1d": lambda: F.conv1d(IMAGE[..., 0], KERNEL[..., 0]),
    "max_pool2d": lambda: F.max_pool2d(IMAGE, 2), "avg_pool2d": lambda: F.avg_pool2d(IMAGE, 2),
    "without a batch": lambda: F.avg_pool2d(IMAGE[0], 3, 1),
    "nll_loss": lambda: F.nll_loss(LOGITS, LABELS),
    "cross_entropy": lambda: F.cross_entropy(LOGITS, LABELS, label_smoothing=0.1),
    "index_add": lambda: ag.index_add(X, 0, PLACES, NEW),
    "one_hot": lambda: F.one_hot(LABELS, 5),
}
WRONG = {
    "nll_loss": lambda t: F.nll_loss(LOGITS, t),
    "cross_entropy": lambda t: F.cross_entropy(LOGITS, t, reduction="sum"),
    "one_hot": lambda t: F.one_hot(t, 5),
    "index_add": lambda t: ag.index_add(X, 0, t, ag.ones(4)),
}


@pytest.fixture
def made(monkeypatch):
    """The plans that are made meanwhile."""
    found, hooks = [], {name: getattr(HOOKS, name) for name in ("plan", "compiled_plan")}
    for name, hook in hooks.items():
        monkeypatch.setattr(HOOKS, name, lambda *call, hook=hook: (
            found.append(hook(*call)), found[-1])[1])
    return found


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_the_first_call(name, made):
    HOOKS.recount()
    expected = CALLS[name]()
    for _ in range(1100):
        found = CALLS[name]()
    assert any(isinstance(plan, RegionPlan) for plan in made)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_the_first_call(name):
    HOOKS.recount()
    told = []
    for _ in range(2):
        with pytest.raises((IndexError, ValueError)) as error:
            WRONG[name](FAR)
        told.append(str(error.value))
        for _ in range(1100):
            WRONG[name](LABELS)
    assert told[0] == told[1] and "test_plans_compiled.py" in told[0]


def test_gradients_of_compiled_calls():
    HOOKS.recount()
    w = KERNEL.detach().requires_grad_()
    grads = []
    for _ in range(1100):
        w.grad = None
        F.max_pool2d(F.conv2d(IMAGE, w), 2).sum().backward()
        grads.append(w.grad.numpy())
    np.testing.assert_allclose(grads[-1], grads[0], rtol=1e-5, atol=1e-6)
    w.grad = None
    y = F.avg_pool2d(F.conv2d(IMAGE, w) ** 2, 2).sum()
    (first,) = ag.autograd.grad(y, w, create_graph=True)
    (second,) = ag.autograd.grad(first.sum(), w)
    assert second.shape == w.shape and float(second.abs().sum()) > 0
