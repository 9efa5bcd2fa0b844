"""What streams have in common: variables that know where their numbers come from."""

from __future__ import annotations

from typing import Any

from agnesi.compiler.shared import Shared
from agnesi.core.tensor import Tensor


class RandomVariable(Tensor):
    """A symbolic variable of random numbers.

    Attributes
    ----------
    rng : Shared
        The state that it is drawn from.
    update : tuple of (Shared, Tensor)
        That state, and the state after the draw.
    """

    __slots__ = ("rng", "update")

    rng: Shared
    update: tuple[Shared, Tensor]


class Streams:
    """The variables that were drawn, and how their states go on."""

    def __init__(self) -> None:
        self.state_updates: list[tuple[Shared, Tensor]] = []

    def updates(self) -> list[tuple[Shared, Tensor]]:
        """States and new states of all variables, as for ``ag.function(updates=...)``.

        Functions make these updates by themselves, unless told not to (``no_default_updates``).

        Returns
        -------
        list of (Shared, Tensor)
            One for each variable.
        """
        return list(self.state_updates)

    def _drawn(self, x: Tensor, rng: Shared, new: Tensor) -> RandomVariable:
        """A variable of random numbers, from what was computed."""
        t = RandomVariable.__new__(RandomVariable)
        t.data, t.node, t.requires_grad = x.data, x.node, False
        t._grad = t._view = t._version = t._name = None
        rng.default_update = new
        t.rng, t.update = rng, (rng, new)
        self.state_updates.append(t.update)
        return t


def sizes_in(size: Any) -> tuple[Any, ...] | None:
    """A shape, from a number, a size, or a sequence of them; None as it is."""
    if size is None or isinstance(size, tuple):
        return size
    return tuple(size) if isinstance(size, list) else (size,)
