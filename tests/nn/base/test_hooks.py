"""Hooks of modules, what they hold by name, and what they cost: eagerly and compiled."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

WAYS = pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])


def net() -> nn.Sequential:
    ag.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


X = ag.tensor(np.random.default_rng(0).normal(size=(5, 3)).astype("float32"))


@WAYS
def test_hooks_see_and_change_inputs_and_outputs(way: Any) -> None:
    model = net()
    run = way(lambda x: model(x))
    plain = run(X).numpy()
    order: list[str] = []
    first = model[0].register_forward_pre_hook(lambda m, args: order.append("before"))
    model[0].register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    last = model[2].register_forward_hook(lambda m, args, y: y + 1)
    model[2].register_forward_hook(lambda m, args, y: order.append("after"), prepend=True)
    zeros = net()(X * 0).numpy()
    np.testing.assert_allclose(run(X).numpy(), zeros + 1, atol=1e-6)
    assert order[:2] == ["before", "after"]
    first.remove()
    last.remove()
    first.remove()  # nothing happens
    np.testing.assert_allclose(run(X).numpy(), zeros, atol=1e-6)
    assert not np.allclose(plain, zeros)


@WAYS
def test_hooks_see_and_change_gradients(way: Any) -> None:
    model = net()
    gradient = way(lambda x: ag.grad(lambda x: (model(x) ** 2).sum())(x))
    plain = gradient(X).numpy()
    seen: list[Any] = []
    model[0].register_full_backward_hook(lambda m, gx, gy: seen.append((gx[0], gy[0])))
    with model[1].register_full_backward_hook(lambda m, gx, gy: (gx[0] * 3,)):
        np.testing.assert_allclose(gradient(X).numpy(), 3 * plain, rtol=1e-5)
    with model[2].register_full_backward_pre_hook(lambda m, gy: (gy[0] * 2,)):
        np.testing.assert_allclose(gradient(X).numpy(), 2 * plain, rtol=1e-5)
    np.testing.assert_allclose(gradient(X).numpy(), plain, rtol=1e-5)
    gx, gy = seen[-1]
    assert gx.shape == (5, 3) and gy.shape == (5, 4)
    np.testing.assert_allclose(gx.numpy(), gy.numpy() @ model[0].weight.numpy(), rtol=1e-4)


def test_gradients_of_parameters_pass_hooks() -> None:
    model = net()
    (model(X) ** 2).sum().backward()
    plain = model[0].weight.grad.numpy().copy()
    model.zero_grad()
    model[1].register_full_backward_hook(lambda m, gx, gy: (gx[0] * 2,))
    (model(X) ** 2).sum().backward()
    np.testing.assert_allclose(model[0].weight.grad.numpy(), 2 * plain, rtol=1e-5)


def test_hooks_get_keywords_and_failures() -> None:
    class Scale(nn.Module):
        def forward(self, x: Any, *, by: Any = 1.0) -> Any:
            return x * by

    layer, failed = Scale(), []
    layer.register_forward_pre_hook(lambda m, a, k: (a, {**k, "by": 3.0}), with_kwargs=True)
    layer.register_forward_hook(lambda m, a, k, y: y + k["by"], with_kwargs=True)
    layer.register_forward_hook(lambda m, a, y: failed.append(y), always_call=True)
    assert layer(ag.ones(1)).tolist() == [6.0] and len(failed) == 1
    with pytest.raises(TypeError):
        layer(None)
    assert failed[-1] is None
    assert copy.deepcopy(layer)(ag.ones(1)).tolist() == [6.0]
    with pytest.raises(TypeError, match="hook is a function"):
        layer.register_forward_hook(1)
    broken = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 2))
    broken[1].register_forward_hook(lambda m, a, y: None)
    with pytest.raises(ag.ShapeError, match=r"^1, Linear"):
        broken(X)


def test_what_modules_hold_is_found_by_name() -> None:
    model = net()
    assert [n for n, _ in model.named_children()] == ["0", "1", "2"]
    assert model.get_submodule("2") is model[2] and model.get_submodule("") is model
    assert model.get_parameter("0.bias") is model[0].bias
    norm = nn.BatchNorm1d(3)
    assert norm.get_buffer("running_mean") is norm.running_mean
    with pytest.raises(KeyError, match=r"Sequential has no parameter '0.gain', but \['0.weight'"):
        model.get_parameter("0.gain")
    norm.add_module("inner", model)
    norm.register_parameter("gain", ag.ones(1, requires_grad=True))
    assert norm.inner is model and "gain" in dict(norm.named_parameters())
    for wrong in (lambda: norm.add_module("inner", 1), lambda: norm.register_parameter("g", X)):
        with pytest.raises(TypeError, match="must be a"):
            wrong()


def test_frozen_parameters_are_saved_and_thaw() -> None:
    model = net()
    names = list(model.state_dict())
    for p in model.parameters():
        p.requires_grad = False
    assert len(list(model.parameters())) == 4 and list(model.state_dict()) == names
    assert not list(model.buffers())
    model[2].requires_grad_()
    assert [n for n, p in model.named_parameters() if p.requires_grad] == ["2.weight", "2.bias"]
    for p in model.parameters():
        p.requires_grad = True
    assert all(p.requires_grad for p in copy.deepcopy(model).parameters())
    norm = nn.BatchNorm1d(3).requires_grad_(False).requires_grad_(True)
    assert [n for n, _ in norm.named_parameters()] == ["weight", "bias"]


def test_a_summary_counts_what_a_call_costs() -> None:
    model = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(36, 5),
                          nn.Dropout(0.5))
    before = {n: t.numpy() for n, t in model.state_dict().items()}
    found = nn.summary(model, ag.ones((3, 2, 5, 5)))
    assert [line.name for line in found.lines] == ["0", "1", "2", "3", ""]
    assert found.lines[0].multiply_adds == 3 * 4 * 9 * 9 and found.lines[2].multiply_adds == 540
    assert found.multiply_adds == 972 + 540 and found.parameters == 4 * 9 + 4 + 36 * 5 + 5
    assert found.lines[2].shapes == [(3, 5)]
    assert found.nbytes == 4 * (2 * 3 * 36 + 2 * 15)
    assert "2 (Linear)" in str(found) and model.training and not model[0]._hooks
    for name, t in model.state_dict().items():
        np.testing.assert_array_equal(t.numpy(), before[name])
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    attention = 4 * 5 * 8 * 8 + 2 * 5 * 5 * 8
    assert nn.summary(layer, ag.ones((1, 5, 8))).multiply_adds == attention + 2 * 5 * 8 * 16
