"""Checks of a program's invariants, run after each pass in all tests.

Every buffer is written before it is read, stores and loads have the types of their buffers and stay
inside, loops are different ones, no value is put where another one is still needed, kernels compute
little twice, and nothing that lasts is written before all is done that may stop the call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import permutations
from itertools import product as pairs
from typing import Any

from agnesi.core.ir.dims import is_static
from agnesi.core.ir.extents import guess
from agnesi.core.ir.growth import grows_no_faster
from agnesi.core.ir.kernels import Buffer, Kernel, Nest, Store, may_fail, walk
from agnesi.core.ir.loops import Affine
from agnesi.core.support.dtypes import name_of
from agnesi.schedule.evaluation_counts import work
from agnesi.schedule.memory.overwriting import overwrites_safely
from agnesi.schedule.program import Layout, Program

#: Roles of buffers that are there when a program begins.
_GIVEN = frozenset(("argument", "state", "constant"))
#: How many times the expensive instructions of the single operations a program may take.
_MAX_EXPENSIVE_RATIO = 2
#: How many times all their instructions.
_MAX_INSTRUCTION_RATIO = 4
#: Instructions that do not count.
_IGNORED_INSTRUCTIONS = 1 << 16


class BrokenProgramError(AssertionError):
    """A pass of the scheduler made a program that is wrong, or far too slow."""


class Verifier:
    """Checks one program as it goes through the passes."""

    def __init__(self) -> None:
        #: The kernels that are fine, and what they stored.
        self._fine: dict[int, tuple[Kernel, list[Store]]] = {}
        #: The kernels behind the last pass, with what they stored and touched.
        self._last: list[Any] = []

    def check(self, program: Program, name: str) -> None:
        """Check the invariants of a program whose kernels are in an order that respects their
        dependences.
        """
        now = [x for k in program.kernels for x in _parts(k)]
        if len(now) == len(self._last) and all(map(operator.is_, now, self._last)):
            return
        self._last = now
        written: set[Buffer] = set()
        for kernel in program.kernels:
            for buffer in kernel.reads():
                if buffer.role not in (*_GIVEN, "sum") and buffer not in written and (
                    guess(buffer.size)
                ):
                    _fail(
                        name, kernel, f"reads {_describe_buffer(buffer)}, which nothing has written"
                    )
            written.update(kernel.writes())
            if isinstance(kernel, Nest) and len({*kernel.axes}) < len(kernel.axes):
                _fail(name, kernel, f"loops over an axis twice: {kernel.axes}")
            stores = kernel.stores()
            _, known = self._fine.get(id(kernel), (None, []))
            for i, store in enumerate(stores):
                if i >= len(known) or known[i] is not store:
                    _check_store(name, kernel, store)
            self._fine[id(kernel)] = kernel, [*stores]


def _parts(kernel: Kernel) -> list[Any]:
    """Return a kernel with its stores and, unless it is a loop nest, the buffers that it reads and
    writes.
    """
    if isinstance(kernel, Nest) and kernel.like is None:
        return [kernel, *kernel.stores()]
    return [kernel, *kernel.stores(), *kernel.reads(), *kernel.writes()]


def _check_store(name: str, kernel: Kernel, store: Store) -> None:
    """Check that a store and its loads have the dtypes of their buffers and stay inside."""
    if store.value.dtype != name_of(store.buffer.dtype):
        _fail(name, kernel, f"stores {store.value.dtype} to {_describe_buffer(store.buffer)}")
    _check_offset(name, kernel, store.buffer, store.offset)
    for value in walk([store.value, *store.offset.atoms]):
        if value.op == "load":
            buffer, offset = value.param
            if value.dtype != name_of(buffer.dtype):
                _fail(name, kernel, f"loads {value.dtype} from {_describe_buffer(buffer)}")
            _check_offset(name, kernel, buffer, offset)


def _check_offset(name: str, kernel: Kernel, buffer: Buffer, offset: Affine) -> None:
    sizes: list[Any] = [n for a, c in offset.terms.items() for n in (getattr(a, "extent", None), c)]
    if not is_static((*buffer.shape, *buffer.strides, *sizes)) or 0 in buffer.shape:
        return
    bounds = offset.bounds()
    assert bounds is not None
    steps = [(n - 1) * s for n, s in zip(buffer.shape, buffer.strides, strict=True)]
    if bounds[0] < sum(s for s in steps if s < 0) or bounds[1] > sum(s for s in steps if s > 0):
        _fail(name, kernel, f"touches {_describe_buffer(buffer)} at {offset}, outside of it")


def check_memory(layout: Layout, name: str) -> None:
    """Check that no buffer's memory is written while another one there is still needed."""
    spans: dict[Buffer, tuple[int, int]] = {}
    written: set[Buffer] = set()
    for k, kernel in enumerate(layout.kernels):
        written.update(kernel.writes())
        for b in (*kernel.reads(), *kernel.writes()):
            spans[b] = spans.get(b, (k, k))[0], k
    slots: dict[int, list[tuple[int, int, Buffer]]] = {}
    for b in spans:
        if b.slot < 0 or b.role == "constant" or not is_static((b.offset, b.nbytes)):
            continue
        copied = b not in written and b.role not in _GIVEN  # by a kernel that has gone
        if b.nbytes and not copied:
            slots.setdefault(b.slot, []).append((b.offset, b.offset + b.nbytes, b))
    for ranges in slots.values():
        ranges.sort(key=lambda p: p[:2])
        for i, (_, end, a) in enumerate(ranges):
            for start, _, b in ranges[i + 1:]:
                if start >= end:
                    break
                _check_pair(name, layout.kernels, spans, a, b)


def check_updates(program: Program, name: str) -> None:
    """Check that states are written after every kernel that may fail."""
    lasting = {state.slot for state, _ in program.request.updates}
    begun = False
    for kernel in program.layout.kernels:
        begun = begun or any(b.slot in lasting for b in kernel.writes())
        if begun and may_fail(kernel):
            _fail(name, kernel, "may stop the call behind an update in place")


def check_groups(layout: Layout, name: str) -> None:
    """Check that kernels that run at the same time write nothing that another one of them touches.
    """
    for group in layout.groups:
        for one, other in permutations(group.kernels, 2):
            for a, b in pairs(one.writes(), (*other.reads(), *other.writes())):
                if a.slot == b.slot and a.offset < b.offset + b.nbytes and (
                    b.offset < a.offset + a.nbytes
                ):
                    _fail(
                        name,
                        one,
                        f"writes {_describe_buffer(a)} while another one needs "
                        f"{_describe_buffer(b)}",
                    )


def _check_pair(name: str, kernels: Sequence[Kernel], spans: dict[Buffer, tuple[int, int]],
                a: Buffer, b: Buffer) -> None:
    """Check that two buffers may share memory: the later one is first written after the last read
    of the other."""
    first, second = sorted((a, b), key=lambda x: (spans[x][0], spans[x][1]))
    if first.role in _GIVEN and second.role in _GIVEN and "state" not in (first.role, second.role):
        return
    last, begins = spans[first][1], spans[second][0]
    if last < begins:
        return
    kernel = kernels[begins]
    if last > begins or not overwrites_safely(kernel, first, second):
        _fail(
            name,
            kernel,
            f"writes {_describe_buffer(second)} over {_describe_buffer(first)}, which is needed "
            f"until kernel {last}",
        )


def check_work(program: Program, plain: Callable[[], Program], name: str) -> None:
    """Check that kernels take about as many instructions as single operations would.

    ``plain`` makes the program in which every value has memory.
    """
    fused = work(program.kernels)
    if is_static((fused.all,)) and fused.all <= _IGNORED_INSTRUCTIONS:
        return
    unfused = [work([k]) for k in plain().kernels]  # n in one and 9 - n in another do not cancel
    for what, mine, each, ratio in (
        ("costly operations", fused.costly, [w.costly for w in unfused], _MAX_EXPENSIVE_RATIO),
        ("all operations", fused.all, [w.all for w in unfused], _MAX_INSTRUCTION_RATIO),
    ):
        most = ratio * sum(each)
        if (guess(mine) > guess(most) + _IGNORED_INSTRUCTIONS
                or not grows_no_faster(mine, most, *each)):
            _fail(name, max(program.kernels, key=lambda k: guess(work([k]).all)),
                  f"is of a program that takes {mine} instructions for {what}, {most} at most "
                  f"if each value were kept:\n{_listed(program.kernels)}")


def _fail(name: str, kernel: Kernel, what: str) -> None:
    made = ", ".join([n.op.name for n in kernel.nodes if n.op is not None]) or "copy"
    raise BrokenProgramError(f"after the pass {name!r}, the kernel of {made} {what}")


def _describe_buffer(buffer: Buffer) -> str:
    return f"{buffer.role} {buffer.dtype.name}{list(buffer.shape)} {buffer!r}"


def _listed(kernels: Sequence[Kernel]) -> str:
    """Return a line for each kernel, with its instruction count and stores."""
    return "\n".join(f"  {type(k).__name__} {work([k]).all}: "
                     + "; ".join(f"{s.buffer!r}[{s.offset}] = {s.value}" for s in k.stores())
                     for k in kernels)
