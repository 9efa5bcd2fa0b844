"""Numbers that the user gives as sizes, axes and parameters of operations."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Dim
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import typed
from agnesi.core.support.foreign import attribute_of


def integer(value: Any, name: str, least: int | None = None) -> Any:
    """Convert an integer argument to an int.  Symbolic sizes are returned unchanged, and symbolic
    integer scalars as the size that equals their value."""
    if isinstance(value, Dim):
        return value
    if not attribute_of(value, "ndim", 0) and _is_symbol(value):
        return HOOKS.size(value, name)
    number = known_integer(value, name)
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def known_integer(value: Any, name: str, least: int | None = None) -> int:
    """Convert an integer argument that must be known while tracing, such as an axis, to an int; of
    a symbolic scalar the trace gives its value."""
    check_integer(value, name, least)
    return operator.index(value)


def check_integer(value: Any, name: str, least: int | None = None) -> None:
    """Raise unless a value is an integer, or a size that may be one, of at least ``least``."""
    if isinstance(value, Dim):
        return
    if attribute_of(value, "ndim", 0) or not is_integer(value):
        raise TypeError(f"{name} must be an integer, not {typed(value)}")
    if least is not None and not _is_symbol(value) and operator.index(value) < least:
        raise ValueError(f"{name} must be at least {least}, not {operator.index(value)}")


#: Steps that a program takes one by one while it is written, at most.
_MOST_STEPS = 1 << 16


def step_count(value: Any, name: str, least: int = 0, most: int = _MOST_STEPS) -> int:
    """Convert the number of steps of a loop in Python, of which each adds to a program, to an int;
    refused where time and memory end before the loop does."""
    number = known_integer(value, name, least)
    if number > most:
        raise ValueError(f"{name} must be at most {most}, not {number}")
    return number


def _is_symbol(value: Any) -> bool:
    """Return whether a tensor of a program has no value yet."""
    return attribute_of(value, "node") is not None and value.array is None


def number(value: Any, name: str) -> Any:
    """A number that the user gave for a parameter of an operation."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return value
    raise TypeError(f"{name} must be a number, not {typed(value)}")


def is_integer(value: Any) -> bool:
    """Return whether something is a whole number, which booleans are not."""
    if type(value) is int:
        return True
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return False
    dtype, shape = attribute_of(value, "dtype"), getattr(value, "shape", ())
    if dtype is None:
        return True
    single = shape == () or (not isinstance(value, np.ndarray) and set(shape) <= {1})
    return dtype.kind in "iu" and single
