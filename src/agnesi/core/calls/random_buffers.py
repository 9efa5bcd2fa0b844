"""Random numbers that are made ahead of draws, from which native code takes them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

#: States of generators and what they were before draws, where an attempt may be given up.
DRAWN: ContextVar[list[Any] | None] = ContextVar("drawn", default=None)


class Stock:
    """A buffer of random numbers that ``make`` computes in advance, and from which draws take
    theirs.

    Native code takes them where it can (``runtime/native/draws.ll``), and calls this elsewhere.
    """

    __slots__ = ("count", "generator", "held", "make", "size", "width")

    def __init__(self, generator: Any, size: int, width: int, count: int,
                 make: Callable[[], tuple[np.ndarray, Any]]) -> None:
        #: The generator whose ``state`` is advanced by each number taken.
        self.generator = generator
        #: How many numbers, how many of a row they begin with, and how many columns they take.
        self.size, self.width, self.count = size, width, count
        self.make = make
        #: The state before the first column that was made, and a row for each number of a column.
        self.held: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self) -> np.ndarray:
        found, self.held = self.make()
        return found
