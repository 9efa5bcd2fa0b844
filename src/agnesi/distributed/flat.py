"""Parameters as rows of numbers, one for each dtype: what workers and a centre exchange."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.integers import is_integer
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn.base.module import Module

Rows = dict[np.dtype, np.ndarray]


class Flat:
    """The parameters of a model, or some tensors, in their order."""

    def __init__(self, model: Module | Iterable[Tensor]) -> None:
        self.parameters: list[Any] = list(
            model.parameters() if isinstance(model, Module) else model)

    def rows(self, out: Rows | None = None) -> Rows:
        """All values of each dtype, one behind the other; in the memory of other rows, if given."""
        found: dict[np.dtype, list[np.ndarray]] = {}
        for p in self.parameters:
            found.setdefault(p.dtype, []).append(p.array.ravel())
        return {dtype: np.concatenate(parts, out=None if out is None else out[dtype])
                for dtype, parts in found.items()}

    def types(self) -> list[str]:
        """Dtype and shape of each parameter, to be compared."""
        return [f"{p.dtype}{list(p.shape)}" for p in self.parameters]

    def split(self, rows: Rows) -> list[np.ndarray]:
        """An array for each parameter."""
        starts = dict.fromkeys(rows, 0)
        found = []
        for p in self.parameters:
            start = starts[p.dtype]
            found.append(rows[p.dtype][start: start + p.array.size].reshape(p.shape))
            starts[p.dtype] = start + p.array.size
        return found

    @no_grad()
    def take(self, rows: Rows) -> None:
        """Let parameters have these values."""
        for p, value in zip(self.parameters, self.split(rows), strict=True):
            p.copy_(wrap(value))


def checked(name: str, rule: Any, kind: type, every: Any) -> None:
    """Refuse what is no rule, or no number of batches.

    :raises TypeError, ValueError: If one is.
    """
    if not isinstance(rule, kind):
        raise TypeError(at(f"{name}: rule must be a dist.Rule, not {typed(rule)}"))
    if not is_integer(every) or every < 1:
        raise ValueError(at(f"{name}: every must be a number of batches, not {every!r}"))
