"""Per-lane convergence loops: iterations that end when every lane has its value."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.llvm.builder import Builder, Value, const, i64, suffix, width
from agnesi.core.ir.kernels import walk
from agnesi.core.ir.loops import Expr


def in_steps(scope: Any, value: Expr) -> Value:
    """Emit a loop that runs until all lanes have converged; converged lanes keep their values."""
    b, (axis,) = scope.b, value.param[1]
    wanted, more, *rest = value.args
    count = len(rest) // 2
    if not scope.varies(value):
        scope = scope.inside({}, lanes=1, mask=None)
    open_ = scope.wide(wanted)
    if scope.mask is not None:
        open_ = b.op("and", open_, scope.mask)
    starts = [*map(scope.wide, rest[:count]), open_]
    inner = scope.inside({})
    scope.hoist([more, *rest[count:]], {axis}, inner)
    # A loop whose result this one only reads may run over the same axis, with more values.
    known = [x for x in walk([more, *rest[count:]])
             if x.op == "step value" and axis in x.free and x.param[0] < count]
    end = b.select(_any(b, open_), b.size(axis.extent), i64(0))
    with b.loop(i64(0), end, 1, starts) as loop:
        *old, open_ = loop.carried
        inner.axes[axis] = loop.index
        inner.memo.update((x, old[x.param[0]]) for x in known)
        new = [inner.wide(x) for x in rest[count:]]
        kept = [b.select(open_, x, y) for x, y in zip(new, old, strict=True)]
        still = b.op("and", open_, inner.wide(more))
        loop.until = b.op("xor", _any(b, still), const("i1", True))
        loop.carry(*kept, still)
    return loop.results[0]


def _any(b: Builder, flags: Value) -> Value:
    """Return whether one of the lanes is set."""
    if width(flags.type) == 1:
        return flags
    return b.call("i1", f"llvm.vector.reduce.or.{suffix(flags.type)}", flags)
