"""Many processes that begin together on one empty cache."""

from __future__ import annotations

import time
from pathlib import Path

from agnesi.core.support.config import config
from agnesi.runtime import disk_cache
from tests.hostile.attempt import LOADED, PATIENCE, Forked, Trial
from tests.hostile.work import check


def begin_together(go: Path) -> int:
    """Wait for the others, then compile."""
    end = time.monotonic() + LOADED * PATIENCE
    while not go.exists() and time.monotonic() < end:
        time.sleep(0.001)
    return check(0)


def crowd(attempts: int, folder: Path) -> Trial:
    """Each compiles the same functions, and may find what others have written."""
    go = folder.with_suffix(".go")
    with config(cache_dir=folder):
        processes = [Forked(lambda: begin_together(go)) for _ in range(attempts)]
        go.touch()
        failures = [why for _, why in (p.end() for p in processes) if why]
        entries = [*folder.glob("*" + disk_cache.SUFFIX)]
        failures += [line for line in disk_cache.report().splitlines() if "not read" in line]
        failures += [f"{path} is left" for path in folder.glob("*.tmp")]
    return Trial("processes on one empty cache", attempts, failures, {"entries": len(entries)})
