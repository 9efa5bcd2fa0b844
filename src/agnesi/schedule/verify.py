"""Whether a program is what the next pass may rely on; asked after each one, in all tests.

Every buffer is written before it is read, stores and loads have the types of their buffers and stay
inside, no value lies where another one is still needed, and kernels compute little twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnesi.core.dims import is_static, product
from agnesi.core.dtypes import name_of
from agnesi.core.extents import guess
from agnesi.core.kernels import Buffer, Convolution, Kernel, Nest, Product, Store, walk
from agnesi.core.loops import Affine, is_heavy
from agnesi.core.record import struct
from agnesi.schedule.evaluations import below, instructions, loops_of
from agnesi.schedule.memory import overwrites_safely
from agnesi.schedule.program import Layout, Program

#: Roles of buffers that are there when a program begins.
_GIVEN = frozenset(("argument", "state", "constant"))
#: How many times the instructions of single operations a program may take: those of costly
#: operations, and all; and how many do not count.
_COSTLY, _ALL, _LITTLE = 2, 4, 1 << 16


class BrokenProgramError(AssertionError):
    """A pass of the scheduler made a program that is wrong, or far too slow."""


@struct
class Work:
    """Scalar instructions of kernels: of costly operations and all, and powers of sizes.

    ``powers`` has the greatest power of every size among the loops of a value.
    """

    costly: int
    all: int
    powers: Counter[Any]


class Verifier:
    """Checks one program as it goes through the passes."""

    def __init__(self) -> None:
        self._fine: dict[int, Kernel] = {}

    def check(self, program: Program, name: str) -> None:
        """What holds of kernels in an order that respects what they need."""
        written: set[Buffer] = set()
        for kernel in program.kernels:
            for buffer in kernel.reads():
                if buffer.role not in (*_GIVEN, "sum") and buffer not in written:
                    _fail(name, kernel, f"reads {_told(buffer)}, which nothing has written")
            written.update(kernel.writes())
            if id(kernel) not in self._fine:
                self._fine[id(kernel)] = kernel
                for store in kernel.stores():
                    _check_store(name, kernel, store)


def _check_store(name: str, kernel: Kernel, store: Store) -> None:
    """What a store writes has the buffer's type, and so has what it reads; all stay inside."""
    if store.value.dtype != name_of(store.buffer.dtype):
        _fail(name, kernel, f"stores {store.value.dtype} to {_told(store.buffer)}")
    _check_place(name, kernel, store.buffer, store.offset)
    for value in walk([store.value, *store.offset.atoms]):
        if value.op == "load":
            buffer, place = value.param
            if value.dtype != name_of(buffer.dtype):
                _fail(name, kernel, f"loads {value.dtype} from {_told(buffer)}")
            _check_place(name, kernel, buffer, place)


def _check_place(name: str, kernel: Kernel, buffer: Buffer, place: Affine) -> None:
    bounds = place.bounds()
    if bounds is None or not is_static((*buffer.shape, *buffer.strides, *bounds)):
        return
    if 0 in buffer.shape:
        return
    steps = [(n - 1) * s for n, s in zip(buffer.shape, buffer.strides, strict=True)]
    if bounds[0] < sum(s for s in steps if s < 0) or bounds[1] > sum(s for s in steps if s > 0):
        _fail(name, kernel, f"touches {_told(buffer)} at {place}, outside of it")


def check_memory(layout: Layout, name: str) -> None:
    """Whether no buffer's memory is written while another one there is still needed."""
    spans: dict[Buffer, tuple[int, int]] = {}
    for k, kernel in enumerate(layout.kernels):
        for b in (*kernel.reads(), *kernel.writes()):
            spans[b] = spans.get(b, (k, k))[0], k
    spots: dict[int, list[tuple[int, int, Buffer]]] = {}
    for b in spans:
        if b.slot >= 0 and b.role != "constant" and is_static((b.offset, b.nbytes)) and b.nbytes:
            spots.setdefault(b.slot, []).append((b.offset, b.offset + b.nbytes, b))
    for places in spots.values():
        places.sort(key=lambda p: p[:2])
        for i, (_, end, a) in enumerate(places):
            for start, _, b in places[i + 1:]:
                if start >= end:
                    break
                _check_pair(name, layout.kernels, spans, a, b)


def _check_pair(name: str, kernels: Sequence[Kernel], spans: dict[Buffer, tuple[int, int]],
                a: Buffer, b: Buffer) -> None:
    """Whether two buffers may have memory in common: the later one begins as the other ends."""
    first, second = sorted((a, b), key=lambda x: (spans[x][0], spans[x][1]))
    if first.role in _GIVEN and second.role in _GIVEN and "state" not in (first.role, second.role):
        return
    last, begins = spans[first][1], spans[second][0]
    if last < begins:
        return
    kernel = kernels[begins]
    if last > begins or not overwrites_safely(kernel, first, second):
        _fail(name, kernel, f"writes {_told(second)} over {_told(first)}, which is needed until "
                            f"kernel {last}")


def check_work(program: Program, plain: Callable[[], Program], name: str) -> None:
    """Whether kernels take about as many instructions as single operations would.

    ``plain`` makes the program in which every value has memory.
    """
    ours = work(program.kernels)
    if ours.all <= _LITTLE:
        return
    theirs = work(plain().kernels)
    for what, mine, most in (("costly operations", ours.costly, _COSTLY * theirs.costly),
                             ("operations", ours.all, _ALL * theirs.all)):
        if mine > most + _LITTLE:
            _fail(name, max(program.kernels, key=lambda k: work([k]).all),
                  f"is of a program that takes {mine} instructions for {what}, {most} at most "
                  f"if each value were kept:\n{_listed(program.kernels)}")
    higher = {n: p for n, p in ours.powers.items() if p > theirs.powers.get(n, p)}
    if higher:
        _fail(name, max(program.kernels, key=lambda k: work([k]).all),
              f"is of a program with a higher power of sizes than any single value: {higher}, not "
              f"{theirs.powers}:\n{_listed(program.kernels)}")


def work(kernels: Iterable[Kernel]) -> Work:
    """How much kernels compute, those of bodies left out."""
    total = Work(0, 0, Counter())
    for kernel in kernels:
        if isinstance(kernel, Product):
            total.all += turns_of(kernel.sizes)
            _note(total.powers, kernel.sizes, turns_of(kernel.sizes))
        elif isinstance(kernel, Convolution):
            total.all += guess(kernel.sizes.work)
        elif not isinstance(kernel, Nest):
            continue
        loops = loops_of(kernel)
        starts = [(v, loops) for s in kernel.stores() for v in (s.value, *s.offset.atoms)]
        for value, here in below(kernel, starts):
            n = instructions(value, here)
            total.all += n
            if is_heavy(value.op):
                total.costly += n
            bound = value.param[1] if value.op == "reduce" else ()
            _note(total.powers, [a.extent for a in (*here, *bound)], n)
    return total


def turns_of(sizes: Sequence[Any]) -> int:
    """The product of sizes, as they mostly are."""
    found: Any = guess(product(sizes))
    return int(found)


def _note(powers: Counter[Any], sizes: Sequence[Any], instructions: int) -> None:
    """Note the powers of sizes of what takes many instructions."""
    if instructions > _LITTLE:
        for n, power in Counter([n for n in sizes if n != 1]).items():
            powers[n] = max(powers[n], power)


def _fail(name: str, kernel: Kernel, what: str) -> None:
    made = ", ".join([n.op.name for n in kernel.nodes if n.op is not None]) or "copy"
    raise BrokenProgramError(f"after the pass {name!r}, the kernel of {made} {what}")


def _told(buffer: Buffer) -> str:
    return f"{buffer.role} {buffer.dtype.name}{list(buffer.shape)} {buffer!r}"


def _listed(kernels: Sequence[Kernel]) -> str:
    """Kernels with their instructions, a line each."""
    return "\n".join(f"  {type(k).__name__} {work([k]).all}: "
                     + "; ".join(f"{s.buffer!r}[{s.offset}] = {s.value}" for s in k.stores())
                     for k in kernels)
