"""Tensors in the memory of a device: operations on them run there, and nothing else touches them.

They have no value on the host (``data`` is None) and no node: what would look at either fails and
says to copy.  ``dispatch`` hands operations on them to the device's executor, eagerly, and a
jitted function that is given some is compiled for the device.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from agnesi.core.backend import BACKENDS, Storage
from agnesi.core.ir.dims import Sizes
from agnesi.core.support.errors import DeviceError, at
from agnesi.core.tensor import Tensor, wrap


class PlacedTensor(Tensor):
    """A tensor whose elements are in a device's memory.

    :param storage: Where they are.
    """

    _placed = True
    __slots__ = ("storage",)

    storage: Storage

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.array = None
        self._requires_grad = False
        self._grad = self._view = self._version = self._name = None

    @property
    def shape(self) -> Sizes:
        return Sizes(self.storage.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.storage.dtype

    @property
    def weak(self) -> bool:
        return False

    @property
    def node(self) -> NoReturn:  # type: ignore[override]
        raise DeviceError(at(
            f"a tensor on the device {self.storage.device!r} was used as if its elements were on "
            "the host; copy it with .to('cpu')"))

    def __repr__(self) -> str:
        return (f"tensor(..., shape={self.shape}, dtype={self.dtype}, "
                f"device={self.storage.device!r})")


def device_of(x: Tensor) -> str:
    """The name of the device that a tensor's elements are on."""
    return x.storage.device if isinstance(x, PlacedTensor) else "cpu"


def moved(x: Tensor, device: str) -> Tensor:
    """The tensor itself where it is on the device, else a copy there.

    :raises DeviceError: If gradients would have to flow through the copy, or from one device to
        another.
    """
    if device == device_of(x):
        return x
    if x._requires_grad:
        raise DeviceError(at(f"gradients do not flow to the device {device!r}: move x.detach()"))
    if isinstance(x, PlacedTensor):
        if device != "cpu":
            raise DeviceError(at(f"copy from {device_of(x)!r} to 'cpu' first, then to {device!r}"))
        made = np.empty(x.shape, x.dtype)
        BACKENDS[device_of(x)]().copy(x.storage, made)
        return wrap(made)
    if x.array is None:
        raise DeviceError(at("a symbolic tensor is on no device; move the arguments of the call"))
    backend = BACKENDS[device]()
    storage = backend.allocate(x.array.shape, x.array.dtype)
    backend.copy(x.array, storage)
    return PlacedTensor(storage)
