"""Symbolic programs: whether what runs writes one down, whose floats are ``symbolic_float``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.core.ir.dims import Dim, is_open
from agnesi.core.support.config import MODE, STATE, switched
from agnesi.core.tensor import Tensor

#: What ``Mode.symbolic`` is where only the name of a function says so.
NAMED = "named"
#: Types of arguments that are never part of a program.
_PLAIN = frozenset((int, float, str, bool, type(None)))


def is_declaring() -> bool:
    """Return whether symbolic tensors are expressions of a declared program.

    Symbols of a traced run (``jit``, ``vmap``, bodies of loops in these) stand for values and
    change in place as values do; expressions never change.
    """
    return MODE.get().examples is None and has_no_run()


def has_no_run() -> bool:
    """Return whether symbolic tensors belong to a declared program, not to a traced run; a ``vmap``
    inside of one is part of it.
    """
    mode = MODE.get()
    return mode.symbolic is not False and (mode.trace is None or not mode.trace.of_values)


def begins_program(args: Iterable[Any]) -> bool:
    """Return whether a call with these arguments begins a symbolic program, outside of which it is
    made.
    """
    for given in args:
        x = given
        kind = type(given)
        if (x.array is not None) if kind is Tensor else kind in _PLAIN:
            continue  # as of nearly all
        if isinstance(given, (list, tuple)):
            for x in given:  # the first that is no number, as in a shape
                if type(x) is not int:
                    break
        if (x.array is None and not x._placed if isinstance(x, Tensor)
                else isinstance(x, Dim) and is_open(x)):
            mode = MODE.get()
            if mode.trace is not None and mode.trace.of_values:
                return False
            return mode.symbolic in (None, NAMED) and mode.placing and is_declaring()
    return False


def named_program() -> switched:
    """A context for functions called by their names in symbolic programs, possibly on values."""
    return switched(symbolic=STATE.symbolic or NAMED)


def in_program() -> switched:
    """A block of a symbolic program, whose floats are ``config.symbolic_float``."""
    return switched(symbolic=True)


def unchanging() -> switched:
    """A block in which tensors never change in place, whether they have values or not."""
    return switched(fixed=True)
