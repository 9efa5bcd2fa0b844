"""A process that is stopped when it works, or is silent, for too long.

What counts is the time of the processor, which does not depend on what else a machine has to do; a
process that waits for ever uses none and is stopped by the clock, much later.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time

#: Times the limit of the processor after which the clock stops a process.
WAITING = 8
#: Seconds between two looks.
PERIOD = 0.5


class Watch:
    """Stops a process ``seconds`` of the processor after the last sign of life."""

    def __init__(self, process: subprocess.Popen[str], seconds: float) -> None:
        self.process = process
        self.stopped = False
        self._over = threading.Event()
        self.alive(seconds)
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def alive(self, seconds: float) -> None:
        """A sign of life, and how long the next one may take."""
        self._limit = (used(self.process.pid) + seconds, time.monotonic() + WAITING * seconds)

    def end(self) -> None:
        """Look no longer."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(PERIOD):
            worked, waited = self._limit
            if used(self.process.pid) > worked or time.monotonic() > waited:
                self.stopped = True
                self.process.kill()
                return


def used(pid: int) -> float:
    """Seconds of processors that a process has used; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as status:
            fields = status.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
