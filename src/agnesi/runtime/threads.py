"""How many threads compiled code uses.  The threads themselves are in ``native/threads.ll``."""

from __future__ import annotations

from agnesi.core.integers import is_integer
from agnesi.core.support.config import config
from agnesi.core.support.errors import at, typed
from agnesi.core.support.host import MAX_THREADS
from agnesi.runtime import support


def set_num_threads(count: int) -> None:
    """Set the number of threads of compiled functions, from the next call on.

    Results do not depend on it.

    >>> from agnesi.runtime import threads
    >>> threads.set_num_threads(1)
    >>> threads.get_num_threads()
    1
    """
    if not is_integer(count):
        raise TypeError(at(f"set_num_threads: count must be an integer, not {typed(count)}"))
    if not 1 <= count <= MAX_THREADS:
        raise ValueError(at(f"set_num_threads: need 1 to {MAX_THREADS} threads, not {count}"))
    config.threads = count
    support.variable("thread_count").value = count  # more than there are cores, if requested


def get_num_threads() -> int:
    """Number of threads that compiled functions use."""
    return support.variable("thread_count").value
