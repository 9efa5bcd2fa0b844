"""Protocols of devices, for the compiler and for tensors, and the table of all devices.

A backend is a value that the compiler is given; each is a folder of ``compiler/devices``, whose
``__init__`` lists them.  Code is made for its target, kept under its key, loaded, bound to the
memory that a program uses, and launched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from agnesi.core.target import Target


class Storage(Protocol):
    """The memory of a tensor, as a strided array on a device; NumPy's arrays are one on "cpu"."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""

    @property
    def device(self) -> str:
        """The name of the device."""


class Bound(Protocol):
    """A program's code, bound to the present memory of its state.

    :ivar launch: Runs it on storages and numbers that were made ready: what the program returns,
        which may not be there before :meth:`Backend.synchronize`, or ``MISSED``.
    :ivar direct: The same for the user's own calls; calls whose arguments do not fit take the
        general path.
    :ivar attempt: The same, which returns ``MISSED`` where arguments do not fit.
    :ivar code: The code that was bound.
    :ivar states: What it reads and changes without being given it.
    """

    launch: Callable[..., Any]
    direct: Callable[..., Any] | None
    code: Any
    states: Sequence[Any]

    @property
    def attempt(self) -> Callable[..., Any] | None: ...

    def present(self) -> bool:
        """Return whether its state has the memory that the code knows."""


class Backend(Protocol):
    """A code generator for a target, and the runtime that executes its code on a device."""

    @property
    def target(self) -> Target:
        """The target that code is made for."""

    def key(self) -> str:
        """Return the part of the compile cache's key that stands for the target and the code
        generator.
        """

    def begin(self, optimize: int) -> Any:
        """Return a compiler of parts of a program that works while others are emitted; None where
        parts cannot be compiled alone.
        """

    def emit(self, kernels: Sequence[Any], *, ahead: Any, **keywords: Any) -> tuple[str, list[Any]]:
        """The text of a program, and how each of its kernels is run (``codegen.program``);
        ``ahead`` is what was begun."""

    def load(self, text: str, *, optimize: int, ahead: Any = None) -> Any:
        """The code of a text, with the addresses of its functions; ``ahead`` is what was begun."""

    def bind(self, code: Any, call: Any) -> Bound:
        """Bind code to the memory of a program's state; ``call`` describes its arguments and
        results (``compiler.compilation.pipeline.Call``)."""

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Storage:
        """Uninitialized memory for a row-major array."""

    def prepare(self, nbytes: int) -> Any:
        """Get ready for a block of memory that will be wanted soon: a thread to join, or None."""

    def copy(self, source: Storage, target: Storage) -> None:
        """Copy all elements from this device's memory or the host's to the other one's, or within
        the device's; both have the same shape and dtype."""

    def synchronize(self) -> None:
        """Wait for all that was launched."""


#: By name: the function that makes the backend, memoized.
BACKENDS: dict[str, Callable[[], Backend]] = {}
#: Names of the devices other than "cpu"; each is the name of a backend, too.
DEVICES: list[str] = []
