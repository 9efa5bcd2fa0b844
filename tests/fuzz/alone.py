"""A case in a process of its own, which may crash or hang: ``python -m tests.fuzz.alone``."""

from __future__ import annotations

import pickle
import subprocess
import sys

from agnesi.core.config import config
from tests.fuzz.check import failing
from tests.fuzz.run import Case

#: Seconds after which a process is taken to hang; the watchdog stops what Python can stop earlier.
HANGS = 60


def ends_badly(case: Case, seconds: float = HANGS) -> str:
    """How the process of a case ends: "crash", "hang", or empty."""
    try:
        done = subprocess.run([sys.executable, "-m", "tests.fuzz.alone"], input=pickle.dumps(case),
                              capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "hang"
    return "crash" if done.returncode < 0 else ""


def main() -> None:
    """Check the case that comes in."""
    with config(verify=True, cache=False):
        failing(pickle.load(sys.stdin.buffer))


if __name__ == "__main__":
    main()
