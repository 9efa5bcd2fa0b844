"""Operands of the calls in the tables of other libraries' names, as they are named there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def arrays() -> dict[str, np.ndarray]:
    """What the letters stand for."""
    random = np.random.default_rng(0)
    x, t, w = random.normal(size=(3, 4)), random.uniform(0.1, 0.9, (3, 4)), np.diag([3.0, 4.0, 5.0])
    p, b = w + 0.5, np.zeros((3, 4), bool)
    b.flat[[0, 3, 5, 8, 11]] = True
    return {
        "x": x, "t": t, "p": p, "b": b, "A": x, "a": t + 1, "l": np.linalg.cholesky(p),
        "y": random.normal(size=(3, 4)), "s": random.normal(size=(3, 3)),
        "m": random.normal(size=(3, 3)), "r": random.normal(size=3), "o": np.ones(3),
        "v": np.array([2.0, -1, -1, 0.5]), "c": random.normal(size=(2, 3, 4)),
        "d": random.normal(size=(2, 4, 3)), "i": np.argsort(random.normal(size=(3, 4)), 1),
        "j": np.array([0, 2]), "k": np.array([0, 2, 1]), "f": random.normal(size=(3, 2, 2)),
        "q": random.normal(size=(5, 3, 2)),
    }


def operands(make: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """The operands as a library makes them; ``A`` stays an array."""
    found = {name: a if name == "A" else make(a) for name, a in arrays().items()}
    return {**found, "itertools": itertools}


def calls(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a table that have a call: that, and what it is here."""
    for line in text.strip().replace("\n    ", " ").splitlines():
        call, bar, code = line.partition(" | ")
        if bar:
            yield call, code
