"""Which parts of a memory changes in place have written, so that other parts of it stay readable.

A counter says that a memory changed, and when. Where views look into it, the last few changes of
parts are noted besides, as the second item of the counter's list, among the weak references to
what looks into the memory. Code that writes without a note here (compiled and native code) only
numbers the change, which then counts as one of everything.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

#: Older changes of parts count as changes of everything.
_MOST_CHANGES = 64
#: Of how many steps the exact comparison of a part with a value may be.
_MOST_STEPS = 10_000


class Changes:
    """The last changes of parts: the number before, that of the change, and what it wrote."""

    __slots__ = ("parts",)
    value = version = None

    def __init__(self) -> None:
        self.parts: deque[tuple[int, int, np.ndarray]] = deque(maxlen=_MOST_CHANGES)

    def __call__(self) -> Changes:
        """Return itself, so that it can stand among weak references."""
        return self


def note_change(counter: list[Any], before: int, part: np.ndarray) -> None:
    """Note that the last change wrote ``part`` only; ``before`` is the number of the change before
    it."""
    if type(counter[1]) is not Changes:
        counter.insert(1, Changes())
    counter[1].parts.append((before, counter[0], part))


def is_late(node: Any, since: int) -> bool:
    """Return whether the value that a node kept was changed in place after the serial number
    ``since``.
    """
    counter = node.version
    return counter is not None and counter[0] > since and not _spared(counter, since, node.value)


def _spared(counter: list[Any], since: int, value: Any) -> bool:
    """Return whether all changes since then wrote parts of the memory apart from ``value``."""
    if len(counter) < 2 or type(counter[1]) is not Changes or type(value) is not np.ndarray:
        return False
    last = counter[0]
    for before, number, part in reversed(counter[1].parts):
        if last <= since or number != last or overlap(part, value, _MOST_STEPS):
            break
        last = before
    return bool(last <= since)


def overlap(a: np.ndarray, b: np.ndarray, steps: int = 1000) -> bool:
    """Return whether two arrays have an element in common, or more steps are needed to find out."""
    try:
        return bool(np.shares_memory(a, b, max_work=steps))  # type: ignore[arg-type,unused-ignore]
    except np.exceptions.TooHardError:
        return True
