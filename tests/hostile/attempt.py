"""What a trial of many attempts found, and processes that attempt something."""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import pkgutil
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import agnesi
from agnesi.runtime import llvm

#: Seconds of its processor's time after which a process that does not end is ended.
PATIENCE = 120
#: What other work on the machine may make of a second of a process's own.
LOADED = 10


def limit_time(seconds: int) -> None:
    """End this process when it has worked so long, or when it waits for much longer than that."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, LOADED * seconds)


class Trial(NamedTuple):
    """So many attempts, what failed, and what else was counted."""

    name: str
    attempts: int
    failures: list[str]
    notes: dict[str, int]

    def __str__(self) -> str:
        notes = "".join(f", {n} {what}" for what, n in self.notes.items())
        return f"{self.name}: {self.attempts} attempts, {len(self.failures)} failed{notes}"


def load_modules() -> None:
    """Load what compiling needs, so that forked processes need not; nothing is compiled here."""
    for module in pkgutil.walk_packages(agnesi.__path__, "agnesi."):
        if not module.name.startswith(("agnesi.testing", "agnesi.__main__", "agnesi.nn")):
            importlib.import_module(module.name)
    llvm.library()


class Forked:
    """A process that does some work, and what it returned."""

    def __init__(self, work: Callable[[], Any], patience: int = PATIENCE) -> None:
        sys.stdout.flush()
        self._pipe, end = os.pipe()
        self.number = os.fork()
        if self.number:
            os.close(end)
            return
        status = 1
        try:
            limit_time(patience)
            faulthandler.enable()  # where it crashes is printed
            os.write(end, json.dumps(work()).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def kill(self) -> None:
        """End it at once, and wait for that."""
        os.kill(self.number, signal.SIGKILL)
        self.end()

    def end(self) -> tuple[Any, str]:
        """What its work returned, and how it failed; empty if it did not."""
        with open(self._pipe, "rb") as pipe:
            told = pipe.read()
        status = os.waitpid(self.number, 0)[1]
        if os.WIFSIGNALED(status):
            return None, f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return (None, "raised an exception") if status else (json.loads(told), "")
