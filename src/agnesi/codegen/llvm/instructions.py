"""Instructions that several kinds of kernels use: fused multiplication and addition, prefetch."""

from __future__ import annotations

from agnesi.codegen.llvm.builder import Builder, Value, is_float


def multiply_add(b: Builder, x: Value, y: Value, total: Value) -> Value:
    """``total + x * y``, fused where the machine can."""
    if is_float(total.type):
        return b.intrinsic("fmuladd", x, y, total)
    return b.add(b.mul(x, y), total)


def prefetch(b: Builder, pointer: Value, *, near: bool) -> None:
    """Call a line of memory into the first-level cache, or only into the second."""
    hints = (Value("0", "i32"), Value("3" if near else "2", "i32"), Value("1", "i32"))
    b.call("void", "llvm.prefetch.p0", pointer, *hints)
