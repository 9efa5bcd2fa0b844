"""What happens when something strikes as a line of this library is reached."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def interrupt() -> None:
    """What Python does at Ctrl-C."""
    raise KeyboardInterrupt


class Striking:
    """Calls a function where a line of some files is reached for the first time.

    :ivar seen: The lines that were reached, by file and number.
    """

    def __init__(self, files: str | tuple[str, ...], at: tuple[str, int] | None = None,
                 strike: Callable[[], object] = interrupt) -> None:
        self.files, self.at, self.strike = files, at, strike
        self.seen: dict[tuple[str, int], bool] = {}

    def __enter__(self) -> Striking:
        self.before = sys.gettrace()  # coverage measures by it, too
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self.before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_name == "__del__" or not code.co_filename.startswith(self.files):
            return None  # Python prints what destructors raise, and goes on
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            place = frame.f_code.co_filename, frame.f_lineno
            first, self.seen[place] = place not in self.seen, True
            if first and place == self.at:
                self.strike()
        return self._line
