"""Gradients at tensors that a graph, or a function under ``vmap``, knows without being given them:
the same at a tensor's first use as later, and of all of its uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

X = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
#: Of rows ``v`` and a matrix ``w`` from outside.
DERIVATIVES = {
    "grad": lambda v, w: T.grad(((v @ w) ** 2).sum(), w),
    "of two uses": lambda v, w: T.grad((v @ w).sum() + (v * w[0]).sum(), w),
    "beside what has a value": lambda v, w: T.grad((v @ w).sum() + (w * 2).sum(), w),
    "second": lambda v, w: T.grad(
        (T.grad(((v @ w) ** 3).sum(), w, create_graph=True) ** 2).sum(), w),
    "autograd.grad": lambda v, w: ag.autograd.grad((v @ w).sum(), [w])[0],
    "Rop": lambda v, w: T.Rop((v @ w) + w[0] * 2, w, np.ones((2, 2), "float32")),
    "Lop": lambda v, w: T.Lop(v @ w, w, v * 0 + 1),
}
WAYS = {
    "graph": lambda f, w: ag.function([v := T.fvector("v")], f(v, w))(X[0]),
    "vmap": lambda f, w: ag.vmap(lambda v: f(v, w))(ag.array(X))[0].detach(),
    "scan": lambda f, w: ag.scan(lambda c, v: (c, f(v, w)), 0.0, ag.array(X))[1][0],
    "jit": lambda f, w: ag.jit(lambda v: f(v, w))(ag.array(X[0])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_all_uses(name: str, way: str) -> None:
    def matrix() -> Any:
        return ag.tensor([[0.5, -0.2], [0.3, 0.8]], requires_grad=True)

    want = DERIVATIVES[name](ag.array(X[0]), matrix()).numpy()
    used = matrix()
    (used * 1).sum()
    for w in (matrix(), used):
        np.testing.assert_allclose(np.asarray(WAYS[way](DERIVATIVES[name], w)), want, rtol=1e-5)
