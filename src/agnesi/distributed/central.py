"""Parameters that all workers share, each at its own pace: asynchronous rules of training."""

from __future__ import annotations

import contextlib
import functools
import json
import mmap
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.compiler.jit import jit
from agnesi.core.support.errors import CollectiveError, Explained, at, typed
from agnesi.core.tensor import Tensor, wrap
from agnesi.distributed.agreement import compare_tensors
from agnesi.distributed.flat import Flat, checked
from agnesi.distributed.processes import locks, memory
from agnesi.distributed.processes.group import TIMEOUT, Group
from agnesi.distributed.processes.world import world
from agnesi.nn.base.module import Module

#: The file: words that say which of two holds the centre, and the notes; notes; then the halves.
_NOTES, _NOTES_BYTES, _HALVES = 64, 32_000, 1 << 16
_LOCKED = 1 << 40  # the byte whose lock is for who changes anything


class Rule:
    """The update when a worker meets the centre; a subclass defines it in :meth:`exchange`.

    Attributes
    ----------
    reads_last : bool
        Whether ``exchange`` reads what the worker had after the last exchange, which costs a copy;
        true unless a subclass says otherwise.

    See Also
    --------
    distributed.ASGD, distributed.EASGD, distributed.Central

    Examples
    --------
    >>> from agnesi import distributed as dist
    >>> class Average(dist.Rule):
    ...     def exchange(self, local, centre, last):
    ...         middle = (local + centre) / 2
    ...         return middle, middle
    """

    reads_last = True

    def exchange(self, local: np.ndarray, centre: np.ndarray, last: np.ndarray
                 ) -> tuple[np.ndarray, np.ndarray]:
        """New values of the worker and of the centre; nobody else meets it meanwhile.

        :param local, centre: All parameters of one dtype, one behind the other; of the worker and
            of the centre, which must not be changed.
        :param last: What the worker had after the last exchange.
        :returns: Of the worker, and of the centre.
        :rtype: tuple of numpy.ndarray
        :raises NotImplementedError: Unless a subclass has its own.
        """
        raise NotImplementedError(at(f"{type(self).__name__} has no exchange(self, local, centre, "
                                     "last)"))


def met(rule: Rule, local: np.ndarray, centre: np.ndarray, last: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
    """What a rule gives for values that it cannot change, if it is what it has to be.

    :raises TypeError: If that is no pair of as many values.
    """
    centre = centre.view()
    centre.flags.writeable = False
    found: Any = rule.exchange(local, centre, last)
    pair = tuple(map(np.asarray, found)) if isinstance(found, (tuple, list)) else ()
    if [x.shape for x in pair] != [local.shape, centre.shape]:
        given = ", ".join(map(typed, pair)) if pair else typed(found)
        raise TypeError(at(f"{type(rule).__name__}.exchange must return two arrays of the shape "
                           f"{local.shape}, of the worker and of the centre, not {given}"))
    return pair[0], pair[1]


class _Elementwise(Rule):
    """A rule that is a formula of elements: compiled code evaluates it, where values lie."""

    def numbers(self) -> tuple[float, ...]:
        """What the formula takes beside values."""
        return ()

    @staticmethod
    def formula(local: Any, centre: Any, last: Any, *numbers: float) -> tuple[Any, Any]:
        raise NotImplementedError

    def exchange(self, local: np.ndarray, centre: np.ndarray, last: np.ndarray
                 ) -> tuple[np.ndarray, np.ndarray]:
        mine, theirs = _evaluated(self.formula)(self.numbers(), local, centre, last)
        return mine.array, theirs.array


@functools.cache
def _evaluated(formula: Callable[..., Any]) -> Callable[..., Any]:
    return jit(lambda numbers, *values: formula(*values, *numbers))


@functools.cache
def _in_place(formula: Callable[..., Any], reads_last: bool) -> Callable[..., None]:
    """``(numbers, values of the worker, centre, new centre, last)``, each a list, of which the
    centre's stays as it is.
    """
    def meet(numbers: tuple[float, ...], *values: list[Tensor]) -> None:
        for local, centre, new, last in zip(*values, strict=True):
            mine, theirs = formula(local, centre, last, *numbers)
            new.copy_(theirs)
            local.copy_(mine)
            if reads_last:
                last.copy_(mine)

    return jit(meet)


class ASGD(_Elementwise):
    """The worker sends its change since the last exchange to the centre, and takes the centre's
    values.

    As in Downpour: ``centre += local - last``, ``local = centre``.

    :see: distributed.EASGD, distributed.Central

    >>> import numpy as np
    >>> from agnesi import distributed as dist
    >>> dist.ASGD().exchange(np.array([3.0]), np.array([10.0]), np.array([2.0]))
    (array([11.]), array([11.]))
    """

    @staticmethod
    def formula(local: Any, centre: Any, last: Any, *numbers: float) -> tuple[Any, Any]:
        moved = centre + (local - last)
        return moved, moved


class EASGD(_Elementwise):
    """Elastic averaging: the worker subtracts ``alpha * (local - centre)``, the centre adds it.

    :param alpha: How far, from 0 to 1.
    :raises ValueError: If ``alpha`` is 0 or less, or more than 1.
    :see: distributed.ASGD, distributed.Central

    >>> import numpy as np
    >>> from agnesi import distributed as dist
    >>> dist.EASGD(0.25).exchange(np.array([3.0]), np.array([11.0]), np.array([0.0]))
    (array([5.]), array([9.]))
    """

    reads_last = False

    def __init__(self, alpha: float = 0.5) -> None:
        if not 0 < alpha <= 1:
            raise ValueError(at(f"EASGD: alpha must be above 0 and at most 1, not {alpha}"))
        self.alpha = alpha

    def numbers(self) -> tuple[float, ...]:
        return (self.alpha,)

    @staticmethod
    def formula(local: Any, centre: Any, last: Any, *numbers: float) -> tuple[Any, Any]:
        d = numbers[0] * (local - centre)
        return local - d, centre + d


class Central(Explained):
    """Central parameters in shared memory, with which workers exchange theirs.

    Processes that train at their own pace call :meth:`sync` after each batch.  A worker that is
    killed, at whatever moment, leaves the centre as it was before or after its exchange: the lock
    is given back by the system, and new values are written beside the old ones.

    :param model: Whose parameters are shared.
    :type model: Module or iterable of Tensor
    :param rule: What an exchange does.
    :param every: Only each so many calls of ``sync`` exchange.
    :param group: Which processes begin together; all by default.  The centre begins as those of
        rank 0.
    :param timeout: Seconds after which waiting for another worker's exchange is an error.
    :raises RuntimeError: If the system has no locks of files.
    :raises CollectiveError: If a process has other parameters.
    :see: distributed.ASGD, distributed.EASGD, distributed.launch

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> w = ag.tensor([4.0], requires_grad=True)
    >>> central = dist.Central([w], dist.EASGD(0.5))
    >>> w.array[...] = 8.0
    >>> central.sync()
    True
    >>> w, central.values()[0]
    (tensor([6.], requires_grad=True), array([6.], dtype=float32))
    >>> with central.notes() as notes:
    ...     notes["batches"] = notes.get("batches", 0) + 1
    """

    def __init__(self, model: Module | Iterable[Tensor], rule: Rule, every: int = 1,
                 group: Group | None = None, *, timeout: float = TIMEOUT) -> None:
        checked("Central", rule, Rule, every)
        if not locks.THERE:
            raise RuntimeError(at("Central needs locks of files, which this system does not have"))
        self._flat = Flat(model)
        self.parameters = self._flat.parameters
        self.rule, self.every, self.timeout = rule, every, timeout
        self._calls = 0
        group = world(group)
        compare_tensors("Central", (("", p) for p in self.parameters), group)
        self._half = sum(p.array.nbytes for p in self.parameters)
        size = _HALVES + 2 * self._half
        if group.rank == 0:
            path = memory.own_name("centre")
            self._open(memory.create(path, size), size)
            self._write(0, self._flat.rows())
            group.share(path.encode())
        else:
            self._open(memory.open_own(group.share(b"").decode()), size)
            self._flat.take(self._centre())
        group.barrier("Central")
        if group.rank == 0:
            os.unlink(path)
        self._mine, self._last = self._flat.rows(), self._flat.rows()
        self._halves = [[*map(wrap, self._flat.split(self._places(half)))] for half in (0, 1)]
        self._lasts = [*map(wrap, self._flat.split(self._last))]

    def _open(self, file: int, size: int) -> None:
        self._file = file
        self._memory = mmap.mmap(file, size)
        self._bytes = np.frombuffer(self._memory, np.uint8)
        self._present = self._bytes[:16].view(np.int64)

    # -- values ------------------------------------------------------------------------------
    def _places(self, half: int) -> dict[np.dtype, np.ndarray]:
        place, found = _HALVES + half * self._half, {}
        for dtype in dict.fromkeys(p.dtype for p in self.parameters):
            n = sum(p.array.nbytes for p in self.parameters if p.dtype == dtype)
            found[dtype] = self._bytes[place: place + n].view(dtype)
            place += n
        return found

    def _centre(self) -> dict[np.dtype, np.ndarray]:
        return self._places(int(self._present[0]))

    def _write(self, half: int, values: dict[np.dtype, np.ndarray]) -> None:
        for dtype, place in self._places(half).items():
            place[...] = values[dtype]
        self._present[0] = half

    def values(self) -> list[np.ndarray]:
        """The centre's parameters, copied.

        :returns: In the order of the worker's.
        """
        with self._locked():
            return [v.copy() for v in self._flat.split(self._centre())]

    def sync(self) -> bool:
        """Exchange parameters with the centre at each ``every``-th call; they change in place.

        :returns: Whether this call did.
        :raises CollectiveError: If another worker does not end its exchange in time.
        """
        self._calls += 1
        if self._calls % self.every:
            return False
        rule = self.rule
        if isinstance(rule, _Elementwise) and type(rule).exchange is _Elementwise.exchange:
            self._meet(rule)
        else:
            self._exchange()
        return True

    @no_grad()
    def _meet(self, rule: _Elementwise) -> None:
        """The worker's parameters and the new half of the centre are written where they lie."""
        meet = _in_place(rule.formula, rule.reads_last)
        with self._locked():
            half = int(self._present[0])
            centre = self._halves[half]
            meet(rule.numbers(), self.parameters, centre, self._halves[1 - half],
                 self._lasts if rule.reads_last else centre)
            self._present[0] = 1 - half

    def _exchange(self) -> None:
        """A rule of a user's has rows of all values, and gives others."""
        given = self._flat.rows(self._mine)
        mine: dict[np.dtype, np.ndarray] = {}
        new: dict[np.dtype, np.ndarray] = {}
        with self._locked():
            half = int(self._present[0])
            for dtype, centre in self._places(half).items():
                mine[dtype], new[dtype] = met(self.rule, given[dtype], centre, self._last[dtype])
            self._write(1 - half, new)
        if self.rule.reads_last:
            for dtype, values in mine.items():
                np.copyto(self._last[dtype], values)
        self._flat.take(mine)

    # -- notes -------------------------------------------------------------------------------
    @contextlib.contextmanager
    def notes(self) -> Iterator[dict[str, Any]]:
        """A dict that all workers share, of what JSON knows; others wait until it is put back.

        Yields
        ------
        dict
            To be read and changed: how many batches were seen, whether to stop.

        Raises
        ------
        ValueError
            If it becomes too large.
        """
        with self._locked():
            which = int(self._present[1])
            place = _NOTES + which * _NOTES_BYTES
            raw = self._bytes[place: place + _NOTES_BYTES].tobytes().split(b"\0")[0]
            found = json.loads(raw or b"{}")
            yield found
            text = json.dumps(found).encode()
            if len(text) >= _NOTES_BYTES:
                raise ValueError(at(f"notes of {len(text)} bytes are more than {_NOTES_BYTES}"))
            data = np.frombuffer(text + b"\0", np.uint8)
            place = _NOTES + (1 - which) * _NOTES_BYTES
            self._bytes[place: place + data.size] = data
            self._present[1] = 1 - which

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """A section that one worker is in at a time; its end, however it comes, opens it."""
        _wait_for(lambda: locks.hold(self._file, _LOCKED), self.timeout)
        try:
            yield
        finally:
            locks.release(self._file, _LOCKED)


def _wait_for(done: Callable[[], bool], timeout: float) -> None:
    end, pause = time.monotonic() + timeout, 1e-5
    while not done():
        if time.monotonic() > end:
            raise CollectiveError(at(f"another worker's exchange was not over in {timeout:g} "
                                     "seconds"))
        time.sleep(pause)
        pause = min(2 * pause, 2e-3)
