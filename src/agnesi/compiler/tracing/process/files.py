"""Files that a trace would open once, whoever opens them: such a function runs eagerly.

``np.load``, ``ag.save`` or ``pandas.read_csv`` open files by the builtin ``open``, which has a
stand-in while there are traces; in other threads, and for the compiler's own files, it does what it
always does.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
import threading
from typing import Any

from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import location, user_where

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    __file__)))), "")
#: Rooms of ours that open files for themselves.
_OWN = tuple(os.path.join(_PACKAGE, room, "") for room in (
    "codegen", "compiler", "core", "runtime"))
_INSTEAD = "Open it outside, and give what it holds as an argument"


class _Files:
    """The builtin ``open``, while there are traces."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users: set[int] = set()
        self._own: Any = None

    def begin(self, user: Any) -> None:
        """Watch for a trace."""
        with self._lock:
            self._users.add(id(user))
            if self._own is None and builtins.open is io.open:
                self._own = builtins.open
                builtins.open = io.open = self._open

    def end(self, user: Any) -> None:
        """Watch no longer; to be called again where it was interrupted."""
        with self._lock:
            self._users.discard(id(user))
            if self._own is not None and not self._users:
                builtins.open = io.open = self._own
                self._own = None

    def _open(self, *args: Any, **keywords: Any) -> Any:
        if STATE.reads is not None and not _is_own(sys._getframe(1).f_code.co_filename):
            raise OnlyEagerError(f"it opens a file at {location(user_where(2))}", _INSTEAD)
        plainly = self._own or _PLAINLY
        return plainly(*args, **keywords)


_PLAINLY = open
FILES = _Files()


def _is_own(file: str) -> bool:
    return file.startswith(_OWN) or "importlib" in file
