"""Clean-up of programs that return early while a collective that they started is still running.

It may still write to the program's memory, so ``Call.leave`` is called before an early return.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.llvm.builder import LIGHT, Builder, Module, Value
from agnesi.core.ir.foreign import Call, external
from agnesi.core.ir.kernels import Foreign, Kernel, nested


def left_by(kernels: Sequence[Kernel]) -> list[str]:
    """Return the functions to call where the program stops before its end."""
    calls = [k.call for k in nested(kernels) if isinstance(k, Foreign)]
    return [*dict.fromkeys(c.leave for c in calls if isinstance(c, Call) and c.leave)]


def emit_leaving(module: Module, symbols: Sequence[str]) -> None:
    """The body around ``i32 @steps(ptr bufs, ptr rt)``."""
    b = Builder(module, "body", (("ptr", "bufs"), ("ptr", "rt")), "i32", internal=False,
                attributes=LIGHT)
    code = b.call("i32", "steps", *b.parameters)
    with b.when(b.icmp("ne", code, Value("0", "i32"))):
        for symbol in symbols:
            b.call("void", external(symbol))
    b.finish(code)
