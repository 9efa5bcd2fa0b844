"""Start the processes of one program and watch them as one job."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Any

from agnesi.api.processes.memory import (
    BLAMED,
    GIVEN_UP,
    REASON,
    REASON_BYTES,
    Segment,
    open_segment,
)
from agnesi.core.integers import is_integer
from agnesi.core.support.config import inherited
from agnesi.core.support.errors import at, typed
from agnesi.core.support.host import cores
from agnesi.distributed.processes import world

#: Seconds between two looks at the processes.
_POLL_SECONDS = 0.02
#: Seconds in which those that are left end by themselves.
_GRACE_SECONDS = 5.0


def launch(command: Sequence[str], size: int, *, restarts: int = 0, logs: str | None = None,
           threads: int | None = None, keep_going: bool = False,
           grace: float = _GRACE_SECONDS) -> int:
    """Run a program in several processes that find each other by :func:`init`.

    Their lines are printed behind their ranks.  If one fails, the others are notified, given some
    seconds, and ended: the job has one result.

    :param command: What each process runs, as for ``subprocess``.
    :param size: How many processes.
    :param restarts: How often a job that failed is started again, with all processes, which
        find by :func:`restart_count` that they go on from the last checkpoint.
    :param logs: A folder for a file per rank, ``rank0.log`` and so on, instead of printing.
    :param threads: Threads of compiled code in each process; by default the cores are shared out,
        unless ``AGNESI_NUM_THREADS`` is set.
    :param keep_going: Whether the others go on when one fails, as those of asynchronous rules can;
        the job's result reports the failure all the same.
    :param grace: Seconds in which the others may end by themselves, once one has failed.
    :returns: 0, or what the process returned that failed first; 128 and its signal's number, if one
        killed it.
    :raises ValueError: If there should be no process.
    :raises TypeError: If ``command`` is no list of a program and its arguments.
    :see: distributed.init, distributed.Workers

    >>> import sys
    >>> from agnesi import distributed as dist
    >>> dist.launch([sys.executable, "-c", "pass"], 2)
    0
    """
    if not is_integer(size) or size < 1:
        raise ValueError(at(f"launch: size must be a number of processes, not {size!r}"))
    if isinstance(command, str) or not command:
        raise TypeError(at("launch: command must be a list of the program and its arguments, such "
                           f"as [sys.executable, 'train.py'], not {typed(command)}"))
    code = 0
    for attempt in range(restarts + 1):
        code = _Job(command, size, attempt, logs, threads).run(grace, keep_going)
        if code == 0 or code == 128 + signal.SIGINT:
            return code
        if attempt < restarts:
            _say(f"starting again ({attempt + 1} of {restarts})")
    return code


def restart_count() -> int:
    """How often ``agnesi launch --restarts`` has started this job again.

    :returns: 0 the first time; with more, a program goes on from the last checkpoint.
    :see: distributed.launch

    >>> from agnesi import distributed as dist
    >>> dist.restart_count()
    0
    """
    text = inherited().get(world.RESTART, "0")
    return int(text) if text.isdecimal() else 0


def _say(text: str) -> None:
    print(f"agnesi launch: {text}", file=sys.stderr, flush=True)


def ended(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with code {code}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


class _Job:
    """The processes of one attempt."""

    def __init__(self, command: Sequence[str], size: int, attempt: int, logs: str | None,
                 threads: int | None) -> None:
        path = world.make_group(size)
        self.segment: Segment = open_segment(path, size)
        self.lock = threading.Lock()
        self.readers: list[threading.Thread] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        share = threads or max(1, cores() // size)
        preset = inherited()
        more = {} if threads is None and "AGNESI_NUM_THREADS" in preset else {
            "AGNESI_NUM_THREADS": str(share)}
        try:
            for rank in range(size):
                variables = {**preset, **more, world.RANK: str(rank), world.SIZE: str(size),
                             world.PATH: path, world.RESTART: str(attempt), "PYTHONUNBUFFERED": "1"}
                variables.pop(world.MEMBER, None)
                process = subprocess.Popen(list(command), env=variables, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)
                self.processes.append(process)
                self._follow(rank, process, logs)
        except BaseException:
            self._end(0.0)
            self._close()
            raise

    def _follow(self, rank: int, process: subprocess.Popen[bytes], logs: str | None) -> None:
        if logs is not None:
            os.makedirs(logs, exist_ok=True)
            file = open(os.path.join(logs, f"rank{rank}.log"), "ab")  # noqa: SIM115 - read by two
            pairs: list[tuple[Any, Callable[[bytes], object]]] = [
                (process.stdout, file.write), (process.stderr, file.write)]
        else:
            pairs = [(process.stdout, self._printer(rank, sys.stdout)),
                     (process.stderr, self._printer(rank, sys.stderr))]
            file = None
        for stream, write in pairs:
            reader = threading.Thread(target=self._copy, args=(stream, write, file), daemon=True)
            reader.start()
            self.readers.append(reader)

    def _printer(self, rank: int, target: IO[str]) -> Callable[[bytes], None]:
        def write(line: bytes) -> None:
            text = line.decode(errors="replace").rstrip("\n")
            with self.lock:
                print(f"[{rank}] {text}", file=target, flush=True)

        return write

    def _copy(self, stream: IO[bytes], write: Callable[[bytes], object], file: Any) -> None:
        for line in stream:
            write(line)
            if file is not None:
                file.flush()

    def run(self, grace: float, keep_going: bool) -> int:
        """Wait until all have ended, or one has failed."""
        try:
            code = self._watch(grace, keep_going)
        except KeyboardInterrupt:
            self._end(grace)
            code = 128 + signal.SIGINT
        except BaseException:
            self._end(0.0, grace)
            raise
        finally:
            for reader in self.readers:
                reader.join(1.0)
            self._close()
        return code

    def _watch(self, grace: float, keep_going: bool) -> int:
        running = dict(enumerate(self.processes))
        first = 0
        while running:
            for rank, process in list(running.items()):
                code = process.poll()
                if code is None:
                    continue
                del running[rank]
                if code and not keep_going:
                    rank, process, code = self._culprit(rank, process, code)
                if code:
                    first = first or (code if code > 0 else 128 - code)
                    self._failed(rank, process, code, keep_going)
                if code and not keep_going:
                    self._end(grace)
                    return first
            time.sleep(_POLL_SECONDS)
        return first

    def _culprit(self, rank: int, process: subprocess.Popen[bytes], code: int
                 ) -> tuple[int, subprocess.Popen[bytes], int]:
        """The process that failed first: the one whose end another one failed of, if it did."""
        blamed = self.segment.word(BLAMED) - 1
        if blamed not in (-1, rank):
            with contextlib.suppress(subprocess.TimeoutExpired):
                if its := self.processes[blamed].wait(1.0):
                    return blamed, self.processes[blamed], its
        return rank, process, code

    def _failed(self, rank: int, process: subprocess.Popen[bytes], code: int, keep_going: bool
                ) -> None:
        how = f"rank {rank} (process {process.pid}) {ended(code)}"
        if keep_going:
            _say(f"{how}; the others go on")
            return
        if not self.segment.word(GIVEN_UP):
            self.segment.put_text(REASON, how, REASON_BYTES)
            self.segment.put(GIVEN_UP, 1)
        _say(f"{how}; the job ends")

    def _end(self, grace: float, asked: float = 1.0) -> None:
        """End all that are left: let them end, then ask, then kill; at once where this is
        interrupted.
        """
        try:
            self._wait(grace)
            for process in self.processes:
                process.terminate()  # nothing where it has ended
            self._wait(asked)
        finally:
            for process in self.processes:
                process.kill()
            self._wait(1.0)

    def _wait(self, seconds: float) -> None:
        last = time.monotonic() + seconds
        while time.monotonic() < last and any(p.poll() is None for p in self.processes):
            time.sleep(_POLL_SECONDS)

    def _close(self) -> None:
        self.segment.unlink()
        self.segment.close()
