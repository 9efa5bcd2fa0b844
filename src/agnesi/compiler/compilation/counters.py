"""The counters of a profiled program: kernels, runs and clock ticks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def rows_of(compiled: Any) -> list[tuple[int, int, Any]]:
    """The rows of a profiled program's counters, how deep inside others they are, and their
    kernels."""
    found: list[tuple[int, int, Any]] = []
    for kernel, step in zip(compiled.scheduled.layout.kernels, compiled.scheduled.steps,
                            strict=True):
        depths = {id(k): depth for k, depth in _within(kernel)}
        found += [(row, depths[id(k)], k) for row, k in step.rows]
    return found


def _within(kernel: Any, depth: int = 0) -> Iterable[tuple[Any, int]]:
    yield kernel, depth
    for block in kernel.blocks():
        for inner in block.kernels:
            yield from _within(inner, depth + 1)
