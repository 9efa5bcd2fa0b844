"""Iteration spaces: the axes of nests, and nests over the same points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Buffer, Nest, Store
from agnesi.core.ir.loops import Affine, At, Axis, Expr, Read, Sequential
from agnesi.core.ir.node import Node


def axes_of(shape: Sequence[Any]) -> tuple[Axis, ...]:
    """Return one axis for each size."""
    return tuple([Axis(d, n) for d, n in enumerate(shape)])


def point(axes: tuple[Axis, ...]) -> At:
    """The index of the point of the axes; axes of size 1 are always at 0."""
    return tuple([loops.START if a.extent == 1 else a.index for a in axes])


def point_in(shape: Sequence[Any], axes: tuple[Axis, ...]) -> At:
    """Return the indices of a root at a point of a nest that may have more axes than it."""
    full = [i for i, a in zip(point(axes), axes, strict=True) if a.extent != 1]
    result = []
    for n in shape:
        result.append(full.pop(0) if n != 1 else Affine())
    return tuple(result)


def in_order(root: Node, buffer: Buffer, part: Sequential) -> Nest:
    """Return the nest that writes elements of a root sequentially (a scatter or a scan along an
    axis).
    """
    axes = axes_of(part.shape)
    at = point(axes)
    target = part.target(at)
    offset = buffer.offset_of(target)
    alone = {a for i in target if len(i.terms) == 1 for a in i.terms}
    ordered = {a for a in axes if a.extent != 1 and (a not in alone or a.slot in part.order)}
    # An ordered axis that the address lacks gets a term of 0, so that dependence analysis sees it.
    pin = Affine(0, {loops.index(a.index) * 0: 1 for a in axes if a in ordered - offset.free})

    def element(i: At) -> Expr:
        return loops.load(buffer, root.dtype.name, buffer.offset_of(i) + pin)

    value = part.value(Read(tuple(root.shape), root.dtype.name, element), at)
    return Nest([root], axes, [Store(buffer, offset + pin, value)], frozenset(ordered))
