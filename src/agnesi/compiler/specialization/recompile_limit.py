"""How often a function was traced for something new that it read; before long, it runs eagerly.

A window (``deque(maxlen=100)``) or a cache grows in the first calls, and has one length from then
on: where what kept changing has kept its form for a while, the function is traced again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.compiler.tracing.places import PLAIN, Place
from agnesi.core.tensor import Tensor

#: Calls in a row that find one form, calls that look for it, and traces that are begun for it.
_CALLS, _MAX_CALLS, _MAX_TRIES = 16, 1000, 3
#: Traces for something new before a function runs eagerly.
_MAX_RECOMPILES = 12


class RecompileCounts:
    """Counts, by signature, how often a function was traced because something it read is new."""

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}
        self._settled: dict[Any, Settled] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def count(self, key: Any, weight: int) -> bool:
        """Count one; return whether the function runs eagerly from now on."""
        before = self._counts.get(key, 0)
        self._counts[key] = before + weight
        return before < _MAX_RECOMPILES <= before + weight

    def are_many(self, key: Any) -> bool:
        """Return whether they are so many that it runs eagerly."""
        return self._counts.get(key, 0) >= _MAX_RECOMPILES

    def begin_again(self, key: Any, places: Iterable[Place]) -> bool:
        """Return whether it is worth another trace, for what the last one depends on has settled;
        to be asked in each call that runs eagerly."""
        found = self._settled.setdefault(key, Settled()).is_so(places)
        if found:
            self._counts[key] = 0
        return found

    def forget(self, key: Any) -> None:
        """Forget a signature."""
        self._counts.pop(key, None)
        self._settled.pop(key, None)


class Settled:
    """For one signature: the form of what a version of it depends on, and the calls that found it.
    """

    def __init__(self) -> None:
        self._form: Any = None
        self._alike = self._calls = self._tries = 0

    def is_so(self, places: Iterable[Place]) -> bool:
        """Return whether the function is worth another trace; to be asked in each call."""
        if self._tries >= _MAX_TRIES or self._calls >= _MAX_CALLS:
            return False
        form = [_form(p) for p in places]
        self._calls, self._alike = self._calls + 1, self._alike + 1 if form == self._form else 0
        self._form = form
        if self._alike < _CALLS:
            return False
        self._tries, self._alike = self._tries + 1, 0
        return True


def _form(place: Place) -> Any:
    """What a place holds, without what compiled code may take at run time: floats, tensors' values,
    what containers hold."""
    container = getattr(place, "container", None)
    if container is not None:
        return len(container) if hasattr(container, "__len__") else id(container)
    value = place.now()
    if isinstance(value, Tensor):
        return None if value.array is None else (value.array.shape, value.array.dtype)
    if type(value) in PLAIN:
        return type(value), value
    return type(value) if isinstance(value, (float, list, dict, tuple)) else id(value)
