"""Horizontal reductions: one number from all lanes of a vector, and the first few lanes."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.llvm.builder import Builder, Value, const, suffix, width
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.codegen.loops.evaluate import IDENTITY

_MAX_SCALAR_BYTES = 16  # bytes of a register whose lanes may as well be numbers


def low(b: Builder, value: Value, count: int) -> Value:
    """The first lanes of a vector."""
    return value if width(value.type) == count else b.shuffle(value, None, range(count))


def horizontal(b: Builder, kind: str, dtype: str, total: Value) -> Value:
    """Reduce the lanes of a running reduction to one number."""
    type_ = scalars.register(dtype)
    if total.type == type_:
        return total
    floating = "float" in dtype
    if floating and kind in ("maximum", "minimum"):
        return _extreme(b, kind, total)
    name = {
        "add": "fadd" if floating else "add",
        "multiply": "fmul" if floating else "mul",
        "maximum": "umax" if dtype[0] in "ub" else "smax",
        "minimum": "umin" if dtype[0] in "ub" else "smin",
        "logical_and": "and",
        "logical_or": "or",
    }[kind]
    if floating and not b.module.policy.lane_sums:
        return _halved(b, total, b.fadd if kind == "add" else b.fmul)
    full = f"llvm.vector.reduce.{name}.{suffix(total.type)}"
    if floating:
        start = const(type_, IDENTITY[kind](dtype))
        b.module.declare(full, type_, [type_, total.type])
        return b.value(type_, f"call reassoc {type_} @{full}({start}, {total})")
    return b.call(type_, full, total)


def _extreme(b: Builder, kind: str, total: Value) -> Value:
    """The largest (smallest) lane, NaN if any is: halves against halves, NaN looked for once."""
    unordered = b.fcmp("uno", total, total)
    any_nan = b.call("i1", f"llvm.vector.reduce.or.{suffix(unordered.type)}", unordered)
    predicate = "ogt" if kind == "maximum" else "olt"
    rest = _halved(b, total, lambda p, q: b.select(b.fcmp(predicate, p, q), p, q))
    return b.select(any_nan, const(rest.type, float("nan")), rest)


def _halved(b: Builder, rest: Value, join: Callable[[Value, Value], Value]) -> Value:
    """Reduce the lanes of a vector to one number by adding halves.

    Without ``lane_sums``, the last lanes are reduced as scalars: at LLVM's lowest level its own
    reduction takes 0.2 ms more to compile.
    """
    small = 0 if b.module.policy.lane_sums else _MAX_SCALAR_BYTES
    while width(rest.type) > 2 and nbytes(rest.type) > small:
        half = width(rest.type) // 2
        rest = join(b.shuffle(rest, None, range(half)),
                    b.shuffle(rest, None, range(half, 2 * half)))
    lanes = [b.extract(rest, n) for n in range(width(rest.type))]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [join(p, q) for p, q in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]
