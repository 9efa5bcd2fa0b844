"""A case in a process of its own, which may crash or hang: ``python -m tests.fuzz.alone``."""

from __future__ import annotations

import base64
import pickle
import subprocess
import sys

from agnesi.core.config import config
from tests.fuzz.check import failing
from tests.fuzz.run import Case
from tests.fuzz.watch import Watch

#: Seconds of the processor after which a process is taken to hang; the watchdog of a case stops
#: what Python can stop earlier.
HANGS = 60


def ends_badly(case: Case, seconds: float = HANGS) -> str:
    """How the process of a case ends: "crash", "hang", or empty."""
    process = subprocess.Popen([sys.executable, "-m", "tests.fuzz.alone"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    watch = Watch(process, seconds)
    process.communicate(base64.b64encode(pickle.dumps(case)).decode())
    watch.end()
    return "hang" if watch.stopped else "crash" if process.returncode < 0 else ""


def main() -> None:
    """Check the case that comes in."""
    with config(verify=True, cache=False):
        failing(pickle.loads(base64.b64decode(sys.stdin.read())))


if __name__ == "__main__":
    main()
