"""Expressions are kept for each other while something is compiled: equal ones are one object.

The table is a plain dictionary that lives as long as a compile does: weak references cost more time
than the memory that they free is worth.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agnesi.core.support.forks import at_fork

#: Expressions by their parts (see ``core.ir.loops.make``).
INTERNED: dict[Any, Any] = {}
_LOCK = threading.Lock()
_under_way = 0


def _in_child() -> None:
    """Reset the lock and the counter in a forked process, where no other thread exists."""
    global _LOCK, _under_way
    _LOCK, _under_way = threading.Lock(), 0


at_fork(in_child=_in_child)


@contextmanager
def interning() -> Iterator[None]:
    """A context in which expressions are interned; they are forgotten when no thread is in it any
    more.

    Weak references would do the same at a higher cost than everything else about an expression.
    """
    global _under_way
    with _LOCK:
        _under_way += 1
    try:
        yield
    finally:
        with _LOCK:
            _under_way -= 1
            if not _under_way:
                INTERNED.clear()
