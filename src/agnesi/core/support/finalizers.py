"""A KeyboardInterrupt that strikes where Python cannot raise it is raised right afterwards.

Python calls finalizers, callbacks of weak references and those around a fork between any two lines
of a program, and drops what they raise, an exception of a handler of signals too: it only reports
``sys.unraisablehook``.  Where that happened to code of this library, to weak dictionaries and sets
that lose a key, or to what importlib calls while another thread forks, Python is to handle the
signal once more, as soon as it is back in the program.
"""

from __future__ import annotations

import _thread
import operator
import sys
import threading
from typing import Any

_hook_before = sys.unraisablehook
_MODULES = "agnesi.", "importlib.", "weakref", "_weakrefset"


class _Again:
    """``now`` sets the flag of a Ctrl-C for Python to handle after the hook has returned.

    It is an attribute implemented in C, so that no line of Python runs in between, at which the
    interrupt would be handled.
    """

    interrupt = staticmethod(_thread.interrupt_main)
    now = property(operator.methodcaller("interrupt"))


_again = _Again()


def hook(event: Any) -> None:
    """The hook for unraisable errors: raise an interrupt again in the main thread, pass all else to
    the former hook."""
    trace = event.exc_traceback
    if (
        isinstance(event.exc_value, KeyboardInterrupt) and trace is not None
        and trace.tb_frame.f_globals.get("__name__", "").startswith(_MODULES)
        and threading.current_thread() is threading.main_thread()
    ):
        del event, trace
        _again.now  # noqa: B018 - nothing comes between this and the end
    else:
        _hook_before(event)


sys.unraisablehook = hook
