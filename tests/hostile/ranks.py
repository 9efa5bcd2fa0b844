"""Processes of a job that are killed at any moment: it begins again, ends, and has lost nothing."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.hostile.attempt import LOADED, PATIENCE, Trial

JOB = Path(__file__).parents[1] / "distributed" / "job.py"
STEPS, PAUSE = 30, 0.01


def ranks(attempts: int, folder: Path) -> Trial:
    """One of two is killed while they come, count together, or leave."""
    chance = random.Random(0)
    failures, notes = [], {"begun again": 0, "slower than 20 s": 0}
    for i in range(attempts):
        place = folder / str(i)
        place.mkdir(parents=True)
        kill = [str(chance.randrange(2)), f"{chance.uniform(0.0, 0.7):.3f}"]
        begun = time.monotonic()
        try:
            run = subprocess.run(
                [sys.executable, "-m", "agnesi", "launch", "-n", "2", "--restarts", "1", str(JOB),
                 str(place), "kill", *kill, str(STEPS), str(PAUSE)],
                capture_output=True, text=True, timeout=LOADED * PATIENCE)
        except subprocess.TimeoutExpired:
            failures.append(f"attempt {i}, {kill}: it hangs")
            continue
        notes["begun again"] += "starting again" in run.stderr
        notes["slower than 20 s"] += time.monotonic() - begun > 20
        saved = (place / "saved").read_text()
        if run.returncode or saved != f"{STEPS} {STEPS}":
            failures.append(f"attempt {i}, {kill}: {run.returncode}, {saved}: {run.stderr[-500:]}")
    return Trial("ranks", attempts, failures, notes)
