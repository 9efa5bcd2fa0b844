"""The machine that this process runs on: the one file that queries the system about it."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import re
import sys
from collections.abc import Iterator

_CPUINFO = "/proc/cpuinfo"
_IDENTITY = r"^(vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+)\s*:.*$"
_CACHES = "/sys/devices/system/cpu/cpu0/cache"
_QUOTAS = (
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
)
_PROCESSES = "/proc"
_MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_SECOND_NODE = "/sys/devices/system/node/node1"
def _architecture() -> str:
    if hasattr(os, "uname"):
        return os.uname().machine
    import platform  # late: Windows reads its registry

    return platform.machine()


#: Threads that compiled code may have, at most: the size of the runtime's tables.
MAX_THREADS = 512
#: The processor's family, as the system calls it, and the system.
ARCHITECTURE = _architecture()
SYSTEM = sys.platform
#: Whether addresses have 64 bits.
WIDE = sys.maxsize > 1 << 32


def read(path: str) -> str:
    """The text of a small file; empty if there is none."""
    try:
        with open(path) as file:
            return file.read(8192).strip()
    except OSError:
        return ""


def identity() -> str:
    """Return the kernel's description of the first processor; empty where there is none."""
    first = read(_CPUINFO).split("\n\n")[0]
    lines = [m[0] for m in re.finditer(_IDENTITY, first, re.MULTILINE)]
    return "\n".join(lines) if len(lines) > 2 else ""


def cache_sizes() -> tuple[int, int, int]:
    """Data caches of the first core, with careful guesses where the system says nothing."""
    sizes = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}
    for index in range(16):
        kind, level, text = (
            read(f"{_CACHES}/index{index}/{name}") for name in ("type", "level", "size")
        )
        size = re.fullmatch(r"(\d+)([KMG]?)", text)
        if kind in ("Data", "Unified") and level.isdigit() and size:
            sizes[int(level)] = int(size[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[size[2]]
    return sizes[1], sizes[2], sizes[3]


def cores(bound: int = 0) -> int:
    """Cores that this process may use, at most ``bound`` if that is not 0."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return max(1, min(count, MAX_THREADS, _quota(count), bound or count))


def memory() -> int:
    """Bytes of memory that this process may use; 4 GiB where the system does not say."""
    limits = [int(text) for text in map(read, _MEMORY) if text.isdigit()]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=4 << 30)


def uniform_memory() -> bool:
    """Return whether all memory is equally far from all processors, as far as the system says."""
    return not os.path.exists(_SECOND_NODE)


def _quota(count: int) -> int:
    """Cores that the control group grants, rounded up; ``count`` where there is no quota."""
    limits = read(_QUOTAS[0]).split() or [read(path) for path in _QUOTAS[1:]]
    if len(limits) != 2 or not all(n.isdigit() and int(n) for n in limits):
        return count
    return max(1, -(-int(limits[0]) // int(limits[1])))


def process_space() -> int:
    """A number for those who see the same processes; 0 where the system does not say."""
    try:
        return os.stat(f"{_PROCESSES}/self/ns/pid").st_ino
    except OSError:
        return 0


def is_running(process: int) -> bool:
    """Return whether there is a process of this number, where there is a :func:`process_space`."""
    return os.path.exists(f"{_PROCESSES}/{process}")


def open_files() -> Iterator[int]:
    """Inode numbers of the files open in processes that this one may inspect."""
    for path in glob.iglob(f"{_PROCESSES}/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            yield os.stat(path).st_ino


def leave_at_once() -> bool:
    """Have the process end when Python has, before libraries are unloaded; False if that cannot
    be had.
    """
    system = ctypes.pythonapi
    if not hasattr(system, "on_exit"):
        return False
    system.fflush(None)  # what C code has printed so far
    return bool(system.on_exit(system._exit, None) == 0)  # it is called with the exit status
