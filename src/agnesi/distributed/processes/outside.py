"""What a process that is not among a group's has instead of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from agnesi.core.support.errors import at
from agnesi.distributed.processes.group import Group


class Outside(Group):
    """A group of which this process is no member: rank and size are -1, and it is false.

    Collectives of it that give back what they got, changed by others, leave it as it is and warn,
    as PyTorch's do; all others have no result here, and raise.
    """

    def __init__(self, ranks: Sequence[int], around: Group) -> None:
        self.rank = self.size = -1
        self.mine, self.ranks = around.rank, tuple(ranks)

    def __bool__(self) -> bool:
        return False

    def explain(self) -> str:
        """Why nothing can be done here."""
        return (f"rank {self.mine} is not among the ranks {list(self.ranks)} of this group, of "
                "which only those call it: `if group:`")

    def close(self) -> None:
        """There is nothing to leave."""

    def __repr__(self) -> str:
        return f"Group(of ranks {list(self.ranks)}, without rank {self.mine})"


def passes(group: Group | None, name: str) -> bool:
    """Return whether this process is outside a group, and warn that its tensor stays as it is."""
    if isinstance(group, Outside):
        warnings.warn(at(f"{name} does nothing here: {group.explain()}"), stacklevel=4)
        return True
    return False


def checked(group: Group) -> Group:
    """The same group.

    :raises ValueError: If this process is outside.
    """
    if isinstance(group, Outside):
        raise ValueError(at(group.explain()))
    return group
