"""What a type checker knows of a user's program: `make lint` runs mypy over this file."""

from typing import assert_type

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi import symbolic as T
from agnesi.compiler.jit import Jit


def test_operations_are_tensors() -> None:
    x = ag.tensor([[1.0, 2.0]], requires_grad=True)
    assert_type(ag.sin(x), ag.Tensor)
    assert_type(x.reshape(2, 1) @ x * 2 + 1, ag.Tensor)
    assert_type(x[0].sum(axis=0), ag.Tensor)
    assert_type(x.ndim, int)
    assert_type(x.grad, ag.Tensor | None)


def test_compiled_functions_keep_their_types() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @ag.jit
    def step(x: ag.Tensor) -> ag.Tensor:
        optimizer.zero_grad()
        loss: ag.Tensor = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    @ag.jit(keep_grads=True)
    def double(x: ag.Tensor, by: float = 2.0) -> ag.Tensor:
        return x * by

    assert_type(step(ag.ones((1, 2))), ag.Tensor)
    assert_type(double(ag.ones(2), by=3.0), ag.Tensor)
    assert isinstance(step, Jit)
    assert_type(step.explain(), str)


def test_symbolic_programs() -> None:
    a = T.matrix("a", shape=("n", 3))
    assert_type(a @ a.T, ag.Tensor)
    f = ag.function([a], a.sum())
    assert f(np.ones((2, 3))) == 6


def test_modules_are_called_like_their_forward() -> None:
    class Scaled(nn.Module):
        def forward(self, x: ag.Tensor, by: float = 2.0) -> tuple[ag.Tensor, float]:
            return x * by, by

    assert_type(Scaled()(ag.ones(2), by=3.0), tuple[ag.Tensor, float])
    assert_type(nn.Linear(3, 2)(ag.ones(3)), ag.Tensor)
    assert Scaled()(2, 3)[1] == 3  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Scaled()(ag.ones(2), 3.0, 4)  # type: ignore[call-arg]
