"""Generated functions that compiled code calls by name, as it does with those of libraries."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from agnesi.codegen.lanes.fourier import fourier_module
from agnesi.codegen.lanes.halves import halves_module
from agnesi.codegen.lanes.systems import factored_module, systems_module
from agnesi.codegen.triangles import triangles_module
from agnesi.runtime import machine

#: Tables that code reads.
_tables: list[np.ndarray] = []


@functools.cache
def _code(name: str) -> machine.Code:
    kind, dtype, n, columns, options, units, room = name.split(" ")
    sizes, bits = (int(n), int(columns)), machine.target().vector_bits
    if kind in ("fft", "rfft", "columns"):
        text, table = fourier_module(
            kind, dtype, *sizes, options == "i", int(units), int(room), bits)
        code = machine.load(text)
        ctypes.c_void_p.from_address(code.address("table")).value = table.ctypes.data
        _tables.append(table)
        return code
    if kind in ("rootm", "logm"):
        return machine.load(triangles_module(kind))
    if kind == "halves":
        return machine.load(halves_module(options == "t", int(room)))
    if kind == "factored":
        return machine.load(factored_module(dtype, int(n), options, bits))
    return machine.load(systems_module(kind, dtype, *sizes, options, int(units), bits))


def address(name: str) -> int | None:
    """Where a function is, which is compiled when it is wanted first; None where it cannot run."""
    if name.startswith("halves") and "avx512bf16" not in machine.target().names:
        return None
    return _code(name).address("main" if name.split(" ")[-2] == "0" else "shared")
