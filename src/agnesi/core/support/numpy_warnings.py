"""NumPy's functions without its floating-point warnings, whatever its settings are."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np


def _run_silently(function: Callable[..., Any], *xs: Any, **keywords: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*xs, **keywords)


def silent_context() -> contextvars.Context | None:
    """A new context where NumPy's settings are silent, which costs a tenth of what `np.errstate`
    does; None where this NumPy has other settings.  It cannot be entered twice."""
    context = contextvars.Context()
    try:
        from numpy._core import umath

        context.run(umath._extobj_contextvar.set, umath._make_extobj(all="ignore"))
    except (ImportError, AttributeError):
        return None
    return context


def _silent_runner() -> Callable[..., Any]:
    """``run(function, *arrays)`` without NumPy's floating-point warnings."""
    context = silent_context()
    return _run_silently if context is None else context.run


class _Local(threading.local):
    """The runner of this thread; contexts belong to one thread."""

    def __init__(self) -> None:
        self.run = _silent_runner()


THREAD = _Local()


def silently(function: Any, *xs: Any, **keywords: Any) -> Any:
    """The result of a pure function of arrays, without floating-point warnings."""
    try:
        return THREAD.run(function, *xs, **keywords)
    except RuntimeError:  # inside itself: a finaliser or signal handler that computes
        return _run_silently(function, *xs, **keywords)
