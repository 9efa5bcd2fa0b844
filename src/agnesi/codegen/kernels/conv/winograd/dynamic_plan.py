"""Plans of Winograd convolutions whose image sizes are run-time values.

A block has as many bands of lines as its workspace allows, however wide they are: it is that of
the block which is best for typical sizes, or of one band of the widest image.
"""

from __future__ import annotations

from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense
from agnesi.codegen.kernels.conv.source import Layout, packed_layout
from agnesi.codegen.kernels.conv.tile_plan import blocks_for
from agnesi.codegen.kernels.conv.winograd.plan import WinogradPlan, WinogradWeightPlan
from agnesi.codegen.kernels.conv.winograd.tiles import RESULT_TILE, Squared
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import combined, most
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.record import record, replace


@record
class _Open(WinogradPlan):
    """A plan for images of any size; ``typical`` is the one for typical sizes."""

    typical: WinogradPlan

    @property
    def planes(self) -> int:
        return self.typical.planes

    @cached_property
    def source_planes(self) -> int:
        d = self.dense.spans[0]
        return (self.planes - 1) * d.stride + d.reach

    @cached_property
    def sheet(self) -> int:
        return max(self.typical.sheet, self.high.step * _most(self.wide.squares))

    @cached_property
    def source_tiles(self) -> int:
        squares = self.images * self.source_planes * self._area(
            self.sheet, (self.high.parts - 1) * self.high.step,
            (self.wide.parts - 1) * self.wide.step)
        return self._apart(squares, self.channel_pitch)

    def _area(self, squares: int, down: int, across: int) -> int:
        """Bound the squares of a block with ``down`` more lines and ``across`` more columns."""
        lines, line = _most(self.high.squares), _most(self.wide.squares)
        return squares + min(lines, squares) * across + line * down + down * across

    def _packed(self, dense: Dense) -> Layout:
        """Return the strides of packed lines of a block where sizes are dynamic: lines of the
        image's width, and planes that fill the squares that there is memory for.
        """
        _, h, w = dense.spans
        line = packed_layout(dense, 1, self.wide.squares * RESULT_TILE, self.itemsize)
        squares = self._area(self.sheet, h.reach, w.reach) * RESULT_TILE * RESULT_TILE
        return replace(line, plane=squares * line.pixel)

    @cached_property
    def layout(self) -> Layout:
        return self._packed(self.squared.plane)

    @property
    def workspace(self) -> int:
        return RESULT_TILE * RESULT_TILE * _most(self.wide.squares) * self.width


@record
class OpenWinogradPlan(_Open):
    """A convolution by squares of images of any size."""


@record
class OpenWinogradWeightPlan(_Open, WinogradWeightPlan):
    """The gradient to its filters."""

    @cached_property
    def cotangent_layout(self) -> Layout:
        return self._packed(self.squared.cotangent)


def opened(plan: Any, real: Dense) -> Any:
    """The plan for the sizes of ``real``, made from the one for typical sizes."""
    weight = isinstance(plan, WinogradWeightPlan)
    kind: Any = OpenWinogradWeightPlan if weight else OpenWinogradPlan
    squared = Squared(real)
    band = squared.high.step * squared.wide.squares
    bands = combined("max", combined("//", plan.sheet, band), 1)
    fields = {name: getattr(plan, name) for name in plan._fields}
    fields.update(dense=real, real=real, squared=squared)
    fields["plane_blocks"] = blocks_for(real.spans[0].count, plan.planes, plan.plane_blocks)
    fields["line_blocks"] = blocks_for(squared.high.bands, bands, plan.line_blocks)
    return kind(**fields, typical=plan)


def _most(size: Size) -> int:
    found = most(size)
    assert found is not None  # sizes that calls bring have bounds
    return found
