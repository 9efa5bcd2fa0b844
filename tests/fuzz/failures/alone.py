"""A case in a process of its own, which may crash or hang: ``tests.fuzz.failures.alone``."""

from __future__ import annotations

import base64
import pickle
import subprocess
import sys

from agnesi.core.support.config import config
from tests.fuzz.check import failing
from tests.fuzz.failures.watch import Watch
from tests.fuzz.kinds.statements import Script
from tests.fuzz.run import Case

#: Seconds of the processor after which a process is taken to hang; the watchdog of a case stops
#: what Python can stop earlier.
HANGS = 60
#: What a process writes behind its check, which a case that leaves it does not come to.
_CHECKED = "checked"


def ends_badly(case: Case | Script, seconds: float = HANGS) -> str:
    """How the process of a case ends: empty where it checked the case, else "crash", "hang", or
    "error" where it came to an end by itself, but not as a check does."""
    process = subprocess.Popen([sys.executable, "-m", "tests.fuzz.failures.alone"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    watch = Watch(process, seconds)
    told = process.communicate(base64.b64encode(pickle.dumps(case)).decode())[0]
    watch.end()
    if watch.stopped:
        return "hang"
    if process.returncode == 0 and told.endswith(_CHECKED):
        return ""
    return "crash" if process.returncode < 0 else "error"


def main() -> None:
    """Check the case that comes in."""
    with config(verify=True, cache=False):
        failing(pickle.loads(base64.b64decode(sys.stdin.read())))
    sys.stdout.write(_CHECKED)


if __name__ == "__main__":
    main()
