"""A key-value interface to what processes share, as in MXNet: push gradients, pull weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.autodiff.recording import no_grad
from agnesi.core.support.errors import Explained, ShapeError, StateError, at, typed
from agnesi.core.tensor import Tensor
from agnesi.distributed.collectives import all_reduce, broadcast
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.ops.base.convert import as_tensor

#: What becomes of a value when sums are pushed: a function of key, sum and value.
Update = Callable[[Any, Tensor, Tensor], Any]


class KVStore(Explained):
    """A key-value store of all processes; the values that they push are summed.

    :param update: ``update(key, total, value)`` changes the value in place, or returns the new one,
        for the sum of what all pushed; without it the sum takes its place.
    :type update: callable, optional
    :see: distributed.data_parallel, distributed.Central

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> store = dist.KVStore(lambda key, total, value: value.sub_(0.5 * total))
    >>> store.init("w", ag.ones(2))
    >>> store.push("w", ag.tensor([1.0, 2.0]))
    >>> store.pull("w")
    tensor([0.5, 0. ])
    """

    def __init__(self, update: Update | None = None, group: Group | None = None) -> None:
        self.update, self.group = update, world(group)
        self._values: dict[Any, Tensor] = {}

    @no_grad()
    def init(self, key: Any, value: Any) -> None:
        """Give a key its first value, that of rank 0.

        :param key: The same in all processes.
        :type key: hashable
        :param value: Of the same shape and dtype in all processes.
        :type value: array_like
        """
        self._check(key)
        self._values[key] = broadcast(as_tensor(value), 0, self.group)

    @staticmethod
    def _check(key: Any) -> None:
        if isinstance(key, (list, set, dict)):
            raise TypeError(at(f"a key is one name or number, not {typed(key)}: call it for each"))

    def _value(self, key: Any) -> Tensor:
        self._check(key)
        if key not in self._values:
            raise StateError(at(f"the store has no {key!r}, but {list(self._values)}: call init"))
        return self._values[key]

    @no_grad()
    def push(self, key: Any, value: Any) -> None:
        """Add up what all processes push, and update the key's value with the sum.

        :param key: A key that :meth:`init` has met.
        :type key: hashable
        :param value: Such as a gradient.
        :type value: array_like
        :raises KeyError: If there is no such key.
        :raises ShapeError: If the key's value has another shape.
        :raises CollectiveError: If processes push different shapes or dtypes.
        """
        mine, given = self._value(key), as_tensor(value)
        if given.shape != mine.shape:
            raise ShapeError(at(f"the value of {key!r} is {typed(mine)}, not {typed(given)}"))
        total = all_reduce(given, "sum", self.group)
        new = total if self.update is None else self.update(key, total, mine)
        if new is not None and new is not mine:
            mine.copy_(new)

    def pull(self, key: Any) -> Tensor:
        """A copy of the current value of a key.

        :param key: A key that :meth:`init` has met.
        :type key: hashable
        :returns: Without gradient.
        :raises KeyError: If there is no such key.
        """
        with no_grad():
            return self._value(key) * 1
