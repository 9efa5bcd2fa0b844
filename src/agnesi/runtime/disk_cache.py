"""Files of compiled code on disk: found by content, checked at load, safe between processes.

Every entry is one file, written under a unique temporary name and moved into place, so a reader
sees all of it or nothing.  Its checksum binds it to its name, which is a digest of everything that
it depends on: what is damaged, or has another entry's name, counts as absent and is removed.
A folder or a file that another user may have written is not read (:mod:`.cache_folder`).
"""

from __future__ import annotations

import time

# Public as hashlib.blake2b; importing that name from there loads OpenSSL too, several milliseconds.
from _blake2 import blake2b
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from agnesi.core.support.config import config
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.runtime.cache_folder import MAX_ENTRY, Folder, file_objection

T = TypeVar("T")

_FAMILY = b"agnesi-cache-"
FORMAT = _FAMILY + b"2\n"
SUFFIX = ".agn"
_TEMPORARY = ".tmp"
#: Bytes of the digest of each entry; seconds of a day and an hour.
_DIGEST_BYTES = 32
_DAY_SECONDS, _HOUR_SECONDS = 86400.0, 3600.0
#: A file with a byte for each so many bytes that the folder holds, at most: all processes let it
#: grow before they write, and who counts the folder begins it again.
_SIZE_FILE, _BYTES_PER_MARK = "size.count", 1024
_MAX_REPORTED_FILES = 20  # files of which a report says why they are not read

#: Bytes of all entries beyond which the oldest are removed.
limit_bytes = 512 << 20


def digest(*parts: str | bytes) -> str:
    """A digest of texts that differs wherever one of them does."""
    found = blake2b(FORMAT, digest_size=_DIGEST_BYTES)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()


def key(kind: str, *parts: str) -> str:
    """The name of an entry: its kind, and a digest of everything that its content depends on."""
    return f"{kind}-{digest(kind, *parts)}"


def get(name: str) -> bytes | None:
    """The content of an entry; None if it is absent, damaged, not trusted, or the cache is off."""
    if not config.cache:
        return None
    file = name + SUFFIX
    try:
        with Folder() as folder:
            data, found = folder.read(file)
            body = _checked(name, data)
            if body is None:
                folder.remove(file)
            elif abs(time.time() - found.st_mtime) > _HOUR_SECONDS:  # the clock may have been wrong
                folder.touch(file)
            return body
    except OSError as error:
        raise_if_from_signal(error)
        return None


def load(name: str, decode: Callable[[bytes], T]) -> T | None:
    """Return ``decode`` of an entry, or None; an entry that it fails at is removed and counts as
    absent.
    """
    body = get(name)
    if body is None:
        return None
    try:
        return decode(body)
    except Exception as error:
        raise_if_from_signal(error)
        remove(name)
        return None


def put(name: str, body: bytes) -> None:
    """Store an entry; a cache that cannot be written is no error.

    Files are looked at only where so much was written by all processes that the folder may hold
    more than the limit: there may be many thousands.
    """
    data = _head(name, body) + body
    if not config.cache or len(data) > MAX_ENTRY:
        return
    try:
        with Folder(create=True) as folder:
            full = _count(folder, len(data))
            folder.write(name + SUFFIX, data)
            if full:
                _prune(folder, limit_bytes)
    except OSError as error:
        raise_if_from_signal(error)
        return


def _count(folder: Folder, size: int) -> bool:
    """Add ``size`` bytes to the count of what was written; return whether the folder may now exceed
    its limit.

    True if the count is not known.
    """
    try:
        marks = folder.append(_SIZE_FILE, bytes(_marks(size)))
    except OSError as error:
        raise_if_from_signal(error)
        return True
    return marks * _BYTES_PER_MARK > limit_bytes


def _marks(size: int) -> int:
    return -(-size // _BYTES_PER_MARK)


def remove(name: str) -> None:
    """Remove an entry, if it is there."""
    try:
        with Folder() as folder:
            folder.remove(name + SUFFIX)
    except OSError as error:
        raise_if_from_signal(error)
        return


def clear() -> int:
    """Remove every entry; returns how many there were.

    >>> from agnesi.core.support.config import config
    >>> from agnesi.runtime import disk_cache
    >>> with config(cache=False):  # as if there were no folder
    ...     disk_cache.clear()
    0
    """
    if not config.cache:
        return 0
    try:
        with Folder() as folder:
            names = [name for name, _ in folder.entries(SUFFIX, _TEMPORARY, _SIZE_FILE)]
            return sum(folder.remove(name) and name.endswith(SUFFIX) for name in names)
    except OSError as error:
        raise_if_from_signal(error)
        return 0


def report() -> str:
    """Describe the cache as text: its folder, the entries of each kind, and which files are not
    read, and why.
    """
    if not config.cache:
        return "the cache is off (AGNESI_CACHE, ag.config.cache)"
    sizes: dict[str, list[int]] = defaultdict(list)
    refused = []
    try:
        with Folder() as folder:
            for file, found in sorted(folder.entries(SUFFIX)):
                kind, why = "", file_objection(found)
                if not why:
                    kind, why = _kind(folder, file)
                if why:
                    refused.append(f"  {file}: {why}")
                else:
                    sizes[kind].append(found.st_size)
            lines = [f"folder: {folder.path}"]
    except FileNotFoundError as error:
        return f"folder: {error.filename}, which is not there yet"
    except OSError as error:
        return f"not used: {error}"
    lines += [_format_entries("entries", [n for found in sizes.values() for n in found])
              + f", limit {limit_bytes / 1e6:.1f} MB"]
    lines += [_format_entries("  " + kind, found) for kind, found in sorted(sizes.items())]
    if refused:
        lines += [
            f"not read, and replaced by the next that is made: {len(refused)}",
            *refused[:_MAX_REPORTED_FILES],
            *(["  ..."] if len(refused) > _MAX_REPORTED_FILES else []),
        ]
    return "\n".join(lines)


def _format_entries(what: str, sizes: list[int]) -> str:
    return f"{what}: {len(sizes)}, {sum(sizes) / 1e6:.1f} MB"


def _kind(folder: Folder, file: str) -> tuple[str, str]:
    """Return the kind of an entry, and the reason why it is not read (empty if it is)."""
    try:
        data, _ = folder.read(file)
    except OSError as error:
        return "", error.strerror or str(error)
    if data.startswith(_FAMILY) and not data.startswith(FORMAT):
        return "of other versions", ""
    name = file.removesuffix(SUFFIX)
    whole = _checked(name, data) is not None
    return name.partition("-")[0], "" if whole else "it is damaged, or another entry's"


def _head(name: str, body: bytes) -> bytes:
    """Return the first bytes of an entry: its format, and a checksum of its name and body."""
    return FORMAT + bytes.fromhex(digest(name, body))


def _checked(name: str, data: bytes) -> bytes | None:
    """The body of an entry of this name; None if that is not what the data are."""
    size = len(FORMAT) + _DIGEST_BYTES
    body = data[size:]
    return body if data[:size] == _head(name, body) else None


def _prune(folder: Folder, limit: int) -> None:
    """Remove forgotten temporary files, and the oldest entries beyond the limit; note what is left.

    What others write meanwhile may be missing in that note: the folder is larger by it until the
    next time.
    """
    now, total, files = time.time(), 0, []
    for name, found in folder.entries(SUFFIX, _TEMPORARY):
        if name.endswith(_TEMPORARY) and abs(now - found.st_mtime) > _DAY_SECONDS:
            folder.remove(name)
            continue
        total += found.st_size
        # A time stamp in the future counts as now.
        files.append((min(found.st_mtime, now), found.st_size, name))
    # What is a little below the limit would be looked at again soon.
    kept = total if total <= limit * 15 // 16 else limit * 3 // 4
    for _, size, name in sorted(f for f in files if f[-1].endswith(SUFFIX)):
        if total <= kept:
            break
        folder.remove(name)
        total -= size
    folder.write(_SIZE_FILE, bytes(_marks(total)))
