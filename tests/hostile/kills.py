"""Processes that are killed while they write or compile: others read whole entries, or none."""

from __future__ import annotations

import random
import time
from pathlib import Path

from agnesi.core.support.config import config
from agnesi.runtime import disk_cache
from tests.hostile.attempt import Forked, Trial
from tests.hostile.work import check

ENTRIES = 8


def content(number: int) -> bytes:
    """An entry of up to 4 MB, which says itself what it must be."""
    return f"{number:9}".encode() * (1 << random.Random(number).randrange(19))


def write_on(first: int) -> None:
    """Write the same entries again and again."""
    while True:
        for number in range(first, first + ENTRIES):
            disk_cache.put(disk_cache.key("kill", str(number)), content(number))


def compile_on(first: int) -> None:
    """Compile one function after the other."""
    while True:
        first += 1
        check(first)


def read(first: int) -> int:
    """Compare what is there; how many entries that were."""
    found = 0
    for number in range(first, first + ENTRIES):
        body = disk_cache.get(disk_cache.key("kill", str(number)))
        assert body in (None, content(number)), f"entry {number} is another one"
        found += body is not None
    return found


def kills(attempts: int, folder: Path) -> Trial:
    """Every other process writes entries all the time, the others compile."""
    chance = random.Random(0)
    failures, notes = [], {"entries read": 0, "temporary files left": 0}
    with config(cache_dir=folder):
        for i in range(attempts):
            first = i // 2 * 1000
            writer = Forked(lambda at=first, i=i: (compile_on if i % 2 else write_on)(at))
            time.sleep(chance.uniform(0.0, 0.8 if i % 2 else 0.05))
            writer.kill()
            reader = Forked(lambda at=first, i=i: check(at + 1) if i % 2 else read(at))
            found, failure = reader.end()
            notes["entries read"] += found or 0
            if failure:
                failures.append(f"attempt {i}: {failure}")
        notes["temporary files left"] = len([*folder.glob("*.tmp")])
        failures += [line for line in disk_cache.report().splitlines() if "not read" in line]
    return Trial("kill -9 while entries are written", attempts, failures, notes)
