"""Fused bounds checks: functions that index report whether all indices were in range."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.ir import loops
from agnesi.core.ir.foreign import BoundsCheck, Call, result
from agnesi.core.ir.kernels import Buffer, Check, Foreign, Kernel, Nest, Store
from agnesi.core.support.record import replace
from agnesi.schedule.program import Program


def fuse_bounds_checks(program: Program) -> Program:
    """Let functions that index set the flags of bounds checks, instead of separate loops.

    The check then runs after the access, which is safe: invalid indices are never accessed.
    """
    found = program.kernels
    for kernel in [*found]:
        if not isinstance(kernel, Foreign) or not isinstance(kernel.call, Call):
            continue
        call = kernel.call
        checks = [] if call.bounds_check is None else _asking(kernel, call.bounds_check, found)
        sweep = _sweep(checks[0].flag, found) if checks else None
        if call.bounds_check is not None and sweep is not None:
            flag = checks[0].flag
            sweep.axes = ()
            first = flag.offset_of(tuple(loops.Affine() for _ in flag.shape))
            sweep.change([Store(flag, first, loops.const(True, "bool"))])
            arguments = list(call.arguments)
            arguments[call.bounds_check.argument] = result(len(kernel.results))
            kernel.results.append(flag)
            kernel.call = replace(call, arguments=tuple(arguments), bounds_check=None)
            found = [k for k in found if all(k is not c for c in checks)]
            behind = next(i for i, k in enumerate(found) if k is kernel) + 1
            found[behind:behind] = checks
            program.count(len(checks))
    program.kernels = found
    return program


def _asking(kernel: Foreign, check: BoundsCheck, kernels: Sequence[Kernel]) -> list[Check]:
    """Return the kernels of index checks that the library function ``kernel`` makes redundant, as
    it checks the same operand and bounds (``check``) itself.
    """
    node = kernel.nodes[0].inputs[check.operand]
    if getattr(node.op, "bounds", None) != check.bounds:
        return []
    condition = node.inputs[node.op.condition]
    return [k for k in kernels if isinstance(k, Check)
            and k.nodes[0].inputs[k.nodes[0].op.condition] is condition]


def _sweep(flag: Buffer, kernels: Sequence[Kernel]) -> Nest | None:
    """Return the kernel whose only purpose is to compute ``flag``, which none but checks read; None
    if there is no such kernel.
    """
    if flag.role != "temporary" or any(
        flag in k.reads() for k in kernels if not isinstance(k, Check)
    ):
        return None
    maker, *others = [k for k in kernels if flag in k.writes()]
    return maker if isinstance(maker, Nest) and len(maker.body) == 1 and not others else None
