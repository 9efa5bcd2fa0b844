"""Programs on the processor: LLVM's code, arrays of NumPy's, calls through the native entry."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from agnesi.compiler.compilation.pipeline import Call
from agnesi.compiler.devices.cpu.bound import Bound
from agnesi.core.support.policy import CompilePolicy
from agnesi.core.support.record import replace
from agnesi.core.target import Target
from agnesi.runtime import machine, pool

#: Code of programs in memory, by text, level and target: it holds no address of a program's state,
#: so that copies of a function run the original's.
_LOADED: WeakValueDictionary[tuple[str, int, str], machine.Code] = WeakValueDictionary()


class Cpu:
    """A processor that runs code for a target."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def key(self) -> str:
        """The target, with all that code depends on."""
        return str(self.target)

    def emit(self, kernels: Sequence[Any], *, policy: CompilePolicy, ahead: machine.Ahead,
             **keywords: Any) -> tuple[str, list[Any]]:
        """Emit one module: a function for each kind of kernel, and the body that runs them in
        order.
        """
        from agnesi.codegen.program import emit_program
        from agnesi.schedule.mapping.nests import LoopMapping

        mapping = LoopMapping(self.target, policy)
        return emit_program(kernels, self.target, mapping, policy, written=ahead.add, **keywords)

    def begin(self, optimize: int) -> machine.Ahead:
        """Threads that compile functions while others are written."""
        return machine.Ahead(optimize, self.target)

    def load(self, text: str, *, optimize: int, ahead: machine.Ahead | None = None) -> machine.Code:
        """Machine code that is in memory, from the disk cache, or made now.

        Where threads have begun to make it (``ahead``), they end their work.
        """
        name = text, optimize, self.key()
        code = _LOADED.get(name) if ahead is None else None
        if code is None:
            code = _LOADED[name] = machine.load(
                text, optimize=optimize, target=self.target, ahead=ahead)
        return code

    def bind(self, code: machine.Code, call: Call) -> Bound:
        """A builtin function that reads arrays without Python."""
        return Bound(code, call)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array in the buffer pool."""
        return pool.empty(shape, dtype.name)

    def prepare(self, nbytes: int) -> Thread | None:
        """Start a thread that touches the pages of memory, so that the system maps them."""
        return pool.prepare(nbytes)

    def copy(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy within the host's memory."""
        np.copyto(target, source)

    def synchronize(self) -> None:
        """Return at once: calls are synchronous."""


def native() -> Cpu:
    """The processor of this process, with all that it has."""
    return Cpu(machine.native())


def scalar() -> Cpu:
    """The processor as a generic one of its architecture: one lane, one thread, products as loops.

    It shares as little as possible with the code for the native target, so that results which
    differ point to a mistake in either.
    """
    target = replace(machine.native(), vector_bits=0, cpu="", features="", name="scalar", threads=1,
                     kinds=frozenset(("nest", "sparse", "control", "foreign", "callback")))
    return Cpu(target)
