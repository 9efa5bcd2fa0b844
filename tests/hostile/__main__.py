"""Attacks the cache, what is around it, and graphs in files: ``python -m tests.hostile``.

Everything happens in processes of its own, on caches of its own.  What fails is printed, and makes
the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.hostile.attempt import Trial, load_modules
from tests.hostile.crowds import crowd
from tests.hostile.forks import forks
from tests.hostile.graphs import graph_files
from tests.hostile.interrupts import interrupts
from tests.hostile.kills import kills
from tests.hostile.mutations import mutations
from tests.hostile.ranks import ranks
from tests.hostile.saves import disks, ends, versions
from tests.hostile.users import users

#: What there is, and how often.
TRIALS: dict[str, tuple[Callable[[int, Path], Trial], int]] = {
    "kills": (kills, 100),
    "crowd": (crowd, 50),
    "mutations": (mutations, 5000),
    "interrupts": (interrupts, 500),
    "forks": (forks, 200),
    "users": (users, 60),
    "ranks": (ranks, 100),
    "graphs": (graph_files, 5000),
    "ends": (ends, 100),
    "disks": (disks, 50),
    "versions": (versions, 30),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--only", choices=[*TRIALS], action="append", help="not all of them")
    for name, (_, attempts) in TRIALS.items():
        parser.add_argument(f"--{name}", type=int, default=attempts, metavar="ATTEMPTS")
    options = vars(parser.parse_args())
    failed = False
    load_modules()
    for name in options["only"] or TRIALS:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="agnesi-hostile-") as folder:
            Path(folder).chmod(0o711)  # other users come through
            trial = TRIALS[name][0](options[name], Path(folder) / "agnesi")
        print(f"{trial}, {time.monotonic() - begun:.1f} s", flush=True)
        for line in trial.failures[:20]:
            print("   ", line)
        failed = failed or bool(trial.failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
