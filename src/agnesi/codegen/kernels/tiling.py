"""Cuts of rows and columns: balanced row tiles, and column panels made of vector pieces."""

from __future__ import annotations

from typing import Any, NamedTuple

from agnesi.codegen.llvm.builder import Builder, Value, i64, vector
from agnesi.codegen.llvm.builder import lanes as lanes_of
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.loops import divides
from agnesi.core.support.record import record


class Piece(NamedTuple):
    """Some lanes of a panel: ``active`` of ``lanes`` lanes, from column ``offset`` on."""

    offset: int
    lanes: int
    active: int

    @property
    def mask(self) -> Value | None:
        """The lanes in use, or nothing when all are."""
        if self.active == self.lanes:
            return None
        return lanes_of(vector("i1", self.lanes), [n < self.active for n in range(self.lanes)])


class CutPiece(Piece):
    """A piece whose active lanes are known at run time: ``last`` is the last one."""

    last: Value
    present: Value

    @classmethod
    def of(cls, b: Builder, piece: Piece, count: Value) -> CutPiece:
        """Return the piece with ``count`` active lanes."""
        new = cls(*piece)
        lanes = lanes_of(vector("i64", piece.lanes), range(piece.lanes))
        new.last = b.sub(count, i64(1))
        new.present = b.icmp("ult", lanes, b.splat(count, piece.lanes))
        return new

    @property
    def mask(self) -> Value:
        return self.present


@record
class Rows:
    """``total`` rows in ``tiles`` tiles: the first ``big`` have ``small_size + 1`` rows."""

    total: int
    tiles: int

    @property
    def small_size(self) -> int:
        return self.total // self.tiles

    @property
    def big(self) -> int:
        return self.total % self.tiles

    @property
    def sizes(self) -> tuple[int, ...]:
        """The tile heights that occur, each once."""
        return (self.small_size + 1, self.small_size) if self.big else (self.small_size,)

    @property
    def largest(self) -> int:
        return -(-self.total // self.tiles)

    @property
    def count(self) -> Size:
        """Tiles, as the code has them."""
        return self.tiles

    def start(self, b: Builder, tile: Value) -> Value:
        """First row of a tile."""
        if not self.big:
            return b.mul(tile, i64(self.small_size))
        extra = b.intrinsic("smin", tile, i64(self.big))
        return b.add(b.mul(tile, i64(self.small_size)), extra)

    @staticmethod
    def at_most(total: int, size: int) -> Rows:
        """Return as few balanced tiles as hold ``size`` rows at most."""
        return Rows(total, -(-total // size))


@record
class OpenRows(Rows):
    """Rows whose number is a run-time value: tiles of one height, and lower ones for the rest.

    Those have 4 rows or a multiple that is a power of two, each height once at most, and the very
    last one less.
    """

    actual: Extent

    @property
    def height(self) -> int:
        return -(-self.total // self.tiles)

    @property
    def tails(self) -> tuple[int, ...]:
        """Heights of which the lowest that suffices takes the rows left over, in rising order."""
        found = [self.height - 1] if self.height > 1 else []
        while found and found[-1] > 1:
            found.append(found[-1] * 2 // 3)
        return tuple(reversed(found))

    @property
    def parts(self) -> tuple[int, ...]:
        """Heights that the rows left over are made of, in falling order."""
        high = [1 << n for n in reversed(range(2, (self.height - 1).bit_length()))]
        step = self._step
        return tuple(n for n in (*high, *range(min(3, self.height - 1), 0, -1)) if n % step == 0)

    @property
    def _step(self) -> int:
        """Return a power of two, or the height, that divides the number of remaining rows."""
        steps = (by for by in (self.height, 16, 8, 4, 2, 1) if self.height % by == 0)
        return next(by for by in steps if divides(by, self.actual))

    @property
    def count(self) -> Size:
        return (self.actual + (self.height - 1)) // self.height

    @property
    def whole(self) -> Size:
        """Tiles of the full height."""
        return self.actual // self.height

    @property
    def rest(self) -> Size:
        """The rows that remain after whole tiles."""
        return self.actual % self.height

    def start(self, b: Builder, tile: Value) -> Value:
        """First row of a tile, or the number of rows behind the last one."""
        return b.intrinsic("smin", b.mul(tile, i64(self.height)), b.size(self.actual))


@record
class Panel:
    """``count`` column panels from number ``first`` on that are divided into equal pieces."""

    first: int
    count: int
    pieces: tuple[Piece, ...]
    rows: Rows

    @property
    def width(self) -> int:
        """Elements of one packed row."""
        last = self.pieces[-1]
        return last.offset + last.lanes

    @property
    def columns(self) -> int:
        """Columns of C in one panel."""
        last = self.pieces[-1]
        return last.offset + last.active


@record
class OpenPanel(Panel):
    """Panels of ``full`` columns of a run-time number, or the last one: that of ``rest`` columns
    at most, and of more than ``above``."""

    total: Extent
    full: int
    rest: int = 0
    above: int = 0

    def cut(self, b: Builder) -> Panel:
        """The last one for the columns that are there."""
        count = b.size(self.total % self.full)
        pieces = [CutPiece.of(b, p, b.sub(count, i64(p.offset))) for p in self.pieces]
        return Panel(self.first, self.count, tuple(pieces), self.rows)


class Paneled:
    """A plan whose columns are cut into panels of one width, with a narrower last one if they do
    not divide."""

    panels: tuple[Panel, ...]

    @property
    def panel_count(self) -> Any:
        return sum(p.count for p in self.panels)

    @property
    def panel_columns(self) -> int:
        """Columns from one panel to the next."""
        return self.panels[0].columns

    @property
    def width(self) -> int:
        """Elements of the widest packed row."""
        return max(p.width for p in self.panels)

    def those(self, b: Builder, panel: Panel, first: Value, last: Value) -> tuple[Value, Value]:
        """First and last of the panels of a kind, among [first, last)."""
        if len(self.panels) > 1:
            if panel.first:
                return b.intrinsic("smax", first, i64(panel.first)), last
            return first, b.intrinsic("smin", last, i64(panel.count))
        return first, last


def pieces_of(columns: int, lanes: int) -> tuple[Piece, ...]:
    """Cut columns into full vectors and one last piece, whose lanes are the next power of two."""
    found = [Piece(at, lanes, lanes) for at in range(0, columns - lanes + 1, lanes)]
    rest = columns % lanes
    if rest:
        found.append(Piece(columns - rest, 1 << (rest - 1).bit_length(), rest))
    return tuple(found)
