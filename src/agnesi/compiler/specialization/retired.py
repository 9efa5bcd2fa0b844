"""Code that no longer serves, for something that it does not look at changed: the first hook of a
tensor whose gradient it computes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.compiler.tracing.places import Place
from agnesi.runtime.watched import Word


class Retired(Place):
    """A place that never holds again what it held."""

    __slots__ = ()

    def now(self) -> Any:
        return None

    def holds(self) -> bool:
        return False

    def change(self) -> str:
        """The reason, for the user."""
        return self.path

    def records(self) -> Iterable[Any]:
        word = np.zeros(1, np.uint64)
        return [Word(word.ctypes.data, 0, 1, keep=word)]

