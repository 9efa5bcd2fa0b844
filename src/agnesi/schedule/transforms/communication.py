"""Begin communication as early as its operands exist, and wait for it as late as its result is
read.

Reductions of gradients (``distributed/overlap.py``) so run while the rest of the backward pass
does: the kernels that the first of them needs come first, then those of the second, and so on.
"""

from __future__ import annotations

from agnesi.core.ir.foreign import Call
from agnesi.core.ir.kernels import Foreign
from agnesi.schedule.dependence import Dependence
from agnesi.schedule.program import Program


def overlap_communication(program: Program) -> Program:
    """Move the beginnings of communication as early as their operands allow, and the ends as late
    as possible.
    """
    dependence = program.dependence
    when = {k: kernel.call.when for k, kernel in enumerate(program.kernels)
            if isinstance(kernel, Foreign) and isinstance(kernel.call, Call) and kernel.call.when}
    if not when:
        return program
    dependence.put_first([k for k in dependence.order if when.get(k) == "early"], hold_rest=False)
    last = [k for k in dependence.order if when.get(k) == "late"]
    if last:
        behind = _behind(dependence, last)
        dependence.put_behind(last[0], {*range(len(program.kernels))} - behind)
    program.count(len(when))
    return program


def _behind(dependence: Dependence, kernels: list[int]) -> set[int]:
    """Return the given kernels and all that depend on them, directly or not."""
    found, stack = {*kernels}, [*kernels]
    while stack:
        for user in dependence.users[stack.pop()]:
            if user not in found:
                found.add(user)
                stack.append(user)
    return found
