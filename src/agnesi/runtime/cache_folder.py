"""The folder of the disk cache, and which of its files can be trusted.

Its files run as the user's own code.  So the folder is opened once and everything else is
found relative to it: it cannot be exchanged in between.  What is looked at is the opened file, not
what its name led to a moment before.
"""

from __future__ import annotations

import functools
import os
import stat
import struct
from collections.abc import Iterator
from typing import Any

from agnesi.core.support import host
from agnesi.core.support.config import cache_home, config
from agnesi.core.support.signal_errors import ignored, raise_if_from_signal
from agnesi.core.support.undo import Block, Opened

MAX_ENTRY = 128 << 20
"""Bytes of the largest file that is read or written."""
_RELATIVE = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would be waited for
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH  # where there are access lists, the group's are theirs
#: The key of ``getauxval`` for a process with raised rights.
_AT_SECURE = 23


class DistrustError(OSError):
    """The reason why a folder or file is not used, as text."""


def path() -> str:
    """The folder: the setting ``cache_dir``, or the platform's folder for caches.

    :raises DistrustError: If there is none.
    """
    folder = config.cache_dir
    if not folder:
        if host.SYSTEM == "win32":
            path = os.path.join("~", "AppData", "Local")
        else:
            path = os.path.join("~", *(["Library", "Caches"] if host.SYSTEM == "darwin"
                                        else [".cache"]))
        folder = os.path.join(cache_home() or os.path.expanduser(path), "agnesi")
    if not os.path.isabs(folder):  # as it is where the home folder is unknown
        raise DistrustError(f"there is no folder {folder}: name one in AGNESI_CACHE_DIR")
    return str(folder)


def objection(found: os.stat_result) -> str:
    """Return why another user may have written a file with this status; empty if none can."""
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}, and this process to user {os.geteuid()}"
    if found.st_mode & _OTHERS_WRITE:
        return f"others may write it (mode {stat.S_IMODE(found.st_mode):o})"
    return ""


def file_objection(found: os.stat_result) -> str:
    """Why a file is not trusted as an entry of the cache; empty if it is."""
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file"
    if found.st_size > MAX_ENTRY:
        return f"it is larger than {MAX_ENTRY >> 20} MB"
    if found.st_nlink > 1:
        return "it has another name, too (a hard link)"
    return objection(found)


def is_privileged() -> bool:
    """Return whether this process has rights that the user who started it may not have."""
    if hasattr(os, "getresuid"):
        return len({*os.getresuid()}) > 1 or len({*os.getresgid()}) > 1 or _started_privileged()
    return hasattr(os, "geteuid") and (os.getuid(), os.getgid()) != (os.geteuid(), os.getegid())


@functools.cache
def _started_privileged() -> bool:
    """Return whether the kernel said so when it started the program (also for capabilities of
    files)."""
    try:
        with open("/proc/self/auxv", "rb") as file:
            auxiliary = dict(struct.iter_unpack("@LL", file.read()))
    except (OSError, struct.error):
        return False
    return bool(auxiliary.get(_AT_SECURE))


class Folder(Block):
    """The opened folder, as a ``with`` block.

    :raises DistrustError: At the beginning of the block, if others may have put files there.
    :raises OSError: If it is not there, and ``create`` is false or it cannot be made.
    """

    _opened: Opened | None = None
    _descriptor: int | None = None

    def __init__(self, *, create: bool = False) -> None:
        self._create = create

    def begin(self) -> Folder:
        if is_privileged():
            raise DistrustError("this process has more rights than its user")
        self.path = path()
        if self._create:
            _make(self.path)
        if _RELATIVE:
            self._opened = Opened(self.path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
            self._descriptor = self._begun(self._opened)
        # Without descriptors of folders (Windows), those of users are private.
        found = os.stat(self.path if self._descriptor is None else self._descriptor)
        if why := objection(found):
            raise DistrustError(f"{self.path}: {why}")
        return self

    def end(self) -> None:
        if self._opened is not None:
            self._opened.end()

    def _begun(self, opened: Opened) -> int:
        try:
            return opened.begin()
        except NotADirectoryError:
            kind = "a symbolic link" if os.path.islink(self.path) else "no folder"
            raise DistrustError(f"{self.path} is {kind}") from None

    def _path_of(self, name: str) -> str:
        return os.path.join(self.path, name) if self._descriptor is None else name

    def _file(self, name: str, flags: int) -> Opened:
        return Opened(self._path_of(name), flags | _NO_LINK | _NO_WAIT, 0o600,
                      relative_to=self._descriptor)

    def read(self, name: str) -> tuple[bytes, os.stat_result]:
        """The content of a file that no other user can have written, and its status.

        :raises OSError: If it is not there, or a :class:`DistrustError`.
        """
        with self._file(name, os.O_RDONLY) as file:
            found = os.fstat(file)
            if why := file_objection(found):
                raise DistrustError(why)
            data = os.read(file, found.st_size)
            while len(data) < found.st_size and (more := os.read(file, found.st_size - len(data))):
                data += more
        return data, found

    def write(self, name: str, data: bytes) -> None:
        """Put a file in place as a whole, whatever is there."""
        temporary = f"{name}.{os.urandom(8).hex()}.tmp"
        try:
            with self._file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
                if hasattr(os, "fchmod"):
                    with ignored(OSError):
                        os.fchmod(file, 0o600)  # whatever the umask takes away
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(file, rest):]
            os.replace(self._path_of(temporary), self._path_of(name),
                       src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            self.remove(temporary)
            raise

    def append(self, name: str, data: bytes) -> int:
        """Put data at the end of a file that is there; its size after that.

        :raises OSError: If it is not there, or a :class:`DistrustError`.
        """
        with self._file(name, os.O_WRONLY | os.O_APPEND) as file:
            if why := file_objection(os.fstat(file)):
                raise DistrustError(why)
            os.write(file, data)
            return os.fstat(file).st_size

    def remove(self, name: str) -> bool:
        """Remove a file; whether it was there and could be removed."""
        try:
            os.unlink(self._path_of(name), dir_fd=self._descriptor)
        except OSError as error:
            raise_if_from_signal(error)
            return False
        return True

    def touch(self, name: str) -> None:
        """Mark a file as just used."""
        with ignored(OSError):
            os.utime(self._path_of(name), dir_fd=self._descriptor, **_NOT_THROUGH_LINKS)

    def entries(self, *suffixes: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the name and the status of every file of the folder whose name has one of these
        endings.
        """
        with ignored(OSError), os.scandir(
                self.path if self._descriptor is None else self._descriptor) as found:
            for entry in found:
                if entry.name.endswith(suffixes):
                    with ignored(OSError):
                        yield entry.name, entry.stat(follow_symlinks=False)


_NOT_THROUGH_LINKS: dict[str, Any] = (
    {"follow_symlinks": False} if os.utime in os.supports_follow_symlinks else {})


def _make(folder: str) -> None:
    """Make a folder and those above it, for this user alone, whatever the umask takes away."""
    above = os.path.dirname(folder)
    if above != folder and not os.path.isdir(above):
        _make(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    if os.stat(folder).st_mode & 0o700 != 0o700:
        os.chmod(folder, 0o700)
