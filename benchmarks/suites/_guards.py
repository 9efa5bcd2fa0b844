"""What the guards of a call cost: functions that read what may change between calls, beside the
same ones with numbers written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers

SCALE, SHIFT, NAMES = 2.0, {"mean": 3.0, "spread": 1.0}, [1.0, 2.0]
Case = tuple[Callable[..., Any], tuple[Any, ...]]


class Holder:
    """An object of the user's, whose class has numbers, too."""

    rate, centred = 0.5, True

    def __init__(self) -> None:
        self.scale, self.names = 2.0, [1.0, 2.0]


def cases() -> dict[str, tuple[Case, Case]]:
    """By what is guarded: a function that reads it, and one that does not."""
    ag = peers.agnesi()
    x = ag.tensor(np.arange(10, dtype=np.float32))
    parts = [ag.ones(10) for _ in range(4)]
    jit, holder, layer = ag.jit, Holder(), _layer(ag)
    plain = jit(lambda x: x * 2.0 + 1.0), (x,)
    apart = jit(lambda a, b, c, d: a + b + c + d), tuple(parts)
    return {
        "attributes of self in a module": ((jit(layer), (x,)), plain),
        "attributes of self in a method": ((jit(layer.forward), (x,)), plain),
        "attributes of an object": (
            (jit(lambda x: x * holder.scale + holder.names[0]), (x,)), plain),
        "attributes of a class": (
            (jit(lambda x: x * Holder.rate + 1.0 if Holder.centred else x), (x,)), plain),
        "numbers of a module": ((jit(lambda x: x * SCALE + 1.0), (x,)), plain),
        "containers of a module": ((jit(lambda x: x * SHIFT["mean"] + NAMES[0]), (x,)), plain),
        "a closure": ((_closure(ag), (x,)), plain),
        "a number of NumPy's": ((jit(lambda x, k: x * k + 1.0), (x, np.float32(2))), plain),
        "a list of 4 tensors": (
            (jit(lambda parts: parts[0] + parts[1] + parts[2] + parts[3]), (parts,)), apart),
        "parameter groups": ((_step(ag, True), (x,)), (_step(ag, False), (x,))),
    }


def _layer(ag: Any) -> Any:
    class Layer(ag.nn.Module):  # type: ignore[misc, name-defined]
        rate = 0.5

        def __init__(self) -> None:
            self.scale, self.shift, self.active = 2.0, [1.0], True

        def forward(self, x: Any) -> Any:
            return x * self.scale * self.rate + self.shift[0] if self.active else x

    return Layer()


def _closure(ag: Any) -> Any:
    scale, table = 2.0, {"mean": 1.0}
    return ag.jit(lambda x: x * scale + table["mean"])


def _step(ag: Any, grouped: bool) -> Callable[[Any], Any]:
    """A step of two vectors with an optimizer of two groups, or by hand."""
    ws = [ag.tensor(np.ones(10, np.float32), requires_grad=True) for _ in range(2)]
    optimizer = ag.optim.SGD([{"params": ws[:1], "lr": 0.1}, {"params": ws[1:], "lr": 0.2}])

    def step(x: Any) -> Any:
        loss = sum((w * x).sum() for w in ws)
        loss.backward()
        if grouped:
            optimizer.step()
            optimizer.zero_grad()
            return loss
        with ag.no_grad():
            for w, rate in zip(ws, (0.1, 0.2), strict=True):
                w.sub_(rate * w.grad)
                w.grad = None
        return loss

    return ag.jit(step)  # type: ignore[no-any-return]
