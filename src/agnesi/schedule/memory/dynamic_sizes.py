"""Arena offsets of buffers whose sizes are run-time values.

Buffers whose bytes are multiples of one size are laid out in units of it, once for all its values:
their offsets grow along with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.schedule.memory import arena

#: Sizes are counted in whole multiples of this, so that every offset is aligned.
_SIZE_STEP_ELEMENTS = arena.ALIGN_BYTES // 4


def assign_offsets(sizes: Sequence[Size], spans: Sequence[tuple[int, int]]
                   ) -> tuple[list[Any], Any]:
    """Return an offset for every buffer, given sizes and lifetimes, and the size of the arena."""
    groups: dict[Size, list[tuple[int, int]]] = {}
    for i, n in enumerate(sizes):
        unit, count = _measured(n)
        groups.setdefault(unit, []).append((i, count))
    offsets: list[Any] = [0] * len(sizes)
    start: Any = 0
    for unit, members in sorted(groups.items(), key=lambda g: repr(g[0])):
        step = (
            1
            if isinstance(unit, int)
            else (unit + (_SIZE_STEP_ELEMENTS - 1)) // _SIZE_STEP_ELEMENTS * _SIZE_STEP_ELEMENTS
        )
        blocks = [arena.Block(count, *spans[i]) for i, count in members]
        offsets_of, total = arena.assign_offsets(blocks)
        for (i, _), at in zip(members, offsets_of, strict=True):
            offsets[i] = start + at * step
        start = start + total * step
    return offsets, start


def _measured(nbytes: Any) -> tuple[Size, int]:
    """Return bytes as a unit size and a count, rounded up."""
    if not isinstance(nbytes, Extent):
        return 1, arena.rounded(nbytes)
    grows = [(m, c) for m, c in nbytes.terms if m and c > 0]
    rest = max(0, dict(nbytes.terms).get((), 0))
    if len(grows) != 1 or rest > grows[0][1] or any(
            a.least is None or a.least < 1 for a in grows[0][0]):
        return (nbytes + 3) // 4, 4
    ((monomial, count),) = grows
    unit: Any = 1
    for atom in monomial:
        unit = unit * atom
    return unit, -(-(count + rest) // 4) * 4
