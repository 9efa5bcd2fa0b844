"""One operation on 8 elements, run at once, without and with a record for gradients."""

from __future__ import annotations

from operator import mul

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "eager op on 8 elements, without and with recording"
THREADS = (1,)


def run(context: Context) -> list[Result]:
    return context.measure_all(
        [
            _case("a * b", recording=False, limit=1.5e-6),
            _case("a * b recorded", recording=True, limit=3e-6),
        ]
    )


def _case(name: str, recording: bool, limit: float) -> Case:
    a, b = (np.arange(8, dtype=np.float32) + k for k in (0, 1))
    contenders = {
        "agnesi": lambda: _agnesi(a, b, recording),
        "numpy": lambda: Contender(np.multiply, (a, b)),
        "torch": lambda: _torch(a, b, recording),
    }
    if recording:
        del contenders["numpy"]
    return Case(name, lambda: a * b, contenders, limit=limit)


def _agnesi(a: np.ndarray, b: np.ndarray, recording: bool) -> Contender:
    ag = peers.agnesi()
    left, right = ag.tensor(a, requires_grad=recording), ag.tensor(b)
    return Contender(mul, (left, right))


def _torch(a: np.ndarray, b: np.ndarray, recording: bool) -> Contender:
    torch = peers.torch()
    left, right = torch.from_numpy(a).requires_grad_(recording), torch.from_numpy(b)

    torch.set_grad_enabled(recording)  # cases run one after the other, so this holds for a case
    return Contender(mul, (left, right))
