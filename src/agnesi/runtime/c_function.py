"""Compiled bodies as plain C functions: no Python, no interpreter lock, as many threads as wanted.

A small module wraps the body: it puts the addresses of arguments and results beside those of states
and constants, which it finds in a table, and takes scratch memory from the pool for each call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.runtime import entry, machine
from agnesi.runtime.support import POOLED_BYTES

_IR = {"float64": "double", "float32": "float", "int64": "i64", "int32": "i32"}
_C: dict[str, Any] = {
    "float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64,
    "int32": ctypes.c_int32, "int": ctypes.c_int,
}
#: Where new arrays of ours begin, and what code expects that writes large results past the caches.
_ALIGNED = 64
_NAN = {"double": "0x7FF8000000000000", "float": "0x7FF8000000000000"}


class Form(NamedTuple):
    """How a function is called: ``pointers``, ``values`` or ``vector``; dtypes of what it takes."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def types(self) -> tuple[Any, ...]:
        """The result's type of ctypes, then those of the arguments."""
        if self.kind == "pointers":
            pointers = [_pointer(d) for d in (*self.inputs, *self.outputs)]
            return (ctypes.c_int, *pointers)
        result = _C[self.outputs[0]]
        if self.kind == "vector":
            return (result, ctypes.c_int, _pointer(self.inputs[0]))
        return (result, *(_C[d] for d in self.inputs))


def _pointer(dtype: str) -> Any:
    return ctypes.POINTER(_C[dtype]) if dtype in _C else ctypes.c_void_p


class Bound(NamedTuple):
    """A C function: its address, and what must live as long as it is used."""

    address: int
    keep: tuple[Any, ...]


def bind(code: machine.Code, form: Form, *, states: Sequence[np.ndarray],
         constants: Sequence[np.ndarray], arena_bytes: int, sizes: Sequence[int],
         foreign: Sequence[str] = ()) -> Bound:
    """The address of a body as a C function; arguments and results are of ``form``, and results
    of ``sizes`` in bytes."""
    context = entry.context(foreign=foreign)
    fixed = [*states, *constants]
    wrapper = machine.load(_text(form, len(fixed), arena_bytes, sizes))
    pointers = [code.address("body"), ctypes.addressof(context), context.rt[3], context.rt[4],
              *(a.ctypes.data for a in fixed)]
    table = (ctypes.c_void_p * len(pointers)).from_address(wrapper.address("table"))
    table[:] = pointers
    return Bound(wrapper.address("call"), (code, wrapper, context, *fixed))


def _text(form: Form, fixed: int, arena: int, sizes: Sequence[int]) -> str:
    """The wrapper's IR."""
    lines: list[str] = []
    parameters, inputs, outputs = _parameters(form, lines)
    count = len(inputs) + fixed + len(outputs) + 1
    lines.append(f"  %bufs = alloca [{count} x ptr], align 16")
    for i, name in enumerate(("body", "rt", "alloc", "free")):
        lines.append(f"  %{name} = load ptr, ptr getelementptr (ptr, ptr @table, i64 {i})")
    buffers = [*inputs]
    for i in range(fixed):
        lines.append(f"  %fixed{i} = load ptr, ptr getelementptr (ptr, ptr @table, i64 {i + 4})")
        buffers.append(f"%fixed{i}")
    large = [i for i, size in enumerate(sizes) if size >= POOLED_BYTES]
    rounded = -(-arena // _ALIGNED) * _ALIGNED
    own = bool(large or arena)
    lines += _workspaces(large, sizes, rounded) if own else ["  %arena = bitcast ptr null to ptr"]
    targets = [f"%target{i}" if i in large else name for i, name in enumerate(outputs)]
    for i, buffer in enumerate([*buffers, *targets, "%arena"]):
        lines.append(f"  %at{i} = getelementptr ptr, ptr %bufs, i64 {i}")
        lines.append(f"  store ptr {buffer}, ptr %at{i}")
    lines.append("  %code = call i32 %body(ptr %bufs, ptr %rt)")
    lines += [f"  call void @llvm.memcpy.p0.p0.i64("
              f"ptr %out{i}, ptr %target{i}, i64 %moved{i}, i1 0)" for i in large]
    if own:
        lines.append("  call void %free(ptr %arena)")
    kind = "i32" if form.kind == "pointers" else _IR[form.outputs[0]]
    none = "-1" if form.kind == "pointers" else _NAN.get(kind, "0")
    if form.kind == "pointers":
        lines.append("  ret i32 %code")
    else:
        lines += [
            f"  %value = load {kind}, ptr %out0",
            "  %bad = icmp ne i32 %code, 0",
            f"  %checked = select i1 %bad, {kind} {none}, {kind} %value",
            f"  ret {kind} %checked",
        ]
    if own:
        lines += ["full:", f"  ret {kind} {none}"]
    head = (f"@table = global [{fixed + 4} x ptr] zeroinitializer\n"
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n\n")
    return head + f"define {kind} @call({parameters}) {{\n" + "\n".join(lines) + "\n}\n"


def _workspaces(large: Sequence[int], sizes: Sequence[int], arena: int) -> list[str]:
    """Scratch memory, and behind it memory for large results that are not aligned as ours are."""
    lines, need = [], str(arena)
    for i in large:
        lines += [
            f"  %address{i} = ptrtoint ptr %out{i} to i64",
            f"  %odd{i} = and i64 %address{i}, {_ALIGNED - 1}",
            f"  %even{i} = icmp eq i64 %odd{i}, 0",
            f"  %moved{i} = select i1 %even{i}, i64 0, i64 {sizes[i]}",
            f"  %padded{i} = select i1 %even{i}, i64 0, i64 {-(-sizes[i] // _ALIGNED) * _ALIGNED}",
            f"  %first{i} = add i64 {need}, 0",
            f"  %need{i} = add i64 %first{i}, %padded{i}",
        ]
        need = f"%need{i}"
    lines += [f"  %arena = call ptr %alloc(i64 {need})", "  %none = icmp eq ptr %arena, null",
              "  br i1 %none, label %full, label %run", "run:"]
    for i in large:
        lines += [f"  %inside{i} = getelementptr i8, ptr %arena, i64 %first{i}",
                  f"  %target{i} = select i1 %even{i}, ptr %out{i}, ptr %inside{i}"]
    return lines


def _parameters(form: Form, lines: list[str]) -> tuple[str, list[str], list[str]]:
    """The parameters, and pointers to arguments and results."""
    inputs = [f"%in{i}" for i in range(len(form.inputs))]
    outputs = [f"%out{i}" for i in range(len(form.outputs))]
    if form.kind == "pointers":
        return ", ".join(f"ptr {p}" for p in (*inputs, *outputs)), inputs, outputs
    lines.append(f"  %out0 = alloca {_IR[form.outputs[0]]}, align 16")
    if form.kind == "vector":
        return "i32 %length, ptr %in0", inputs, outputs
    given = []
    for i, dtype in enumerate(form.inputs):
        lines.append(f"  %in{i} = alloca {_IR[dtype]}, align 16")
        lines.append(f"  store {_IR[dtype]} %value{i}, ptr %in{i}")
        given.append(f"{_IR[dtype]} %value{i}")
    return ", ".join(given), inputs, outputs
