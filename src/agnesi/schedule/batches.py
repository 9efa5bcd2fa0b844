"""Batches of matrix products: any number of leading axes run as one where strides allow it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from agnesi.core.dims import product
from agnesi.core.kernels import Buffer, Matrix, Store, row_major, walk
from agnesi.core.loops import Affine, Axis, Substitution

Cut = tuple[Axis | None, list[Store]]


def one_batch(axes: Sequence[Axis], operands: Sequence[Sequence[int]],
              body: list[Store]) -> Cut | None:
    """One axis for all batch axes, and the epilogue over it; None where strides forbid it.

    ``operands`` holds each operand's strides over the batch axes.
    """
    if len(axes) < 2:
        return (axes[0] if axes else None), body
    wide = [a for a in axes if a.extent != 1] or [axes[-1]]
    terms = [dict(zip(axes, strides, strict=True)) for strides in operands]
    terms += [{a: i.terms.get(a, 0) for a in axes} for i in _indices(body)]
    for outer, inner in pairwise(wide):
        if any(t[outer] != t[inner] * inner.extent for t in terms):
            return None
    length: Any = product([a.extent for a in wide])
    merged = Axis(wide[-1].slot, length)
    change = Substitution({a: Affine() for a in axes} | {wide[-1]: Affine(0, {merged: 1})})
    return merged, [Store(s.buffer, change.index(s.offset), change(s.value)) for s in body]


def _indices(body: Sequence[Store]) -> list[Affine]:
    found = [s.offset for s in body]
    for value in walk([s.value for s in body]):
        if value.op == "load":
            found.append(value.param[1])
        elif value.op == "index":
            found.append(value.param)
    return found


def along(operand: Matrix, batch: Axis | None, axes: Sequence[Axis]) -> Matrix:
    """The operand with its stride over the one batch axis."""
    *lead, row, column = operand.strides
    wide = [s for a, s in zip(axes[:-2], lead, strict=True) if a.extent != 1]
    step = wide[-1] if batch is not None and wide else 0
    return Matrix(operand.buffer, operand.offset, (step, row, column))


def flattened(total: Buffer, batch: Axis | None) -> Buffer:
    """The running sum, seen over the one batch axis."""
    if batch is not None:
        total.shape = (batch.extent, *total.shape[-2:])
        total.strides = row_major(total.shape)
    return total
