"""Tensors in shared memory, whose handles travel through pipes and queues instead of values."""

from __future__ import annotations

import contextlib
import mmap
import os
from typing import Any

import numpy as np

from agnesi.api.processes import locks, memory
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.dtypes import as_dtype, name_of
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_tensor

#: Before the elements: how many handles there are, in this or any process, or on their way.
_HEAD_BYTES = 64


class SharedHandle:
    """A tensor in memory that other processes see, too: pickles carry the handle, not the values.

    Parameters
    ----------
    x : array_like
        Whose values are copied into shared memory.

    Attributes
    ----------
    shape, dtype : tuple of int, dtype
        What :meth:`get` gives.

    Raises
    ------
    TypeError
        If ``x`` has no value yet, as in a trace.

    See Also
    --------
    distributed.broadcast, distributed.send

    Notes
    -----
    The memory lives as long as a handle or a tensor that looks into it, in any process; a handle
    that was sent and is never received, or whose process is killed, keeps it until another process
    makes shared memory, an hour later or more, or the machine's next start.

    Examples
    --------
    >>> import pickle
    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> handle = dist.SharedHandle(ag.tensor([1.0, 2.0]))
    >>> other = pickle.loads(pickle.dumps(handle))  # as a pipe or queue does
    >>> other.get().mul_(2)
    tensor([2., 4.])
    >>> handle.get()
    tensor([2., 4.])
    """

    def __init__(self, x: TensorLike) -> None:
        value: Any = as_tensor(x).array
        if value is None:
            raise TypeError(at("a handle needs a tensor that has a value"))
        self.shape, self.dtype = value.shape, value.dtype
        self.path = memory.own_name("tensor")
        self._map(memory.create(self.path, _HEAD_BYTES + max(value.nbytes, 1)))
        self._count(1)
        self._array[...] = value

    def _map(self, file: int) -> None:
        self._file, self._process = file, os.getpid()
        self._memory = mmap.mmap(file, 0)
        self._array = np.ndarray(self.shape, self.dtype, self._memory, _HEAD_BYTES)

    def _count(self, change: int) -> int:
        """Change how many handles there are, while no other process does."""
        with locks.whole(self._file):
            count = np.frombuffer(self._memory, np.int64, 1)
            count[0] += change
            return int(count[0])

    def get(self) -> Tensor:
        """The tensor, which looks into the shared memory: changes in place are seen by all.

        :returns: The memory lives as long as it does.
        """
        found = wrap(self._array)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        self._count(1)  # for the one that is made of the pickle
        return _received, (self.path, self.shape, name_of(self.dtype))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self._process == os.getpid() and self._count(-1) == 0:  # a fork has not counted
                os.unlink(self.path)
            os.close(self._file)

    def __repr__(self) -> str:
        return f"SharedHandle({self.dtype}{list(self.shape)})"


def _received(path: str, shape: tuple[int, ...], dtype: str) -> SharedHandle:
    found = SharedHandle.__new__(SharedHandle)
    found.path, found.shape, found.dtype = path, shape, as_dtype(dtype)
    try:
        found._map(memory.open_own(path))
    except FileNotFoundError:
        raise FileNotFoundError(at(
            f"a SharedHandle of {name_of(found.dtype)}{list(shape)} came to a machine that does "
            "not have its memory, or after that was given back: send the values, or keep a handle "
            "until it has arrived")) from None
    return found
