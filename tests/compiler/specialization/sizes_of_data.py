"""Programs whose results have sizes that data decides: of a module of functions, and an operand."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Of vectors: programs that sum up, and those whose results have such a size.
VECTORS: dict[str, Any] = {
    "mask": lambda t, v: v[v > 1],
    "mask of a mask": lambda t, v: v[v > 0][v[v > 0] < 3],
    "elementwise": lambda t, v: t.exp(v[v > 1]) * 2 + 1,
    "masked sum": lambda t, v: v[v > 0].sum(),
    "sum of a function": lambda t, v: t.sum(t.exp(v[v > 0])),
    "mean": lambda t, v: t.mean(v[v > -9] * 2),
    "spread": lambda t, v: t.var(v[v > -9]),
    "sort": lambda t, v: t.sort(v[v > 0]),
    "running": lambda t, v: t.cumsum(v[v > 0]),
    "joined": lambda t, v: t.concatenate([v[v > 0], v, v[v < 0] * 2]),
    "same mask": lambda t, v: v[v > 0] * (v * v)[v > 0],
    "its length": lambda t, v: v[v > 0] * t.arange(v[v > 0].shape[0]),
    "behind the first": lambda t, v: v[v > 0][1:],
    "outer": lambda t, v: v[v > 0][:, None] * v[v <= 0],
    "shares": lambda t, v: t.exp(v[v > 0]) / t.sum(t.exp(v[v > 0])),
    "greatest": lambda t, v: v[v > 0].max(),
    "first": lambda t, v: v[v > 0][0],
    "dot": lambda t, v: t.dot(v[v > 0], v[v > 0]),
    "unique": lambda t, v: t.unique(v * v),
    "set difference": lambda t, v: t.setdiff1d(v, np.array([3.0, 2.0])),
    "union": lambda t, v: t.union1d(v, v * 2),
}
MATRICES: dict[str, Any] = {
    "elements": lambda t, m: m[m > 0],
    "rows": lambda t, m: m[m[:, 0] > 1],
    "columns": lambda t, m: m[:, m[0] > 0],
    "product of rows": lambda t, m: m[m[:, 0] > 1] @ m.T,
    "of a row": lambda t, m: m[1, m[0] > 0],
    "of a column": lambda t, m: m[m[:, 0] > 1, 1],
    "and an index": lambda t, m: m[m[:, 0] > 1][:, np.array([0, 2])],
    "sums of rows": lambda t, m: m[m[:, 0] > 1].sum(1),
    "sum over rows": lambda t, m: m[m[:, 0] > 1].sum(0),
    "flat": lambda t, m: m[m[:, 0] > -1].reshape(-1),
    "compress": lambda t, m: t.compress(m[:, 0] > 1, m, axis=0),
    "extract": lambda t, m: t.extract(m > 1, m),
}
#: Programs of whole numbers, which have no gradients.
PLACES: dict[str, Any] = {
    "nonzero": lambda t, m: t.nonzero(m),
    "flatnonzero": lambda t, m: t.flatnonzero(m),
    "argwhere": lambda t, m: t.argwhere(m),
    "where": lambda t, m: t.where(m > 1),
    "all of unique": lambda t, m: t.unique(
        t.round(m), return_index=True, return_inverse=True, return_counts=True),
    "place of the greatest": lambda t, m: t.argmax(m[m > 0]),
}
V = np.array([3.0, -1, 2, 0, 5, -2, 1.5])
M = np.array([[3.0, -1, 2, 0], [5, -2, 1.5, -4], [0, 0, -1, 7]])
#: Values of which some, one, none and all are selected.
OPERANDS = {
    name: [x, -x, x * 0 - 1, x * 0 + 2, np.where(x == 5, 5.0, -1), np.abs(x) + 1]
    for name, x in (("v", V), ("m", M))
}


def operands(program: Any) -> list[np.ndarray]:
    """Values for a program's operand."""
    return OPERANDS[program.__code__.co_varnames[1]]


def arrays(found: Any) -> list[np.ndarray]:
    """The results of a program as arrays."""
    several = found if isinstance(found, (tuple, list)) else [found]
    return [np.asarray(getattr(x, "data", x)) for x in several]
