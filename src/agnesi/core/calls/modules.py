"""Modules of PyTorch's programs that have ``import agnesi as torch`` for ``import torch``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.core.support.errors import PACKAGE

#: What calls mean there, by the names of functions; set by the package that has the answers.
answers: Callable[[], dict[str, Callable[..., Any]]] = dict


def says_torch(frame: Any) -> bool:
    """Return whether a frame is of a module in which ``torch`` is agnesi."""
    named = frame.f_globals.get("torch")
    return named is not None and getattr(named, "__name__", "") == PACKAGE
