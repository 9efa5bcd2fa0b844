"""Memory-aware list scheduling: the order of kernels in which few bytes are alive at a time.

The best order is a hard problem, so a few cheap ones are tried and the best is taken: the present
one; the one that always runs what frees most, forwards; the same backwards, from the last kernel.
A value is alive from the first to the last kernel that touches it, whichever way time runs.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Buffer, Kernel
from agnesi.schedule.dependence import Dependence
from agnesi.schedule.program import Program


def order_for_memory(program: Program) -> Program:
    """Reorder the kernels to lower the peak of live bytes."""
    best = least_memory(program.kernels, program.dependence)
    program.count(sum([a != b for a, b in zip(best, program.dependence.order, strict=True)]))
    program.dependence.order[:] = best
    return program


def least_memory(kernels: Sequence[Kernel], dependence: Dependence) -> list[int]:
    """Return the positions of the kernels in the order with the lowest peak found."""
    touched = [_temporaries(*dependence.traffic.of(kernel)) for kernel in kernels]
    present = dependence.order
    least = max([sum(t.values()) for t in touched], default=0)  # no order needs less
    best, lowest = present, peak(present, touched)
    if lowest == least:
        return best
    touching = _touching(touched)
    for backward in (False, True):
        around = dependence.needs, dependence.users
        needs, users = around[::-1] if backward else around
        order = _greedy(touched, touching, needs, users, present[::-1] if backward else present)
        if backward:
            order.reverse()
        if (needed := peak(order, touched)) < lowest:
            best, lowest = order, needed
        if lowest == least:
            break
    return best


def _temporaries(reads: Sequence[Buffer], writes: Sequence[Buffer]) -> dict[Buffer, int]:
    """Buffers of the arena that a kernel touches, with their bytes."""
    return {b: guess(b.nbytes) for b in (*reads, *writes) if b.role == "temporary"}


def _touching(touched: Sequence[Mapping[Buffer, int]]) -> dict[Buffer, list[int]]:
    """The kernels that touch each buffer."""
    found: dict[Buffer, list[int]] = {}
    for k, buffers in enumerate(touched):
        for b in buffers:
            found.setdefault(b, []).append(k)
    return found


def peak(order: Sequence[int], touched: Sequence[Mapping[Buffer, int]]) -> int:
    """The most bytes that are alive at a time."""
    touching = Counter(chain.from_iterable(touched))
    left = dict(touching)
    alive = most = 0
    for k in order:
        dying = 0
        for b, size in touched[k].items():
            n = left[b]
            left[b] = n - 1
            if n == touching[b]:
                alive += size
            if n == 1:
                dying += size
        if alive > most:
            most = alive
        alive -= dying
    return most


def _greedy(touched: Sequence[Mapping[Buffer, int]], touching: Mapping[Buffer, Sequence[int]],
            needs: Sequence[set[int]], users: Sequence[set[int]],
            present: Sequence[int]) -> list[int]:
    """Return the order that always continues with the kernel that adds the fewest live bytes; of
    equal ones, with the first in ``present``.
    """
    positions = [0] * len(present)
    for position, k in enumerate(present):
        positions[k] = position
    left = {b: len(ks) for b, ks in touching.items()}
    # Bytes that become alive by a kernel, less those that die.
    costs = [sum([size for b, size in buffers.items() if left[b] > 1]) for buffers in touched]
    missing = [len(n) for n in needs]
    ready = [(costs[k], positions[k], k) for k in present if not missing[k]]
    heapq.heapify(ready)
    done = [False] * len(present)
    result: list[int] = []
    while ready:
        cost, _, k = heapq.heappop(ready)
        if done[k] or cost != costs[k]:
            continue
        done[k] = True
        result.append(k)
        for b, size in touched[k].items():
            first = left[b] == len(touching[b])
            left[b] -= 1
            if not first and left[b] != 1:
                continue
            saved = size * (first + (left[b] == 1))
            for other in touching[b]:
                if not done[other]:
                    costs[other] -= saved
                    if not missing[other]:
                        heapq.heappush(ready, (costs[other], positions[other], other))
        for user in users[k]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (costs[user], positions[user], user))
    return result
