"""Errors that the handler of a signal raises, in whatever code runs when the signal comes.

A handler of ``SIGALRM`` that raises ``TimeoutError`` is how programs bound the time of a call. Code
that catches errors in order to go on without what failed (a trace that becomes an eager call, an
entry of the cache that cannot be read) must not take these for its own.
"""

from __future__ import annotations

import contextlib
import functools
import signal
from types import CodeType, TracebackType
from typing import Any


def raise_if_from_signal(error: BaseException) -> None:
    """Raise an error again if the handler of a signal raised it.

    :param error: What was caught.
    """
    if is_from_signal(error):
        raise error


def is_from_signal(error: BaseException) -> bool:
    """Return whether an error was raised in a function that handles a signal.

    >>> from agnesi.core.support.signal_errors import is_from_signal
    >>> import signal
    >>> def stop(number, frame):
    ...     raise TimeoutError
    >>> before = signal.signal(signal.SIGTERM, stop)
    >>> try:
    ...     signal.raise_signal(signal.SIGTERM)
    ... except TimeoutError as error:
    ...     is_from_signal(error)
    True
    >>> _ = signal.signal(signal.SIGTERM, before)
    """
    handlers = {code for number in _signals()
                if (code := _code(signal.getsignal(number))) is not None}
    step: TracebackType | None = error.__traceback__ if handlers else None
    while step is not None:
        if step.tb_frame.f_code in handlers:
            return True
        step = step.tb_next
    return False


@functools.cache
def _signals() -> tuple[int, ...]:
    """The numbers of the system's signals, which take longer to list than their handlers."""
    return tuple(map(int, signal.valid_signals()))


def _code(handler: Any) -> CodeType | None:
    """Return the code that a handler runs; None if it is none in Python."""
    if not callable(handler):
        return None
    while hasattr(handler, "func"):  # a partial call
        handler = handler.func
    code = getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


class ignored(contextlib.suppress):  # noqa: N801  # as what it extends
    """``contextlib.suppress``, but for errors that the handler of a signal raised.

    >>> from agnesi.core.support.signal_errors import ignored
    >>> with ignored(OSError):
    ...     open("")
    """

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        return super().__exit__(kind, error, trace) and not (error and is_from_signal(error))
