"""Whether a trace is under way, which decides if an operation computes at once or is written down.

Outside of ``core`` everybody asks here; only what is written out flat for speed reads ``STATE``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agnesi.core.config import STATE


def is_tracing() -> bool:
    """Whether operations of this thread go into a trace."""
    return STATE.trace is not None


def current_trace() -> Any:
    """The trace that operations of this thread go into, or None."""
    return STATE.trace


def current_reads() -> Any:
    """What takes down what the traced function reads besides its arguments, or None."""
    return STATE.reads


def is_known(*xs: Any) -> bool:
    """Whether Python may read the values of tensors: all have one, and no trace must freeze it."""
    return STATE.trace is None and all([x.data is not None for x in xs])


@contextmanager
def within(trace: Any) -> Iterator[None]:
    """Operations of this thread go into ``trace`` within this block; None is none."""
    around, STATE.trace = STATE.trace, trace
    try:
        yield
    finally:
        STATE.trace = around
