"""Something of the process that is replaced while there are traces, of whatever threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

Restore = Callable[[], None]


class Meanwhile:
    """A replacement that is in place from the beginning of the first trace to the end of the last.

    :param replace: Installs it, and returns a function that removes it; None if there is nothing to
        replace.
    """

    def __init__(self, replace: Callable[[], Restore | None]) -> None:
        self._replace = replace
        self._lock = threading.RLock()
        self._users: set[int] = set()
        self._restore: Restore | None = None

    def begin(self, user: object) -> None:
        """Install it for a trace."""
        with self._lock:
            self._users.add(id(user))
            if self._restore is None:
                self._restore = self._replace()

    def end(self, user: object) -> None:
        """Remove it when the last trace ends. It may be called again after an interrupt."""
        with self._lock:
            self._users.discard(id(user))
            if self._restore is not None and not self._users:
                self._restore()
                self._restore = None
