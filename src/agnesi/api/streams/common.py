"""The common part of random streams: variables that know the stream their draws come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compiler.shared import Shared, shared, variable_of
from agnesi.core.dispatch import assign
from agnesi.core.support.config import HOOKS
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.base.creation import checked_sizes


class StreamState(Shared):
    """The state of a random variable: every draw from it advances it.

    Bodies of loops and branches carry it, so that each step draws again; functions that use it have
    its new value among their updates.
    """

    __slots__ = ("begin", "streams")

    #: Computes the initial value.
    begin: Callable[[], np.ndarray]
    streams: Streams

    def advance(self, new: Tensor) -> None:
        """Set the state after a draw."""
        if is_tracing():
            assign(self, new, state=True)
            return
        self.default_update = new
        self.streams.note(self, new)

    def another(self) -> StreamState:
        """A state of the same kind elsewhere in the streams."""
        return self.streams.state(self.begin, type(self))


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

    rng: StreamState
    update: tuple[StreamState, Tensor]


class Streams:
    """The variables that were drawn, and how their states go on."""

    def __init__(self) -> None:
        self.state_updates: list[tuple[StreamState, Tensor]] = []

    def updates(self) -> list[tuple[StreamState, Tensor]]:
        """States and new states of all variables, as for ``ag.function(updates=...)``.

        Functions make these updates by themselves, but for those in ``no_default_updates``.

        :returns: One for each variable.
        :rtype: list of (Shared, Tensor)
        """
        return list(self.state_updates)

    def state(self, begin: Callable[[], np.ndarray], kind: type = StreamState) -> StreamState:
        """A state that begins with what ``begin`` makes, now and when the streams start again.

        :param begin: Makes the first value.
        :param kind: The class of the variable.
        :returns: A shared variable.
        """
        made: Any = shared(begin(), borrow=True)
        made.node.shape = made.storage.shape
        rng = variable_of(made.storage, made.node, None, kind)
        rng.begin, rng.streams = begin, self
        return rng

    def note(self, rng: StreamState, new: Tensor) -> None:
        """Keep how a state goes on.

        :param rng: The state.
        :param new: What it becomes.
        """
        places = {id(r): i for i, (r, _) in enumerate(self.state_updates)}
        i = places.get(id(rng), len(places))
        self.state_updates[i:i + 1] = [(rng, new)]

    def begin_anew(self) -> None:
        """Let all states be what they began with."""
        for rng, _ in self.state_updates:
            Shared.set_value(rng, rng.begin())

    def drawn(self, x: Tensor, rng: StreamState, new: Tensor) -> RandomVariable:
        """A variable of random numbers, from what was computed.

        :param x: The numbers.
        :param rng: The state that they come from.
        :param new: What it becomes.
        :returns: Its numbers are other ones in each call of a function.
        """
        rng.advance(new)
        return self._variable(x, rng, new)

    def seen(self, x: Tensor, drawn: RandomVariable) -> RandomVariable:
        """A variable that is computed of another one.

        :param x: What was computed.
        :param drawn: The variable that it was computed of.
        :returns: With the state of that one.
        """
        return self._variable(x, *drawn.update)

    @staticmethod
    def _variable(x: Tensor, rng: StreamState, new: Tensor) -> RandomVariable:
        t = RandomVariable.__new__(RandomVariable)
        t.array, t.node, t._requires_grad = x.array, x.node, x._requires_grad
        t._grad = t._view = t._version = t._name = None
        t.rng, t.update = rng, (rng, new)
        return t


class Drawn(Streams):
    """The states of what symbolic programs draw from generators of values, as dropout does."""


_DRAWN = Drawn()


def stream(generator: Any) -> StreamState:
    """A state for one variable of a program, which begins with numbers of a generator."""
    rng = _DRAWN.state(generator.beginning)
    _DRAWN.state_updates.clear()  # they are not requested: functions find their states themselves
    return rng


HOOKS.stream = stream


def sizes_in(size: Any) -> tuple[Any, ...] | None:
    """A shape, from a number, a size, or a sequence of them; None as it is."""
    return None if size is None else checked_sizes(size)
