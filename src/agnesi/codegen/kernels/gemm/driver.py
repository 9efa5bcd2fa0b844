"""The entry of this package: the loop over work units."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.gemm.gemm_plan import GemmPlan
from agnesi.codegen.kernels.gemm.operands import Operands, transposed
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.support.record import replace


def _unit(form: str) -> Any:
    """The units of a form: the class of that name in the file of that name."""
    return getattr(import_module(f"agnesi.codegen.kernels.gemm.{form}"), f"{form.title()}Unit")


def _emitted(*args: Any) -> list[Value]:
    """Call :func:`emit_gemm` as one branch of generated code.

    :func:`emit_gemm` as one of two ways that code may go.
    """
    emit_gemm(*args)
    return []


def emit_gemm(
    b: Builder, plan: GemmPlan, operands: Operands, begin: Value, end: Value, scratch: Value
) -> None:
    """Emit the loops that compute work units [begin, end) of ``plan`` into ``b``.

    ``scratch`` points to ``plan.scratch`` bytes of this thread's own, aligned to 64.
    """
    if plan.few is not None:
        count, most = plan.few.is_few
        ways = [partial(_emitted, b, p, operands, begin, end, scratch)
                for p in (plan.few, replace(plan, few=None))]
        b.either(b.icmp("ule", b.size(count), i64(most)), *ways)
        return
    if plan.swapped:
        operands = transposed(operands)
    if plan.form == "stream" and plan.spec.sizes[0] == 1:
        whole = _unit("stream")(b, plan, operands, scratch, i64(0), i64(0), begin)
        whole.widen(begin, end)
        whole.emit()
        return
    kind = _unit(plan.form)
    with b.loop(begin, end, plan.merged, [i64(-1)]) as loop:
        rest, part = divide(b, loop.index, plan.chunks if plan.rows_first else plan.groups)
        batch, other = divide(b, rest, plan.groups if plan.rows_first else plan.chunks)
        chunk, group = (part, other) if plan.rows_first else (other, part)
        unit = kind(b, plan, operands, scratch, batch, chunk, group)
        if plan.form == "strip" and plan.merged > 1:
            stop = b.intrinsic("smin", b.add(chunk, i64(plan.merged)), end)
            unit.widen(b.sub(stop, i64(1)))
        made_for = rest if plan.form == "skip" else batch
        if plan.prepares:
            with b.when(b.icmp("ne", made_for, loop.carried[0])):
                unit.prepare()
        unit.emit()
        loop.until = operands.interrupted() if operands.interrupted else None
        loop.carry(made_for)
