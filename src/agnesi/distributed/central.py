"""Parameters that all workers share, each at its own pace: asynchronous rules of training."""

from __future__ import annotations

import contextlib
import functools
import json
import mmap
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.api.processes import locks, memory
from agnesi.autodiff.recording import no_grad
from agnesi.compiler.jit import jit
from agnesi.core.dispatch import touch
from agnesi.core.support.errors import CollectiveError, Explained, at, typed
from agnesi.core.tensor import Tensor
from agnesi.distributed.agreement import compare_tensors
from agnesi.distributed.flat import Flat, Rows, checked
from agnesi.distributed.parts import parts_of
from agnesi.distributed.processes.group import TIMEOUT, Group
from agnesi.distributed.processes.world import world
from agnesi.nn.base.module import Module

#: The file: words that say whether all parts are about to take turns, and which of two places holds
#: the notes; the notes, twice; for each part a word that says which half holds it, and one that
#: says which is about to; the halves.
_NOTES, _NOTES_BYTES = 64, 32_000
_WORDS = _NOTES + 2 * _NOTES_BYTES
#: Bytes whose locks are for who changes the notes, ends what one began who was killed, and meets a
#: part.
_NOTED, _TURNING, _MET = 1 << 40, (1 << 40) + 1, (1 << 40) + 2


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
        """New values of the worker and of the centre; no other worker reaches it meanwhile.

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
    """A rule that is a formula of elements: compiled code evaluates it, where values are."""

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

    Processes that train at their own pace call :meth:`sync` after each batch.  Parameters are
    exchanged in parts of up to 512 kB, so that several workers can exchange at a time.  A worker
    that is killed, at whatever moment, leaves each part of the centre as it was before or after
    its exchange, and the whole centre where the rule is a user's: locks are given back by the
    system, and new values are written beside the old ones.

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
        self._parts = parts_of(self.parameters)
        self._first = group.rank * len(self._parts) // group.size  # others begin at other parts
        words = _WORDS + 16 * len(self._parts)
        self._halves_at = words + -words % mmap.PAGESIZE
        size = self._halves_at + 2 * self._half
        if group.rank == 0:
            path = memory.own_name("centre")
            self._open(memory.create(path, size), size)
            for dtype, place in self._places(0).items():
                place[...] = self._flat.rows()[dtype]
            group.share(path.encode())
        else:
            self._open(memory.open_own(group.share(b"").decode()), size)
            self._flat.take(self._places(0))
        group.barrier("Central")
        if group.rank == 0:
            os.unlink(path)
        self._mine, self._last = self._flat.rows(), self._flat.rows()
        halves = [self._flat.split(self._places(half)) for half in (0, 1)]
        lasts = self._flat.split(self._last)
        self._centres = [[part.of(half) for half in halves] for part in self._parts]
        self._lasts = [part.of(lasts) for part in self._parts]

    def _open(self, file: int, size: int) -> None:
        self._file = file
        self._memory = mmap.mmap(file, size)
        self._bytes = np.frombuffer(self._memory, np.uint8)
        self._whole = self._bytes[:16].view(np.int64)
        self._present, self._next = self._bytes[
            _WORDS: _WORDS + 16 * len(self._parts)].view(np.int64).reshape(2, -1)

    # -- values ------------------------------------------------------------------------------
    def _places(self, half: int) -> Rows:
        place, found = self._halves_at + half * self._half, {}
        for dtype in dict.fromkeys(p.dtype for p in self.parameters):
            n = sum(p.array.nbytes for p in self.parameters if p.dtype == dtype)
            found[dtype] = self._bytes[place: place + n].view(dtype)
            place += n
        return found

    def _centre(self) -> Rows:
        """The centre's values, copied, of which all parts are locked."""
        rows = {dtype: place.copy() for dtype, place in self._places(0).items()}
        values = self._flat.split(rows)
        for part, centres, half in zip(self._parts, self._centres, self._present, strict=True):
            if half:
                part.copy(centres[1], values)
        return rows

    def _write(self, rows: Rows) -> None:
        """Let the centre, of which all parts are locked, have these values, all at once."""
        values = self._flat.split(rows)
        for part, centres, half in zip(self._parts, self._centres, self._present, strict=True):
            for new, value in zip(centres[1 - half], part.of(values), strict=True):
                new.array[...] = value.array
        self._next[...] = 1 - self._present
        self._whole[0] = 1
        self._finish()

    def _finish(self) -> None:
        """The other half holds each part now, if that was begun."""
        if self._whole[0]:
            with self._locked(_TURNING):
                if self._whole[0]:
                    self._present[...] = self._next
                    self._whole[0] = 0

    def values(self) -> list[np.ndarray]:
        """The centre's parameters, copied.

        :returns: In the order of the worker's.
        """
        with self._all_locked():
            return self._flat.split(self._centre())

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
        """The worker's parameters and the new half of the centre are written where they are, part
        by part, in whatever order others leave them.
        """
        meet = functools.partial(_in_place(rule.formula, rule.reads_last), rule.numbers())
        arrays = [p.array for p in self.parameters]
        left = [*range(self._first, len(self._parts)), *range(self._first)]

        def one() -> bool:
            """Whether there was a part that no other worker reaches."""
            for i in left:
                if locks.hold(self._file, _MET + i):
                    try:
                        self._finish()
                        self._meet_part(i, meet, arrays)
                    finally:
                        locks.release(self._file, _MET + i)
                    left.remove(i)
                    return True
            return False

        while left:
            _wait_for(one, self.timeout)
        for p in self.parameters:
            touch(p)

    def _meet_part(self, i: int, meet: Callable[..., None], arrays: Sequence[np.ndarray]) -> None:
        half = int(self._present[i])
        centre, new = self._centres[i][half], self._centres[i][1 - half]
        meet(self._parts[i].of(arrays), centre, new,
             self._lasts[i] if self.rule.reads_last else centre)
        self._present[i] = 1 - half

    def _exchange(self) -> None:
        """A rule of a user's has rows of all values, and gives others."""
        given = self._flat.rows(self._mine)
        mine: Rows = {}
        new: Rows = {}
        with self._all_locked():
            for dtype, centre in self._centre().items():
                mine[dtype], new[dtype] = met(self.rule, given[dtype], centre, self._last[dtype])
            self._write(new)
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
        with self._locked(_NOTED):
            which = int(self._whole[1])
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
            self._whole[1] = 1 - which

    @contextlib.contextmanager
    def _locked(self, place: int) -> Iterator[None]:
        """A section that one worker is in at a time; its end, however it comes, opens it."""
        _wait_for(lambda: locks.hold(self._file, place), self.timeout)
        try:
            yield
        finally:
            locks.release(self._file, place)

    @contextlib.contextmanager
    def _all_locked(self) -> Iterator[None]:
        """A section in which no other worker reaches any part."""
        with contextlib.ExitStack() as held:
            for i in range(len(self._parts)):
                held.enter_context(self._locked(_MET + i))
            self._finish()
            yield


def _wait_for(done: Callable[[], bool], timeout: float) -> None:
    end, pause = time.monotonic() + timeout, 1e-5
    while not done():
        if time.monotonic() > end:
            raise CollectiveError(at(f"another worker's exchange was not over in {timeout:g} "
                                     "seconds"))
        time.sleep(pause)
        pause = min(2 * pause, 2e-3)
