"""Concurrent kernels: threads share the work of several small independent kernels.

Each alone is too little for several threads.  In between the kernels of a group no thread waits for
anybody, so what one of them writes no other one reads or writes: the memory plan takes all that
they touch as alive during all of them (``memory.find_lifetimes``), and results do not depend on how
many threads there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.kernels import Buffer, Kernel, Nest, Product
from agnesi.core.target import Target
from agnesi.schedule.evaluation_counts import below, instructions, loops_of
from agnesi.schedule.program import Group, Program

#: Instructions of a member of a group, at least.
_MIN_MEMBER_INSTRUCTIONS = 20_000
#: Instructions of a group, at least.
_MIN_GROUP_INSTRUCTIONS = 1_500_000
#: Multiply-adds from which a product has work enough for threads alone.
_MAX_PRODUCT_MULTIPLY_ADDS = 4_000_000
#: Instructions for an element that a nest touches, of which few take more.
_MAX_ELEMENT_INSTRUCTIONS = 40
#: Kernels to look through for members of a group.
_MAX_CANDIDATES = 16
#: Bytes written by kernels that move forward, at most.
_MAX_MOVED_BYTES = 1 << 20


def group_independent(program: Program) -> Program:
    """Group small independent kernels, so that they run concurrently on the threads.

    There are no groups under a memory limit, because the memory of all members is live at the same
    time, nor in bodies of loops: a large kernel is split among threads in each iteration anyway
    (two products of 300**3 in the body of a scan take 1.1 ms on two threads and 2.3 on one), and a
    small one (80**3: some 20 us) would wake the threads in every iteration.
    """
    request = program.request
    if request.inner or request.saved or request.limit is not None or len(program.kernels) < 2:
        return program
    if request.target.threads < 2:
        return program
    work = [_work(kernel, request.target) for kernel in program.kernels]
    if sum(work) < _MIN_GROUP_INSTRUCTIONS:
        return program
    left = deque(map(partial(_Traffic, program), program.kernels, work))
    result: list[Kernel] = []
    while left:
        members = [left.popleft()]
        if members[0].work:
            members += _companions(members[0], [*islice(left, _MAX_CANDIDATES)])
        if len(members) > 1 and sum([m.work for m in members]) >= _MIN_GROUP_INSTRUCTIONS:
            program.groups.append(Group([m.kernel for m in members], [m.work for m in members]))
            program.count(len(members))
            near = [left.popleft() for _ in range(min(_MAX_CANDIDATES, len(left)))]
            left.extendleft(reversed([t for t in near if t not in members]))
        else:
            del members[1:]
        result += [m.kernel for m in members]
    program.kernels = result
    return program


class _Traffic:
    """A kernel with the memory that it reads and writes; ``work`` is 0 unless it may be a member of
    a group.
    """

    def __init__(self, program: Program, kernel: Kernel, work: int) -> None:
        reads, writes = program.dependence.traffic.of(kernel)
        self.kernel = kernel
        self.reads = {_owner(b, program.shared) for b in (*reads, *kernel.waits)}
        self.writes = {_owner(b, program.shared) for b in writes}
        self.work = work

    @property
    def moves(self) -> bool:
        """Whether later kernels may be moved before this one."""
        return isinstance(self.kernel, Nest | Product)

    def needs(self, reads: set[Buffer], writes: set[Buffer]) -> bool:
        """Return whether kernels that read and write these buffers depend on the kernels noted
        here.
        """
        return not (self.writes.isdisjoint(reads) and self.writes.isdisjoint(writes)
                    and self.reads.isdisjoint(writes))


def _companions(first: _Traffic, following: Sequence[_Traffic]) -> Iterator[_Traffic]:
    """Yield kernels that may run concurrently with the first one, ahead of those between them."""
    reads, writes = {*first.reads}, {*first.writes}
    left = _MAX_MOVED_BYTES
    for other in following:
        if not other.moves:
            return
        size = sum([b.nbytes for b in other.writes]) if other.work else left
        if other.work and size < left and not other.needs(reads, writes):
            left -= size
            yield other
        reads |= other.reads
        writes |= other.writes


def _owner(buffer: Buffer, shared: dict[Buffer, Buffer]) -> Buffer:
    while buffer in shared:
        buffer = shared[buffer]
    return buffer


def _work(kernel: Kernel, target: Target) -> int:
    """The instructions of a kernel that may share threads with others; 0 for any other one."""
    found: Any
    if isinstance(kernel, Product):
        found, most = 0 if kernel.symbol else product(kernel.sizes), _MAX_PRODUCT_MULTIPLY_ADDS
    elif isinstance(kernel, Nest):
        found = kernel.answer(_work, lambda: _instructions(kernel))
        most = target.costs.nest_operations
    else:
        return 0
    return found if is_static((found,)) and _MIN_MEMBER_INSTRUCTIONS <= found < most else 0


def _instructions(nest: Nest) -> Any:
    """The instructions of a nest; fewer of one that touches little."""
    touched: Any = sum([b.size for b in (*nest.reads(), *nest.writes())])
    if not is_static((touched,)) or touched * _MAX_ELEMENT_INSTRUCTIONS < _MIN_MEMBER_INSTRUCTIONS:
        return touched
    loops = loops_of(nest)
    starts = [(v, loops) for s in nest.body for v in (s.value, *s.offset.atoms)]
    return sum([instructions(value, here) for value, here in below(nest, starts)])
