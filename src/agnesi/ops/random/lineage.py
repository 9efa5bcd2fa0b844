"""The index of a process among those that were forked from one; it counts from the import on."""

from __future__ import annotations

from agnesi.core.support.forks import at_fork


class Lineage:
    """For this process and its parents: how many processes had been forked before it was."""

    def __init__(self) -> None:
        self.positions: tuple[int, ...] = ()
        self._forks = 0
        at_fork(before=self._counted, in_child=self._begun)

    def _counted(self) -> None:
        self._forks += 1

    def _begun(self) -> None:
        self.positions = (*self.positions, self._forks)
        self._forks = 0


LINEAGE = Lineage()
