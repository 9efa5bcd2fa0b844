"""Convolutions among the nodes of a graph: which have a kernel of their own, and of what sizes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from agnesi.core import loops
from agnesi.core.extents import guess
from agnesi.core.kernels import Buffer, Convolution, ConvSizes, Kernel, Nest, Store
from agnesi.core.loops import Affine, Axis, Expr, Substitution, load
from agnesi.core.node import Node

#: Terms of a sum up to which the filters of one vector of results fit a thread's stack.
_MANY = 60_000
#: Shares of the places of a gradient to few filters, so that threads have something to share, of
#: how many filter elements at most, and from how many products for one share on.
_PARTS, _FEW, _WORTH = 16, 8192, 1 << 17
_SLOT = 90  # of the axis that counts them
_KINDS = {"conv": "forward", "conv_grad_x": "input", "conv_grad_w": "weight"}


def is_convolution(node: Node) -> bool:
    """Whether the compiler has a convolution kernel for this node."""
    return (
        node.op is not None
        and node.op.template == "conv"
        and node.dtype.name in ("float32", "float64")
        and 3 <= len(node.shape) <= 5
        and 0 not in (*node.shape, *node.inputs[0].shape, *node.inputs[1].shape)
        and _terms(node) <= _MANY
    )


def _terms(node: Node) -> int:
    """Products in one sum of a convolution or of its gradient to the image."""
    _, s = sizes_of(node)
    return max(s.channels, s.filters) * math.prod(s.kernel)


def sizes_of(node: Node) -> tuple[str, ConvSizes]:
    """Kind and sizes of a convolution."""
    op: Any = node.op
    kind = _KINDS[op.name]
    first, second = (i.shape for i in node.inputs)
    image, filters, result = {
        "forward": (first, second, node.shape),
        "input": (node.shape, second, first),
        "weight": (first, node.shape, second),
    }[kind]
    windows, groups = op.windows, op.groups
    return kind, ConvSizes(
        image[0], groups, filters[1], filters[0] // groups, tuple(image[2:]), tuple(filters[2:]),
        tuple(result[2:]), windows.stride, windows.dilation, windows.padding,
    )


def in_parts(kernel: Convolution) -> tuple[list[Kernel], list[Buffer]]:
    """A gradient to few filters by parts of the places, whose sums are then summed.

    Also the new memory.  Other kernels stay as they are.
    """
    count = _parts(kernel)
    if count == 1:
        return [kernel], []
    total, dtype = kernel.total, kernel.total.dtype
    axis, at = Axis(_SLOT, count), tuple(Affine(0, {a: 1}) for a in kernel.axes)
    shape = (count, *total.shape)
    partial, part = Buffer(shape, dtype, "temporary"), Buffer(shape, dtype, "sum", node=total.node)
    place = partial.place((Affine(0, {axis: 1}), *at))
    store = Store(partial, place, load(part, dtype.name, place))
    first = replace(kernel, axes=(axis, *kernel.axes), total=part, body=[store],
                    sizes=replace(kernel.sizes, parts=count))

    def summed(p: Affine) -> Expr:
        return load(partial, dtype.name, partial.place((p, *at)))

    change = _Retold(total, loops.reduce_("add", [count], summed, kernel.axes, [_SLOT]))
    body = [replace(s, value=change(s.value)) for s in kernel.body]
    return [first, Nest(kernel.nodes, axes=kernel.axes, body=body)], [partial]


def _parts(kernel: Convolution) -> int:
    """How many parts the places are cut into."""
    s = kernel.sizes
    elements = s.filters * s.channels * math.prod(s.kernel)
    work = guess(s.batch) * math.prod(s.places) * elements
    few = kernel.kind == "weight" and s.groups == 1 and elements <= _FEW and max(s.kernel) > 1
    return _PARTS if few and work >= _PARTS * _WORTH else 1


class _Retold(Substitution):
    """Reads the sum of a kernel from elsewhere."""

    def __init__(self, total: Buffer, new: Expr) -> None:
        super().__init__({})
        self.total, self.new = total, new

    def __call__(self, value: Expr) -> Expr:
        if value.op == "load" and value.param[0] is self.total:
            return self.new
        return super().__call__(value)
