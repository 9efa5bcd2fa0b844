"""Vectors of 32-bit indices, of which a register holds twice as many as of 64-bit ones."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.llvm.builder import Value, const, vector
from agnesi.core.ir.loops import Affine, Expr

#: The first integer beyond int32.
_INT32_END = 1 << 31
_COMPARISONS = {"equal": "eq", "not_equal": "ne", "less": "slt", "less_equal": "sle",
                "greater": "sgt", "greater_equal": "sge"}


def short_index(scope: Any, at: Affine) -> Value:
    """Return an index in all lanes as 32-bit integers; it changes by a constant between lanes."""
    b, type_ = scope.b, vector("i32", scope.lanes)
    first = b.splat(b.cast("trunc", scope.scalar_index(at), "i32"), scope.lanes)
    if not scope.varies(at):
        return first
    return b.add(first, b.cast("trunc", scope.ramp(at.terms[scope.along]), type_))


def compared(scope: Any, value: Expr) -> Value | None:
    """Return the comparison of indices in 32 bits if they fit; else None."""
    predicate = _COMPARISONS.get(value.op)
    if predicate is None or not all(_fits(scope, x) for x in value.args):
        return None
    return scope.b.icmp(predicate, *[_operand(scope, x) for x in value.args])


def _fits(scope: Any, x: Expr) -> bool:
    if x.op == "const":
        return x.dtype == "int64" and -_INT32_END <= x.param < _INT32_END
    if x.op != "index" or x.param.atoms:
        return False
    bounds = x.param.bounds()
    if bounds is None or not all(
        isinstance(n, int) and -_INT32_END <= n < _INT32_END for n in bounds
    ):
        return False
    return not scope.varies(x) or isinstance(scope.step(x.param), int)


def _operand(scope: Any, x: Expr) -> Value:
    if x.op == "const":
        return const(vector("i32", scope.lanes), x.param)
    return short_index(scope, x.param)
