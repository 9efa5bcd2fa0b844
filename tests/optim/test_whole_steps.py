"""Eager steps of optimizers, compiled as a whole, change parameters as single operations do."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.optim import optimizer as module

NAMES = ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop",
         "Rprop", "ASGD", "Lamb", "Lion", "Adafactor", "SparseAdam")


def trained(name: str, waiting: int, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Parameters behind steps, of which one finds a gradient missing, one another rate."""
    monkeypatch.setattr(module, "WAITING", waiting)
    rng = np.random.default_rng(0)
    ws = [ag.tensor(rng.standard_normal(s), requires_grad=True) for s in ((3, 2), (2,), (4, 5))]
    more = {"momentum": 0.9} if name == "SGD" else {}
    tool = getattr(ag.optim, name)([{"params": ws[:2]}, {"params": ws[2:], "lr": 0.01}], lr=0.05,
                                   **more)
    for k in range(5):
        tool.zero_grad()
        sum((w * w * (k + 1)).sum() for w in ws[k == 2:]).backward()
        if k == 3:
            tool.lr = 0.02
        tool.step()
    assert bool(tool._compiled) == (waiting < 5)
    return [w.numpy() for w in ws]


@pytest.mark.share(12)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_steps_are_single_operations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, plain = (trained(name, n, monkeypatch) for n in (2, 99))
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_optimizers_of_users_stay_python() -> None:
    seen: list[int] = []

    class Mine(ag.optim.Optimizer):
        def update(self, p: ag.Tensor, g: ag.Tensor) -> None:  # type: ignore[override]
            seen.append(1)
            p.sub_(self.lr * g)

    w = ag.tensor([1.0], requires_grad=True)
    tool = Mine([w], lr=0.1)
    for _ in range(module.WAITING + 3):
        tool.zero_grad()
        (w * w).sum().backward()
        tool.step()
    assert len(seen) == module.WAITING + 3
