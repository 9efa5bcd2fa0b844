"""What the tests of ``ag.jit`` share: ways to compare, memory layouts, a small model."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.core.support.tree import flatten


def both(function: Any, *makers: Any, calls: int = 2) -> Any:
    """Run a function eagerly and compiled on equal fresh arguments: results and arguments agree."""
    seen = []
    for run in (function, ag.jit(function)):
        args = [m() for m in makers]
        results = flatten([run(*args) for _ in range(calls)])[0]
        seen.append([np.array(_value(t)) for t in (*results, *args)])
    for a, b in zip(*seen, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b, a, rtol=1e-6)
    return seen[1]


def agree(found: Any, expected: Any, rtol: float = 1e-10, atol: float | None = None) -> None:
    """Results in turn are close; what is absolute about it follows from ``rtol`` by default."""
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            _value(x), _value(y), rtol=rtol, atol=rtol * 100 if atol is None else atol
        )


def _value(x: Any) -> np.ndarray:
    """A result as an array, whether or not a gradient would follow it."""
    return x.numpy() if isinstance(x, ag.Tensor) else np.asarray(x)


def vector(n: int = 5) -> Any:
    return lambda: ag.tensor(np.arange(n, dtype="float32") + 1)


def fortran() -> Any:
    return ag.tensor(np.asfortranarray(np.arange(12.0).reshape(3, 4)))


def read_only() -> Any:
    a = np.arange(6.0)
    a.flags.writeable = False
    return ag.asarray(a)


def unaligned() -> Any:
    raw = np.zeros(8 * 5 + 1, "uint8")
    a = raw[1:].view("float64")
    a[:] = np.arange(5)
    return ag.asarray(a)


LAYOUTS = {
    "fortran": fortran,
    "transposed": lambda: ag.asarray(np.arange(12.0).reshape(3, 4).T),
    "every other": lambda: ag.asarray(np.arange(12.0)[::2]),
    "backwards": lambda: ag.asarray(np.arange(12.0)[::-1]),
    "broadcast": lambda: ag.asarray(np.broadcast_to(np.arange(3.0), (4, 3))),
    "read only": read_only,
    "unaligned": unaligned,
    "0-d": lambda: ag.tensor(3.0),
    "no elements": lambda: ag.ones((0, 3)),
    "no rows": lambda: ag.ones((3, 0)),
}


class Model:
    """Parameters, a counter, a running mean, and a slot that appears at the first step."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.w = ag.tensor(rng.normal(size=(4, 3)), requires_grad=True)
        self.b = ag.tensor(np.zeros(3), requires_grad=True)
        self.velocity = [ag.zeros((4, 3), dtype="float64"), ag.zeros(3, dtype="float64")]
        self.count = ag.tensor(0)
        self.mean = ag.zeros(4, dtype="float64")

    def step(self, x, y, lr):
        self.w.grad = self.b.grad = None
        loss = ag.mean((ag.tanh(x @ self.w + self.b) - y) ** 2)
        loss.backward()
        with ag.no_grad():
            for p, v in zip((self.w, self.b), self.velocity, strict=True):
                v.mul_(0.9).add_(p.grad)
                p.sub_(v, alpha=lr)
            self.count += 1
            self.mean.mul_(0.5).add_(x.mean(0))
        return loss


def train(model: Model, step: Any, turns: int = 10) -> list[Any]:
    rng = np.random.default_rng(1)
    losses = []
    for turn in range(turns):
        x, y = ag.tensor(rng.normal(size=(6, 4))), ag.tensor(rng.normal(size=(6, 3)))
        losses.append(step(x, y, 0.1 / (1 + turn)).item())
    return [losses, model.w.tolist(), model.b.tolist(), model.count.item(), model.mean.tolist()]
