"""Dual numbers give what ``ag.jvp`` gives."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

import agnesi as ag
import agnesi.autograd.forward_ad as fw

P = ag.tensor(np.random.RandomState(0).randn(3, 3))
T = ag.tensor(np.random.RandomState(1).randn(3, 3))
FUNCTIONS: list[Any] = [
    lambda x: x**2 + P, lambda x: (x @ x.T).tanh().sum(0), lambda x: x.softmax(-1)[1:, ::2],
    lambda x: ag.cat([x, x.exp()], 1).cumsum(1), lambda x: ag.linalg.inv(x + 5 * ag.eye(3)),
    lambda x: ag.where(x > 0, x, -x).sort(dim=-1)[0],
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_tangents_are_those_of_jvp(function: Any, way: Any) -> None:
    def dual(p: Any, t: Any) -> Any:
        with fw.dual_level():
            return tuple(fw.unpack_dual(function(fw.make_dual(p, t))))

    value, tangent = way(dual)(P, T)
    wanted, right = ag.jvp(function, (P,), (T,))
    np.testing.assert_allclose(value.numpy(), wanted.numpy(), rtol=1e-12)
    np.testing.assert_allclose(tangent.numpy(), right.numpy(), rtol=1e-10)
    assert not value.requires_grad and not tangent.requires_grad


def test_parameters_replaced_by_dual_numbers() -> None:
    model = ag.nn.Linear(3, 2).double()
    with fw.dual_level():
        for name, p in dict(model.named_parameters()).items():
            delattr(model, name)
            setattr(model, name, fw.make_dual(p, ag.ones_like(p)))
        tangent = fw.unpack_dual(model(P)).tangent
    assert tangent is not None
    np.testing.assert_allclose(tangent.detach().numpy(),
                               np.repeat(P.numpy().sum(1, keepdims=True) + 1, 2, 1))


def test_gradients_of_tangents() -> None:
    x = P.clone().requires_grad_()
    with fw.dual_level():
        tangent = fw.unpack_dual((fw.make_dual(x, T) ** 3).sum()).tangent
        assert tangent is not None
        tangent.backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * P.numpy() * T.numpy())


def test_what_has_no_tangent() -> None:
    with fw.dual_level():
        dual = fw.make_dual(P, T)
        assert fw.unpack_dual(P).tangent is None and fw.unpack_dual(dual.detach()).tangent is None
        y = dual * 2
        with pytest.raises(ag.GradientError, match="entered already"):
            fw.enter_dual_level()
        with pytest.raises(ag.GradientError, match="shapes must agree"):
            fw.make_dual(P, T[0])
        with pytest.raises(TypeError, match="no tensor of floats"):
            fw.make_dual(ag.tensor([1, 2]), 1.0)
        with ag.no_grad(), pytest.raises(ag.GradientError, match="under no_grad"):
            fw.make_dual(P, T)
    with pytest.raises(ag.GradientError, match="inside of `with"):
        fw.unpack_dual(y)
    with pytest.raises(ag.GradientError, match="no level"):
        fw.exit_dual_level()


def test_levels_are_those_of_a_thread_or_task() -> None:
    found: dict[str, list[float]] = {"threads": [], "tasks": []}
    together = threading.Barrier(3)

    def slope(x: float) -> float:
        y = fw.make_dual(ag.tensor(x), ag.tensor(1.0)) ** 2
        tangent = fw.unpack_dual(y).tangent
        assert tangent is not None
        return float(tangent)

    def work(x: float) -> None:
        with fw.dual_level():
            together.wait(10)
            found["threads"].append(slope(x))
            together.wait(10)

    async def task(x: float) -> None:
        with fw.dual_level():
            await asyncio.sleep(0)
            found["tasks"].append(slope(x))

    async def tasks() -> None:
        await asyncio.gather(*map(task, (1.0, 2.0, 3.0)))

    threads = [threading.Thread(target=work, args=(x,)) for x in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(tasks())
    assert sorted(found["threads"]) == sorted(found["tasks"]) == [2.0, 4.0, 6.0]
