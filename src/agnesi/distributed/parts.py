"""Parts of all parameters: what workers exchange with a centre at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, wrap

#: Bytes of a part: less than the level 2 cache has, and far more than a call costs.
PART_BYTES = 1 << 19


@record
class Part:
    """Places of arrays: which one, and which of its elements in row order; None for all of it, in
    its own shape.
    """

    places: tuple[tuple[int, tuple[int, int] | None], ...]

    def of(self, arrays: Sequence[np.ndarray]) -> list[Tensor]:
        """Views of the arrays of all parameters."""
        return [wrap(arrays[i] if span is None else arrays[i].reshape(-1)[slice(*span)])
                for i, span in self.places]

    def copy(self, values: Iterable[Tensor], arrays: Sequence[np.ndarray]) -> None:
        """Write what ``of`` gave of other arrays into these."""
        for place, value in zip(self.of(arrays), values, strict=True):
            place.array[...] = value.array


def parts_of(parameters: Iterable[Any]) -> list[Part]:
    """Parts of parameters: many of one length, which one compiled program exchanges, and the rest.

    Parameters that are not in row order are in one piece.
    """
    equal, rest = list[Part](), list[Part]()
    gathered, size = list[tuple[int, tuple[int, int] | None]](), 0
    for i, p in enumerate(parameters):
        n, spans = PART_BYTES // p.dtype.itemsize, list[tuple[int, int] | None]([None])
        if p.array.flags.c_contiguous:
            full = p.array.size - p.array.size % n
            equal += [Part(((i, (k, k + n)),)) for k in range(0, full, n)]
            spans = [(full, p.array.size)] if full < p.array.size else []
        for span in spans:
            gathered.append((i, span))
            size += p.array.nbytes if span is None else (span[1] - span[0]) * p.dtype.itemsize
        if size >= PART_BYTES:
            rest.append(Part(tuple(gathered)))
            gathered, size = [], 0
    return [*equal, *rest, *([Part(tuple(gathered))] if gathered else [])]
