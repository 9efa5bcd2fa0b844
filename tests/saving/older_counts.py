"""Trainings whose checkpoint of before parameters had counters of their own is kept in ``golden/``.

It was written by version 0.1 at the commit before "Each parameter has the step count of its own
updates", by ``save_checkpoint(path, **advance(parts(), 3))``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import agnesi as ag
from agnesi import nn, optim

FILE = Path(__file__).parent / "golden" / "shared_counts.safetensors"
KINDS = ("Adam", "NAdam", "RAdam", "Adagrad", "ASGD")


def parts():
    """Models with optimizers of two groups, by the names in the file."""
    found = {}
    for k, kind in enumerate(KINDS):
        model = nn.Linear(2, 3)
        extra = nn.Linear(3, 1)
        rng = np.random.default_rng(k)
        for p in (*model.parameters(), *extra.parameters()):
            p.array[...] = rng.normal(size=p.shape)
        groups = [{"params": model.parameters()}, {"params": extra.parameters(), "lr": 0.02}]
        found[f"{kind}.model"], found[f"{kind}.extra"] = model, extra
        found[f"{kind}.optimizer"] = getattr(optim, kind)(groups, lr=0.01)
    return found


def advance(found, steps):
    """Some steps of each."""
    x = ag.arange(8.0).reshape(4, 2) / 8
    for kind in KINDS:
        model, extra, optimizer = (found[f"{kind}.{n}"] for n in ("model", "extra", "optimizer"))
        for _ in range(steps):
            optimizer.zero_grad()
            (extra(model(x).tanh()) ** 2).mean().backward()
            optimizer.step()
    return found
