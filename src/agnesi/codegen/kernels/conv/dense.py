"""A convolution or its input gradient as dense convolutions, all of the same simple form.

The gradient to the input of a strided convolution falls into phases: image positions that are
equal modulo the stride meet the same taps, and one phase is a convolution of stride 1 over the
cotangent.  So no zeros are inserted between the elements of a gradient.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.extents import Extent, guess, surely
from agnesi.core.ir.kernels import Convolution, Store, axes_in
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution, fresh_axes, load
from agnesi.core.support.record import record, replace

Ints = tuple[int, ...]


@record
class Span:
    """One spatial axis: result ``p`` reads tap ``t`` at ``origin + p * stride + t * step``.

    The source is zero outside of [0, size).  ``step`` is positive.
    """

    count: Any  # it may be known at run time only, as the next
    size: Any
    taps: int
    origin: int
    stride: int
    step: int

    @property
    def reach(self) -> int:
        """Positions from the first to the last tap of a result."""
        return (self.taps - 1) * self.step + 1

    @property
    def inside(self) -> bool:
        """Whether every position of the axis is inside the source (no padding)."""
        last = self.origin + (self.count - 1) * self.stride + self.reach
        return self.origin >= 0 and surely(lambda: last <= self.size)

    @property
    def open(self) -> bool:
        """Whether the number of positions or the size of the source is dynamic."""
        return isinstance(self.count, Extent) or isinstance(self.size, Extent)

    @property
    def typical(self) -> Span:
        """This axis with typical numbers instead of run-time sizes, to plan for."""
        return replace(self, count=guess(self.count), size=guess(self.size)) if self.open else self

    @property
    def period(self) -> int:
        """Every how many taps read positions that leave the same remainder by the stride."""
        return self.stride // math.gcd(self.stride, self.step)

    @property
    def plain(self) -> bool:
        """Whether the positions are the indices of the source."""
        return self.taps == 1 and self.stride == 1 and self.origin == 0 and self.count == self.size


@record
class View:
    """A strided operand: elements from the buffer's start, strides of (batch or o, c, d, h, w)."""

    offset: Any
    strides: tuple[Any, ...]
    group: Any  # elements from one group to the next

    @property
    def typical(self) -> View:
        """This operand with typical numbers instead of run-time sizes, to plan for."""
        return View(guess(self.offset), tuple(map(guess, self.strides)), guess(self.group))


_NO_SPAN = Span(1, 1, 1, 0, 1, 1)


@record
class Dense:
    """``result[n, o, p] = sum over c, t of source[n, c, p * stride + t * step] * filter[o, c, t]``

    in each group, for three spatial axes.  ``body`` runs over ``axes``: (n, group, o, d, h, w).
    """

    batch: int
    groups: int
    channels: int
    outputs: int
    spans: tuple[Span, Span, Span]
    source: View
    filters: View
    axes: tuple[Axis, ...]
    body: tuple[Store, ...]
    key: Expr  # the sum, as the body reads it
    dtype: str
    images: Size  # the batch as the code has it; ``batch`` is a typical one, to plan for
    parts: int = 1  # of the pixels, in a gradient to filters: then the first axis counts them

    @property
    def open(self) -> bool:
        """Whether sizes of images are run-time values."""
        return any(s.open for s in self.spans)

    @property
    def typical(self) -> Dense:
        """This convolution with typical numbers for run-time sizes, except ``images``."""
        if not self.open:
            return self
        d, h, w = (s.typical for s in self.spans)
        return replace(self, spans=(d, h, w), source=self.source.typical,
                       filters=self.filters.typical)

    @property
    def depth(self) -> int:
        """Products in one sum."""
        return self.channels * math.prod(s.taps for s in self.spans)

    @property
    def work(self) -> int:
        """Multiply-adds."""
        return self.results * max(1, self.depth)

    @property
    def single(self) -> bool:
        """Whether there is one filter for each channel."""
        return self.channels == self.outputs == 1 and self.groups > 1 and self.depth > 0

    @property
    def results(self) -> int:
        """Elements of the result."""
        return self.batch * self.groups * self.outputs * math.prod(map(guess, self._pixels))

    @property
    def _pixels(self) -> tuple[Size, ...]:
        return tuple([s.count for s in self.spans])

    def squared(self, lanes: int) -> bool:
        """Return whether Winograd tiles fit: several taps along two axes, and channels enough for
        vectors.
        """
        d, h, w = self.spans
        taps = all(s.taps > 1 and s.stride == 1 for s in (h, w)) and d.taps > 0
        return taps and min(self.channels, self.outputs) >= lanes >= 4

    @property
    def actual_work(self) -> Size:
        """Multiply-adds of the sizes as the code has them, which may be run-time values."""
        each = self.groups * self.outputs * max(1, self.depth)
        return product((self.images, *self._pixels, each))

    def blocks(self, each: Size) -> Size:
        """Return the number of blocks in all images, given ``each`` per plane of an image."""
        return self.images * (self.spans[0].count * each)


def folded(dense: Dense) -> Dense:
    """The convolution with the step of each axis of one tap moved into the source's strides."""
    spans, strides, offset = list(dense.spans), list(dense.source.strides), dense.source.offset
    for i, span in enumerate(dense.spans):
        if span.taps == 1 and span.inside:
            offset += span.origin * strides[2 + i]
            strides[2 + i] *= span.stride
            spans[i] = Span(span.count, span.count, 1, 0, 1, 1)
    source = replace(dense.source, offset=offset, strides=tuple(strides))
    return replace(dense, spans=_three(spans), source=source)


def merged_stride(strides: Sequence[int], counts: Sequence[Any]) -> int | None:
    """The stride of several axes that are contiguous to each other as one; None if they are not."""
    step, span = 0, 1
    for stride, count in zip(reversed(strides), reversed(counts), strict=True):
        if count == 1:
            continue
        if span == 1:
            step = stride
        elif stride != step * span:
            return None
        span *= count
    return step


def flat(dense: Dense) -> Dense:
    """A gradient to filters of one tap with its pixels as one axis, where memory has them so."""
    if not isinstance(dense.images, int) or dense.open or not all(s.plain for s in dense.spans):
        return dense
    counts = [dense.images, *(s.count for s in dense.spans)]
    length, views = math.prod(counts), []
    for view in (dense.source, dense.filters):
        step = merged_stride((view.strides[0], *view.strides[2:]), counts)
        if step is None:
            return dense
        whole = length * step
        views.append(replace(view, strides=(whole, view.strides[1], whole, whole, step)))
    source, filters = views
    row = Span(length, length, 1, 0, 1, 1)
    return replace(dense, batch=1, images=1, spans=(_NO_SPAN, _NO_SPAN, row), source=source,
                   filters=filters)


def group_axes(kernel: Convolution, counts: tuple[Any, ...], steps: tuple[tuple[int, int], ...],
               channels: int) -> tuple[tuple[Axis, ...], tuple[Store, ...], Expr]:
    """Return new axes (n, group, o, d, h, w) of ``counts`` elements, and a kernel's epilogue and
    sum over them, of which ``i`` along a spatial axis is position ``first + step * i``."""
    sizes = kernel.sizes
    extents = (sizes.batch, sizes.groups, channels, *counts)
    new = fresh_axes(extents, {*kernel.axes, *axes_in(kernel.body)})
    rank = len(sizes.kernel)
    indices = [_index(new[0]), _index(new[1], channels) + _index(new[2])]
    indices += [
        _index(axis, step, first)
        for axis, (first, step) in zip(new[6 - rank:], steps[3 - rank:], strict=True)
    ]
    return new, *substituted(kernel, indices)


def _index(axis: Axis, step: int = 1, first: int = 0) -> Affine:
    """Return ``first + step * axis``; an axis of size 1 is left out."""
    return Affine(first, {axis: step} if axis.extent != 1 else {})


def substituted(kernel: Convolution, indices: list[Affine]) -> tuple[tuple[Store, ...], Expr]:
    """Return a kernel's epilogue with ``indices`` in place of the axes of the result, and the load
    of the accumulated sum that stands in it."""
    change = Substitution(dict(zip(kernel.axes, indices, strict=True)))
    body = tuple(Store(s.buffer, change.index(s.offset), change(s.value)) for s in kernel.body)
    at = tuple(Affine(0, {a: 1}) for a in kernel.axes)
    return body, change(load(kernel.total, kernel.total.dtype.name, kernel.total.offset_of(at)))


def stores_with_sum(dense: Dense, key: Expr) -> list[Store]:
    """The stores of a body that has ``key`` for its sum."""
    change = Substitution({}, {dense.key: key})
    return [Store(s.buffer, s.offset, change(s.value)) for s in dense.body]


def operand_view(strides: tuple[Any, ...], offset: Any, group: Any) -> View:
    """A view with the spatial axes made three."""
    first, second, *space = strides
    return View(offset, (first, second, *(0,) * (3 - len(space)), *space), group)


def dense_parts(kernel: Convolution) -> list[Dense]:
    """The dense convolutions that make up a kernel of kind "forward" or "input"."""
    sizes = kernel.sizes
    if kernel.kind == "forward":
        return [folded(_forward(kernel, sizes))]
    choices = [_phases(sizes, i) for i in range(len(sizes.kernel))]
    return [folded(_input(kernel, sizes, phase)) for phase in itertools.product(*choices)]


def weight_part(kernel: Convolution) -> Dense:
    """A kernel of kind "weight": the forward convolution with the cotangent as its filters.

    ``body`` runs over ``axes``: (group or part, o, c, d, h, w).
    """
    sizes = kernel.sizes
    three = _three(_spans(sizes))
    counts = (sizes.groups * sizes.parts, sizes.filters, sizes.channels)
    axes = fresh_axes((*counts, *(s.taps for s in three)), {*kernel.axes, *axes_in(kernel.body)})
    if sizes.parts > 1:
        indices = [_index(axes[0]), _index(axes[1]), _index(axes[2])]
    else:
        indices = [_index(axes[0], sizes.filters) + _index(axes[1]), _index(axes[2])]
    indices += [_index(axis) for axis in axes[6 - len(sizes.kernel):]]
    body, key = substituted(kernel, indices)
    a, b = kernel.a, kernel.b
    return folded(Dense(
        guess(sizes.batch), sizes.groups, sizes.channels, sizes.filters, three,
        operand_view(a.strides, a.offset, a.strides[1] * sizes.channels),
        operand_view(b.strides, b.offset, b.strides[1] * sizes.filters),
        axes, body, key, kernel.total.dtype.name, sizes.batch, sizes.parts,
    ))


def _three(spans: list[Span]) -> tuple[Span, Span, Span]:
    d, h, w = [_NO_SPAN] * (3 - len(spans)) + spans
    return d, h, w


def _spans(sizes: ConvSizes) -> list[Span]:
    return [
        Span(count, size, taps, -low, stride, step)
        for count, size, taps, stride, step, (low, _) in zip(
            sizes.output, sizes.image, sizes.kernel, sizes.stride, sizes.dilation, sizes.padding,
            strict=True)
    ]


def _forward(kernel: Convolution, sizes: ConvSizes) -> Dense:
    three = _three(_spans(sizes))
    counts = tuple(s.count for s in three)
    axes, body, key = group_axes(kernel, counts, ((0, 1),) * 3, sizes.filters)
    a, b = kernel.a, kernel.b
    return Dense(
        guess(sizes.batch), sizes.groups, sizes.channels, sizes.filters, three,
        operand_view(a.strides, a.offset, a.strides[1] * sizes.channels),
        operand_view(b.strides, b.offset, b.strides[0] * sizes.filters),
        axes, body, key, kernel.total.dtype.name, sizes.batch,
    )


@record
class _Phase:
    """Positions ``first + stride * q`` of an axis of the image, and the taps that reach them."""

    span: Span
    first: int
    tap: int  # which tap of the filter is the first of the span
    skip: int  # taps from one of the span to the next


def _phases(sizes: ConvSizes, axis: int) -> list[_Phase]:
    size, taps, positions = sizes.image[axis], sizes.kernel[axis], sizes.output[axis]
    stride, step, low = sizes.stride[axis], sizes.dilation[axis], sizes.padding[axis][0]
    found = []
    common = math.gcd(stride, step)
    jump = stride // common  # taps that reach a position are so far from each other
    for first in range(min(stride, size)):
        count = (size - first + stride - 1) // stride
        mine = [t for t in range(taps) if (first + low - t * step) % stride == 0]
        if not mine:
            found.append(_Phase(Span(count, positions, 0, 0, 1, 1), first, 0, 0))
            continue
        origin = (first + low - mine[-1] * step) // stride  # later taps read earlier pixels
        span = Span(count, positions, len(mine), origin, 1, step // common)
        found.append(_Phase(span, first, mine[-1], -jump))
    return found


def _input(kernel: Convolution, sizes: ConvSizes, phase: tuple[_Phase, ...]) -> Dense:
    three = _three([p.span for p in phase])
    lead = 3 - len(phase)
    steps = ((0, 1),) * lead + tuple((p.first, sizes.stride[i]) for i, p in enumerate(phase))
    axes, body, key = group_axes(kernel, tuple(s.count for s in three), steps, sizes.channels)
    a, b = kernel.a, kernel.b
    o, c, *space = b.strides
    offset = b.offset + sum(p.tap * s for p, s in zip(phase, space, strict=True))
    skips = tuple(p.skip * s for p, s in zip(phase, space, strict=True))
    if any(s.taps == 0 for s in three):
        three = _three([replace(s, taps=0, origin=0) for s in three[lead:]])
    return Dense(
        guess(sizes.batch), sizes.groups, sizes.filters, sizes.channels, three,
        operand_view(a.strides, a.offset, a.strides[1] * sizes.filters),
        operand_view((c, o, *skips), offset, o * sizes.filters),
        axes, body, key, kernel.total.dtype.name, sizes.batch,
    )
