"""How fast workers train that meet a centre, from measured costs, where cores do not suffice.

Each worker computes a step in ``step`` seconds, and behind every so many of them it meets the
centre: for ``held`` seconds alone, since the centre is one worker's at a time, first come first
served, and for ``beside`` seconds in its own memory.  Each has a core of its own, and the bandwidth
of memory suffices for all of them: that is not modelled.  At the beginning they are spread evenly
over a turn.
"""

from __future__ import annotations

import heapq


def relative_rate(workers: int, step: float, held: float, beside: float, every: int,
                  meetings: int = 400) -> float:
    """The joint rate of workers over that of as many that know nothing of each other.

    Examples
    --------
    >>> relative_rate(4, 1.0, 0.0, 0.0, 1)
    1.0
    >>> round(relative_rate(4, 1.0, 1.0, 0.0, 1), 2)  # the centre is never idle
    0.25
    """
    turn = every * step + beside
    arriving = [(turn * (1 + i / workers), i) for i in range(workers)]
    heapq.heapify(arriving)
    free, begun, counted = 0.0, 0.0, 0
    for number in range(meetings * workers):
        now, worker = heapq.heappop(arriving)
        free = max(now, free) + held
        if number == meetings * workers // 2:
            begun, counted = now, number
        heapq.heappush(arriving, (free + turn, worker))
    steps = (meetings * workers - 1 - counted) * every
    return round(steps / (now - begun) / (workers / step), 6)
