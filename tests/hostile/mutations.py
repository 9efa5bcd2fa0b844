"""Entries that were changed: functions compute the right values from what is left."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from agnesi.core.support.config import config
from agnesi.runtime import disk_cache
from tests.hostile.attempt import Forked, Trial
from tests.hostile.work import check

Entries = dict[str, bytes]
#: Attempts that one process makes, at the first of which it has loaded nothing yet.
TOGETHER = 20


def flip(data: bytes, chance: random.Random, _: Entries) -> bytes:
    """One bit."""
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def cut(data: bytes, chance: random.Random, _: Entries) -> bytes:
    """The end is missing."""
    return data[: chance.randrange(len(data))]


def grown(data: bytes, chance: random.Random, _: Entries) -> bytes:
    """Something is behind it."""
    return data + chance.randbytes(chance.randrange(1, 100))


def blank(data: bytes, chance: random.Random, _: Entries) -> bytes:
    """A block that was not written, as after a crash of the system."""
    at = chance.randrange(len(data))
    size = min(len(data) - at, 512)
    return data[:at] + bytes(size) + data[at + size :]


def other(data: bytes, chance: random.Random, whole: Entries) -> bytes:
    """A whole one, which belongs to another name."""
    return chance.choice([d for d in whole.values() if d != data])


def noise(data: bytes, chance: random.Random, _: Entries) -> bytes:
    """Nothing of it is left."""
    return chance.randbytes(len(data))


CHANGES: tuple[Callable[[bytes, random.Random, Entries], bytes], ...] = (
    flip, cut, grown, blank, other, noise)


def sealed(change: Callable[..., bytes], name: str, data: bytes, chance: random.Random,
           whole: Entries) -> bytes:
    """A change of the content, under a checksum that is right: no decoder can take it."""
    size = len(disk_cache._head(name, b""))
    bodies = {n: d[size:] for n, d in whole.items()}
    body = change(data[size:], chance, bodies)
    return disk_cache._head(name, body) + body


def changed(folder: Path, whole: Entries, chance: random.Random) -> str:
    """Change one entry on disk, or some; what was done to the last one."""
    for path in folder.iterdir():
        if path.name not in whole:
            path.unlink()
    for name, data in whole.items():
        (folder / name).write_bytes(data)
    for name in chance.sample([*whole], len(whole) if chance.random() < 0.03 else 1):
        change = chance.choice(CHANGES)
        new = change(whole[name], chance, whole)
        if chance.random() < 0.2 and name.endswith(disk_cache.SUFFIX):  # not the count of bytes
            change = chance.choice((cut, grown, noise))
            new = sealed(change, name.removesuffix(disk_cache.SUFFIX), whole[name], chance, whole)
        (folder / name).write_bytes(new)
    return f"{name}: {change.__name__}"


def attempt(folder: Path, whole: Entries, seeds: range) -> list[str]:
    """What fails, of attempts in one process."""
    from agnesi.compiler.compilation import build
    from agnesi.runtime import machine

    failures = []
    for seed in seeds:
        done = changed(folder, whole, random.Random(seed))
        machine.native.cache_clear()
        build.build.cache_clear()
        try:
            check(0)
        except Exception as error:
            failures.append(f"attempt {seed}, {done}: {type(error).__name__}: {error}")
    return failures


def mutations(attempts: int, folder: Path) -> Trial:
    """Each changes entries of the same cache, and compiles the same functions."""
    failures: list[str] = []
    with config(cache_dir=folder):
        for _ in range(2):
            Forked(lambda: check(0)).end()
        whole = {path.name: path.read_bytes() for path in folder.iterdir()}
        folder.chmod(0o700)
        for first in range(0, attempts, TOGETHER):
            seeds = range(first, min(first + TOGETHER, attempts))
            found, failure = Forked(lambda seeds=seeds: attempt(folder, whole, seeds)).end()
            failures += found or []
            if failure:
                failures.append(f"attempts {seeds}: {failure}")
    return Trial("changed entries", attempts, failures, {"entries": len(whole)})
