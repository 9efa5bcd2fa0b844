"""The centre of asynchronous rules in an actor of Ray, which workers on any machine meet."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from agnesi.core.support.errors import CollectiveError, at
from agnesi.core.tensor import Tensor
from agnesi.distributed.central import Rule, met
from agnesi.distributed.flat import Flat, Rows, checked
from agnesi.distributed.processes.group import TIMEOUT
from agnesi.nn.base.module import Module


class RayCentral:
    """A parameter server of Ray, as a worker sees it: the rules of :class:`Central`.

    :param model: Whose parameters are shared.  The first worker's are those of the centre at first,
        which the others take.
    :type model: Module or iterable of Tensor
    :param server: What :meth:`serve` has started, the same for all workers.
    :type server: actor
    :param every: Only each so many calls of ``sync`` exchange.
    :param timeout: Seconds after which waiting for the server is an error.
    :raises ValueError: If ``every`` is no number of batches, or the centre has other parameters.
    :raises CollectiveError: If the server is gone, or does not answer in time.
    :see: distributed.Central, distributed.RayWorkers
    """

    def __init__(self, model: Module | Iterable[Tensor], server: Any, every: int = 1, *,
                 timeout: float = TIMEOUT) -> None:
        checked("RayCentral", None, object, every)
        self._ray: Any = import_module("ray")
        self.server, self.every, self.timeout = server, every, timeout
        self._flat, self._calls = Flat(model), 0
        mine = self._flat.types()
        self._last: Rows
        self._last, theirs = self._asked(server.begin.remote(self._flat.rows(), mine))
        if mine != theirs:
            raise ValueError(at(f"RayCentral: the centre has {', '.join(theirs)}, and this worker "
                                f"{', '.join(mine)}"))
        self._flat.take(self._last)

    @staticmethod
    def serve(rule: Rule, **options: Any) -> Any:
        """Start the actor that keeps the centre.

        :param rule: What an exchange does.
        :param **options: For Ray, such as ``num_cpus``, which is 0 by default.
        :returns: To be handed to the workers.
        :rtype: actor
        :raises TypeError: If that is no rule.
        """
        checked("RayCentral.serve", rule, Rule, 1)
        kind = import_module("ray").remote(_Server)
        return kind.options(**{"num_cpus": 0, **options}).remote(rule)

    def _asked(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference, timeout=self.timeout)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError) as error:
            raise CollectiveError(at("the parameter server of Ray has died, or did not answer "
                                     f"within {self.timeout:g} seconds")) from error

    def sync(self) -> bool:
        """Exchange parameters with the centre at each ``every``-th call; they change in place.

        :returns: Whether this call did.
        :raises CollectiveError: If the server is gone, or does not answer in time.
        """
        self._calls += 1
        if self._calls % self.every:
            return False
        self._last = self._asked(self.server.meet.remote(self._flat.rows(), self._last))
        self._flat.take(self._last)
        return True

    def values(self) -> list[np.ndarray]:
        """The centre's parameters.

        :returns: In the order of the worker's.
        """
        return self._flat.split(self._asked(self.server.values.remote()))


class _Server:
    """The object that runs in the server's actor, one call after another."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.centre: Rows = {}
        self.types: list[str] = []

    def begin(self, rows: Rows, types: list[str]) -> tuple[Rows, list[str]]:
        """The centre, and what it is made of; both are the first worker's at first."""
        if not self.centre:
            self.centre, self.types = rows, types
        return self.centre, self.types

    def values(self) -> Rows:
        return self.centre

    def meet(self, rows: Rows, last: Rows) -> Rows:
        """The worker's new values."""
        new: Rows = {}
        for dtype, local in rows.items():
            new[dtype], centre = met(self.rule, local, self.centre[dtype], last[dtype])
            self.centre = {**self.centre, dtype: np.asarray(centre)}
        return new
