"""The order of kernels in which few bytes are alive at a time.

The best order is a hard problem, so a few cheap ones are tried and the best is taken: the present
one; the one that always runs what frees most, forwards; the same backwards, from the last kernel.
A value is alive from the first to the last kernel that touches it, whichever way time runs.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from agnesi.core.extents import guess
from agnesi.core.kernels import Buffer, Kernel
from agnesi.schedule.depend import Dependence


def least_memory(kernels: Sequence[Kernel], dependence: Dependence) -> list[int]:
    """The kernels' positions in the order of smallest peak that was found."""
    touched = [_temporaries(*dependence.traffic.of(kernel)) for kernel in kernels]
    present = dependence.order
    if not any(touched):
        return present
    onward = _greedy(touched, dependence.needs, dependence.users, present)
    backward = _greedy(touched, dependence.users, dependence.needs, present[::-1])[::-1]
    return min((present, onward, backward), key=lambda order: peak(order, touched))


def _temporaries(reads: Sequence[Buffer], writes: Sequence[Buffer]) -> dict[Buffer, int]:
    """Buffers of the arena that a kernel touches, with their bytes."""
    return {b: guess(b.nbytes) for b in (*reads, *writes) if b.role == "temporary"}


def peak(order: Sequence[int], touched: Sequence[Mapping[Buffer, int]]) -> int:
    """The most bytes that are alive at a time."""
    left: dict[Buffer, int] = {}
    for buffers in touched:
        for b in buffers:
            left[b] = left.get(b, 0) + 1
    alive = most = 0
    seen: set[Buffer] = set()
    for k in order:
        for b, size in touched[k].items():
            if b not in seen:
                seen.add(b)
                alive += size
        most = max(most, alive)
        for b, size in touched[k].items():
            left[b] -= 1
            if not left[b]:
                alive -= size
    return most


def _greedy(touched: Sequence[Mapping[Buffer, int]], needs: Sequence[set[int]],
            users: Sequence[set[int]], present: Sequence[int]) -> list[int]:
    """Always the kernel that adds the fewest bytes; of equal ones the first in ``present``."""
    places = [0] * len(present)
    for place, k in enumerate(present):
        places[k] = place
    waiting: dict[Buffer, set[int]] = {}
    for k, buffers in enumerate(touched):
        for b in buffers:
            waiting.setdefault(b, set()).add(k)
    untouched = set(waiting)
    costs = [sum(_change(b, size, k, waiting, untouched) for b, size in buffers.items())
             for k, buffers in enumerate(touched)]
    missing = [len(n) for n in needs]
    ready = [(costs[k], places[k], k) for k in present if not missing[k]]
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
            first = b in untouched
            untouched.discard(b)
            waiting[b].discard(k)
            others = waiting[b]
            if first or len(others) == 1:
                for other in others:
                    costs[other] -= (size if first else 0) + (size if len(others) == 1 else 0)
                    if not missing[other]:
                        heapq.heappush(ready, (costs[other], places[other], other))
        for user in users[k]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (costs[user], places[user], user))
    return result


def _change(b: Buffer, size: int, k: int, waiting: Mapping[Buffer, set[int]],
            untouched: set[Buffer]) -> int:
    """Bytes that become alive by a kernel that touches a buffer, less those that die."""
    return (size if b in untouched else 0) - (size if waiting[b] == {k} else 0)
