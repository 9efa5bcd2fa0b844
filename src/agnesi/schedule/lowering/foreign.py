"""Operations that C functions evaluate, as kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agnesi.core.ir.dims import is_static
from agnesi.core.ir.foreign import Call, kind, there
from agnesi.core.ir.kernels import Buffer, Foreign
from agnesi.core.ir.node import Node
from agnesi.core.target import Target


def foreign(root: Node, inputs: list[Buffer], results: list[Buffer],
            copied: Callable[[Node], Buffer], target: Target) -> Foreign | None:
    """The C function that evaluates an operation; None where the target has none for it.

    ``copied`` gives the memory of an operand's copy in one piece.
    """
    call = root.op.foreign(*root.inputs) if root.op.foreign is not None else None
    if call is None or not all(target.supports(kind(s)) and there(s) for s in call.symbols):
        return None
    if any(is_static(b.shape) and not b.size for b in (*inputs, *results)):
        return None
    given, blocks = inputs, []
    if isinstance(call, Call):
        given = [b if b.contiguous else copied(n) for n, b in zip(root.inputs, inputs, strict=True)]
        if not all(b.contiguous for b in (*given, *results)):
            return None
        blocks = [Buffer((n,), np.dtype("uint8"), "temporary")  # type: ignore[arg-type]
                 for n in call.scratch]
    return Foreign([root], call=call, inputs=given, results=results, scratch=blocks,
                   error=call.error if isinstance(call, Call) else "RuntimeError",
                   text=(call.message if isinstance(call, Call) else "")
                   or f"the C function of {root.op.name} failed")
