"""Between array libraries: the array API's namespace and devices, DLPack."""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np

from agnesi.api.tensor import bfloats
from agnesi.api.tensor.host import exported
from agnesi.core import devices
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import DEVICE, explain_errors, on_host
from agnesi.core.shapes import MOST_AXES
from agnesi.core.storage.device_tensors import device_of
from agnesi.core.support import dtypes
from agnesi.core.support.errors import PACKAGE, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.types import KINDS
from agnesi.ops.base.convert import check_unmasked

#: The version of the array API standard that is implemented, and those that it contains.
VERSION = "2025.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)
_DLPACK_HOST = (1, 0)


# -- the namespace ----------------------------------------------------------------------------
def __array_namespace__(self: Tensor, /, *, api_version: str | None = None) -> Any:  # noqa: N807
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(
            at(f"version {api_version!r} of the array API is not supported; there are {_VERSIONS}")
        )
    return sys.modules[PACKAGE]


class Info:
    """Capabilities of this library, as the array API standard defines them."""

    def capabilities(self) -> dict[str, Any]:
        """Return whether shapes may depend on values (not while a graph is written), and most
        axes."""
        known = not is_tracing()
        return {
            "boolean indexing": known,
            "data-dependent shapes": known,
            "max dimensions": MOST_AXES,
        }

    def default_device(self) -> str:
        """The device of new tensors."""
        return DEVICE

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of Python numbers, and of indices."""
        on_host(device)
        real = dtypes.config.float_dtype
        return {
            "real floating": real,
            "complex floating": dtypes.complex_of(real),
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def devices(self) -> tuple[str, ...]:
        """Every device."""
        return (DEVICE,)

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The standard's dtypes, all or those of a kind (see :func:`agnesi.isdtype`)."""
        on_host(device)
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        if unknown := [k for k in kinds if k not in KINDS]:
            raise ValueError(f"no kind of dtypes is {unknown[0]!r}; there are {sorted(KINDS)}")
        wanted = {d for k in kinds for d in KINDS[k]} - {dtypes.float16}
        return {d.name: d for d in dtypes.ALL if d in wanted}


def __array_namespace_info__() -> Info:  # noqa: N807
    """Return the capabilities of this library, as the array API standard defines them.

    Returns
    -------
    Info
        With the functions ``capabilities``, ``default_device``, ``default_dtypes``, ``devices``
        and ``dtypes``.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.__array_namespace_info__().default_dtypes()["integral"]
    dtype('int64')
    """
    return Info()


# -- devices ----------------------------------------------------------------------------------
def device(self: Tensor) -> devices.device:
    """Where the elements are: "cpu", or the device that they were moved to."""
    return devices.device(device_of(self)) if self._placed else devices.DEVICE


def on_another(self: Tensor) -> bool:
    """Return whether the elements are on another device, or laid out in another way: never."""
    return False


def is_cpu(self: Tensor) -> bool:
    """Return whether the elements are in the computer's memory, and not on a device."""
    return not self._placed


@explain_errors
def to_device(self: Tensor, device: object, /, *, stream: object = None) -> Tensor:
    """The tensor itself: there is one device, "cpu".

    :param device: "cpu".
    :type device: str
    :param stream: Nothing else is taken.
    :type stream: None
    :returns: The tensor itself.
    :raises ValueError: For another device, or a stream.

    >>> ag.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    on_host(device)
    _no_stream(stream)
    return self


def _no_stream(stream: Any) -> None:
    if stream is not None:
        raise ValueError(f"the cpu has no streams; stream must be None, not {stream!r}")


# -- memory -----------------------------------------------------------------------------------
def __dlpack__(self: Tensor, /, *, stream: Any = None,  # noqa: N807
               max_version: tuple[int, int] | None = None,
               dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:
    array = exported(self, "DLPack")
    _no_stream(stream)
    if dl_device is not None and (int(dl_device[0]), dl_device[1]) != _DLPACK_HOST:
        raise BufferError(at(f"tensors are on the cpu, {_DLPACK_HOST}, and not on {dl_device}"))
    if array.dtype.kind == "V":
        return bfloats.exported(array, max_version=max_version, copy=copy)
    return array.__dlpack__(max_version=max_version, copy=copy)


def __dlpack_device__(self: Tensor, /) -> tuple[int, int]:  # noqa: N807
    return _DLPACK_HOST


class _Capsule:
    """What a capsule of DLPack holds, on the host, for functions that take objects."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **ignored: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_HOST


@explain_errors
def from_dlpack(x: TensorLike, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, through DLPack.

    :param x: With the methods ``__dlpack__`` and ``__dlpack_device__``, or a capsule that
        ``__dlpack__`` gave, which is used up.
    :type x: object
    :param device: "cpu".
    :param copy: True always copies, False never does, None only where it must.
    :returns: Memory that the other library marks as read-only cannot be changed in place.
    :raises AttributeError: If ``x`` does not speak DLPack.
    :raises BufferError: If its data cannot be exchanged: for its dtype, or for want of a copy.
    :see: asarray, from_numpy

    >>> import agnesi as ag, numpy as np
    >>> ag.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    on_host(device)
    check_unmasked(x)
    if type(x).__name__ == "PyCapsule":
        x = cast(TensorLike, _Capsule(x))
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(at(f"{type(x).__name__} has no __dlpack__; see ag.asarray"))
    try:
        producer = bfloats.Producer(x)
        array = producer.labelled(np.from_dlpack(
            producer, device=None if device is None else "cpu", copy=copy))
    except RuntimeError as error:  # so NumPy says that it has no such dtype
        raise BufferError(at(f"{type(x).__name__} cannot be exchanged: {error}")) from None
    if array.dtype not in dtypes.ALL and array.dtype.kind != "V":
        raise BufferError(at(f"tensors cannot hold elements of dtype {array.dtype}"))
    return wrap(array)
