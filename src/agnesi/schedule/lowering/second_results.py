"""Values that are two results of a graph: the loops that compute one write it to both buffers."""

from __future__ import annotations

from collections.abc import Iterable

from agnesi.core.ir.kernels import Buffer, Kernel, Nest
from agnesi.core.support.record import replace


def store_also(kernels: Iterable[Kernel], first: Buffer, second: Buffer) -> bool:
    """Make the loops that fill one buffer fill another one too; return whether that is possible."""
    makers = [k for k in kernels if any(b is first for b in k.writes())]
    if (len(makers) != 1 or not isinstance(makers[0], Nest) or makers[0].ordered
            or makers[0].like is not None or first.shape != second.shape
            or first.strides != second.strides):
        return False
    makers[0].body += [replace(s, buffer=second) for s in makers[0].body if s.buffer is first]
    return True
