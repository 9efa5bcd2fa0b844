"""Blocks whose end is reached whatever happens: an interrupt may strike between any two lines.

What stands behind ``finally`` can be interrupted itself.  So a block is an object, and what was not
undone at its end is undone when it is dropped.
"""

from __future__ import annotations

import collections
import functools
import os
from types import TracebackType
from typing import Any

_BINARY = getattr(os, "O_BINARY", 0)
_CLOSED_IN_NEW_PROGRAMS = getattr(os, "O_CLOEXEC", 0)


class Block:
    """A ``with`` block: ``begin`` at its start, ``end`` at its end.

    ``end`` may be called several times, and when ``__init__``, ``begin`` or another ``end`` came
    halfway.
    """

    def begin(self) -> Any:
        """Enter the block and return what ``as`` names."""
        raise NotImplementedError

    def end(self) -> None:
        """Undo it, if it is not undone yet."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        try:
            return self.begin()
        except BaseException:
            self.end()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.end()

    def __del__(self) -> None:
        self.end()


class Opened(Block):
    """A ``with`` block that has a file open, as the system's number of it.

    :param where: What ``os.open`` takes by position: the path, flags, the mode of a new file.
    :param relative_to: The number of the folder that the path begins at, if it is not the present
        one.
    """

    _held: Any = ()  # of one that is not yet made

    def __init__(self, path: str, flags: int, *mode: int, relative_to: int | None = None) -> None:
        self._flags = flags | _BINARY | _CLOSED_IN_NEW_PROGRAMS
        self._where, self._mode, self._folder = path, mode, relative_to
        self._held = collections.deque()

    def begin(self) -> int:
        # No line of Python is between opening and keeping, nor between forgetting and closing.
        arguments = [(a,) for a in (self._where, self._flags, *self._mode)]
        self._held.extend(map(functools.partial(os.open, dir_fd=self._folder), *arguments))
        return self._held[0]

    def end(self) -> None:
        held = self._held
        collections.deque(map(os.close, map(collections.deque.pop, (held,) * len(held))), 0)
