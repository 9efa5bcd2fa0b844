"""List scheduling: long scalar programs in the order in which operands are ready.

It looks a few hundred instructions ahead.  Where one chain of operations stands behind another, it
does not see the second one while it waits for the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.loops.evaluate import Scope
from agnesi.core.ir.costs import latency
from agnesi.core.ir.kernels import walk
from agnesi.core.ir.loops import Expr, make
from agnesi.core.ir.start_times import times

_LEAF = frozenset(("const", "load", "size", "index"))
_OTHER = {"sin": "cos", "cos": "sin"}


def compute(scope: Scope, values: Sequence[Expr]) -> None:
    """Evaluate the scalars that ``values`` need in list-scheduling order."""
    order = _by_readiness(values)
    known = set(order)
    for value in order:
        if value.op in _OTHER and value.dtype == "float64" and value not in scope.memo:
            other = make(_OTHER[value.op], value.args, value.dtype)
            if other in known:
                sine, cosine = scalars.sine_and_cosine(scope.b, scope.value(value.args[0]))
                scope.memo[value], scope.memo[other] = (
                    (sine, cosine) if value.op == "sin" else (cosine, sine)
                )
        scope.value(value)


def _by_readiness(values: Sequence[Expr]) -> list[Expr]:
    order = list(walk(list(values)))
    if any(v.op in ("reduce", "steps") or v.dtype.startswith("complex") for v in order):
        return []
    start, left = times(order, lambda v: v.args, _step)
    # Ties go to the instruction with the longest path to the end.
    return sorted((v for v in order if v.op not in _LEAF), key=lambda v: (start[v], -left[v]))


def _step(value: Expr) -> int:
    return 0 if value.op in _LEAF else latency(value.op)
