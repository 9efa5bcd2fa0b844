"""Borders and rolls as one read: each axis of the result runs through the operand in pieces."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.op import Op
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import results


class Run(NamedTuple):
    """So many elements, from the ``first`` on; a step of 0 repeats it, and -1 goes backwards."""

    first: int
    step: int
    size: int

    @property
    def last(self) -> int:
        """Where it ends."""
        return self.first + self.step * (self.size - 1)


@record
class Runs(Op):
    """Gather by runs: the result's indices along each axis are concatenated ranges of the
    operand's."""

    axes: tuple[tuple[Run, ...], ...]
    work = results(2)
    name = "runs"
    keep_inputs = ()
    inlines = True

    def infer(self, x: Any) -> Any:
        if len(self.axes) != len(x.shape) or not all(
                0 <= source < n for runs, n in zip(self.axes, x.shape, strict=True)
                for run in runs for source in (run.first, run.last)):
            raise ShapeError(f"runs of other axes than those of shape {x.shape}")
        return tuple(sum(run.size for run in runs) for runs in self.axes), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        sources = [np.concatenate([run.first + run.step * np.arange(run.size) for run in runs])
                  for runs in self.axes]
        return x[np.ix_(*sources)]

    def parts(self, x: Any) -> list[loops.Part]:
        def element(at: Any) -> Any:
            return x(*map(_source, at, self.axes))

        shape = tuple(sum(run.size for run in runs) for runs in self.axes)
        return [loops.Part.whole(shape, element)]

    def boxes(self, x: Any) -> list[loops.Part]:
        starts = [itertools.accumulate((run.size for run in runs), initial=0) for runs in self.axes]
        return [
            loops.Part(tuple(start for start, _ in box), (1,) * len(box),
                       tuple(run.size for _, run in box), _reader(x, [run for _, run in box]))
            for box in itertools.product(*map(zip, starts, self.axes))
        ]


def _reader(x: Any, runs: list[Run]) -> Any:
    """The elements of a box that one run on each axis makes."""
    return lambda at: x(*(i * run.step + run.first for i, run in zip(at, runs, strict=True)))


def _source(i: loops.Affine, runs: tuple[Run, ...]) -> loops.Affine:
    """The position in the operand of element ``i`` of the runs."""
    start, ends, sources = 0, [], []
    for run in runs:
        sources.append((i + -start) * run.step + run.first)
        start += run.size
        ends.append(start)
    found = sources.pop()
    for end, source in zip(reversed(ends[:-1]), reversed(sources), strict=True):
        chosen = loops.where(loops.index(i) < end, loops.index(source), loops.index(found))
        found = loops.atom_of(chosen)
    return found
