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
    """Other threads and what they were making are gone after a fork."""
    global _LOCK, _under_way
    _LOCK, _under_way = threading.Lock(), 0


at_fork(in_child=_in_child)


@contextmanager
def interning() -> Iterator[None]:
    """Forget expressions when all that make any are done.

    Weak references would do that by themselves, and cost more than all else about an expression.
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
