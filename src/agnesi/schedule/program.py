"""The state of scheduling, which passes change: a graph on its way to kernels in order, with
memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnesi.core.ir.calls.gemm import Library
from agnesi.core.ir.kernels import Buffer, Kernel
from agnesi.core.ir.node import Node
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.record import field, struct
from agnesi.core.target import Target
from agnesi.schedule.dependence import Dependence

#: ``prefers(kind, sizes, itemsize=)``: what a convolution costs, with the orders of its operands
#: and of its result; the fastest first.
Prefers = Callable[..., Sequence[Any]]
#: Nodes behind a write that are searched for reads of the value that it changes.
MAX_SEARCHED_NODES = 500


@struct
class Request:
    """A graph that is to be scheduled, and what is wanted of its memory.

    :ivar outputs: The results.
    :ivar leaves: The buffer of every leaf, by node id.
    :ivar target: What code is made for.
    :ivar prefers: What convolutions cost with which orders of axes in memory.
    :ivar library: What evaluates matrix products.
    :ivar replaced: Which outputs, by number, are to be laid out like the buffers that they replace.
    :ivar inner: Whether they are the body of a loop or branch.
    :ivar updates: State buffers, each with the number of the output that replaces it.
    :ivar carried: The same, where a result gets the buffer's memory only where that needs no copy.
    :ivar donated: Arguments that results may be written over.
    :ivar unread: Outputs, by number, that are not returned: they are computed for checks that they
        pass.
    :ivar limit: Bytes that all buffers together may take.
    :ivar saved: The dtype in which idle values are kept; empty for their own.
    :ivar exclude: The names of passes that are left out.
    """

    outputs: Sequence[Node]
    leaves: dict[int, Buffer]
    target: Target
    prefers: Prefers | None = None
    library: Library = field(default_factory=Library)
    replaced: Mapping[int, Buffer] = field(default_factory=dict)
    inner: bool = False
    updates: Sequence[tuple[Buffer, int]] = ()
    carried: Sequence[tuple[Buffer, int]] = ()
    donated: Sequence[Buffer] = ()
    unread: Sequence[int] = ()
    limit: int | None = None
    saved: str = ""
    exclude: frozenset[str] = frozenset()


@struct
class Group:
    """Consecutive kernels that run concurrently, and an estimate of the work of each."""

    kernels: list[Kernel]
    work: list[int]

    def without(self, gone: Callable[[Kernel], bool]) -> Group:
        """The group without some of its kernels."""
        left = [(k, w) for k, w in zip(self.kernels, self.work, strict=True) if not gone(k)]
        return Group([k for k, _ in left], [w for _, w in left])


@struct
class Layout:
    """The finished memory plan.

    ``table`` lists the buffers that own an entry in the table of pointers, in order; the arena, if
    any, is the last entry.  ``shared`` maps a buffer to the one whose memory it takes over.
    """

    kernels: list[Kernel]
    table: list[Buffer]
    arena_slot: int
    arena_bytes: int
    shared: dict[Buffer, Buffer] = field(default_factory=dict)
    lifetimes: dict[Buffer, tuple[int, int]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)


class Program:
    """A graph, then kernels in order, then kernels with memory.

    :ivar request: What is scheduled.
    :ivar schedule: Schedules another request: that of a body.
    :ivar counts: What each pass did so far, by its name; those of bodies included.
    :ivar order: The graph's nodes, makers first.
    :ivar prefers, orders: What convolutions cost, where axes may have any order; the orders of
        axes in memory, by node id, where they are not the usual ones.
    :ivar separate: Products, by node id, that are no part of the kernel that uses them.
    :ivar plan: Which values get memory, and which kernel fills them.
    :ivar kernels, outputs, buffers: The kernels in order, the buffers of the results, and all
        buffers.
    :ivar groups: Kernels that run at the same time.
    :ivar shared: Buffers that are in the memory of others.
    :ivar lifetimes: The first and last kernel that touches each buffer.
    :ivar owners: The buffers with memory of their own in the arena, and the last kernels that need
        it.
    :ivar layout: All that is needed from then on.
    """

    lifetimes: dict[Buffer, tuple[int, int]]
    layout: Layout

    def __init__(self, request: Request, schedule: Callable[[Request], Program],
                 order: list[Node]) -> None:
        self.request = request
        self.schedule = schedule
        self.counts: Counter[str] = Counter()
        self.order = order
        self.prefers: Prefers | None = None
        self.orders: dict[int, tuple[int, ...]] = {}
        self.separate: set[int] = set()
        self.plan: Any = None
        self.leaves = request.leaves
        self.kernels: list[Kernel] = []
        self.outputs: list[Buffer] = []
        self.buffers: list[Buffer] = [*request.leaves.values()]
        self.groups: list[Group] = []
        self.shared: dict[Buffer, Buffer] = {}
        self.owners: dict[Buffer, int] | None = None
        self._pass = ""

    @cached_property
    def dependence(self) -> Dependence:
        """The dependence graph of the kernels, by their positions when it is first used."""
        return Dependence(self.kernels)

    def begin(self, name: str) -> None:
        """Begin to count for the pass of this name."""
        self._pass = name
        self.counts[name] += 0

    def split_kernels(self, split: Callable[[Kernel], Sequence[Kernel]]) -> None:
        """Replace each kernel by the kernels that ``split`` returns for it, or keep it if none.

        The last of these computes what is left of the kernel; what the others write and the kernel
        did not gets memory, and the pass under way counts them.
        """
        result: list[Kernel] = []
        for kernel in self.kernels:
            *parts, last = split(kernel) or (kernel,)
            known = {*kernel.writes()} if parts else ()
            self.buffers += [b for part in parts for b in part.writes() if b not in known]
            self.count(len(parts))
            result += [*parts, last]
        self.kernels = result

    def count(self, n: int = 1) -> None:
        """Add to the count of the current pass."""
        self.counts[self._pass] += n
