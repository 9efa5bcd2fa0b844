"""The tiles of a Winograd convolution: how results and images are cut into squares."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense, Span
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.record import record, replace

#: Side of a tile of the result, in pixels.
RESULT_TILE = 2
#: Side of the tile of the source that it needs, in pixels.
SOURCE_TILE = RESULT_TILE + 2
#: Taps of an axis that a tile covers.
FILTER_TAPS = 3


@record
class Grid:
    """How squares are laid out along an axis.

    Pixels of a square are ``step`` apart, as taps are; a band is ``step`` squares with every pixel
    between them.  Taps are covered by ``parts`` runs of three that overlap by one, which belongs to
    the first of both: a run reads the squares one band further on than the run before.
    """

    span: Span

    @property
    def step(self) -> int:
        return self.span.step

    @cached_property
    def parts(self) -> int:
        return self.span.taps // 2

    @cached_property
    def bands(self) -> Any:
        return (self.span.count + RESULT_TILE * self.step - 1) // (RESULT_TILE * self.step)

    @cached_property
    def squares(self) -> Any:
        """Squares of results."""
        return self.bands * self.step

    def read(self, bands: int) -> int:
        """Squares of the source that so many bands of results need."""
        return (bands + self.parts - 1) * self.step

    @cached_property
    def part_counts(self) -> tuple[int, ...]:
        """How many parts are not zero in each element of a square: a number for each element.

        A part that lacks its first tap is zero in the first element, one without the last in the
        last.
        """
        return (1, self.parts, self.parts, self.parts - (self.span.taps % 2 == 0))

    @property
    def short(self) -> int:
        """The part that lacks its last tap; -1 if none does."""
        return -1 if self.span.taps % 2 else self.parts - 1

    @property
    def padded(self) -> Span:
        """The axis as if it had whole squares and all taps of the parts."""
        return replace(self.span, count=self.squares * RESULT_TILE, taps=2 * self.parts + 1)


@record
class Squared:
    """A dense convolution by squares: all that does not depend on how it is cut."""

    dense: Dense

    @cached_property
    def high(self) -> Grid:
        return Grid(self.dense.spans[1])

    @cached_property
    def wide(self) -> Grid:
        return Grid(self.dense.spans[2])

    @cached_property
    def joined(self) -> bool:
        """Whether the squares of a whole block are one run, for the source and the result."""
        return self.high.parts == self.wide.parts == 1 and self.dense.spans[0].plain

    @cached_property
    def parts(self) -> int:
        """Runs of taps of a filter."""
        return self.dense.spans[0].taps * self.high.parts * self.wide.parts

    @cached_property
    def pairs(self) -> int:
        """Multiplications for a square, for every channel and column."""
        return self.dense.spans[0].taps * sum(self.high.part_counts) * sum(self.wide.part_counts)

    @cached_property
    def squares(self) -> int:
        """Squares of results of the whole batch."""
        whole = self.dense.batch * self.dense.groups * self.dense.spans[0].count
        return whole * self.high.squares * self.wide.squares

    @cached_property
    def plane(self) -> Dense:
        """The convolution of one plane as if it had whole squares."""
        d = self.dense.spans[0]
        spans = Span(d.size, d.size, 1, 0, 1, 1), self.high.padded, self.wide.padded
        return replace(self.dense, spans=spans)

    @cached_property
    def cotangent(self) -> Dense:
        """The cotangent as the source of a convolution of one tap, zero behind its end."""
        d, h, w = self.dense.spans
        spans = (Span(d.count, d.count, 1, 0, 1, 1),
                 Span(self.high.squares * RESULT_TILE, h.count, 1, 0, 1, 1),
                 Span(self.wide.squares * RESULT_TILE, w.count, 1, 0, 1, 1))
        return replace(self.dense, channels=self.dense.outputs, spans=spans,
                       source=self.dense.filters)
