"""Value numbering: which instruction of a function has computed which expression.

LLVM would find out within a block, but has to read it first, and at its quickest level looks no
further.
"""

from __future__ import annotations

from typing import Generic, TypeVar

V = TypeVar("V")
_Table = dict[str, V]


class Known(Generic[V]):
    """Values by the text of their instructions (local value numbering).

    All are reused within a basic block. 64-bit indices and sizes are also reused in blocks that
    their block dominates; reusing anything else there would occupy registers.
    """

    def __init__(self) -> None:
        self._made: _Table[V] = {}
        self._indices: _Table[V] = {}
        #: Those of the first block of the loop, branch or function that this block is in.
        self._first = self._indices

    def of(self, type_: str) -> _Table[V]:
        """Return the known values of a type."""
        return self._indices if type_ == "i64" else self._made

    def block(self) -> None:
        """Start a basic block: forget all values, and indices made in blocks that do not dominate
        it."""
        self._made = {}
        self._indices = dict(self._first)

    def here(self) -> tuple[_Table[V], _Table[V]]:
        """Return the known values at the beginning of a loop or branch."""
        here = self._first, self._indices
        self._first = self._indices
        return here

    def enter(self) -> None:
        """Begin the first block of a loop or branch."""
        self._first = self._indices

    def leave(self, before: tuple[_Table[V], _Table[V]]) -> None:
        """Begin the block after a loop or branch."""
        self._first, self._indices = before
