"""Memory that processes of one user share: who may open it, and how it is laid out."""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import re
import stat
import tempfile
import time

from agnesi.compiler.library import collectives as native
from agnesi.core.support import host
from agnesi.core.support.errors import at

#: The first words of a segment, which say what it is; then whether it was given up, because of
#: which process that had ended (its rank + 1), and why.
MAGIC, LAYOUT = 0x61676E657369, 2
GIVEN_UP, BLAMED, REASON, REASON_BYTES = 64, 72, 512, 3072
_WORDS = 5
#: Where each process says, within its control block, that it is there: its number, and its state.
PID, STATE = 64, 72
ABSENT, PRESENT, GONE = 0, 1, 2
#: Bytes of a slot and of a letter: what stays in a core's cache while it goes from one to another.
_SLOT, _LETTER = 1 << 20, 1 << 16
_FEW_LETTERS = 1 << 12  # where there are many pairs of processes
_PAGE = 4096
#: Seconds after which what a process has left is removed.
_OLD_SECONDS = 3600.0


def folder() -> str:
    """Where segments are made: memory where the system has such a folder, else temporary files."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()


def own_name(kind: str) -> str:
    """A path for a new segment, which cannot be guessed and whose process :func:`sweep` knows."""
    sweep()
    return os.path.join(folder(), f"{_prefix()}-{os.getpid()}-{kind}-{os.urandom(12).hex()}")


def _prefix() -> str:
    """What names of this user's segments begin with, where processes have the same numbers."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return f"agnesi-{user}-{host.process_space():x}"


@functools.cache
def sweep() -> None:
    """Once in a process, remove what killed ones of this user have left in memory.

    That is what no process has opened, whose maker ended, and that is old: a handle may be on its
    way to who will open it.
    """
    if not host.process_space():
        return
    left = {}
    pattern = re.compile(re.escape(_prefix()) + r"-(\d+)-\w+-[0-9a-f]{24}")
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder()):
            found = pattern.fullmatch(entry.name)
            if found and not host.is_running(int(found[1])):
                with contextlib.suppress(OSError):  # another process sweeps, too
                    about = entry.stat(follow_symlinks=False)
                    if time.time() - about.st_mtime > _OLD_SECONDS:
                        left[about.st_ino] = entry.path
    for number in host.open_files() if left else ():
        left.pop(number, None)
    for path in left.values():
        with contextlib.suppress(OSError):
            os.unlink(path)


def create(path: str, size: int) -> int:
    """A new file of ``size`` bytes that only this user may open; its descriptor.

    :raises MemoryError: If there is no memory for it.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    file = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)  # else a full folder would end the process later
        else:
            os.ftruncate(file, size)
    except OSError as error:
        os.close(file)
        os.unlink(path)
        raise MemoryError(at(f"there is no room for {size} bytes of shared memory in {folder()}: "
                             f"{error.strerror}")) from None
    return file


def open_own(path: str) -> int:
    """The descriptor of a file that belongs to this user, and that no other may open.

    :raises PermissionError: If another user has made it, or may write or read it, or it is no
        regular file.
    :raises FileNotFoundError: If it is not there.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.open(path, flags)
    found = os.fstat(file)
    user = os.getuid() if hasattr(os, "getuid") else found.st_uid
    if found.st_uid != user or not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
        os.close(file)
        raise PermissionError(at(f"{path} is not shared memory of this user alone, with mode 600"))
    return file


class Segment:
    """The mapped memory of one group: a header, control blocks, slots, letters."""

    def __init__(self, file: int, path: str, size: int, begin: bool) -> None:
        slot, letter = _SLOT, _LETTER if size <= 8 else _FEW_LETTERS
        self.slots = _rounded(native.CONTROLS + size * native.CONTROL)
        self.mails = self.slots + size * 2 * slot
        self.slot, self.letter, self.file, self.path, self.size = slot, letter, file, path, size
        self.nbytes = _rounded(self.mails + size * size * mailbox_bytes(letter))
        wanted = (MAGIC, LAYOUT, size, slot, letter)
        if not begin and os.fstat(file).st_size != self.nbytes:
            raise ValueError(at(f"{path} is shared memory for another number of processes than "
                                f"{size}, or of another version of agnesi"))
        self.memory = mmap.mmap(file, self.nbytes)  # of no file: this process's own
        self.words = memoryview(self.memory).cast("q")
        if begin:
            for i, word in enumerate(wanted):
                self.words[i] = word
        elif tuple(self.words[:_WORDS]) != wanted:
            raise ValueError(at(f"{path} holds no group of {size} processes of this version"))

    def control(self, rank: int) -> int:
        """Where the control block of a process begins."""
        return native.CONTROLS + rank * native.CONTROL

    def word(self, place: int) -> int:
        """The word at a byte."""
        return self.words[place // 8]

    def put(self, place: int, value: int) -> None:
        """Set the word at a byte."""
        self.words[place // 8] = value

    def text(self, place: int, length: int) -> str:
        """A text that ends at a zero byte."""
        return self.memory[place: place + length].split(b"\0")[0].decode(errors="replace")

    def put_text(self, place: int, text: str, length: int) -> None:
        """Write a text, cut to the bytes that there are."""
        data = text.encode()[: length - 1]
        self.memory[place: place + len(data) + 1] = data + b"\0"

    def unlink(self) -> None:
        """Let no further process open it; the memory is given back when the last one ends."""
        if self.path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            self.path = ""

    def close(self) -> None:
        """Give the memory back."""
        self.words.release()
        self.memory.close()
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def nbytes_for(size: int) -> int:
    """Bytes of the memory of a group of so many processes."""
    letter = _LETTER if size <= 8 else _FEW_LETTERS
    slots = _rounded(native.CONTROLS + size * native.CONTROL) + size * 2 * _SLOT
    return _rounded(slots + size * size * mailbox_bytes(letter))


def mailbox_bytes(letter: int) -> int:
    """Bytes of the messages of up to ``letter`` bytes from one process to another: two
    buffers, of which one is read while the other is written."""
    return 2 * (letter + native.MESSAGE_BYTES) + native.MAILBOX_BYTES


def _rounded(n: int) -> int:
    return -(-n // _PAGE) * _PAGE


def make_segment(path: str, size: int) -> Segment:
    """A new segment for so many processes."""
    return Segment(create(path, nbytes_for(size)), path, size, True)


def open_segment(path: str, size: int) -> Segment:
    """The segment that another process of this user has made."""
    return Segment(open_own(path), path, size, False)
