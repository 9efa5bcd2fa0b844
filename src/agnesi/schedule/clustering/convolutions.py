"""Convolution nodes of a graph: whether each has a kernel of its own, and its sizes."""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import name_of

#: Terms of a sum up to which the filters of one vector of results fit a thread's stack.
_MAX_FILTER_TERMS = 60_000
#: Channels, each with its own filter, from which lanes run along them.
_MIN_DEPTHWISE_CHANNELS = 8


def is_convolution(node: Node) -> bool:
    """Return whether the compiler has a convolution kernel for this node."""
    return (
        node.op is not None
        and node.op.template == "conv"
        and name_of(node.dtype) in ("float32", "float64")
        and 3 <= len(node.shape) <= 5
        and 0 not in (*node.shape, *node.inputs[0].shape, *node.inputs[1].shape)
        and _terms(node) <= _MAX_FILTER_TERMS
        and not _is_plain(node)
    )


def _is_plain(node: Node) -> bool:
    """Return whether a convolution is left to loop nests: it is depthwise over few channels, and
    the sizes of its images are dynamic.
    """
    _, sizes = sizes_of(node)
    return (
        sizes.open
        and sizes.channels == sizes.filters == 1
        and sizes.groups < _MIN_DEPTHWISE_CHANNELS
    )


def _terms(node: Node) -> int:
    """Return how many products are summed for one element of a convolution or of its image
    gradient.
    """
    op: Any = node.op
    filters, channels, *kernel = (node if op.kind == "weight" else node.inputs[1]).shape
    return max(channels, filters // op.groups) * math.prod(kernel)


def sizes_of(node: Node) -> tuple[str, ConvSizes]:
    """Kind and sizes of a convolution."""
    op: Any = node.op
    first, second = (i.shape for i in node.inputs)
    image, filters, result = {
        "forward": (first, second, node.shape),
        "input": (node.shape, second, first),
        "weight": (first, node.shape, second),
    }[op.kind]
    windows, groups = op.windows, op.groups
    return op.kind, ConvSizes(
        image[0], groups, filters[1], filters[0] // groups, tuple(image[2:]), tuple(filters[2:]),
        tuple(result[2:]), windows.stride, windows.dilation, windows.padding,
    )
