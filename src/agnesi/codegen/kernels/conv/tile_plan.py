"""The common part of all families of convolution plans; ``tile_search`` finds them."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense
from agnesi.codegen.kernels.machine import Machine
from agnesi.codegen.kernels.tile_search import whole_lines
from agnesi.codegen.kernels.tiling import OpenRows, Rows
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.support.record import record
from agnesi.core.target import SET_STRIDE_BYTES


@record
class TilePlan:
    """A dense convolution divided into tiles, blocks and work units.

    ``real`` has the sizes of the code, possibly dynamic, ``dense`` typical sizes for planning.
    ``emitter`` names the file and class that emit the plan.
    """

    dense: Dense
    real: Dense
    type: str
    lanes: int
    itemsize: int

    @property
    def emitter(self) -> str:
        """The file and class that emit the plan."""
        raise NotImplementedError

    @property
    def units(self) -> Size:
        """Units of work, which threads share at will."""
        raise NotImplementedError

    @property
    def areas(self) -> tuple[int, ...]:
        """Bytes of the areas of a thread's workspace, in their order: whole cache lines."""
        raise NotImplementedError

    @property
    def scratch(self) -> int:
        """Bytes of a thread's workspace."""
        return sum(self.areas)

    def lines_for(self, elements: int) -> int:
        """Return the bytes, as whole cache lines, of an area of so many elements, of which a vector
        load may read up to one vector beyond the last."""
        return whole_lines((elements + self.lanes) * self.itemsize)

    def split(self, b: Builder, scratch: Value) -> list[Value]:
        """Return the address of each area of the workspace."""
        return [b.gep("i8", scratch, i64(at)) for at in accumulate(self.areas[:-1], initial=0)]


def split_evenly(rows: Rows) -> list[range]:
    """Return the rows of each tile."""
    big, small, end = rows.big, rows.small_size, rows.total
    starts = [t * small + min(t, big) for t in range(rows.tiles)]
    return [range(start, stop) for start, stop in pairwise([*starts, end])]


def blocks_for(count: Any, each: Any, blocks: int) -> Any:
    """Return the blocks of ``each`` at most, of which there are ``blocks`` if sizes are known."""
    varies = isinstance(count, Extent) or isinstance(each, Extent)
    return (count + (each - 1)) // each if varies else blocks


def opened(rows: Rows, count: Size) -> Rows:
    """Return tiles of the same height for a number of rows that may be known at run time only."""
    return OpenRows(rows.total, rows.tiles, count) if isinstance(count, Extent) else rows


def scattered(dense: Dense, machine: Machine) -> bool:
    """Return whether the pixels of a source for one tap fall on different pages of memory."""
    step = abs(dense.source.strides[4]) * machine.itemsize
    return dense.depth == dense.channels and step >= SET_STRIDE_BYTES // 2
