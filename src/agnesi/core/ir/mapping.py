"""How loop nests are mapped to lanes, threads and blocks: what the schedule gives code generators.

``schedule/mapping`` makes the decisions.  A plan holds what can be said of a nest as a whole; how
many lanes a loop has is decided loop by loop, as sums and hoisted values get loops of their own.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent, guess
from agnesi.core.ir.kernels import Branch, Loop, Nest, Store, walk
from agnesi.core.ir.loops import Affine, Axis, Expr
from agnesi.core.support.record import struct

#: Stores that are written together, at most.
MAX_JOINED_STORES = 8
#: Longest step between lanes, and longest period, that shuffles are used for.
LONGEST_STEP = 6
#: Elements along the lanes of a block that is transposed.
BLOCK_ELEMENTS = 64


@struct
class NestPlan:
    """A nest that is mapped: its loops, the lane axis, and how work is shared out.

    A unit of work is an iteration of the first loop, or ``block`` elements along the lanes where
    there is no other loop, or none whose iterations can be shared out.

    :ivar axes: The loops, outermost first.
    :ivar along: The axis of the lanes, which is the last one; None if all loops are scalar ones.
    :ivar units: How many units of work there are, among which threads share the nest.
    :ivar work: Scalar instructions of all loops, about.
    :ivar ordered: The axes that run in sequence.
    :ivar across: The axis that is cut into blocks beside the lanes where operands are transposed.
    :ivar threshold: From how much work several threads are worth waking.
    """

    axes: tuple[Axis, ...]
    stores: list[Store]
    along: Axis | None
    units: Any
    work: Any
    ordered: frozenset[Axis]
    block: int = 1
    across: Axis | None = None
    threshold: int = 0

    @property
    def outer(self) -> list[Axis]:
        """The loops around the lanes."""
        return [a for a in self.axes if a is not self.along]

    @property
    def parallel(self) -> bool:
        """Whether the nest is worth several threads."""
        return is_parallel(self.units, self.surplus)

    @property
    def surplus(self) -> Any:
        """By how much it is worth several threads."""
        return self.work - self.threshold


def is_parallel(units: Size, surplus: Size) -> bool:
    """Return whether a kernel is worth several threads.

    ``surplus`` is the work above the threshold; if it depends on dynamic sizes, the call decides.
    """
    return guess(units) > 1 and (isinstance(surplus, Extent) or surplus >= 0)


class Mapping(Protocol):
    """The decisions about loops for one target and compile policy."""

    def nest(self, nest: Nest) -> NestPlan:
        """Return how a nest runs."""

    def inlined(self, kernel: Loop | Branch) -> Table[int, NestPlan]:
        """Return the nests, by id, that are written into the code of a loop or branch around them.
        """

    def lanes(self, values: Sequence[Expr], axis: Axis, carries: bool = False) -> int:
        """Return the lanes of a loop over an axis, which may carry totals, that computes values."""

    def native_lanes(self, values: Sequence[Expr]) -> int:
        """Return the lanes that fill one register."""

    def periodic_lanes(self, lanes: int, values: Sequence[Expr], axis: Axis) -> int:
        """Return a number of lanes near ``lanes`` that is a multiple of the periods of quotients
        and remainders in the values; ``lanes`` if there is none near."""

    def masks_all(self, values: Sequence[Expr], axis: Axis) -> bool:
        """Return whether one masked loop serves all iterations of a loop."""


class Period(NamedTuple):
    """A quotient by ``length`` or its remainder, which is ``phase`` at the first lane."""

    start: Affine
    length: int
    phase: int


def period_of(value: Expr, along: Axis | None, unit: int) -> Period | None:
    """Return how a quotient or remainder runs along the lanes; None where it has no period.

    ``unit`` divides the index of the first lane.
    """
    if value.op not in ("floor_divide", "remainder"):
        return None
    by, (start,) = value.args[1], value.args[:1]
    if by.op != "const" or start.op != "index" or not isinstance(by.param, int):
        return None
    at, length = start.param, by.param
    if not 1 < length <= LONGEST_STEP or at.atoms or at.terms.get(along, 0) != 1:
        return None
    rest = [c for a, c in at.terms.items() if a is not along]
    if at.const < 0 or any(not isinstance(c, int) or c % length for c in (unit, *rest)):
        return None
    return Period(at, length, at.const % length)


def reads_across(values: Sequence[Expr], along: Axis, across: Axis) -> list[Expr]:
    """Return the loads whose contiguous axis is not that of the lanes."""
    return [v for v in walk(list(values))
            if v.op == "load" and _is_across(v.param[1], along, across)]


def _is_across(at: Affine, along: Axis, across: Axis) -> bool:
    step = at.terms.get(along, 0)
    far = not isinstance(step, int) or abs(step) > LONGEST_STEP
    return far and at.terms.get(across) == 1 and not at.atoms
