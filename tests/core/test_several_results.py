"""An operation with several results: run, recorded, declared, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.dispatch import apply_many
from agnesi.core.op import Op


class SumAndProduct(Op):
    name = "sum_and_product"
    outputs = 2

    def infer(self, a: Any, b: Any) -> Any:
        return (a.shape, a.dtype), (a.shape, a.dtype)

    def perform(self, a: np.ndarray, b: np.ndarray) -> Any:
        return a + b, a * b

    def vjp(self, g: Any, y: Any, a: ag.Tensor, b: ag.Tensor) -> tuple[Any, ...]:
        s, p = (0.0 if part is None else part for part in g)
        return s + p * b, s + p * a


def both(a: ag.Tensor, b: ag.Tensor) -> tuple[ag.Tensor, ...]:
    return apply_many(SumAndProduct(), a, b)


def test_eager_and_recorded() -> None:
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    b = ag.tensor([3.0, 4.0], requires_grad=True)
    s, p = both(a, b)
    assert s.numpy().tolist() == [4.0, 6.0] and p.numpy().tolist() == [3.0, 8.0]
    (s.sum() + 2 * p.sum()).backward()
    assert a.grad.numpy().tolist() == [7.0, 9.0] and b.grad.numpy().tolist() == [3.0, 5.0]
    a.grad = None
    both(a, b)[1].sum().backward()
    assert a.grad.numpy().tolist() == [3.0, 4.0]


def test_declared_and_compiled() -> None:
    a, b = ag.tensor([1.0, 2.0]), ag.tensor([3.0, 4.0])
    s, p = ag.jit(both)(a, b)
    assert s.numpy().tolist() == [4.0, 6.0] and p.numpy().tolist() == [3.0, 8.0]
    x, y = T.vector("x"), T.vector("y")
    f = ag.function([x, y], T.grad(both(x, y)[1].sum(), x))
    assert f([1.0, 2.0], [5.0, 6.0]).tolist() == [5.0, 6.0]
