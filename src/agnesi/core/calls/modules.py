"""Modules of PyTorch's programs that have ``import agnesi as torch`` for ``import torch``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from agnesi.core.support.errors import PACKAGE, ours

#: What calls mean there, by the names of functions; set by the package that has the answers.
answers: Callable[[], dict[str, Callable[..., Any]]] = dict


def users_frame() -> Any:
    """The innermost frame that is not of the library, or the outermost one."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def says_torch(frame: Any) -> bool:
    """Return whether a frame is of a module in which ``torch`` is agnesi."""
    named = frame.f_globals.get("torch")
    return named is not None and getattr(named, "__name__", "") == PACKAGE
