"""Processes that wait for functions: one group, of which all run the same, or share out a list."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

from agnesi.api.processes.memory import (
    GIVEN_UP,
    REASON,
    REASON_BYTES,
    Segment,
    open_segment,
)
from agnesi.compiler.control import set_num_threads
from agnesi.core.integers import is_integer
from agnesi.core.support.errors import CollectiveError, Explained, at
from agnesi.distributed.processes import world
from agnesi.distributed.processes.group import TIMEOUT
from agnesi.distributed.processes.launch import ended

#: Seconds that others get once a process has failed, before they are notified.
_GRACE_SECONDS = 0.3


class Workers(Explained):
    """Some processes that run functions with different data, as ranks of one group.

    :param count: How many.
    :param threads: Threads of compiled code in each.
    :param timeout: Seconds after which their waiting for each other is an error.
    :raises ValueError: If there should be none.
    :see: distributed.launch, distributed.all_reduce

    >>> import math
    >>> from agnesi import distributed as dist
    >>> with dist.Workers(2) as workers:
    ...     print(workers.map(math.sqrt, [1, 4, 9]), workers.run(dist.world_size))
    [1.0, 2.0, 3.0] [2, 2]
    """

    def __init__(self, count: int, *, threads: int = 1, timeout: float = TIMEOUT) -> None:
        if not is_integer(count) or count < 1:
            raise ValueError(at(f"Workers: count must be a number of processes, not {count!r}"))
        context = multiprocessing.get_context("spawn")
        self.timeout, self.count = timeout, count
        self._segment: Segment | None = None
        self._dead: CollectiveError | None = None
        self._number = 0  # of the last call
        self._under_way = False
        self._ends: list[Connection] = []
        self._processes: list[Any] = []
        for rank in range(count):
            mine, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, rank, count, threads, timeout),
                                      daemon=True, name=f"agnesi worker {rank}")
            process.start()
            theirs.close()
            self._ends.append(mine)
            self._processes.append(process)

    def run(self, function: Callable[..., Any], *args: Any, each: Sequence[tuple[Any, ...]] = ()
            ) -> list[Any]:
        """Call a function in all processes, which may use collectives.

        :param function: A function of a module, or what else can be pickled.
        :param *args: The same for all.
        :param each: Further arguments of each process.
        :returns: What it returned, by rank.
        :raises CollectiveError: If a process was killed.
        :raises ValueError: If ``each`` is not as long as there are processes.
        :raises TypeError: If something cannot be pickled.
        :raises Exception: What the function raised in the process with the lowest rank, of those
            that did not only wait for another one.
        """
        check_each("Workers.run", each, self.count)
        calls = [_pickled(function, (*args, *(each[rank] if each else ())))
                 for rank in range(self.count)]
        self._join()
        self._number += 1
        for rank, call in enumerate(calls):
            self._send(rank, ("call", self._number, call))
        return self._results({rank: rank for rank in range(self.count)}, iter(()), {})

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """A function's results for all items, each computed in the next process that is free.

        :param function: Of one argument.
        :param items: Its arguments.
        :returns: In the order of ``items``.
        :raises CollectiveError: If a process was killed.
        :raises TypeError: If something cannot be pickled.
        :raises Exception: What the function raised first.
        """
        self._check()
        rest = ((place, _pickled(function, (item,))) for place, item in enumerate(items))
        busy: dict[int, int] = {}
        errors: dict[int, BaseException] = {}
        self._number += 1
        self._under_way = True
        try:
            for rank in range(self.count):
                self._give(rank, busy, rest, errors)
            return self._results(busy, rest, errors)
        finally:
            self._under_way = False

    def _give(self, rank: int, busy: dict[int, int], rest: Iterator[tuple[int, bytes]],
              errors: dict[int, BaseException]) -> None:
        """Send the next call, if there is one; its error is kept, as others are at work."""
        if errors:
            return
        try:
            place, call = next(rest)
        except StopIteration:
            return
        except Exception as error:
            errors[rank] = error
            return
        self._send(rank, ("call", self._number, call))
        busy[rank] = place

    def _check(self) -> None:
        if self._under_way:
            raise RuntimeError(at("Workers: another call is under way; make one after the other"))
        if self._dead is not None:
            raise self._dead
        if not self._ends:
            raise RuntimeError(at("these Workers are closed"))

    def _send(self, rank: int, message: tuple[Any, ...]) -> None:
        try:
            self._ends[rank].send(message)
        except OSError:
            raise self._lost(rank) from None

    def _join(self) -> None:
        """Make a group, the first time, and again where the last one was given up."""
        self._check()
        if self._segment is not None and not self._segment.word(GIVEN_UP):
            return
        self._leave()
        path = world.make_group(self.count)
        self._segment = open_segment(path, self.count)
        self._segment.path = path
        for rank in range(self.count):
            self._send(rank, ("join", path))

    def _leave(self) -> None:
        if self._segment is not None:
            self._segment.unlink()
            self._segment.close()
            self._segment = None

    def _results(self, busy: dict[int, int], rest: Iterator[tuple[int, bytes]],
                 errors: dict[int, BaseException]) -> list[Any]:
        """Collect results by place; who is done gets the next item, if there is one.

        Answers to calls whose results are no longer wanted, as the program was interrupted,
        are left out.
        """
        found: dict[int, Any] = {}
        last = 0.0
        while busy:
            ends = {self._ends[rank]: rank for rank in busy}
            ready: Any = wait(list(ends), _GRACE_SECONDS if errors else None)
            for end in ready:
                rank = ends[end]
                try:
                    number, good, value = end.recv()
                except (EOFError, OSError):
                    number, good, value = self._number, False, self._lost(rank)
                if number != self._number:
                    continue
                place = busy.pop(rank)
                if not good:
                    errors[rank] = value
                    last = time.monotonic()
                    continue
                found[place] = value
                self._give(rank, busy, rest, errors)
            if errors and busy and time.monotonic() - last > _GRACE_SECONDS:
                self._give_up(min(errors), errors[min(errors)])
        if errors:
            raise errors[min(errors, key=lambda q: (
                isinstance(errors[q], CollectiveError), errors[q] is not self._dead, q))]
        return [found[place] for place in sorted(found)]

    def _give_up(self, rank: int, error: BaseException) -> None:
        s = self._segment
        if s is not None and not s.word(GIVEN_UP):
            s.put_text(REASON, f"rank {rank} raised {type(error).__name__}: {error}", REASON_BYTES)
            s.put(GIVEN_UP, 1)

    def _lost(self, rank: int) -> CollectiveError:
        process = self._processes[rank]
        process.join(1.0)
        code = process.exitcode
        how = "does not answer" if code is None else ended(code)
        lost = CollectiveError(at(f"worker {rank} (process {process.pid}) {how}"))
        self._dead = self._dead or lost
        return lost

    def close(self) -> None:
        """Let the processes end."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.send(None)
            end.close()
        for process in self._processes:
            process.join(0.0 if self._dead else 2.0)
            if process.is_alive():
                process.kill()
                process.join(2.0)
        self._ends, self._processes = [], []
        self._leave()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_ends", None):
            self.close()


def serve(end: Connection, rank: int, count: int, threads: int, timeout: float) -> None:
    """Run a worker: make calls until there are no more."""
    set_num_threads(threads)
    refused = None
    while True:
        try:
            message = end.recv()
        except (EOFError, OSError):
            message = None
        if message is None:
            world.shutdown()
            return
        if message[0] == "join":
            world.shutdown()
            try:
                world.init(rank, count, message[1], timeout=timeout)
            except CollectiveError as error:  # of another one, that did not come: the call raises
                refused = error
            continue
        number, call = message[1:]
        del message  # what it holds may be dropped before the next one comes
        if refused is not None:
            end.send((number, False, refused))
            refused = None
        else:
            _answer(end, rank, number, call)
        del call


def _answer(end: Connection, rank: int, number: int, call: bytes) -> None:
    try:
        function, args = pickle.loads(call)
        answer = number, True, function(*args)
    except Exception as error:
        error.add_note(f"in worker {rank}")
        answer = number, False, error
    try:
        end.send(answer)
    except Exception as error:  # it cannot be pickled
        end.send((number, False, TypeError(f"worker {rank}: {error}")))


def _pickled(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """A call for another process.

    :raises TypeError: If something cannot be pickled.
    """
    try:
        return bytes(ForkingPickler.dumps((function, args)))
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise TypeError(at(f"{error}: what goes to other processes is pickled, so a function must "
                           "be one of a module")) from error


def check_each(name: str, each: Sequence[tuple[Any, ...]], count: int) -> None:
    """Refuse further arguments of more or fewer processes than there are.

    :raises ValueError: If they are.
    """
    if each and len(each) != count:
        raise ValueError(at(f"{name}: each must have a tuple of arguments for each of {count} "
                            f"processes, not {len(each)}"))
