"""Tensors whose values are in shared memory: pickles between processes carry handles of them."""

from __future__ import annotations

import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from agnesi.api.processes.handles import SharedHandle
from agnesi.compiler.binding.new_memory import look_into
from agnesi.core.tensor import Tensor

#: Handles by the identity of the tensor that they keep memory for.
_handles: dict[int, SharedHandle] = {}


def share(x: Tensor) -> Tensor:
    """Move the values of a tensor into shared memory, if they are not there yet."""
    if _own(x) is None:
        handle = SharedHandle(x)
        look_into(x, handle.get().array)
        _keep(x, handle)
    return x


def is_shared(x: Tensor) -> bool:
    """Whether the memory of a tensor, or of what it is a view of, is shared."""
    return x.array is not None and any(
        np.may_share_memory(x.array, handle.get().array) for handle in list(_handles.values()))


def _own(x: Tensor) -> SharedHandle | None:
    """The handle of exactly the memory that a tensor has; None after ``x.data = other``."""
    handle = _handles.get(id(x))
    if handle is None or x.array is None:
        return None
    return handle if x.array.ctypes.data == handle.get().array.ctypes.data else None


def _keep(x: Tensor, handle: SharedHandle) -> None:
    _handles[id(x)] = handle
    weakref.finalize(x, _handles.pop, id(x), None)
    ForkingPickler.register(type(x), _reduced)


def _reduced(x: Tensor) -> Any:
    """What pickles between processes keep; files have values, as of all tensors."""
    handle = _own(x)
    if handle is None:
        return x.__reduce__()
    return _rebuilt, (handle, x.requires_grad, x.name, vars(x))


def _rebuilt(handle: SharedHandle, requires_grad: bool, name: str | None,
             attributes: dict[str, Any]) -> Tensor:
    x = handle.get()
    x.requires_grad, x.name = requires_grad, name
    vars(x).update(attributes)
    _keep(x, handle)
    return x
