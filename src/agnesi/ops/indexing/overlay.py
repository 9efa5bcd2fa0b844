"""Sums of values that each are in a region of a larger shape: stencils and their adjoints."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.op import Op
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import results

Ints = tuple[int, ...]


@record
class Overlay(Op):
    """The sum of the operands, each with its first element at one of ``starts``; 0 elsewhere.

    The compiler writes it in boxes, each covered by the same operands everywhere.
    """

    starts: tuple[Ints, ...]
    shape: Ints
    work = results(2)
    name = "overlay"
    traits = frozenset(("piecewise",))
    keep_inputs = ()
    inlines = True

    def infer(self, *xs: Any) -> Any:
        if len(self.starts) != len(xs) or not all(
                len(start) == len(x.shape) == len(self.shape) and x.dtype == xs[0].dtype
                and all(s >= 0 and s + n <= m for s, n, m in zip(start, x.shape, self.shape,
                                                                 strict=True))
                for start, x in zip(self.starts, xs, strict=True)):
            raise ShapeError(f"the operands do not lie in shape {self.shape}")
        return self.shape, xs[0].dtype

    def perform(self, *xs: np.ndarray) -> np.ndarray:
        result = np.zeros(self.shape, xs[0].dtype)
        for start, x in zip(self.starts, xs, strict=True):
            result[tuple(slice(s, s + n) for s, n in zip(start, x.shape, strict=True))] += x
        return result

    def parts(self, *reads: Any) -> list[loops.Part]:
        ends = [_plus(start, r.shape) for start, r in zip(self.starts, reads, strict=True)]
        return [
            self._part(low, high, [
                (read, start) for read, start, end in zip(reads, self.starts, ends, strict=True)
                if all(map(int.__le__, start, low)) and all(map(int.__le__, high, end))
            ], reads[0].dtype)
            for low, high in self._boxes([read.shape for read in reads])
        ]

    boxes = parts

    def _part(self, low: Ints, high: Ints, covering: list[Any], dtype: str) -> loops.Part:
        def element(at: Any) -> Any:
            terms = [
                read(*(i + (a - s) for i, a, s in zip(at, low, start, strict=True)))
                for read, start in covering
            ]
            total = terms[0] if terms else loops.const(0, dtype)
            for term in terms[1:]:
                total = total + term
            return total

        shape = tuple(b - a for a, b in zip(low, high, strict=True))
        return loops.Part(low, (1,) * len(low), shape, element)

    def _boxes(self, shapes: list[Ints]) -> Iterator[tuple[Ints, Ints]]:
        """Corners of all boxes between the edges of the regions."""
        runs = [list(itertools.pairwise(edges)) for edges in self._edges(shapes)]
        for box in itertools.product(*runs):
            yield tuple(a for a, _ in box), tuple(b for _, b in box)

    def _edges(self, shapes: list[Ints]) -> list[list[int]]:
        ends = [_plus(start, shape) for start, shape in zip(self.starts, shapes, strict=True)]
        return [sorted({0, n, *edges}) for n, *edges in zip(self.shape, *self.starts, *ends,
                                                            strict=True)]

    def count(self, shapes: list[Ints]) -> int:
        """How many boxes there are."""
        return math.prod(len(edges) - 1 for edges in self._edges(shapes))


def _plus(start: Ints, shape: Ints) -> Ints:
    return tuple(s + n for s, n in zip(start, shape, strict=True))
