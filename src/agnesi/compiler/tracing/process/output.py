"""Output of a traced function: prints, warnings and log records are repeated by each call.

The trace itself prints nothing.  It makes the texts, which are the same in all calls that its code
serves: a text of a computed value lets the function run eagerly.
"""

from __future__ import annotations

import functools
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.process.patching import Meanwhile
from agnesi.core.ir.extents import Extent, UnknownSizeError
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import location, ours, user_where
from agnesi.core.support.foreign import imported
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor

INSTEAD = "Return the value and print it outside; ag.print prints from compiled code"
#: When and by whom a record of a log was made.
_MOMENT = ("created", "msecs", "relativeCreated", "thread", "threadName", "taskName")


def _say(repeat: Callable[[], Any]) -> None:
    """Print or warn in each call of the function that is being traced; at once if there is none."""
    reads = STATE.reads
    if reads is None:
        repeat()
    else:
        reads.said.append(repeat)


@contextmanager
def silent() -> Iterator[None]:
    """A context for running a function again in a trace, in which prints and warnings are not
    repeated.
    """
    said = getattr(STATE.reads, "said", [])
    before = len(said)
    yield
    del said[before:]


def _refuse_computed(nest: Any, what: str) -> None:
    values = flatten(nest)[0]
    if any(isinstance(v, Extent) for v in values):
        raise UnknownSizeError("text of a size")
    if any(isinstance(v, Tensor) and v.array is None for v in values):
        line = location(user_where(3))
        raise OnlyEagerError(f"Python {what} a computed value at {line}", INSTEAD)


def print_(*args: Any, **keywords: Any) -> None:
    """Stand-in for ``print`` in a trace: it prints now and in every call, but refuses computed
    values."""
    _refuse_computed(args, "prints")
    if keywords.get("file") is not None:
        print(*args, **keywords)
        return
    if STATE.reads is not None and sys.stdout is not STATE.reads.stdout:
        raise OnlyEagerError("it prints to what it has put in the place of sys.stdout",
                             "Give print a file=")
    text = io.StringIO()
    print(*args, **{**keywords, "file": text})
    _say(functools.partial(print, text.getvalue(), end="", flush=keywords.get("flush", False)))


def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None,
         **keywords: Any) -> None:
    """Warn at the user's line in each call; a filter that makes it an error raises in the trace."""
    if STATE.reads is None or keywords or warnings.filters is not STATE.reads.filters:
        warnings.warn(message, category, stacklevel + 1, source, **keywords)
        return
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and (stacklevel > 1 or ours(frame.f_code.co_filename)):
        frame, stacklevel = frame.f_back, stacklevel - 1
    category = type(message) if isinstance(message, Warning) else category or UserWarning
    warning = {"message": message, "category": category, "filename": frame.f_code.co_filename,
            "lineno": frame.f_lineno, "module": frame.f_globals.get("__name__"), "source": source}
    with warnings.catch_warnings(record=True):
        warnings.warn_explicit(**warning, registry={})
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    _say(functools.partial(warnings.warn_explicit, **warning, registry=registry))


def _listen() -> Callable[[], None] | None:
    """Replace ``logging.Logger.handle`` so that records reach the running trace.

    Returns a function that restores it; None if ``logging`` is not imported.
    """
    logging = imported("logging")
    if logging is None:
        return None
    own = logging.Logger.handle
    logging.Logger.handle = functools.partialmethod(_handle, own)
    return functools.partial(setattr, logging.Logger, "handle", own)


LOGS = Meanwhile(_listen)


def _handle(logger: Any, plainly: Any, record: Any) -> None:
    reads = STATE.reads
    if reads is None:
        plainly(logger, record)
        return
    _refuse_computed((record.msg, record.args), "logs")
    reads.meet(logger, f"the logger {logger.name}")
    _say(functools.partial(_log, logger, record))


def _log(logger: Any, record: Any) -> None:
    """Log a copy of a record with the present time, thread and process."""
    logging: Any = sys.modules["logging"]
    now = vars(logging.makeLogRecord({}))
    logger.handle(logging.makeLogRecord(
        {**vars(record), **{name: now[name] for name in _MOMENT if name in now}}))
