"""Memory of the emulated device: its addresses are invalid on the host."""

from __future__ import annotations

import bisect
import math
import weakref
from collections.abc import Sequence

import numpy as np

from agnesi.core.ir.kernels import row_major
from agnesi.core.support.errors import DeviceError

#: The first address, which no memory of the host has.
_FIRST = 1 << 52
#: All blocks begin at multiples of this.
_ALIGN = 256


class Memory:
    """Allocated blocks by their addresses; any other address is a fault."""

    def __init__(self) -> None:
        self._next = _FIRST
        self._starts: list[int] = []
        self._blocks: dict[int, np.ndarray] = {}

    def take(self, nbytes: int) -> int:
        """Allocate a block, filled with a poison pattern, and return its address."""
        address = self._next
        # A guard gap after each block: an access beyond its end does not hit the next one.
        self._next += -(-max(nbytes, 1) // _ALIGN) * _ALIGN + _ALIGN
        workspace = np.full(nbytes + _ALIGN, 0xA5, np.uint8)
        shift = -workspace.ctypes.data % _ALIGN
        self._blocks[address] = workspace[shift: shift + nbytes]
        bisect.insort(self._starts, address)
        return address

    def free(self, address: int) -> None:
        """Give a block back; its address is never used again."""
        del self._blocks[address]
        del self._starts[bisect.bisect_left(self._starts, address)]

    def bytes_at(self, address: int, nbytes: int) -> np.ndarray:
        """The bytes from an address on, as the device sees them.

        :raises DeviceError: If they are not all in one block.
        """
        i = bisect.bisect_right(self._starts, address) - 1
        start = self._starts[i] if i >= 0 else 0
        block = self._blocks.get(start)
        if block is None or address + nbytes > start + block.size:
            raise DeviceError(
                f"{nbytes} bytes at {address:#x} are not in the memory of the device")
        return block[address - start: address - start + nbytes]


class Array:
    """An array in the memory of the device, in row-major order.

    The host cannot read its elements; they are copied there first.
    """

    device = "emulated"

    def __init__(self, memory: Memory, shape: Sequence[int], dtype: np.dtype) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.strides = tuple(s * dtype.itemsize for s in row_major(self.shape))
        self.nbytes = math.prod(self.shape) * dtype.itemsize
        self.address = memory.take(self.nbytes)
        weakref.finalize(self, memory.free, self.address)

    def __array__(self, *args: object, **keywords: object) -> np.ndarray:
        raise DeviceError("an array on the device 'emulated' has no elements on the host; copy it "
                          "with .to('cpu')")
