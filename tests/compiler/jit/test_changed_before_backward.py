"""What a jitted function reads may change between its call and the backward pass: the gradient is
that of the call."""

from __future__ import annotations

import os
import types
from typing import Any

import pytest

import agnesi as ag

K = 3.0
X = ag.array([1.0, 2.0])


def _attributes(J: Any) -> Any:
    some = types.SimpleNamespace(k=1.0, w=ag.array([1.0, 2.0]), listed=[1.0], on=True)
    f = J(lambda x: x * some.k * some.w * some.listed[0] if some.on else x * 100)
    for i in range(5):
        some.k, some.w, some.listed[0], some.on = 1.0 + i, ag.array([1.0, 2.0]) * i, 2.0 + i, True
        x = X.detach().requires_grad_()
        y = f(x)
        some.k, some.w, some.listed[0], some.on = 50.0, ag.array([7.0, 7.0]), 9.0, False
        y.sum().backward()
        yield x.grad, some.k, some.w, some.listed, some.on


def _names(J: Any) -> Any:
    global K
    f = J(lambda x: x * K)
    for K in (3.0, 4.0):
        x = X.detach().requires_grad_()
        y, K = f(x), 9.0
        y.sum().backward()
        yield x.grad, K


def _modes(J: Any) -> Any:
    model = ag.nn.Sequential(ag.nn.Linear(2, 2), ag.nn.Dropout(0.5))
    f = J(model)
    with ag.no_grad():
        model[0].weight.fill_(1.0)
    for _ in range(3):
        model.train()
        ag.manual_seed(1)
        y = f(ag.ones((4, 2)))
        model.eval()
        y.sum().backward()
        yield model[0].weight.grad.clone(), model.training
        model.zero_grad()


def _gone(J: Any) -> Any:
    some = types.SimpleNamespace(k=2.0)
    f = J(lambda x: x * getattr(some, "k", 5.0))
    for _ in range(3):
        some.k = 2.0
        x = X.detach().requires_grad_()
        y = f(x)
        del some.k
        y.sum().backward()
        yield x.grad, vars(some)
        x = X.detach().requires_grad_()
        y = f(x)
        some.k = 7.0
        y.sum().backward()
        yield x.grad, dict(vars(some))


def _recording(J: Any) -> Any:
    f = J(lambda x: (x * 2).sum() if ag.is_grad_enabled() else x.sum())
    for _ in range(3):
        x = X.detach().requires_grad_()
        f(x).backward()
        yield x.grad
        with ag.no_grad():
            yield f(x)


def _gradients(J: Any) -> Any:
    w = ag.array([1.0, 2.0]).requires_grad_()
    f = J(lambda x: x * w if w.grad is None else x * w.grad)
    for before, after in ((None, 3.0), (None, None), (2.0, None), (2.0, 5.0), (None, 4.0)):
        x = X.detach().requires_grad_()
        w.grad = before and ag.array([before, 1.0])
        y = f(x)
        w.grad = after and ag.array([after, 1.0])
        y.sum().backward()
        yield x.grad, w.grad
    w.grad = None
    first, second = f(X), f(X * 2)
    first.sum().backward()
    second.sum().backward()
    yield w.grad


@pytest.mark.parametrize("program", [_attributes, _names, _modes, _gone, _recording, _gradients])
def test_gradients_are_those_of_the_call(program: Any) -> None:
    found = []
    for J in (lambda f: f, ag.jit):
        leaves = ag.tree.leaves(list(program(J)))
        found.append([v.tolist() if isinstance(v, ag.Tensor) else v for v in leaves])
    assert found[0] == found[1]


def test_what_cannot_be_as_it_was_is_said(tmp_path: Any, monkeypatch: Any) -> None:
    f, x = ag.jit(lambda x: x * len(os.getcwd())), X.detach().requires_grad_()
    y = f(x)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ag.GradientError, match=r"reads was changed since: .*current folder"):
        y.sum().backward()
