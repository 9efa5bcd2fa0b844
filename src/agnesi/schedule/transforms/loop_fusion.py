"""Loop fusion over index lists: ordered nests over the same points become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agnesi.core.ir.kernels import Kernel, Nest
from agnesi.schedule.program import Program

#: Stores of one nest, at most.
_MAX_STORES_PER_NEST = 8
#: Kernels between two that become one, at most.
_MAX_KERNELS_BETWEEN = 100


def fuse_indexed(program: Program) -> Program:
    """Fuse ordered nests over the same computed indices."""
    before = len(program.kernels)
    program.kernels = _together(program.kernels)
    program.count(before - len(program.kernels))
    return program


def _together(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Fuse sequential nests, and return the kernels in an order that respects dependences.

    Two nests are fused if their indices depend on a common loaded value, and neither nest depends
    on the other.
    """
    result = list(kernels)
    last: dict[object, Nest] = {}
    for kernel in kernels:
        if not isinstance(kernel, Nest) or not kernel.ordered:
            continue
        keys = [(kernel.axes, kernel.ordered, a) for s in kernel.body for a in s.offset.atoms]
        for key in keys:
            earlier = last.get(key)
            both = _united(result, earlier, kernel) if earlier is not None else None
            if both is not None:
                last = {k: both if nest is earlier else nest for k, nest in last.items()}
                kernel = both
                break
        last.update(dict.fromkeys(keys, kernel))
    return result


def _united(kernels: list[Kernel], first: Nest, second: Nest) -> Nest | None:
    """Fuse two nests, in the list too; None where that cannot be."""
    i, k = _position(kernels, first), _position(kernels, second)
    if len(first.body) + len(second.body) > _MAX_STORES_PER_NEST or k - i > _MAX_KERNELS_BETWEEN:
        return None
    ahead: list[Kernel] = []
    behind: list[Kernel] = [first]
    for kernel in kernels[i + 1:k]:
        (ahead if _independent(kernel, behind) else behind).append(kernel)
    if not _independent(second, behind):
        return None
    both = Nest([*first.nodes, *second.nodes], first.axes, [*first.body, *second.body],
                first.ordered)
    both.waits = [*dict.fromkeys([*first.waits, *second.waits])]
    kernels[i:k + 1] = [*ahead, both, *behind[1:]]
    return both


def _position(kernels: list[Kernel], kernel: Kernel) -> int:
    return next(i for i, k in enumerate(kernels) if k is kernel)


def _independent(kernel: Kernel, others: Iterable[Kernel]) -> bool:
    """Return whether a kernel may be swapped with all the others."""
    reads, writes = {*kernel.reads(), *kernel.waits}, {*kernel.writes()}
    return all(
        writes.isdisjoint([*other.reads(), *other.waits])
        and (reads | writes).isdisjoint(other.writes()) for other in others
    )
