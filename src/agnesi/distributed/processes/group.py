"""Groups of processes: what native code knows of them, who is there, and why a wait is over."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import threading
import time
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from agnesi.api.processes import locks, memory
from agnesi.api.processes.memory import Segment, mailbox_bytes
from agnesi.compiler.library import collectives as native
from agnesi.core.ir.foreign import REASONS
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import CollectiveError, Explained, at, location, user_where
from agnesi.core.support.forks import at_fork
from agnesi.core.support.host import cores
from agnesi.distributed.processes.signatures import circle, doing, shown_text, signature, waits_for

#: Seconds that a process waits for another one, unless ``init`` says otherwise.
TIMEOUT = 300.0
#: Where in the file a process holds a lock as long as it lives, beyond all memory.
_LIFE_OFFSET = 1 << 40
#: Pauses before a waiting process gives its core away, where each has a core of its own.
_PAUSE_SPINS = 1000
#: The same for a thread beside the program where there are fewer cores: it takes the program's,
#: for less time than sleeping and being woken takes.
_FEW_SPINS = 200
#: Seconds that other threads of Python get while one of them is waited for.
_PAUSE_SECONDS = 0.0005
_GIVEN_UP, _INTERRUPTED = 16, 17
KINDS = ("barrier", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all",
         "send", "recv")

#: Groups by their numbers, which are never given again; the last failure, for compiled code.
GROUPS: dict[int, Group] = {}
_failure: list[Any] = []
_numbers = iter(range(native.MOST_GROUPS))
#: Whether this process was forked from one that was in groups.
_forked: list[bool] = []


class Group(Explained):
    """A group of processes that run collectives together; each has a rank.

    :func:`distributed.init` and :func:`distributed.new_group` make it.

    Parameters
    ----------
    rank : int
        The number of this process among them.
    size : int
        How many processes there are.
    segment : Segment or None
        Their shared memory.
    timeout : float
        Seconds after which a wait for a process is an error.
    mpi : object, optional
        The table of an MPI library that moves all data (``distributed/processes/mpi.py``).

    Attributes
    ----------
    rank, size : int
        The number of this process among them, and how many there are.
    beside : Group, optional
        The same processes, whose collectives a thread does (``distributed/overlap.py``).
    timeout : float
        Seconds after which a wait for a process is an error.

    Raises
    ------
    RuntimeError
        If the process takes part in too many groups.

    See Also
    --------
    distributed.init, distributed.new_group
    """

    def __init__(self, rank: int, size: int, segment: Segment | None, timeout: float,
                 mpi: Any = None) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout
        self.segment = segment or Segment(-1, "", size, True)
        self.number = _next_number()
        self.reason = ""
        self.beside: Group | None = None
        self._thread: threading.Thread | None = None
        self._waiting: tuple[Any, float] = (None, 0.0)
        self._checker, self._waiter = self._native_answer(), self._native_answer()
        self._mpi = mpi  # the table of a library that does it all
        self._anchor: Any = ctypes.c_char.from_buffer(self.segment.memory)
        s = self.segment
        self._native: Any = native.Group(
            base=ctypes.addressof(self._anchor), rank=rank, size=self.segment.size, slot=s.slot,
            slots=s.slots, checker=_address(self._checker),
            waiter=_address(self._waiter), mail=s.letter, mails=s.mails,
            spins=_PAUSE_SPINS if size <= cores() else 0,
            mpi=0 if mpi is None else ctypes.addressof(mpi))
        self._hold()
        native.install(self.number, self._native)
        GROUPS[self.number] = self
        HOOKS.in_order = HOOKS.in_order or size > 1

    def _hold(self) -> None:
        """Say that this process is there, and hold a lock that its end gives back."""
        s = self.segment
        if s.file >= 0:
            locks.hold(s.file, _LIFE_OFFSET + self.rank)
        if s.size > self.rank:
            s.put(s.control(self.rank) + memory.PID, os.getpid())
            s.put(s.control(self.rank) + memory.STATE, memory.PRESENT)

    def run(self, kind: str, how: int, code: int, peer: int, item: int, source: int, target: int,
            nbytes: int, sizes: tuple[int, ...], text: bytes) -> None:
        """One collective on memory at hand; raises what compiled code would."""
        table = (ctypes.c_int64 * (len(sizes) or 1))(*sizes)
        status = native.run()(self.number, KINDS.index(kind), how, code, peer, item, source, target,
                              nbytes, table, len(sizes), text)
        if status:
            raise CollectiveError(at(_why()))

    # -- beside the program -------------------------------------------------------------------
    def overlap(self) -> None:
        """Let a thread of each process do collectives while compiled programs go on."""
        if self.beside is None and self.size > 1 and self._threads():
            self.beside = self.part(range(self.size))
            assert self.beside is not None
            self.beside.serve()

    def _threads(self) -> bool:
        return True

    def serve(self) -> None:
        """Start the thread that does the collectives of this group."""
        self._jobs = ctypes.create_string_buffer(native.JOBS)
        self._native.jobs = ctypes.addressof(self._jobs)
        self._native.spins = _PAUSE_SPINS if 2 * self.size <= cores() else _FEW_SPINS
        self._thread = threading.Thread(target=native.beside("serve"), args=(self.number,),
                                        name="agnesi collectives", daemon=True)
        self._thread.start()
        self._native.serving = 1

    def rest(self) -> None:
        """Wait until the thread has finished all collectives that were started."""
        ticket = ctypes.c_int64(self._native.begun)
        status = native.beside("finish")(self.number, ctypes.addressof(ticket))
        if status:
            raise CollectiveError(at(_why()))

    def hidden(self) -> float:
        """The part of the thread's time for collectives in which the program did not wait for it.

        Since the last call of this; not a number where there were none.
        """
        spent, blocked = self._native.spent, self._native.blocked
        self._native.spent = self._native.blocked = 0
        return max(0.0, 1 - blocked / spent) if spent else math.nan

    def barrier(self, name: str = "barrier", agreed: int = 0) -> None:
        """Wait until all processes call this; the numbers that they pass must be equal."""
        text = shown_text(name, location(user_where(3)))
        self.run("barrier", 0, agreed, 0, 1, 0, 0, 0, (), text)

    def share(self, data: bytes, root: int = 0) -> bytes:
        """Broadcast bytes of any length from process ``root``."""
        head = self._spread(np.array([len(data)]), root)
        room = np.zeros(int(head[0]), np.uint8)
        if self.rank == root:
            room[:] = np.frombuffer(data, np.uint8)
        return self._spread(room, root).tobytes()

    def _spread(self, x: np.ndarray, root: int) -> np.ndarray:
        text = shown_text(f"broadcast {x.dtype}", location(user_where(3)))
        found = np.empty_like(x)
        self.run("broadcast", 0, x.dtype.num, root, x.itemsize, x.ctypes.data, found.ctypes.data,
                 x.nbytes, x.shape, text)
        return found

    def part(self, ranks: Sequence[int]) -> Group | None:
        """Make a group of some of the processes; all processes of this group must call it."""
        root = ranks[0]
        made = ""
        if self.rank == root:
            segment = memory.make_segment(memory.own_name("group"), len(ranks))
            made, segment.path = segment.path, ""
            segment.close()  # before it holds locks, which any closing of the file gives back
        try:
            path = self.share(made.encode(), root).decode()
            found = None
            if self.rank in ranks:
                segment = memory.open_segment(path, len(ranks))
                found = Group(list(ranks).index(self.rank), len(ranks), segment, self.timeout)
            else:
                skip_number()  # numbers are the same in all processes, as compiled code has them
            self.barrier("new_group")
        finally:  # all have opened it, or none will
            if made:
                os.unlink(made)
        return found

    # -- waiting ----------------------------------------------------------------------------
    def _native_answer(self) -> Any:
        answers = self._asked()
        next(answers)
        return native.Checker(answers.send)

    def _asked(self) -> Generator[int, int, None]:
        """Return the answer of native code from a generator, as errors of signal handlers are
        raised at the beginning of a function too, where they could not be kept.
        """
        answer = 0
        while True:
            try:
                answer = self._answer((yield answer))
            except GeneratorExit:
                return
            except BaseException as error:  # raised again behind the native code
                self._fail(error)
                answer = _INTERRUPTED

    def _answer(self, peer: int) -> int:
        """Asked by native code while it waits, and where processes differ."""
        if peer == native.GIVE_WAY:
            time.sleep(_PAUSE_SECONDS)
            return 0
        if peer == native.GIVE_UP:
            self._fail(f"rank {self.rank} was stopped while {self._here()}")
            return 0
        if peer < 0:
            self._record_failure(self._differ() if peer == -1 else self._differ_from(-2 - peer))
            return 0
        reason = self._over(peer)
        if not reason:
            return 0
        self._fail(reason)
        return _GIVEN_UP

    def _over(self, peer: int) -> str:
        """Why there is no use in waiting for a process any more; empty while there is."""
        s = self.segment
        if s.word(memory.GIVEN_UP):
            return s.text(memory.REASON, memory.REASON_BYTES)
        state = s.word(s.control(peer) + memory.STATE)
        if state == memory.GONE:
            s.put(memory.BLAMED, peer + 1)
            return (f"rank {peer} has left the group, {self._last(peer)}, while {self._here()}")
        if state == memory.PRESENT and self._is_dead(peer):
            s.put(memory.BLAMED, peer + 1)
            pid = s.word(s.control(peer) + memory.PID)
            return (f"rank {peer} (process {pid}) has ended, {self._last(peer)}, while "
                    f"{self._here()}")
        waiting = {q: s for q in circle(s, self.rank, peer)}
        beside = self.beside if not waiting and self._is_ahead(peer) else None
        if beside is not None:
            waiting = {self.rank: s, peer: beside.segment}
        if waiting:
            sides = (f"\n  rank {q}: {doing(waiting[q], q)}" for q in sorted(waiting))
            reason = (f"ranks {', '.join(map(str, sorted(waiting)))} wait for each other, each for "
                      f"what the next does not do before:{''.join(sides)}")
            if beside is not None:
                beside.give_up(reason)
            return reason
        return self._late(peer, f"rank {peer}", f", {self._last(peer)}")

    def _is_ahead(self, peer: int) -> bool:
        """Return whether the thread of a process waits for this one, whose thread has nothing to
        do: the process has begun what is no part of the program here, or comes later.
        """
        b = self.beside
        return (b is not None and b._native.begun == b._native.finished
                and waits_for(b.segment, peer) == self.rank)

    def _late(self, peer: int, who: str, last: str = "") -> str:
        """The reason where a process is waited for too long."""
        key = self._native.steps, self._native.calls, peer
        now = time.monotonic()
        if self._waiting[0] != key:
            self._waiting = key, now
        if now - self._waiting[1] > self.timeout:
            return (f"{who} did not come within {self.timeout:g} seconds{last}, while "
                    f"{self._here()}")
        return ""

    def _is_dead(self, peer: int) -> bool:
        """Return whether a process that was there does not hold its lock any more."""
        file = self.segment.file
        if not locks.THERE or file < 0 or not locks.hold(file, _LIFE_OFFSET + peer):
            return False
        locks.release(file, _LIFE_OFFSET + peer)
        return True

    def _here(self) -> str:
        mine = doing(self.segment, self.rank) or "its first collective"
        return f"rank {self.rank} waits in {mine}"

    def _last(self, peer: int) -> str:
        found = doing(self.segment, peer)
        return f"last seen in {found}" if found else "before its first collective"

    def _differ(self) -> str:
        place = native.SIGNATURES[self._native.calls & 1]
        return self._sides([signature(self.segment, self.segment.control(q) + place)
                            for q in range(self.size)])

    def _sides(self, texts: Sequence[str]) -> str:
        number = self._native.calls
        sides = (f"\n  rank {q}: {text}" for q, text in enumerate(texts))
        return (f"the processes do not agree about collective number {number}, so that none was "
                f"done:{''.join(sides)}\nall ranks must call the same collectives on equal shapes "
                "and dtypes in the same order")

    def _differ_from(self, peer: int) -> str:
        s = self.segment
        mine = signature(s, s.control(self.rank) + native.RECEIVING)
        reason = (f"what rank {peer} sent is not what rank {self.rank} receives:"
                  f"\n  rank {peer}: {self._theirs(peer)}\n  rank {self.rank}: {mine}")
        self.give_up(reason)
        return reason

    def _theirs(self, peer: int) -> str:
        """Return the description that a process gives of what it sends."""
        s = self.segment
        number = s.word(s.control(self.rank) + native.RECEIVING)
        box = s.mails + (peer * self.size + self.rank) * mailbox_bytes(s.letter)
        box += native.MAILBOX_BYTES
        return signature(s, box + (number & 1) * (s.letter + native.MESSAGE_BYTES))

    # -- failing ----------------------------------------------------------------------------
    def _record_failure(self, reason: Any) -> None:
        if not (_failure and isinstance(_failure[0], BaseException)):
            _failure[:] = [reason]

    def _fail(self, reason: Any) -> None:
        """The group is of no use any more, and others need not wait for this process."""
        self._record_failure(reason)
        self.give_up(str(reason) or type(reason).__name__)
        self.reason = str(reason)

    def give_up(self, reason: str) -> None:
        """Make all processes of the group fail with this reason, unless there is one already."""
        s = self.segment
        if not s.word(memory.GIVEN_UP):
            s.put_text(memory.REASON, reason, memory.REASON_BYTES)
            s.put(memory.GIVEN_UP, 1)

    def close(self) -> None:
        """Leave the group; processes that wait for this one get an error."""
        if self.beside is not None:
            self.beside.close()
        if GROUPS.pop(self.number, None) is None:
            return
        self._stop()
        native.install(self.number, None)
        s = self.segment
        if s.size > self.rank:
            s.put(s.control(self.rank) + memory.STATE, memory.GONE)
        if self.rank == 0:
            s.unlink()
        self._anchor = None
        with contextlib.suppress(BufferError):
            s.close()

    def _stop(self) -> None:
        """End the thread, which may wait for others in vain."""
        if self._thread is None or not self._thread.is_alive():
            return
        native.beside("halt")(self.number)
        self._thread.join(0.05)
        if self._thread.is_alive():
            self.give_up(f"rank {self.rank} has left the group")
            self._thread.join()

    def __repr__(self) -> str:
        return f"Group(rank {self.rank} of {self.size})"


def _next_number() -> int:
    found = next(_numbers, None)
    if found is None:
        raise RuntimeError(at(f"a process takes part in at most {native.MOST_GROUPS} groups"))
    return found


def skip_number() -> None:
    """Let numbers of groups be the same here as in processes that have one more."""
    _next_number()


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _why() -> str:
    """Return the last failure; errors of handlers of signals are raised again."""
    if not _failure:
        return (f"{closed()}, or another thread is in one of its collectives, which must have one "
                "order")
    found = _failure.pop()
    if isinstance(found, BaseException):
        raise found
    text: str = found
    return text


REASONS["CollectiveError"] = _why


def closed() -> str:
    """Why there is no such group."""
    if _forked:
        return ("this process was forked from one of the group, and is not in it itself (processes "
                "of their own: dist.Workers, or multiprocessing's spawn)")
    return "the group of processes is closed"


def _in_child() -> None:
    """A forked process is no member: its parent is."""
    if GROUPS:
        _forked.append(True)
    for number, group in list(GROUPS.items()):
        native.install(number, None)
        group.segment.path, group._thread = "", None
    GROUPS.clear()


at_fork(in_child=_in_child)
