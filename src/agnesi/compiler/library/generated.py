"""Generated functions that compiled code calls by name, as it does with those of libraries."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from agnesi.codegen.library.lanes.fourier import fourier_module
from agnesi.codegen.library.lanes.halves import halves_module
from agnesi.codegen.library.lanes.systems import factored_module, systems_module
from agnesi.codegen.library.triangles import triangles_module
from agnesi.core.support.forks import once
from agnesi.runtime import machine

#: Tables that code reads, by the function's name.
_tables: dict[str, np.ndarray] = {}


@once
def _begun(name: str) -> machine.Begun:
    kind, dtype, n, columns, options, units, workspace = name.split(" ")
    sizes, target = (int(n), int(columns)), machine.native()
    if kind in ("fft", "rfft", "columns"):
        text, table = fourier_module(
            kind, dtype, *sizes, options == "i", int(units), int(workspace), target)
        _tables[name] = table
        return machine.Begun(text, target)
    if kind in ("rootm", "logm"):
        return machine.Begun(triangles_module(kind, target), target)
    if kind == "halves":
        return machine.Begun(halves_module(options == "t", int(workspace), target), target)
    if kind == "factored":
        return machine.Begun(factored_module(dtype, int(n), options, target), target)
    return machine.Begun(systems_module(kind, dtype, *sizes, options, int(units), target), target)


@functools.cache
def _code(name: str) -> machine.Code:
    code = _begun(name).code
    if name in _tables:
        ctypes.c_void_p.from_address(code.address("table")).value = _tables[name].ctypes.data
    return code


def begin(name: str) -> bool:
    """Start compiling a function that is about to be used; return False if this processor cannot
    run it.
    """
    if name.startswith("halves") and not machine.native().has("avx512bf16"):
        return False
    _begun(name)
    return True


def address(name: str) -> int | None:
    """Return the address of a function, which is compiled when it is wanted first; None where it
    cannot run.
    """
    if not begin(name):
        return None
    return _code(name).address("main" if name.split(" ")[-2] == "0" else "shared")
