"""Files of compiled code on disk: found by content, checked at load, safe between processes.

Every entry is one file, written under a unique temporary name and moved into place, so a reader
sees all of it or nothing; what is damaged all the same fails its checksum and counts as absent.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time

# Public as hashlib.blake2b; importing that name from there loads OpenSSL too, several milliseconds.
from _blake2 import blake2b
from collections.abc import Iterator

from agnesi.core.config import config

FORMAT = b"agnesi-cache-1\n"
SUFFIX = ".agn"
_DIGEST = 32
_DAY = 86400.0
_PRUNE_EVERY = 32

limit_bytes = 512 << 20
_puts = 0


def directory() -> str:
    """The folder of the cache: the setting ``cache_dir`` or the platform's place for caches."""
    if config.cache_dir:
        return str(config.cache_dir)
    if sys.platform == "win32":
        base = os.path.join(os.path.expanduser("~"), "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(os.path.expanduser("~"), "Library", "Caches")
    else:
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "agnesi")


def key(*parts: str) -> str:
    """The name of an entry: a digest of everything that its content depends on."""
    digest = blake2b(FORMAT, digest_size=_DIGEST)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def get(name: str) -> bytes | None:
    """The content of an entry; None if it is absent, damaged, or the cache is off."""
    folder = _usable(create=False)
    if folder is None:
        return None
    path = os.path.join(folder, name + SUFFIX)
    try:
        with open(path, "rb") as file:
            data = file.read()
            modified = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    head = len(FORMAT) + _DIGEST
    body = data[head:]
    if data[:head] != FORMAT + blake2b(body, digest_size=_DIGEST).digest():
        with contextlib.suppress(OSError):
            os.unlink(path)
        return None
    if time.time() - modified > _DAY:
        with contextlib.suppress(OSError):
            os.utime(path)
    return body


def put(name: str, body: bytes) -> None:
    """Store an entry; a cache that cannot be written is no error."""
    global _puts
    folder = _usable(create=True)
    if folder is None:
        return
    temporary = os.path.join(folder, f"{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(FORMAT + blake2b(body, digest_size=_DIGEST).digest() + body)
        os.replace(temporary, os.path.join(folder, name + SUFFIX))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return
    if _puts % _PRUNE_EVERY == 0:
        _prune(folder, limit_bytes)
    _puts += 1


def clear() -> int:
    """Remove every entry; returns how many there were.

    Examples
    --------
    >>> from agnesi.runtime import diskcache
    >>> diskcache.clear() >= 0
    True
    """
    folder = _usable(create=False)
    removed = 0
    for entry in _entries(folder) if folder else ():
        with contextlib.suppress(OSError):
            os.unlink(entry.path)
            removed += entry.name.endswith(SUFFIX)
    return removed


def _usable(*, create: bool) -> str | None:
    """The folder, if the cache is on and nobody else can have put files there."""
    if not config.cache:
        return None
    folder = directory()
    try:
        if create:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.stat(folder)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        return None
    return folder


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            yield from (e for e in found if e.name.endswith((SUFFIX, ".tmp")))
    except OSError:
        return


def _prune(folder: str, limit: int) -> None:
    """Remove forgotten temporary files, and the oldest entries beyond the limit."""
    now, total, files = time.time(), 0, []
    for entry in _entries(folder):
        with contextlib.suppress(OSError):
            found = entry.stat()
            if entry.name.endswith(".tmp"):
                if now - found.st_mtime > _DAY:
                    os.unlink(entry.path)
                continue
            total += found.st_size
            files.append((found.st_mtime, found.st_size, entry.path))
    if total <= limit:
        return
    for _, size, path in sorted(files):
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= size
        if total <= limit * 3 // 4:
            return
