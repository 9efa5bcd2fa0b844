"""Devices: what programs can be compiled for and run on, each in a folder of its own.

In: kernels, memory, arguments. Out: code, arrays, results (``core.backend.Backend``).
What must hold: a new device is a folder here and a line in the table below; a new target for the
processor is a function in ``cpu/backend.py`` and a choice in the settings.

A *target* (``core/target.py``) is what code depends on: features and vector width of a processor,
sizes of its caches, how many threads share a kernel, which kinds of kernels there is code for, and
what work costs.  The scheduler, the emitters and LLVM are given it, and it belongs to the key of
the compile cache; ``core/support/host.py`` alone queries the system about the machine. A product or
convolution without a kernel of its own is a loop nest; what a target has no code for is refused by
name.  A *backend* makes code for a target and runs it.  The folder ``cpu`` has two: "native", and
"scalar", with one lane, one thread and loops instead of tiles, which shares little with the
native one, so that results that differ reveal a mistake in one of them.

A tensor whose elements are on another device (``core/storage/device_tensors.py``) has a ``Storage``
instead of an array.  Dispatch hands operations on it to the executor (``executor.py``), which
compiles them for the device, one by one or as a jitted function; whatever else needs its elements
raises an error that requests a copy.

Another processor needs no target of its own: ``native`` queries LLVM and the system.
What it finds out is in ``runtime/machine.py`` (vector width: anything but AVX2 and AVX-512 is
taken for 128 bits, ARM's too), ``core/support/host.py`` (caches) and ``Target.registers``; what
instructions cost is in ``codegen/kernels/machine.py``.

To add a target that uses less of the processor, such as ``scalar``: a function of its name, like
``scalar()``, in ``cpu/backend.py``, and the name among the choices of ``target`` in
``core/support/settings.py``.

To add a device, such as ``emulated``:

1. A folder with a module ``backend``, and a function in it that returns a ``Backend``.  Its
   ``target`` is ``Target(bits, cpu=..., features=..., name=..., threads=..., kinds=...,
   exclude=..., costs=...)``: ``kinds`` names the kernels that there is code for ("nest" is
   enough), ``exclude`` the passes of the scheduler that assume what the code does not do, and
   ``costs`` the sizes from which optimizations pay.
2. Code: ``key()``, ``emit`` to a text that is kept on disk, ``load``, and ``bind`` to what
   ``core.backend.Bound`` lists (``launch``, ``direct``, ``attempt``, ``code``, ``states``,
   ``present``); ``begin`` and ``prepare`` may do nothing.
3. Memory: ``allocate(shape, dtype)`` gives an array whose ``device`` is the folder's name,
   ``copy(source, target)`` goes to the host and back, ``synchronize()`` waits.
4. A line in the table below.  ``tests/compiler/devices`` shows what to check.
"""

from __future__ import annotations

import functools
from importlib import import_module

from agnesi.core.backend import BACKENDS, DEVICES, Backend
from agnesi.core.support.config import CHOICES

#: Where the backend of each device beside the processor is made: a module of this folder, and a
#: function there.  The folder has the name of the device.
_FACTORIES = {"emulated": "emulated.backend:emulated"}


def _made(factory: str) -> Backend:
    module, _, name = factory.partition(":")
    found: Backend = getattr(import_module(f"{__name__}.{module}"), name)()
    return found


def register() -> None:
    """Register all backends by name, the processor's targets among them; none is loaded yet."""
    DEVICES[:] = _FACTORIES
    targets = {name: f"cpu.backend:{name}" for name in CHOICES["target"]}
    for name, factory in {**targets, **_FACTORIES}.items():
        BACKENDS[name] = functools.cache(functools.partial(_made, factory))
