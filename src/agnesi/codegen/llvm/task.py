"""Prologues of library functions that do units of work, as kernels do."""

from __future__ import annotations

from agnesi.codegen.llvm.builder import Builder, Module, Value

#: LLVM types of elements of rows.
TYPES = {"float32": "float", "float64": "double", "int32": "i32", "int64": "i64"}
_PARAMETERS = (("ptr", "table"), ("i64", "begin"), ("i64", "end"), ("i64", "thread"))


def task(module: Module, name: str = "run") -> Builder:
    """The builder of a function ``name(ptr table, i64 begin, i64 end, i64 thread)`` over units of
    work; each library function documents its table."""
    return Builder(module, name, _PARAMETERS, internal=False)


def share(b: Builder, count: Value, units: Value) -> tuple[Value, Value]:
    """The range of ``count`` iterations for the units of this call, of ``units`` in all."""
    _, begin, end, _ = b.parameters
    first, last = (b.op("udiv", b.mul(count, x), units) for x in (begin, end))
    return first, last
