"""Modules with states of their own (``__getstate__``, ``__setstate__``), and hooks by number."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import agnesi as ag
from agnesi import nn

WAYS = pytest.mark.parametrize(
    "again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy])
X = ag.ones((2, 3))


class Own(nn.Module):
    """Its state is what PyTorch's programs write: ``__dict__`` without what cannot be saved."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.inner, self.lock = nn.Linear(n, n), lambda: 0
        self.scale = nn.Parameter(ag.ones(n))
        self.register_buffer("kept", ag.ones(n))
        self.register_buffer("made", ag.ones(n), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.inner(x) * self.scale + self.kept

    def __getstate__(self) -> Any:
        state = self.__dict__.copy()
        del state["lock"]
        return state

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self.lock = lambda: 0


class Later(nn.Module):
    """It adds what older files lack, as PyTorch's attention does."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.inner, self.factor = nn.Linear(n, n), 2.0

    def forward(self, x: Any) -> Any:
        return self.inner(x) * self.factor

    def __setstate__(self, state: Any) -> None:
        state["factor"] = 2.0
        super().__setstate__(state)


@WAYS
@pytest.mark.parametrize("kind", [Own, Later])
def test_copies_keep_modes_and_names(kind: Any, again: Any) -> None:
    model = kind(3)
    model.eval()
    model.inner.weight.requires_grad_(False)
    same = again(model)
    assert not same.training and not same.inner.training
    assert same.state_dict().keys() == model.state_dict().keys()
    assert [n for n, _ in same.named_buffers()] == [n for n, _ in model.named_buffers()]
    assert [p.requires_grad for p in same.parameters()] == [
        p.requires_grad for p in model.parameters()]
    assert bool((same(X) == model(X)).all()) and bool((ag.jit(same)(X) == model(X)).all())


def test_copies_keep_hooks() -> None:
    model = Later(3)
    model.register_forward_hook(lambda module, args, output: output + 1)
    assert bool((copy.deepcopy(model)(X) == model(X)).all())


def test_hooks_by_number() -> None:
    model, seen = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), []
    model[0].register_forward_hook(lambda *args: seen.append("after"))
    model[0].register_forward_pre_hook(lambda *args: seen.append("before"))
    assert [f(1, 2) for f in model[0]._forward_pre_hooks.values()] == [None] and seen == ["before"]
    assert not model._forward_hooks and not model._backward_hooks
    ((number, hook),) = model[0]._forward_hooks.items()
    del model[0]._forward_hooks[number]
    with pytest.raises(KeyError):
        del model[0]._forward_hooks[number]
    seen.clear()
    model(X)
    assert seen == ["before"]
    model[0]._forward_hooks[number] = hook
    model(X)
    assert seen == ["before", "before", "after"]
    for module in model.modules():  # how programs for PyTorch take all hooks away
        module._forward_hooks = OrderedDict()
        module._forward_pre_hooks.clear()
    model(X)
    assert len(seen) == 3 and not model[0]._hooks


def test_parameters_are_taken_away_and_replaced_by_computed_ones() -> None:
    layer = nn.Linear(3, 2)
    weight, bias = layer.weight, layer.bias
    del layer.weight, layer.bias
    layer.weight, layer.bias = weight * 2, bias * 2
    assert not list(layer.parameters()) and layer(X).shape == (2, 2)
    layer(X).sum().backward()
    assert bias.grad is not None and bias.grad.tolist() == [4.0, 4.0]
