"""Groups of MPI processes: compiled code calls the library's C functions."""

from __future__ import annotations

import atexit
import ctypes
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from agnesi.api.processes import memory
from agnesi.api.processes.memory import Segment
from agnesi.compiler.library import collectives as native
from agnesi.core.support.errors import at
from agnesi.core.support.forks import unforked
from agnesi.distributed.processes.group import Group, skip_number
from agnesi.distributed.processes.signatures import signature

#: C functions by kind, as ``KINDS`` has them; those with ``_c`` count in 64 bits (MPI 4).
_FUNCTIONS = ("MPI_Ibarrier", "MPI_Iallreduce_c", "MPI_Iallgather_c",
              "MPI_Ireduce_scatter_block_c", "MPI_Ibcast_c", "MPI_Ialltoall_c", "MPI_Isend_c",
              "MPI_Irecv_c")
_TYPES = {"int32": "INT32_T", "int64": "INT64_T", "float32": "FLOAT", "float64": "DOUBLE"}
#: The same that return when it is done, where no process is waited for; a barrier has been met.
_AT_ONCE = ("MPI_Allreduce_c", "MPI_Allgather_c", "MPI_Reduce_scatter_block_c", "MPI_Bcast_c",
            "MPI_Alltoall_c")
#: Bytes of what a process says of a collective; seconds between two looks whether others have.
_SAID_BYTES, _POLL_SECONDS = 1536, 0.001
#: Seconds that other processes get to report why they end, and the launcher to read what was said.
_GRACE_SECONDS = 1.0
#: Within a control block: what another process said that it sends.
_HEARD = 6144
#: Where the table has functions, types, operations (``runtime/native/mpi.ll``), and its words.
_BY_KIND, _BY_TYPE, _BY_OP, _AT_ONCE_BY_KIND, _WORDS = 8, 16, 32, 48, 54


def world_group(timeout: float, check: bool) -> Group:
    """The group of all processes that ``mpiexec`` started.

    :raises ImportError: If there is no mpi4py.
    """
    try:
        mpi = import_module("mpi4py.MPI")
    except ImportError as error:
        raise ImportError(at("this process was started by mpiexec, whose processes need mpi4py to "
                             "work together: pip install mpi4py, or start them by agnesi launch"
                             )) from error
    found = MPIGroup(mpi, mpi.COMM_WORLD, timeout, check)
    atexit.register(_end_job, found)
    return found


def _end_job(group: MPIGroup) -> None:
    """End all processes where this one has failed, or MPI_Finalize would wait for ever.

    That waits for all processes, and for what was begun and given up.  Those of other machines are
    not notified through memory.
    """
    raised = hasattr(sys, "last_value") and not hasattr(sys, "ps1")
    if not (MPIGroup.begun or raised) or group.size == 1:
        return
    if not raised:
        print(f"agnesi: rank {group.rank} ends all processes, since it gave up what it had begun: "
              f"{MPIGroup.begun[0]}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_GRACE_SECONDS)  # so that others report theirs, and the launcher reads what was said
    group.comm.Abort(1)


class MPIGroup(Group):
    """Processes of a communicator of mpi4py.

    Those of one machine also share the memory in which each says what it is about to do, and wait
    there for each other, so that errors name who is late, or has ended, and its line.  Where the
    library does not end what was begun and given up, the job ends with this process.
    """

    #: Why waits for what the library had begun were given up, in all groups of this process.
    begun: ClassVar[list[str]] = []

    def __init__(self, mpi: Any, comm: Any, timeout: float, check: bool) -> None:
        self.mpi, self.comm, self.check = mpi, comm, check
        board = _board(mpi, comm)
        self._abandoned: list[Any] = []
        self.near = board is not None  # all processes are on this machine
        super().__init__(comm.Get_rank(), comm.Get_size(), board, timeout,
                         _table(mpi, comm, check, self.near))

    def part(self, ranks: Sequence[int]) -> Group | None:
        """A group of some of the processes, by a communicator of its own."""
        mine = self.rank in ranks
        key = list(ranks).index(self.rank) if mine else 0
        comm = self.comm.Split(0 if mine else self.mpi.UNDEFINED, key)
        if mine:
            return MPIGroup(self.mpi, comm, self.timeout, self.check)
        skip_number()
        return None

    def _fail(self, reason: Any) -> None:
        s = self.segment
        letter = s.word(s.control(self.rank) + native.DOING) == native.RECEIVING
        if letter or not self.near:
            MPIGroup.begun.append(str(reason) or type(reason).__name__)
        super()._fail(reason)

    def _threads(self) -> bool:
        """Whether the library lets a thread beside the program call it."""
        return bool(self.mpi.Query_thread() >= self.mpi.THREAD_MULTIPLE)

    def _over(self, peer: int) -> str:
        known = self.near or self.segment.word(memory.GIVEN_UP)
        return super()._over(peer) if known else self._late(0, "a process")

    def _theirs(self, peer: int) -> str:
        return signature(self.segment, self.segment.control(self.rank) + _HEARD)

    def _differ(self) -> str:
        if self.near:
            return super()._differ()
        place = native.SIGNATURES[self._native.calls & 1]
        mine = signature(self.segment, self.segment.control(self.rank) + place)
        return self._sides(self._from_all(mine))

    def _from_all(self, text: str) -> list[str]:
        """Return each process's message; empty for those that sent none in time."""
        mine = np.zeros(_SAID_BYTES, np.uint8)
        data = text.encode()[:_SAID_BYTES]
        mine[: len(data)] = np.frombuffer(data, np.uint8)
        found = np.zeros((self.size, _SAID_BYTES), np.uint8)
        request, end = self.comm.Iallgather(mine, found), time.monotonic() + self.timeout
        while not request.Test():
            if time.monotonic() > end:
                self._abandoned.append((mine, found, request))  # the library may write there still
                break
            time.sleep(_POLL_SECONDS)
        return [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in found]


def _board(mpi: Any, comm: Any) -> Segment | None:
    """Memory that all processes of the communicator share, if they are on one machine."""
    near = comm.Split_type(mpi.COMM_TYPE_SHARED)
    alone, size = near.Get_size() < comm.Get_size(), comm.Get_size()
    near.Free()
    if comm.allreduce(alone, mpi.LOR) or size == 1:
        return None
    segment = memory.make_segment(memory.own_name("mpi"), size) if comm.Get_rank() == 0 else None
    path = comm.bcast("" if segment is None else segment.path)
    found = segment or memory.open_segment(path, size)
    comm.Barrier()
    found.unlink()
    return found


@unforked()
def _table(mpi: Any, comm: Any, check: bool, near: bool) -> Any:
    """Handles and addresses, which native code reads."""
    library = ctypes.CDLL(mpi.__file__)  # the C library is among what it has loaded
    table = (ctypes.c_int64 * _WORDS)()

    def function(name: str) -> int:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0

    table[:6] = [mpi._handleof(comm), function("MPI_Test"), mpi._handleof(mpi.BYTE),
                 mpi._handleof(mpi.INT64_T), mpi._handleof(mpi.MAX), int(check)]
    for i, name in enumerate(_FUNCTIONS):
        table[_BY_KIND + i] = function(name)
    table[_AT_ONCE_BY_KIND] = int(near)
    for i, name in enumerate(_AT_ONCE, 1):
        table[_AT_ONCE_BY_KIND + i] = function(name)
    for i, name in enumerate(native.REDUCTIONS):
        op, dtype = name.split()
        table[_BY_TYPE + i] = mpi._handleof(getattr(mpi, _TYPES[dtype]))
        table[_BY_OP + i] = mpi._handleof(getattr(mpi, op.upper()))
    return table
