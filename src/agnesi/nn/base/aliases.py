"""Attributes of layers under another library's word."""

from __future__ import annotations

from typing import Any


def also(ours: str) -> Any:
    """An attribute that is read, set and deleted as the one that we call ``ours``.

    >>> from agnesi import nn
    >>> pool = nn.MaxPool2d(2)
    >>> pool.ceil_mode = True
    >>> pool.cover_all
    True
    """

    def read(self: Any) -> Any:
        return getattr(self, ours)

    def write(self: Any, value: Any) -> None:
        setattr(self, ours, value)

    return property(read, write, doc=f"Also called ``{ours}``.")
