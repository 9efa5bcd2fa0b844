"""Blocks whose end is reached whatever happens: an interrupt may strike between any two lines.

What stands behind ``finally`` can be interrupted itself.  So a block is an object, and what was not
undone at its end is undone when it is dropped.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def __del__(self) -> None:
        self.end()
