"""Boxes between the borders of the regions of values such as concatenations, pads and rolls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from agnesi.core.ir.loops import Part, Read
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import name_of

#: Where a box begins, and where it ends.
Box = tuple[tuple[int, ...], tuple[int, ...]]


def boxes_of(nodes: Sequence[Node]) -> list[Box]:
    """Return the boxes in each of which every value is read from one of its regions; none where an
    operation's regions are no boxes."""
    found = []
    for node in nodes:
        reads = [Read(i.shape, name_of(i.dtype), lambda at: None) for i in node.inputs]  # type: ignore[arg-type, return-value]
        parts = node.op.boxes(*reads)
        if parts is None:
            return []
        found += parts
    return between(found, nodes[0].shape)


def between(parts: Sequence[Part], shape: Sequence[int]) -> list[Box]:
    """Return the boxes between the borders of all parts of a shape."""
    edges = [
        sorted({0, n, *(p.start[a] for p in parts), *(p.start[a] + p.shape[a] for p in parts)})
        for a, n in enumerate(shape)
    ]
    runs = itertools.product(*map(itertools.pairwise, edges))
    return [(tuple(a for a, _ in box), tuple(b for _, b in box)) for box in runs]


def covering(parts: Sequence[Part], box: Box) -> Part:
    """Return the last part that covers a box."""
    return next(
        p for p in reversed(parts)
        if all(s <= low and high <= s + n
               for s, n, low, high in zip(p.start, p.shape, *box, strict=True))
    )
