"""Split-K of filter gradients: sums over parts of the pixels, then the sum of these.

A loop over the filters alone has too few iterations for all threads.  The number of parts does not
depend on the number of threads, so results do not either.
"""

from __future__ import annotations

import math

from agnesi.core.ir import loops
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Buffer, Convolution, Kernel, Nest, Store, axes_in
from agnesi.core.ir.loops import Affine, Expr, Substitution, fresh_axis, load
from agnesi.core.support.record import replace
from agnesi.schedule.clustering.layout import by_memory

#: Elements of filters up to which their gradients are summed in parts.
_MAX_FILTER_ELEMENTS = 8192
#: Numbers of parts that are tried, in order.
_PART_COUNTS = (16, 8, 4)
#: Pixels of a part, at least.
_MIN_PART_PIXELS = 200
#: Multiply-adds of a part, at least.
_MIN_PART_MULTIPLY_ADDS = 1 << 17


def split_filter_gradients(kernel: Convolution) -> tuple[list[Kernel], list[Buffer]]:
    """Return kernels that compute the same filter gradient in parts, and the temporaries; the
    kernel itself if it is not split.
    """
    count = _parts(kernel)
    if count == 1:
        return [kernel], []
    total, dtype = kernel.total, kernel.total.dtype
    taken = {*kernel.axes, *axes_in(kernel.body)}
    axis, at = fresh_axis(count, taken), tuple(Affine(0, {a: 1}) for a in kernel.axes)
    shape, result = (count, *total.shape), kernel.body[0].buffer
    part = Buffer(shape, dtype, "sum", node=total.node)
    partial = Buffer(shape, dtype, "temporary", strides=(total.size, *_dense(result, total)))
    offset = partial.offset_of((axis.index, *at))
    value = load(part, dtype.name, part.offset_of((axis.index, *at)))
    first = replace(kernel, axes=(axis, *kernel.axes), total=part,
                    body=[Store(partial, offset, value)], sizes=replace(kernel.sizes, parts=count))

    def summed(p: Affine) -> Expr:
        return load(partial, dtype.name, partial.offset_of((p, *at)))

    change = _Retold(total, loops.reduce_("add", [count], summed, taken, [axis.slot]))
    body = [replace(s, value=change(s.value)) for s in kernel.body]
    return [first, Nest(kernel.nodes, axes=by_memory(kernel.axes, body), body=body)], [partial]


def _parts(kernel: Convolution) -> int:
    """Return how many parts the pixels are cut into."""
    s = kernel.sizes
    elements = s.filters * s.channels * math.prod(s.kernel)
    pixels = guess(s.batch) * math.prod(map(guess, s.output))
    if (
        kernel.kind != "weight"
        or s.groups > 1
        or elements > _MAX_FILTER_ELEMENTS
        or max(s.kernel) == 1
    ):
        return 1
    least = max(_MIN_PART_PIXELS, _MIN_PART_MULTIPLY_ADDS // elements)
    return next((n for n in _PART_COUNTS if pixels >= n * least), 1)


def _dense(result: Buffer, total: Buffer) -> tuple[int, ...]:
    """Return the strides of the result if it is dense, else those of the sum."""
    last = sum((n - 1) * s for n, s in zip(result.shape, result.strides, strict=True))
    fits = result.shape == total.shape and last == total.size - 1 and min(result.strides) > 0
    return result.strides if fits else total.strides


class _Retold(Substitution):
    """Replaces loads of a kernel's sum by another expression."""

    def __init__(self, total: Buffer, new: Expr) -> None:
        super().__init__({})
        self.total, self.new = total, new

    def __call__(self, value: Expr) -> Expr:
        if value.op == "load" and value.param[0] is self.total:
            return self.new
        return super().__call__(value)
