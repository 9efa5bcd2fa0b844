"""Objects and modules of anybody's: attributes that raise what they like, modules half imported.

``class Config(dict): __getattr__ = dict.__getitem__`` raises KeyError where there is none.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from agnesi.core.support.signal_errors import raise_if_from_signal

_PACKAGE = __name__.partition(".")[0]


def imported(name: str) -> Any:
    """The module of this name if it has been imported, else None; what another thread is still
    importing lacks some of its names, and no name was taken from it yet.
    """
    module = sys.modules.get(name)
    return None if is_initializing(module) else module


def is_initializing(module: Any) -> bool:
    """Return whether a module is being imported."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def attribute_of(x: Any, name: str, default: Any = None) -> Any:
    """An attribute of an object; the default where it has none, whatever it raises then.  What a
    module holds are no attributes: NumPy's ``shape`` is a function.
    """
    try:
        return default if isinstance(x, ModuleType) else getattr(x, name, default)
    except Exception as error:
        raise_if_from_signal(error)
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
        return not isinstance(x, ModuleType) and hasattr(x, name)
    except Exception as error:
        raise_if_from_signal(error)
        return False


def parameters_of(function: Any) -> Mapping[str, inspect.Parameter] | None:
    """The parameters of a callable by name; None where they are unknown, as those of some builtins
    are, or where it is not callable.

    >>> from agnesi.core.support.foreign import parameters_of
    >>> [*parameters_of(lambda x, y=1: x)], parameters_of(max)
    (['x', 'y'], None)
    """
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def as_method(x: Any) -> str:
    """That a function of ours in the body of the user's class is a method of its objects, as the
    end of a message; nothing where there is none."""
    own = f"{_PACKAGE}."
    for base in type(x).__mro__:
        for name, value in vars(base).items() if not f"{base.__module__}.".startswith(own) else ():
            if isinstance(value, FunctionType) and f"{value.__module__}.".startswith(own):
                return (f"; functions in a class get its objects first: write "
                        f"{name} = staticmethod({value.__name__}) there")
    return ""
