"""Files that a trace would open once, from any code: such a function runs eagerly.

``np.load``, ``ag.save`` or ``pandas.read_csv`` open files by the builtin ``open``, which has a
stand-in while there are traces; in other threads, and for the compiler's own files, it does what it
always does.
"""

from __future__ import annotations

import builtins
import importlib
import io
import os
import sys
from collections.abc import Callable
from typing import Any

from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.process.patching import Meanwhile
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import location, user_where

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
#: Packages of ours that open files for themselves, and what Python imports and reads packages by.
_OWN = (*(os.path.join(_PACKAGE, package, "")
          for package in ("codegen", "compiler", "core", "runtime")),
        os.path.join(os.path.dirname(importlib.__file__), ""), "<frozen importlib")
_INSTEAD = "Open it outside, and give what it holds as an argument"
_PLAINLY = open


def _open(*args: Any, **keywords: Any) -> Any:
    if STATE.reads is not None and not sys._getframe(1).f_code.co_filename.startswith(_OWN):
        raise OnlyEagerError(f"it opens a file at {location(user_where(2))}", _INSTEAD)
    return _PLAINLY(*args, **keywords)


def _watch() -> Callable[[], None] | None:
    """Replace ``open`` by the hook.

    Returns a function that restores it, or None if another library has replaced ``open``.
    """
    if not builtins.open is io.open is _PLAINLY:
        return None
    builtins.open = io.open = _open
    return _leave


def _leave() -> None:
    builtins.open = io.open = _PLAINLY


FILES = Meanwhile(_watch)
