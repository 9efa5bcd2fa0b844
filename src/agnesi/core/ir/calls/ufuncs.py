"""Inner loops of universal functions (NumPy's, SciPy's), by name, for compiled code.

They are C functions ``void (char **args, intptr_t *n, intptr_t *steps, void *data)`` that do not
need Python: NumPy itself calls them without the interpreter's lock.  The positions of the fields
follow ``PyUFuncObject`` in NumPy's header ``ufuncobject.h``, which is part of its binary interface.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

import numpy as np

from agnesi.core.ir.foreign import RESOLVERS


class _Fields(ctypes.Structure):
    _fields_ = (
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int), ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)), ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int), ("name", ctypes.c_char_p),
    )


@functools.cache
def ufunc(name: str) -> Any:
    """The universal function ``module.name``; None where it or the module is missing."""
    module, _, own = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), own, None)
    except ImportError:
        return None
    return found if isinstance(found, np.ufunc) and found.signature is None else None


@functools.cache
def types(name: str, *dtypes: str) -> str | None:
    """The loop that NumPy would take for operands of these dtypes, by ``ufunc.types``."""
    function = ufunc(name)
    if function is None:
        return None
    wanted = tuple(np.dtype(d) for d in dtypes) + (None,) * function.nout
    try:
        found = function.resolve_dtypes(wanted)
    except TypeError:
        return None
    text = "".join(d.char for d in found)
    text = f"{text[:function.nin]}->{text[function.nin:]}"
    return text if text in function.types else None


def loop_of(function: np.ufunc, types: str) -> tuple[int, int] | None:
    """The loop of a universal function for these dtypes, generalized or not, and its data."""
    if types not in function.types:
        return None
    fields = _Fields.from_address(id(function) + object.__basicsize__)
    if fields.nin != function.nin or fields.name != function.__name__.encode():
        return None
    number = function.types.index(types)
    address = fields.functions[number]
    return None if address is None else (address, fields.contexts[number] or 0)


def _found(symbol: str) -> tuple[int, int] | None:
    name, _, types = symbol.partition(" ")
    function = ufunc(name)
    return None if function is None else loop_of(function, types)


def _loop(symbol: str) -> int | None:
    found = _found(symbol)
    return None if found is None else found[0]


def _data(symbol: str) -> int | None:
    found = _found(symbol)
    return None if found is None else found[1]


RESOLVERS["ufunc"] = _loop
RESOLVERS["ufunc data"] = _data
