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
    """Return whether symbolic tensors are expressions of a program that somebody writes down.

    Those of a run that is traced (``jit``, ``vmap``, bodies of loops in them) stand for values and
    change in place as those do; expressions never change.
    """
    return MODE.get().examples is None and has_no_run()


def has_no_run() -> bool:
    """Return whether symbolic tensors belong to a program, of which no run is traced: what ``vmap``
    calls in one is a part of it, too."""
    mode = MODE.get()
    return mode.symbolic is not False and (mode.trace is None or not mode.trace.of_values)


def begins_program(args: Iterable[Any]) -> bool:
    """Return whether a call with such arguments writes down a symbolic program, and nobody said so
    yet."""
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
    """A block of what is called by its name in symbolic programs, perhaps on values."""
    return switched(symbolic=STATE.symbolic or NAMED)


def in_program() -> switched:
    """A block of a symbolic program, whose floats are ``config.symbolic_float``."""
    return switched(symbolic=True)


def unchanging() -> switched:
    """A block in which tensors never change in place, whether they have values or not."""
    return switched(fixed=True)
