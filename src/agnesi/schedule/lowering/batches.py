"""Batches of matrix products: any number of leading axes run as one.

Where strides allow it they are merged into one axis; else code computes the index along each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.kernels import Buffer, Matrix, Store, axes_in, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution, fresh_axis

Cut = tuple[tuple[Axis, ...], list[Store]]


def viewed(value: Expr, every: Sequence[Axis]) -> Matrix | None:
    """Return the strided view along axes that a value is loaded from; None for others."""
    if value.op != "load" or value.param[1].atoms:
        return None
    buffer, offset = value.param
    return Matrix(buffer, offset.const, tuple(offset.terms.get(a, 0) for a in every))


def cut_batch(axes: Sequence[Axis], operands: Sequence[Sequence[int]],
              body: list[Store]) -> Cut | None:
    """Return one axis that runs over all batch axes, with the epilogue over it; several axes if the
    strides need them.

    ``operands`` holds each operand's strides over the batch axes. None if several would be needed
    and sizes are dynamic.
    """
    if len(axes) < 2:
        return tuple(axes), body
    wide = _wide(axes)
    terms = [dict(zip(axes, strides, strict=True)) for strides in operands]
    terms += [{a: i.terms.get(a, 0) for a in axes} for i in _indices(body)]
    for outer, inner in pairwise(wide):
        if any(t[outer] != t[inner] * inner.extent for t in terms):
            return _several(axes, wide, body)
    length: Any = product([a.extent for a in wide])
    merged = fresh_axis(length, {*axes, *axes_in(body)}, wide[-1].slot)
    change = Substitution({a: Affine() for a in axes} | {wide[-1]: Affine(0, {merged: 1})})
    return (merged,), [Store(s.buffer, change.index(s.offset), change(s.value)) for s in body]


def _wide(axes: Sequence[Axis]) -> list[Axis]:
    """The axes that count: those longer than 1, or any one."""
    return [a for a in axes if a.extent != 1] or list(axes[-1:])


def _several(axes: Sequence[Axis], wide: Sequence[Axis], body: list[Store]) -> Cut | None:
    if not is_static([a.extent for a in wide]):
        return None
    change = Substitution({a: Affine() for a in axes if a not in wide})
    return tuple(wide), [Store(s.buffer, change.index(s.offset), change(s.value)) for s in body]


def _indices(body: Sequence[Store]) -> list[Affine]:
    found = [s.offset for s in body]
    for value in walk([s.value for s in body]):
        if value.op == "load":
            found.append(value.param[1])
        elif value.op == "index":
            found.append(value.param)
    return found


def along(operand: Matrix, batch: Sequence[Axis], axes: Sequence[Axis]) -> Matrix:
    """Return the operand with strides over the kernel's batch axes."""
    *lead, row, column = operand.strides
    steps = dict(zip(axes[:-2], lead, strict=True))
    wide = [steps[a] for a in _wide(axes[:-2])]
    return Matrix(operand.buffer, operand.offset, (*wide[len(wide) - len(batch) :], row, column))


def flattened(total: Buffer, batch: Sequence[Axis]) -> Buffer:
    """The running sum, seen over the batch axes of the kernel."""
    total.spread((*(a.extent for a in batch), *total.shape[-2:]))
    return total
