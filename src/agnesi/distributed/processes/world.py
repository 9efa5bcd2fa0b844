"""The group of all processes: how a process finds out which one of how many it is."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import zlib
from typing import Annotated, Any, TypeAlias

from agnesi.api.processes import memory
from agnesi.core.integers import check_integer, is_integer
from agnesi.core.options import Rule
from agnesi.core.support.config import bequeath, inherited
from agnesi.core.support.errors import CollectiveError, at, typed
from agnesi.core.support.forks import unforked
from agnesi.core.support.host import SYSTEM
from agnesi.distributed.processes.group import TIMEOUT, Group
from agnesi.distributed.processes.outside import Outside, checked

#: What the launcher sets for each process that it starts.
RANK, SIZE, PATH = "AGNESI_RANK", "AGNESI_WORLD_SIZE", "AGNESI_GROUP"
#: The variable that says how often the job was started again.
RESTART = "AGNESI_RESTART"
#: What starters of MPI programs set for a process: how many there are.
_MPI = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
#: The process that joined by these variables, which those that it starts get from it, too.
MEMBER = "AGNESI_MEMBER"
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of sys/prctl.h
_world: list[Group] = []


#: The name of a backend, which others take there, is no rank.
_Rank: TypeAlias = Annotated[int, Rule(
    "an integer (there is no backend to choose: who launched the processes says whether they share "
    "memory or use MPI, and tensors lie in the CPU's memory, where NCCL has nothing to do: write "
    "init())", is_integer, plain=True)]


def init(rank: _Rank | None = None, size: int | None = None, path: str | None = None, *,
         timeout: float = TIMEOUT, check: bool = True) -> Group:
    """Join the group of all processes of this program.

    Without arguments, what ``agnesi launch`` or ``mpiexec`` set for the process says which one it
    is; a process that was not launched, or that such a one has started, is a group of one. A second
    call gives the same group.

    :param rank, size: The number of this process and how many there are, from a launcher of one's
        own.
    :type rank, size: int, optional
    :param path: The file of shared memory, which :func:`make_group` has made.
    :param timeout: Seconds after which waiting for another process is an error that names it.
    :param check: Whether processes of MPI compare what they are about to do before each collective,
        which takes another message.  Those that share memory always do.
    :returns: With ``rank`` and ``size``.
    :raises ValueError: If some of ``rank``, ``size`` and ``path`` are given and others are not, or
        do not fit, or the variables of a launcher do not.
    :raises TypeError: If ``rank`` is a text, as the name of a backend.
    :raises PermissionError: If the memory belongs to another user.
    :raises CollectiveError: If others do not come in time, or the group's memory is gone.
    :see: distributed.rank, distributed.world_size, distributed.shutdown

    >>> from agnesi import distributed as dist
    >>> group = dist.init()
    >>> group.rank, group.size
    (0, 1)
    """
    if not isinstance(timeout, (int, float)) or timeout <= 0:
        raise ValueError(at(f"init: timeout must be a number of seconds, not {timeout!r}"))
    if _world:
        return _world[0]
    if (rank, size, path) == (None, None, None):
        found = inherited()
        if found.get(MEMBER, str(os.getpid())) != str(os.getpid()):
            return _joined(Group(0, 1, None, timeout))
        if RANK in found:
            rank, size = _number(found, RANK), _number(found, SIZE)
            path = found.get(PATH, "")
            if RESTART in found:
                _end_with_parent()
        elif any(_number(found, name, 1) > 1 for name in _MPI):
            from importlib import import_module

            mpi = import_module("agnesi.distributed.processes.mpi")
            return _launched(mpi.world_group(timeout, check))
        else:
            return _joined(Group(0, 1, None, timeout))
    if not (is_integer(rank) and is_integer(size) and isinstance(path, str)):
        raise ValueError(at("init: rank, size and path belong together, or leave all out; not "
                            f"{typed(rank)}, {typed(size)} and {typed(path)}"))
    assert rank is not None and size is not None and path is not None
    if not 0 <= rank < size:
        raise ValueError(at(f"init: rank must be 0 to {size - 1} of {size} processes, not {rank}"))
    try:
        segment = memory.open_segment(path, size)
    except FileNotFoundError:
        raise CollectiveError(at(
            f"init: {path}, the shared memory of the group, is gone, for all processes had come: "
            "one that has joined stays until it ends, and does not come back after shutdown(). "
            "Leave the group once, at the end; make_group(size) makes another's memory"
        )) from None
    group = _launched(Group(rank, size, segment, timeout))
    group.barrier("init")
    if rank == 0:
        group.segment.unlink()
    return group


@unforked()
def _end_with_parent() -> None:
    """Let the system end this process as SIGTERM does when its launcher ends, where it can."""
    if SYSTEM == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, int(signal.SIGTERM), 0, 0, 0)


def _number(found: dict[str, str], name: str, default: int | None = None) -> int:
    """The number that a launcher's variable has."""
    text = found.get(name, "") or ("" if default is None else str(default))
    if not text.isdecimal():
        raise ValueError(at(f"init: the variable {name}, which a launcher sets, is {text!r} and no "
                            "number"))
    return int(text)


def _launched(group: Group) -> Group:
    """Join, as a process whose own processes are no members."""
    bequeath(MEMBER, str(os.getpid()))
    return _joined(group)


def _joined(group: Group) -> Group:
    _world[:] = [group]
    atexit.register(shutdown)
    return group


def present() -> list[Group]:
    """The group of all processes, if this one has joined it."""
    return list(_world)


def make_group(size: int) -> str:
    """Make the shared memory for a group; for launchers of one's own.

    :param size: How many processes there will be.
    :returns: The path that each gives to :func:`init`.  It is removed when all have come; a program
        that makes it and starts no process has to remove it.
    :raises MemoryError: If there is no memory for it.
    :see: distributed.init, distributed.launch

    >>> import os
    >>> from agnesi import distributed as dist
    >>> path = dist.make_group(2)
    >>> oct(os.stat(path).st_mode & 0o777)
    '0o600'
    >>> os.unlink(path)
    """
    segment = memory.make_segment(memory.own_name("group"), size)
    path, segment.path = segment.path, ""
    segment.close()
    return path


def world(group: Group | None = None) -> Group:
    """The group that is given, or that of all processes, which begins where it has to.

    :raises ValueError: If this process is not among those of the group.
    """
    return init() if group is None else checked(group)


def is_available() -> bool:
    """Whether a program can be several processes.

    :returns: True.
    :see: distributed.init, distributed.is_initialized

    >>> from agnesi import distributed as dist
    >>> dist.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether this process has joined the group of all processes.

    :returns: False before :func:`agnesi.distributed.init`, and before what else joins it.
    :see: distributed.init, distributed.is_available

    >>> from agnesi import distributed as dist
    >>> group = dist.init()
    >>> dist.is_initialized()
    True
    """
    return bool(_world)


def rank(group: Group | None = None) -> int:
    """The number of this process.

    :param group: All processes by default.
    :returns: From 0 on; -1 where this process is not among those of the group.
    :see: distributed.world_size, distributed.init

    >>> from agnesi import distributed as dist
    >>> dist.rank()
    0
    """
    return init().rank if group is None else group.rank


def world_size(group: Group | None = None) -> int:
    """How many processes there are.

    :param group: All processes by default.
    :returns: At least 1; -1 where this process is not among those of the group.
    :see: distributed.rank, distributed.init

    >>> from agnesi import distributed as dist
    >>> dist.world_size()
    1
    """
    return init().size if group is None else group.size


def shutdown() -> None:
    """Leave the group of all processes; its end does so by itself.

    Functions that were compiled with its collectives fail from then on.

    :see: distributed.init

    >>> from agnesi import distributed as dist
    >>> dist.shutdown()
    """
    for group in _world:
        group.close()
    _world.clear()


def new_group(ranks: Any, group: Group | None = None) -> Group:
    """A group of some processes, which all processes of the group around make together.

    :param ranks: Which processes, in the order of their new numbers.
    :type ranks: sequence of int
    :param group: The group around; all processes by default.
    :returns: False where this process is not among them, which then takes no part: `all_reduce`,
        `broadcast` and `barrier` of the group leave what they get and warn, other collectives
        raise.
    :raises TypeError: If ``ranks`` is no list of numbers.
    :raises ValueError: If a rank is none of the group's, or is given twice.
    :see: distributed.init, distributed.Mesh

    >>> from agnesi import distributed as dist
    >>> dist.new_group([0]).size
    1
    """
    around = world(group)
    if isinstance(ranks, (str, int)):
        raise TypeError(at(f"new_group: ranks must be a list of numbers, as [0, 1], not {ranks!r}"))
    for r in ranks:
        check_integer(r, "each of the ranks")
    wanted = [int(r) for r in ranks]
    if not wanted or len({*wanted}) < len(wanted) or not {*wanted} <= {*range(around.size)}:
        raise ValueError(at(f"new_group: the ranks must be some of 0 to {around.size - 1}, each "
                            f"once, not {wanted}"))
    if around.size > 1:
        around.barrier(f"new_group({wanted})", zlib.crc32(str(wanted).encode()))
    return around.part(wanted) or Outside(wanted, around)
