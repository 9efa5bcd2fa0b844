"""How fast workers train that meet a centre, from measured costs, where cores do not suffice.

Each worker computes a step in ``step`` seconds, and behind every so many of them it meets the
centre, which takes ``held`` seconds where nobody else does.  The centre has parts, each of which is
one worker's at a time, first come first served; a worker goes through them in their order, and
begins at another one than others do.  Each has a core of its own, and the bandwidth of memory
suffices for all of them: that is not modelled.  At the beginning they are spread evenly over a
turn.
"""

from __future__ import annotations

import heapq


def relative_rate(workers: int, step: float, held: float, parts: int, every: int,
                  meetings: int = 400) -> float:
    """The joint rate of workers over that of as many that know nothing of each other.

    Examples
    --------
    >>> relative_rate(4, 1.0, 0.0, 1, 1)
    1.0
    >>> round(relative_rate(4, 1.0, 1.0, 1, 1), 2)  # the centre is never idle
    0.25
    """
    turn = every * step
    arriving = [(turn * (1 + i / workers), i, 0) for i in range(workers)]  # when, who, parts met
    heapq.heapify(arriving)
    free = [0.0] * parts
    begun, met = 0.0, 0
    while met < meetings * workers:
        now, worker, done = heapq.heappop(arriving)
        if done == parts:
            met += 1
            if met == meetings * workers // 2:
                begun = now
            heapq.heappush(arriving, (now + turn, worker, 0))
        else:
            part = (worker * parts // workers + done) % parts
            free[part] = max(now, free[part]) + held / parts
            heapq.heappush(arriving, (free[part], worker, done + 1))
    steps = (met - meetings * workers // 2) * every
    return round(steps / (now - begun) / (workers / step), 6)
