"""The identity of this build of the library, from the contents of its files.

Builds that are reproducible give their files equal sizes and times, so that only contents differ
apart; and equal contents are the same build wherever and whenever it was installed.
"""

from __future__ import annotations

import os
import time
from functools import cache

from agnesi.core import STARTED
from agnesi.core.support import host
from agnesi.core.support.undo import Opened
from agnesi.runtime import disk_cache

_MIN_AGE_SECONDS = 2.0
"""Seconds after which a file that changes again gets another time, whatever the file system."""
#: Units of file times in a second.
_NANOSECONDS_PER_SECOND = 10**9
Files = list[tuple[str, os.stat_result]]


@cache
def build() -> str:
    """Return a digest of the library's files; an empty text if they may have changed since this
    process loaded them.

    Reading all files takes longer than querying their status, so the digest is cached on disk by
    their status.
    """
    top = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    try:
        files = _files(top)
        status = [_status(file) for file in files]
        changed = max(found.st_ctime_ns for _, found in files) / _NANOSECONDS_PER_SECOND
        if STARTED < changed < time.time():  # exchanged behind modules that are loaded
            return ""
        name = disk_cache.key("build", top, *status) if _are_distinguishable(files) else ""
        known = disk_cache.load(name, _digest) if name else None
        if known is None:
            known = _read(top, files)
            if status != [_status(file) for file in _files(top)]:
                return ""
            if name and time.time() - changed > _MIN_AGE_SECONDS:
                disk_cache.put(name, known.encode())
        return known
    except OSError:
        return ""


def _files(top: str) -> Files:
    """Names within the library, and status, of all its files but compiled Python."""
    folders, found = [""], []  # each with what separates it from the names in it
    for folder in folders:
        with os.scandir(os.path.join(top, folder)) as entries:
            for entry in entries:
                name = folder + entry.name
                if not entry.is_dir():
                    found.append((name, entry.stat()))
                elif entry.name != "__pycache__":
                    folders.append(name + os.sep)
    return sorted(found)


def _status(file: tuple[str, os.stat_result]) -> str:
    name, found = file
    return (f"{name} {found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns} "
            f"{found.st_ctime_ns}")


def _are_distinguishable(files: Files) -> bool:
    """Return whether files of equal status have equal contents.

    Programs cannot set the time of the last change of status, so where it has fractions of a second
    it is the one at which the file was written here.  In images of file systems it is what the
    build says, in whole seconds, and on Windows that of the file's creation.
    """
    return host.SYSTEM != "win32" and all(
        found.st_ctime_ns % _NANOSECONDS_PER_SECOND for _, found in files
    )


def _digest(kept: bytes) -> str:
    """The digest in an entry."""
    text = kept.decode()
    if len(bytes.fromhex(text)) * 2 != len(disk_cache.digest()):
        raise ValueError("not a digest")
    return text


def _read(top: str, files: Files) -> str:
    """Return the digest of the files' names and contents."""
    parts: list[str | bytes] = []
    for name, found in files:
        with Opened(os.path.join(top, name), os.O_RDONLY) as file:
            parts += [name, os.read(file, found.st_size + 1)]
    return disk_cache.digest(*parts)
