"""Another user who plants files where this one's cache is, was, or will be."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agnesi.core.support.config import config
from agnesi.runtime import disk_cache
from tests.hostile.attempt import Forked, Trial

NAME = disk_cache.key("program", "of this user")
FILE = NAME + disk_cache.SUFFIX
OWN, PLANTED = b"written by this user", b"written by the other user"
#: Any user but this one; the files need no name.
STRANGER = 54321


def may_switch() -> bool:
    """Whether this process may become another user."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def as_stranger(work: Callable[[], Any]) -> None:
    """Let the other user do something, and wait for it."""

    def switched() -> None:
        os.setgroups([])
        os.setgid(STRANGER)
        os.setuid(STRANGER)
        os.umask(0)
        work()

    assert Forked(switched).end()[1] == ""


def plant(folder: Path) -> None:
    """A valid entry of the other user's, under this one's name."""
    (folder / FILE).unlink(missing_ok=True)
    (folder / FILE).write_bytes(disk_cache._head(NAME, PLANTED) + PLANTED)


def read(folder: Path) -> bytes | None:
    """What this user reads there."""
    with config(cache_dir=folder):
        return disk_cache.get(NAME)


def write(folder: Path) -> bytes | None:
    """What this user reads after writing."""
    with config(cache_dir=folder):
        disk_cache.put(NAME, OWN)
    return read(folder)


def once_open(folder: Path) -> None:
    """The folder was open to all, and is closed again: what lies there is replaced, not read."""
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    as_stranger(lambda: plant(folder))
    assert write(folder) is None, "a folder that is open to all was used"
    folder.chmod(0o755)
    assert read(folder) is None, "an entry of another user was read"
    assert write(folder) == OWN
    assert (folder / FILE).stat().st_uid == os.geteuid()


def links(folder: Path) -> None:
    """Entries that are links to the other user's files."""
    theirs = folder.with_suffix(".theirs")
    theirs.mkdir()
    theirs.chmod(0o777)
    as_stranger(lambda: plant(theirs))
    folder.mkdir()
    (folder / FILE).symlink_to(theirs / FILE)
    assert read(folder) is None, "an entry was read through a symbolic link"
    (folder / FILE).unlink()
    os.link(theirs / FILE, folder / FILE)
    os.chown(folder / FILE, os.geteuid(), -1)
    assert read(folder) is None, "an entry with two names was read"
    assert write(folder) == OWN


def there_before(folder: Path) -> None:
    """The other user made the folder first, where all may make folders."""
    folder.parent.chmod(0o1777)
    as_stranger(lambda: (folder.mkdir(), folder.chmod(0o755), plant(folder)))
    assert write(folder) is None, "another user's folder was used"


def open_umask(folder: Path) -> None:
    """A umask of 0 lets nobody write entries."""
    before = os.umask(0)
    try:
        assert write(folder) == OWN
    finally:
        os.umask(before)
    folder.chmod(0o755)

    def attack() -> None:
        with contextlib.suppress(PermissionError):
            (folder / FILE).write_bytes(b"")
            raise AssertionError("another user wrote an entry")
        with contextlib.suppress(PermissionError):
            plant(folder)
            raise AssertionError("another user replaced an entry")

    as_stranger(attack)
    assert read(folder) == OWN


def borrowed_rights(folder: Path) -> None:
    """A process of the other user that runs with this one's rights has no cache."""
    assert write(folder) == OWN

    def attack() -> None:
        os.setresuid(STRANGER, 0, 0)
        assert read(folder) is None, "a setuid process used the cache"

    assert Forked(attack).end()[1] == ""


def exchanged(folder: Path) -> None:
    """The folder's name leads to this user's folder and the other one's in turns."""
    place = folder.with_suffix(".place")
    mine, theirs = place / "mine", place / "theirs"
    place.mkdir()
    place.chmod(0o777)
    as_stranger(lambda: (theirs.mkdir(), plant(theirs)))
    assert write(mine) == OWN

    def flip() -> None:
        kinds = [(mine, theirs), (theirs, mine)]
        while True:
            for here, there in kinds:
                os.rename(here, place / "agnesi")
                os.rename(place / "agnesi", here)
                os.symlink(there, place / "agnesi")
                os.unlink(place / "agnesi")

    def switched() -> None:
        os.setuid(STRANGER)
        flip()

    flipping = Forked(switched)
    found = {b"": 0}
    end = time.monotonic() + 0.25
    while time.monotonic() < end:
        body = read(place / "agnesi") or b""
        found[body] = found.get(body, 0) + 1
    flipping.kill()
    assert PLANTED not in found, f"read what another user planted, {found}"


ATTACKS = (once_open, links, there_before, open_umask, borrowed_rights, exchanged)


def users(attempts: int, folder: Path) -> Trial:
    """Each is one of the attacks; none where this process cannot become another user."""
    name = "another user plants entries"
    if not may_switch():
        return Trial(f"{name} (not tried: this process cannot switch user)", 0, [], {})
    folder.mkdir()
    folder.chmod(0o711)
    failures = []
    for i in range(attempts):
        attack = ATTACKS[i % len(ATTACKS)]
        place = folder / str(i)
        place.mkdir()
        place.chmod(0o711)
        failure = Forked(lambda attack=attack, place=place: attack(place / "agnesi")).end()[1]
        if failure:
            failures.append(f"attempt {i}, {attack.__name__}: {failure}")
    return Trial(name, attempts, failures, {})
