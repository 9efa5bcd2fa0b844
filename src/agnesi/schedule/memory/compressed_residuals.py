"""Compressed residuals: values that are idle where memory is short are kept in fewer bits."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.ir.kernels import Buffer, Kernel, Nest, Store
from agnesi.core.ir.loops import Affine, Axis, Expr, cast, load
from agnesi.core.support.record import replace
from agnesi.schedule.buffer_substitution import Reading, swappable, swapped

#: Smaller buffers are not worth it, and a gap in their use must have so many kernels.
_LEAST_BYTES, _LEAST_GAP = 4096, 3


def narrowed(kernels: Sequence[Kernel], dtype: np.dtype) -> list[Kernel]:
    """Return the kernels with values stored as ``dtype`` while most memory is in use.

    Reads before that, and by the kernel that makes a value, have full precision.
    """
    lives: dict[Buffer, list[int]] = {}
    fixed: set[Buffer] = set()
    for k, kernel in enumerate(kernels):
        buffers = dict.fromkeys((*kernel.reads(), *kernel.writes()))
        for b in buffers:
            lives.setdefault(b, []).append(k)
        if not swappable(kernel):
            fixed.update(buffers)
    peak = _peak(lives, len(kernels))
    chosen: dict[Buffer, int] = {}
    for b, uses in lives.items():
        behind = bisect.bisect_right(uses, peak)
        if (
            b not in fixed and b.role == "temporary" and b.dtype.kind == "f"
            and b.dtype.itemsize > dtype.itemsize and b.nbytes >= _LEAST_BYTES
            and 0 < behind < len(uses) and uses[behind] - uses[behind - 1] >= _LEAST_GAP
            and _made_once(b, [kernels[k] for k in uses])
        ):
            chosen[b] = uses[behind]
    return _Narrower(kernels, chosen, lives, dtype).result


def _peak(lives: Mapping[Buffer, Sequence[int]], count: int) -> int:
    """The kernel during which most bytes of temporaries are alive."""
    changes = [0] * (count + 1)
    for b, uses in lives.items():
        if b.role == "temporary":
            changes[uses[0]] += b.nbytes
            changes[uses[-1] + 1] -= b.nbytes
    alive = np.cumsum(changes)
    return int(np.argmax(alive))


def _made_once(b: Buffer, kernels: Sequence[Any]) -> bool:
    """Return whether the first of the kernels fills a buffer completely, each element with one
    value.
    """
    maker, *readers = kernels
    stores = [s for s in maker.stores() if s.buffer is b]
    return (
        len(stores) == 1 and b not in maker.reads() and not getattr(maker, "ordered", None)
        and all(b not in k.writes() for k in readers)
    )


class _Narrower:
    def __init__(self, kernels: Sequence[Kernel], chosen: Mapping[Buffer, int],
                 lives: Mapping[Buffer, Sequence[int]], dtype: np.dtype) -> None:
        self.chosen = chosen
        self.small = {
            b: Buffer(b.shape, dtype, b.role, node=b.node, strides=b.strides) for b in chosen
        }
        self.idle = {b for b, k in chosen.items() if lives[b][1] == k}
        self.wide: dict[Buffer, Buffer] = {}
        self.result: list[Kernel] = []
        for k, kernel in enumerate(kernels):
            late = {b: s for b, s in self.small.items()
                    if k >= chosen[b] and b in kernel.reads()} if chosen else {}
            new = self._stored(kernel)
            self.result.append(self._reading(new, late) if late else new)

    def _stored(self, kernel: Any) -> Kernel:
        """Return the kernel with stores of the narrow buffer, besides or in place of the full one.
        """
        made = [b for b in kernel.writes() if b in self.small]
        if not made:
            return kernel
        body = []
        for s in kernel.body:
            if s.buffer not in self.idle:
                body.append(s)
            small = self.small.get(s.buffer)
            if small is not None:
                body.append(Store(small, s.offset, cast(s.value, small.dtype.name)))
        return replace(kernel, body=body)

    def _reading(self, kernel: Any, late: Mapping[Buffer, Buffer]) -> Kernel:
        """The kernel on small buffers; operands of products are widened in memory before it."""
        others = {}
        for matrix in (getattr(kernel, "a", None), getattr(kernel, "b", None)):
            if matrix is not None and matrix.buffer in late:
                others[matrix.buffer] = self._widened(matrix.buffer)
        return swapped(kernel, others, reading=_widening(late))

    def _widened(self, b: Buffer) -> Buffer:
        """A buffer of the full type, filled once before its first reader."""
        found = self.wide.get(b)
        if found is None:
            small = self.small[b]
            found = self.wide[b] = Buffer(b.shape, b.dtype, b.role, node=b.node, strides=b.strides)
            axes = tuple(Axis(d, n) for d, n in enumerate(b.shape))
            at = [Affine() if a.extent == 1 else Affine(0, {a: 1}) for a in axes]
            value = cast(load(small, small.dtype.name, small.offset_of(at)), b.dtype.name)
            nodes = [] if b.node is None else [b.node]
            self.result.append(Nest(nodes, axes, [Store(found, found.offset_of(at), value)]))
        return found


def _widening(late: Mapping[Buffer, Buffer]) -> Reading:
    """Loads from small buffers, widened."""

    def reading(buffer: Buffer, dtype: str, offset: Affine) -> Expr:
        small = late.get(buffer)
        if small is None:
            return load(buffer, dtype, offset)
        return cast(load(small, small.dtype.name, offset), dtype)

    return reading
