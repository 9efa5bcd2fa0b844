"""Files that are there whole or not at all: written aside, brought to disk, then renamed."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from agnesi.core.support.errors import at
from agnesi.core.support.undo import Opened

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

#: What a disk says that is full, or broken, while a file is written.
_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE)
#: The end of names of files that are being written.
ENDING = ".partial"


class _Whole(io.FileIO):
    """A file whose ``write`` writes all: the system's own takes a part of it on a disk that is
    nearly full, or of more than 2 GB, and says so only by what it returns."""

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        while left:
            left = left[super().write(left[: 1 << 26]):]
        return size


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that replaces a path once all of it is on disk.

    Whatever ends the process before leaves what was there; what it wrote is removed by the next
    writer of the folder (:func:`sweep`).  Behind a symbolic link, it is the file that is linked.
    """
    target = Path(os.path.realpath(path))
    aside: list[Path] = []  # the last is the file; kept before there is one, as a signal may raise
    try:
        try:
            _check_target(target)
            sweep(target.parent)
            _forget(target)
            file = _aside(target, aside)
        except OSError as error:
            raise file_error(error, f"{str(path)!r} cannot be written") from None
        with file:
            yield file
            os.fsync(file.fileno())
            if fcntl is not None:  # under the lock, so that it is not taken for left over
                os.replace(aside[-1], target)
        if fcntl is None:
            os.replace(aside[-1], target)
    except BaseException as error:
        for made in aside:
            with contextlib.suppress(OSError):
                made.unlink()
        if isinstance(error, OSError) and error.errno in _OF_DISKS and "\n" not in str(error):
            raise file_error(error, f"{str(path)!r} cannot be written, and stays as it was"
                               ) from None
        raise
    _settle(target.parent)


@contextlib.contextmanager
def by_name(path: str | os.PathLike[str]) -> Iterator[str]:
    """The name of a file elsewhere, for libraries that choose a format by its ending; what they
    write there replaces the path as by :func:`replacing`."""
    target = Path(path)
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, target.name)
        (made,) = Path(folder).iterdir()  # some add an ending of their own
        with replacing(target.with_name(made.name)) as file:
            file.write(made.read_bytes())


def append_line(path: str | os.PathLike[str], line: str) -> None:
    """Append a line to a file atomically; after an incomplete last line, as a crash leaves, it
    starts a new line first."""
    try:
        with _Whole(path, "a+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                line = line if file.read(1) == b"\n" else f"\n{line}"
            try:
                file.write(f"{line}\n".encode())
            except OSError:
                file.truncate(size)
                raise
    except OSError as error:
        raise file_error(error, f"no line can be added to {str(path)!r}") from None


def _forget(target: Path) -> None:
    """Free the page cache of a file that is about to be replaced, so that the new file can use that
    memory.
    """
    if hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError), open(target, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _check_target(target: Path) -> None:
    """Refuse a path at which no file can be."""
    folder = str(target.parent)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder!r}; make it with "
                                f"os.makedirs({folder!r}, exist_ok=True)")
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it")
    if target.exists() and not target.is_file():  # a new file would replace it
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")


def file_error(error: OSError, what: str) -> OSError:
    """Return the system's error with what failed on which file, and the user's line."""
    return type(error)(error.errno, at(f"{what}: {error.strerror}"))


def _aside(target: Path, names: list[Path]) -> Any:
    """Return a new locked file in the folder of a target; its name is appended to ``names``."""
    while True:
        names.append(target.with_name(f".{target.name}.{secrets.token_hex(8)}{ENDING}"))
        file = _Whole(names[-1], "xb")
        _lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:  # no other writer has swept it meanwhile
            return file
        file.close()


def sweep(folder: Path) -> None:
    """Remove temporary files in a folder that killed writers left: those that are not locked."""
    for found in folder.glob(f".*{ENDING}"):
        with contextlib.suppress(OSError), open(found, "rb") as file:
            _lock(file, wait=False)
            found.unlink()


def _lock(file: Any, wait: bool) -> None:
    """Lock a file until it is closed; with ``wait=False`` raise OSError if it is locked."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _settle(folder: Path) -> None:
    """Flush a folder's entries to disk, where the system supports that."""
    with contextlib.suppress(OSError), Opened(os.fspath(folder), os.O_RDONLY) as opened:
        os.fsync(opened)
