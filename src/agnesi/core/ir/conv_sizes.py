"""The sizes of a convolution, one description for all kinds and implementations."""

from __future__ import annotations

from typing import Any

from agnesi.core.ir.dims import Size, is_static, product
from agnesi.core.support.record import record


@record
class ConvSizes:
    """Sizes of a convolution of any kind, as the forward one has them; all are at least 1.

    The tuples have an entry for each of one to three spatial axes.  Window ``p`` has tap ``t`` at
    ``p * stride + t * dilation - low`` of the image, which is zero outside of its size.
    """

    batch: int
    groups: int
    channels: int  # of the image, in one group
    filters: int  # channels of the result, in one group
    image: tuple[Any, ...]
    kernel: tuple[int, ...]
    output: tuple[Any, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]  # (low, high)
    parts: int = 1  # of the output's pixels; a gradient to filters has a result for each

    @property
    def open(self) -> bool:
        """Whether sizes of images are run-time values."""
        return not is_static((*self.image, *self.output))

    @property
    def work(self) -> Size:
        """Multiply-adds of any of the three kinds."""
        pairs = self.groups * self.channels * self.filters
        return product((self.batch, pairs, *self.output, *self.kernel))
