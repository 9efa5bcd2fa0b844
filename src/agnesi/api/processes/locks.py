"""Locks of files, which the system gives back when a process ends, however it does."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

try:
    _fcntl: Any = importlib.import_module("fcntl")
except ImportError:  # Windows
    _fcntl = None

THERE = _fcntl is not None


def hold(file: int, place: int) -> bool:
    """Take the lock of a byte, which may be behind the end; False if another process has it."""
    if _fcntl is None:
        return True
    try:
        _fcntl.lockf(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB, 1, place)
    except OSError:
        return False
    return True


def release(file: int, place: int) -> None:
    """Give the lock of a byte back."""
    if _fcntl is not None:
        _fcntl.lockf(file, _fcntl.LOCK_UN, 1, place)


@contextlib.contextmanager
def whole(file: int) -> Iterator[None]:
    """A section, short, that one descriptor of a file is in at a time."""
    if _fcntl is not None:
        _fcntl.flock(file, _fcntl.LOCK_EX)
    try:
        yield
    finally:
        if _fcntl is not None:
            _fcntl.flock(file, _fcntl.LOCK_UN)
