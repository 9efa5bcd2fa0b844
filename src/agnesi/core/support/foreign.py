"""Attributes of objects of anybody's, whose ``__getattr__`` may raise what it likes.

``class Config(dict): __getattr__ = dict.__getitem__`` raises KeyError where there is none.
"""

from __future__ import annotations

from typing import Any


def attribute_of(x: Any, name: str, default: Any = None) -> Any:
    """An attribute of an object; the default where it has none, whatever it raises then."""
    try:
        return getattr(x, name, default)
    except Exception:
        return default


def has(x: Any, name: str) -> bool:
    """Return whether an object has an attribute, whatever it raises where not.

    >>> from agnesi.core.support.foreign import has
    >>> class Config(dict):
    ...     __getattr__ = dict.__getitem__
    >>> has(Config(a=1), "a"), has(Config(a=1), "shape")
    (True, False)
    """
    try:
        return hasattr(x, name)
    except Exception:
        return False
