"""Actors of Ray as the processes of one group: Ray starts and places them, again if need be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from agnesi.api.processes.memory import GIVEN_UP
from agnesi.compiler.control import set_num_threads
from agnesi.core.integers import is_integer
from agnesi.core.support.errors import CollectiveError, at
from agnesi.distributed.processes import world
from agnesi.distributed.processes.group import TIMEOUT
from agnesi.distributed.processes.workers import check_each

#: Seconds that Ray has at least to start an actor, beside the timeout of collectives.
_START_SECONDS = 60.0


class RayWorkers:
    """Actors of Ray on one machine that run functions with different data, as ranks of one group.

    As :class:`Workers`, but Ray launches them, beside whatever else it runs there.  An actor that
    dies is an error that names its rank, and is started again: the next call has all of them, in a
    new group.

    :param count: How many.
    :param threads: Threads of compiled code, and cores that Ray sets aside, for each.
    :param timeout: Seconds after which their waiting for each other is an error.
    :raises ImportError: If there is no Ray.
    :raises ValueError: If there should be none.
    :see: distributed.Workers, distributed.launch
    """

    def __init__(self, count: int, *, threads: int = 1, timeout: float = TIMEOUT) -> None:
        if not is_integer(count) or count < 1:
            raise ValueError(at(f"RayWorkers: count must be a number of actors, not {count!r}"))
        try:
            self._ray: Any = import_module("ray")
        except ImportError as error:
            raise ImportError(at("RayWorkers needs Ray: pip install ray, or take Workers, which "
                                 "need nothing")) from error
        if not self._ray.is_initialized():
            self._ray.init(include_dashboard=False, log_to_driver=False)
        self.count, self.threads, self.timeout = count, threads, timeout
        self._started = False
        self._kind = self._ray.remote(_Member)
        self._actors: list[Any] = []
        self._joined = False
        self._node: Any = None
        try:
            for rank in range(count):
                self._actors.append(self._start(rank))
        except BaseException:
            self.close()
            raise

    def _start(self, rank: int) -> Any:
        """An actor, beside the first one."""
        options: dict[str, Any] = {"num_cpus": self.threads}
        if self._node is not None:
            strategies = import_module("ray.util.scheduling_strategies")
            options["scheduling_strategy"] = strategies.NodeAffinitySchedulingStrategy(
                self._node, soft=False)
        actor = self._kind.options(**options).remote(rank, self.count, self.threads, self.timeout)
        if self._node is None:
            try:
                self._node = self._soon({rank: actor.node.remote()})[0]
            except BaseException:
                self._ray.kill(actor)
                raise
        self._started = False
        return actor

    def _soon(self, references: dict[int, Any]) -> list[Any]:
        """What actors answer as soon as Ray has started them."""
        seconds = max(self.timeout, _START_SECONDS)
        _, left = self._ray.wait([*references.values()], num_returns=len(references),
                                 timeout=seconds)
        if left:
            late = [rank for rank, reference in references.items() if reference in left]
            raise CollectiveError(at(
                f"RayWorkers: Ray has not started the actors of ranks {late} within {seconds:g} "
                f"seconds, each with num_cpus={self.threads}; it has "
                f"{self._ray.cluster_resources().get('CPU', 0):g} processors on all machines"))
        found: list[Any] = self._ray.get([*references.values()])
        return found

    def _start_all(self) -> None:
        """Wait until all actors are there, for the group's timeout is that of their waiting."""
        if not self._actors:
            raise RuntimeError(at("these RayWorkers are closed"))
        if not self._started:
            self._soon({r: actor.node.remote() for r, actor in enumerate(self._actors)})
            self._started = True

    def run(self, function: Callable[..., Any], *args: Any, each: Sequence[tuple[Any, ...]] = ()
            ) -> list[Any]:
        """Call a function in all actors, which may use collectives.

        :param function: What Ray can pickle.
        :param *args: The same for all.
        :param each: Further arguments of each actor.
        :returns: What it returned, by rank.
        :raises CollectiveError: If an actor died.
        :raises ValueError: If ``each`` is not as long as there are actors.
        :raises Exception: What the function raised in the actor with the lowest rank, but for those
            that waited for another one.
        """
        check_each("RayWorkers.run", each, self.count)
        self._start_all()
        if not self._joined:
            path = self._ray.get(self._actors[0].make.remote(), timeout=self.timeout)
            self._results({r: a.join.remote(path) for r, a in enumerate(self._actors)})
            self._joined = True
        found = self._results({
            rank: actor.call.remote(function, (*args, *(each[rank] if each else ())))
            for rank, actor in enumerate(self._actors)})
        self._joined = all(usable for _, usable in found)
        return [value for value, _ in found]

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """A function's results for all items, each computed by the next actor that is free.

        :param function: Of one argument.
        :param items: Its arguments.
        :returns: In the order of ``items``.
        :raises CollectiveError: If an actor died.
        :raises Exception: What the function raised first.
        """
        self._start_all()
        rest, found = enumerate(items), {}
        busy: dict[Any, tuple[int, int]] = {}

        def give(rank: int) -> None:
            for place, item in itertools.islice(rest, 1):
                reference = self._actors[rank].call.remote(function, (item,))
                busy[reference] = rank, place

        for rank in range(self.count):
            give(rank)
        while busy:
            ready, _ = self._ray.wait([*busy])
            rank, place = busy.pop(ready[0])
            try:
                found[place], usable = self._results({rank: ready[0]})[0]
            except BaseException:
                self._ray.wait([*busy], num_returns=len(busy)) if busy else None
                raise
            self._joined = self._joined and usable
            give(rank)
        return [found[place] for place in sorted(found)]

    def _results(self, references: dict[int, Any]) -> list[Any]:
        """All results; actors that died are started again, and the first error is raised."""
        found, errors, dead = [], {}, set[int]()
        for rank, reference in references.items():
            try:
                found.append(self._ray.get(reference))
            except self._ray.exceptions.RayActorError:
                dead.add(rank)
                errors[rank] = CollectiveError(at(f"the actor of rank {rank} died; it is started "
                                                  "again"))
                self._actors[rank] = self._start(rank)
            except self._ray.exceptions.RayTaskError as error:
                errors[rank] = error.as_instanceof_cause()
        if not errors:
            return found
        self._joined = False
        raise errors[min(errors, key=lambda rank: (  # others only say that they waited for it
            rank not in dead, isinstance(errors[rank], CollectiveError), rank))]

    def close(self) -> None:
        """Let the actors end; Ray goes on."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []

    def __enter__(self) -> RayWorkers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Member:
    """The object that runs in an actor."""

    def __init__(self, rank: int, count: int, threads: int, timeout: float) -> None:
        self.rank, self.count, self.timeout = rank, count, timeout
        set_num_threads(threads)

    def node(self) -> str:
        found: str = import_module("ray").get_runtime_context().get_node_id()
        return found

    def make(self) -> str:
        return world.make_group(self.count)

    def join(self, path: str) -> None:
        world.shutdown()
        world.init(self.rank, self.count, path, timeout=self.timeout)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, bool]:
        """The result, and whether the group is of use still: functions may handle its errors."""
        try:
            found = function(*args)
            return found, not any(group.segment.word(GIVEN_UP) for group in world.present())
        except Exception as error:
            for group in world.present():
                group.give_up(f"rank {self.rank} raised {type(error).__name__}: {error}")
            raise
