"""Sorts by native code (``codegen/library/sorting``): its arguments, and the size of its workspace.

A row has its elements ``inner`` apart; row ``r`` begins at ``r // inner * n * inner + r % inner``.
"""

from __future__ import annotations

from typing import Any

from agnesi.core.ir.dims import Size, is_static, product
from agnesi.core.ir.foreign import Argument, Call, number, operand, result, scratch, units_for
from agnesi.core.support.record import record

#: Dtypes whose elements it puts in order.
DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 bfloat16 float32 float64".split()
)
#: Bytes of the vectors that are filled by rows side by side.
VECTOR_BYTES = 64
#: Vectors that are sorted in registers.
GROUP_VECTORS = 16
#: Rows from which they are sorted side by side.
MIN_PARALLEL_ROWS = 4
#: The most elements of rows that are sorted side by side.
SIDE_BY_SIDE = 4096
#: Rows cannot be longer: positions are counted in 32 bits.
_MAX_ROW_ELEMENTS = 1 << 31


def workspace_bytes(n: Size, rows: Size, size: int) -> Size:
    """Bytes of workspace for a unit that sorts rows of ``n`` elements as words of ``size`` bytes.

    Side by side there are as many rows as a vector has lanes, in groups of vectors; else one row,
    which needs none if its words can be where the result is wanted (``size`` is 0).
    """
    if not isinstance(n, int):
        return size * n + VECTOR_BYTES * (SIDE_BY_SIDE + 2 * GROUP_VECTORS)
    if n <= SIDE_BY_SIDE and not (isinstance(rows, int) and rows < MIN_PARALLEL_ROWS):
        return VECTOR_BYTES * (n + 2 * GROUP_VECTORS)
    return -(-size * n // VECTOR_BYTES) * VECTOR_BYTES


@record
class Sorting:
    """A sort of an array along an axis: of its values, or of the ``positions`` that they have.

    Of values only those from ``first`` to ``last`` need to be in order, if these are given.
    """

    shape: tuple[Size, ...]
    dtype: str
    axis: int
    descending: bool
    positions: bool
    first: int = 0
    last: int | None = None

    @property
    def symbol(self) -> str:
        """The name of the function."""
        return f"sort:{self.dtype}{' positions' if self.positions else ''}"

    @property
    def possible(self) -> bool:
        n = self.shape[self.axis]
        return self.dtype in DTYPES and not (isinstance(n, int) and n >= _MAX_ROW_ELEMENTS)

    @property
    def units(self) -> int:
        """Parts of the work that threads may share."""
        rest = (*self.shape[: self.axis], *self.shape[self.axis + 1:])
        return units_for(product(self.shape), product(rest))

    @property
    def workspace(self) -> Size:
        """Bytes of workspace for each unit."""
        bits = {"bool": 8, "bfloat16": 16}.get(self.dtype) or int(self.dtype.lstrip("uintfloa"))
        word = 64 if self.positions or bits == 64 else 32
        inner = product(self.shape[self.axis + 1:])
        in_place = isinstance(inner, int) and inner == 1 and (self.positions or word == bits)
        rows = product(self.shape[: self.axis]) * inner
        return workspace_bytes(self.shape[self.axis], rows, 0 if in_place else word // 8)

    @property
    def numbers(self) -> tuple[Size, ...]:
        """Return the integers that follow the addresses of elements, result and workspace in the
        call's table.
        """
        shape, axis = self.shape, self.axis
        inner = product(shape[axis + 1:])
        order_mask = -1 if self.descending else 0
        last = shape[axis] if self.last is None else self.last
        return (shape[axis], inner, product(shape[:axis]) * inner, self.units, order_mask,
                self.workspace, self.first, last)

    def call(self) -> Call:
        """The kernel of compiled code."""
        table: tuple[Argument, ...] = (operand(0), result(), scratch(), *map(number, self.numbers))
        return Call(self.symbol, table, scratch=(self.workspace * self.units,), units=self.units)


#: Elements of a block of a row whose first few positions are wanted.
BLOCK_ELEMENTS = 64


def first_few(x: Any, axis: int, k: int, descending: bool) -> Call | None:
    """How compiled code finds the first ``k`` positions of rows without sorting them.

    None where it does not: rows are short for that, or have gaps.
    """
    found = Sorting(tuple(x.shape), x.dtype.name, axis, descending, True)
    n = x.shape[axis]
    if not (found.possible and is_static(x.shape) and isinstance(n, int)):
        return None
    if not 0 < 2 * k * BLOCK_ELEMENTS <= n or product(x.shape[axis + 1:]) != 1:
        return None
    # Of k - 1 blocks and the rest, and k equal ones; a position more is written than taken.
    most = k * BLOCK_ELEMENTS + k + 1
    words = max(most, n // BLOCK_ELEMENTS) if x.dtype.itemsize < 8 else (
        max(most, n // BLOCK_ELEMENTS) + 2 * most)
    workspace = VECTOR_BYTES * -(-8 * words // VECTOR_BYTES)
    numbers = (*found.numbers[:5], workspace, *found.numbers[6:], k, most)
    table = (operand(0), result(), scratch(), *map(number, numbers))
    return Call(f"first:{x.dtype.name}", table, scratch=(workspace * found.units,),
                units=found.units)


def sorting(x: Any, axis: int, descending: bool, positions: bool, first: int = 0,
            last: int | None = None) -> Call | None:
    """How compiled code sorts an operand; None where it cannot."""
    found = Sorting(tuple(x.shape), x.dtype.name, axis, descending, positions, first, last)
    return found.call() if found.possible else None
