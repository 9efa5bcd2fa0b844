"""Generated functions that compiled code calls by name, as it does with those of libraries."""

from __future__ import annotations

import functools

from agnesi.codegen.lanes.systems import factored_module, systems_module
from agnesi.runtime import machine


@functools.cache
def _code(name: str) -> machine.Code:
    return machine.load(_text(*name.split(" ")))


def _text(kind: str, dtype: str, n: str, columns: str, options: str) -> str:
    bits = machine.target().vector_bits
    if kind == "factored":
        return factored_module(dtype, int(n), options, bits)
    return systems_module(kind, dtype, int(n), int(columns), options, bits)


def address(name: str) -> int:
    """Where a function is, which is compiled when it is wanted first."""
    return _code(name).address("main")
