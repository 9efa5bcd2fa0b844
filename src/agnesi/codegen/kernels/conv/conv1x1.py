"""Convolutions of one tap are matrix products, where pixels are in memory as one axis."""

from __future__ import annotations

import math
from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense, View, merged_stride, stores_with_sum
from agnesi.codegen.kernels.conv.weight_plan import in_place, streams
from agnesi.codegen.kernels.machine import Machine
from agnesi.core.ir.collapse import collapse
from agnesi.core.ir.kernels import Buffer, Convolution, Matrix, Product, Store
from agnesi.core.ir.loops import Affine, Axis, load

#: Rows of filters from which transposing the cotangent for a blocked product pays.
_MIN_TRANSPOSED_FILTERS = 96
#: Channels of the image up to which not copying the cotangent at all is faster.
_MAX_UNCOPIED_CHANNELS = 128


def as_product(kernel: Convolution, dense: Dense, machine: Machine) -> Product | None:
    """The product that computes the same, if there is one."""
    if dense.parts > 1 or not all(s.plain for s in dense.spans):
        return None
    counts = (dense.images, *(s.count for s in dense.spans))
    if kernel.kind != "weight":
        return _dense(kernel, dense, counts)
    typical = dense.typical
    if not kernel.symbol and (streams(typical, machine) or _is_slim(typical)):
        return None
    return _weight(kernel, dense, counts)


def _is_slim(dense: Dense) -> bool:
    """Return whether a gradient has too few filters for transposing the cotangent to pay."""
    _, o, c, *_ = dense.axes
    return o.extent < min(_MIN_TRANSPOSED_FILTERS, c.extent) or (
        c.extent <= _MAX_UNCOPIED_CHANNELS and in_place(dense)
    )


def _strides(view: View) -> tuple[int, ...]:
    """Return the strides of a view along the batch and the spatial axes."""
    return view.strides[0], *view.strides[2:]


def _dense(kernel: Convolution, dense: Dense, counts: tuple[Any, ...]) -> Product | None:
    n, group, o, *space = dense.axes
    source, filters = dense.source, dense.filters
    for batch, pixels, first in ((group, (n, *space), 0), (n, tuple(space), 1)):
        if first and dense.groups > 1:
            continue
        step = merged_stride(_strides(source)[first:], counts[first:])
        found = _merged(kernel, dense, (batch, *pixels, o), pixels)
        if step is None or found is None:
            continue
        total, axis, body = found
        steps = (source.group, filters.group) if first == 0 else (source.strides[0], 0)
        a = Matrix(kernel.a.buffer, source.offset, (steps[0], step, source.strides[1]))
        b = Matrix(kernel.b.buffer, filters.offset, (steps[1], *filters.strides[1::-1]))
        sizes = (batch.extent, axis.extent, dense.outputs, dense.channels)
        return Product(kernel.nodes, sizes, a, b, (batch, axis, o), total, body,
                       symbol=kernel.symbol)
    return None


def _weight(kernel: Convolution, dense: Dense, counts: tuple[Any, ...]) -> Product | None:
    """Return the gradient to 1x1 filters as a product: the transposed cotangent times the image."""
    group, o, c, *_ = dense.axes
    source, filters = dense.source, dense.filters
    across, down = (merged_stride(_strides(view), counts) for view in (filters, source))
    if across is None or down is None:
        return None
    a = Matrix(kernel.b.buffer, filters.offset, (filters.group, filters.strides[1], across))
    b = Matrix(kernel.a.buffer, source.offset, (source.group, down, source.strides[1]))
    dtype = kernel.total.dtype
    total = Buffer((group.extent, o.extent, c.extent), dtype, "sum")
    at = total.offset_of([Affine(0, {axis: 1}) for axis in (group, o, c)])
    sizes = (group.extent, o.extent, c.extent, math.prod(counts))
    body = list(stores_with_sum(dense, load(total, dtype.name, at)))
    return Product(kernel.nodes, sizes, a, b, (group, o, c), total, body, symbol=kernel.symbol)


def _merged(kernel: Convolution, dense: Dense, every: tuple[Axis, ...],
            pixels: tuple[Axis, ...]) -> tuple[Buffer, Axis, list[Store]] | None:
    """Return the sum with ``pixels`` merged into one axis, that axis, and the stores over it;
    ``every`` is the order of axes in memory.
    """
    dtype = kernel.total.dtype
    spread = Buffer(tuple(a.extent for a in every), dtype, "sum")
    length = math.prod(a.extent for a in pixels)
    flat = [a.extent for a in every if a not in pixels]
    flat.insert(every.index(pixels[0]), length)
    total = Buffer(tuple(flat), dtype, "sum")
    at = spread.offset_of([Affine(0, {a: 1}) for a in every])
    stores = stores_with_sum(dense, load(total, dtype.name, at))
    left, both, _ = collapse(pixels, [*stores, Store(total, at, load(total, dtype.name, at))])
    if len(left) > 1:
        return None
    return total, left[0] if left else pixels[-1], both[:-1]
