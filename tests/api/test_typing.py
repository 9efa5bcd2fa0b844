"""What a type checker knows of a user's program: `make lint` runs mypy over this file."""

from typing import Any, assert_type

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


def test_transformations_keep_signatures() -> None:
    def loss(x: ag.Tensor, power: int = 2) -> ag.Tensor:
        return (x ** power).sum()

    def step(carry: ag.Tensor, x: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
        return carry + x, x

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    assert_type(ag.value_and_grad(loss)(x, power=3), tuple[ag.Tensor, Any])
    assert_type(ag.vmap(loss)(ag.ones((2, 2))), ag.Tensor)
    assert_type(ag.grad(loss(x), x), ag.Tensor)
    assert_type(ag.grad(loss(x), [x]), list[ag.Tensor])
    assert_type(ag.vjp(loss, x)[0], ag.Tensor)
    assert_type(ag.jvp(loss, (x,), (x,)), tuple[ag.Tensor, ag.Tensor])
    assert_type(ag.checkpoint(loss, x, 3), ag.Tensor)
    assert_type(ag.checkpoint(loss)(x, power=3), ag.Tensor)
    assert_type(ag.no_grad()(loss)(x), ag.Tensor)
    assert_type(ag.no_grad(loss)(x, power=3), ag.Tensor)
    assert_type(ag.inference_mode()(loss)(x), ag.Tensor)
    assert_type(ag.func.grad_and_value(loss)(x), tuple[Any, ag.Tensor])
    assert_type(ag.map(loss, x[None]), ag.Tensor)
    assert_type(ag.scan(step, x, x), tuple[ag.Tensor, ag.Tensor])
    with pytest.raises(TypeError):
        ag.grad(loss)(x, exponent=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ag.hessian(loss)(x, exponent=3)  # type: ignore[call-arg]


def test_decorated_methods_and_rules_keep_signatures() -> None:
    class Net:
        @ag.jit
        def predict(self, x: ag.Tensor, by: float = 2.0) -> ag.Tensor:
            return x * by

        @ag.no_grad()
        def name(self, count: int) -> str:
            return "n" * count

    @ag.custom_vjp
    def clipped(x: ag.Tensor) -> ag.Tensor:
        return x * 1.0

    clipped.defvjp(lambda x: (x * 1.0, ()), lambda _, g: (g,))
    assert_type(Net().predict(ag.ones(2), by=3.0), ag.Tensor)
    assert_type(Net().name(2), str)
    assert_type(clipped(ag.ones(2)), ag.Tensor)


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
