"""The emulated device: kernels of a grid, one launch for each loop nest."""

from __future__ import annotations

import ctypes
import functools
import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.codegen.llvm.builder import Module
from agnesi.compiler.compilation.pipeline import Call
from agnesi.compiler.devices.emulated.emit import emit_nest
from agnesi.compiler.devices.emulated.memory import Array, Memory
from agnesi.core.ir.kernels import Nest
from agnesi.core.storage.device_tensors import PlacedTensor
from agnesi.core.support.errors import DeviceError
from agnesi.core.support.policy import CompilePolicy
from agnesi.core.target import Costs, Target
from agnesi.runtime import machine

_Kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Grid:
    """The device: its memory, and what was launched and has not run yet.

    :ivar order: 0: blocks and their threads run from the first one on; 1: from the last one.
    """

    def __init__(self) -> None:
        host = machine.native()
        self.target = Target(0, cpu=host.cpu, features=host.features, name="emulated", threads=1,
                             kinds=frozenset(("nest",)), costs=Costs(nest_operations=1 << 60),
                             exclude=frozenset(("donation", "in_place_updates", "memory_reuse")))
        self.memory = Memory()
        self.order = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def key(self) -> str:
        """The target, with all that code depends on."""
        return str(self.target)

    def emit(self, kernels: Sequence[Any], *, policy: CompilePolicy, varying: Any = None,
             **_: Any) -> tuple[str, list[Any]]:
        """A module with a function for each nest, and how many blocks it has."""
        if varying is not None:
            raise DeviceError("programs of the device 'emulated' take sizes that are known")
        module = Module(self.target, policy)
        blocks = [emit_nest(module, f"k{i}", kernel) for i, kernel in enumerate(kernels)
                  if isinstance(kernel, Nest)]
        return json.dumps({"module": str(module), "blocks": blocks}), []

    def begin(self, optimize: int) -> None:
        """Return None: nothing is compiled before all is written."""

    def prepare(self, nbytes: int) -> None:
        """Memory is there at once."""

    def load(self, text: str, *, optimize: int, ahead: None = None) -> Program:
        """The functions of all kernels."""
        return Program(text, optimize, self.target)

    def bind(self, code: Program, call: Call) -> Launcher:
        """A function that launches all kernels."""
        return Launcher(self, code, call)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        """An array in the memory of the device."""
        return Array(self.memory, shape, dtype)

    def launch(self, run: Callable[[], None]) -> None:
        """Run something behind all that was launched before."""
        self._waiting.append(run)

    def copy(self, source: Any, target: Any) -> None:
        """Copy between the host and the device, behind all that was launched before."""
        self.synchronize()
        _bytes(self.memory, target)[:] = _bytes(self.memory, source)

    def synchronize(self) -> None:
        """Run all that was launched."""
        while self._waiting:
            self._waiting.popleft()()


def _bytes(memory: Memory, array: Any) -> np.ndarray:
    """The elements of an array, here or on the host, as bytes."""
    if isinstance(array, Array):
        return memory.bytes_at(array.address, array.nbytes)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


class Program:
    """The kernels of a program: functions, each with the number of its blocks."""

    def __init__(self, text: str, optimize: int, target: Target) -> None:
        artifact = json.loads(text)
        self.code = machine.load(artifact["module"], optimize=optimize, target=target)
        self.kernels = [(_Kernel(self.code.address(f"k{i}")), count)
                        for i, count in enumerate(artifact["blocks"]) if count]

    def run(self, memory: Memory, arrays: Sequence[Array], order: int) -> None:
        """Run all kernels on arrays, in the order of the table of buffers."""
        addresses = [memory.bytes_at(a.address, a.nbytes).ctypes.data for a in arrays]
        table = (ctypes.c_void_p * len(addresses))(*addresses)
        for kernel, count in self.kernels:
            for block in reversed(range(count)) if order else range(count):
                kernel(table, block, order)


class Launcher:
    """A program bound to the device, as :class:`agnesi.core.backend.Bound`."""

    direct = attempt = None
    states = ()

    def __init__(self, device: Grid, code: Program, call: Call) -> None:
        self._device, self.code, self._call = device, code, call
        if call.live:
            raise DeviceError("a program of the device 'emulated' reads tensors that it was not "
                              "given: pass them as arguments")
        self._constants = [self._moved(c) for c in call.recipe.constants]

    def present(self) -> bool:
        """Return that nothing has moved."""
        return True

    def _moved(self, array: np.ndarray) -> Array:
        made = self._device.allocate(array.shape, array.dtype)
        self._device.copy(array, made)
        return made

    def launch(self, *arguments: Array) -> Any:
        """Launch all kernels on arrays of the device; the results are there when they have run."""
        call, device = self._call, self._device
        made = [device.allocate(shape, np.dtype(kind)) for kind, shape, *_ in call.outputs]
        workspace = device.allocate((call.recipe.arena_bytes,), np.dtype(np.uint8))
        table = [*arguments, *self._constants, *[made[i] for i in call.recipe.results], workspace]
        device.launch(functools.partial(self.code.run, device.memory, table, device.order))
        results = tuple([PlacedTensor(m) for m in made])
        return results[0] if call.result == "single" else results


def emulated() -> Grid:
    """The device of this process."""
    return Grid()
