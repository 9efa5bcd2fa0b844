"""LLVM through llvmlite, which is imported when the first function here is called (45 ms)."""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import threading
from collections.abc import Sequence
from typing import Any

from agnesi.core import foreign

_EXPORTS = (
    re.compile(r"^define (?!internal|private)[^@]*@([\w.$]+)\(", re.MULTILINE),
    re.compile(r"^@([\w.$]+) = (?:global|constant)", re.MULTILINE),
)
#: Seconds after which one thread's Python gives way to another's, while both generate code.
_INTERVAL = 0.0005
_DECLARED = re.compile(r"^declare [^@]*@([\w.$]+)\(", re.MULTILINE)


@functools.cache
def binding() -> Any:
    """llvmlite's binding, ready for this machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # What levels above 0 do anyway: without it, level 0 keeps no value of a loop in a register.
    llvm.set_option("", "-optimize-regalloc=true")
    return llvm


def host() -> tuple[str, str, dict[str, bool]]:
    """Name and features of this processor: as text for the code generator, and as a table."""
    llvm = binding()
    features = llvm.get_host_cpu_features()
    flat = features.flatten()
    if features.get("avx512f"):
        flat += ",-prefer-256-bit"
    return llvm.get_host_cpu_name(), flat, dict(features)


class _Options:
    """LLVM without its loop strength reduction, for as long as this library generates code.

    The loops here have the addresses that they want.  That pass looks for better ones, at a price
    that grows with the square of a loop's accesses: it was most of the time of some kernels.
    Meanwhile Python's threads change often: those that generate code need it for moments only.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._interval = 0.0

    def _use(self, change: int) -> None:
        with self._lock:
            was, self._users = self._users, self._users + change
            if was and self._users:
                return
            binding().set_option("", f"-disable-lsr={'true' if self._users else 'false'}")
            if self._users:
                self._interval = sys.getswitchinterval()
                sys.setswitchinterval(min(_INTERVAL, self._interval))
            else:
                sys.setswitchinterval(self._interval)

    def __enter__(self) -> None:
        self._use(1)

    def __exit__(self, *exception: object) -> None:
        self._use(-1)


_OPTIONS = _Options()


class Team:
    """Threads that generate code: relocatable objects of modules, by text.

    Level 0 is level 1 for modules with a function that is marked as ``"hot"``.
    """

    def __init__(self, cpu: str, features: str, optimize: int, threads: int) -> None:
        self._target = cpu, features
        self._optimize = optimize
        self._threads = threads
        self._lock = threading.Lock()
        self._made: dict[str, bytes] = {}
        self._waiting: list[str] = []
        self._helpers: list[threading.Thread] = []
        self._running = 0
        self._machines: list[dict[int, Any]] = []
        self._errors: list[BaseException] = []

    def add(self, text: str) -> None:
        """Let another thread begin with a module; what it meets is raised by :meth:`objects`."""
        self._take([text])
        self._start(len(self._waiting))

    def objects(self, texts: Sequence[str]) -> list[bytes]:
        """The objects of modules, in whose making this thread joins."""
        self._take(texts)
        self._start(len(self._waiting) - 1)
        with self._lock:
            self._running += 1
        self._help()
        for helper in self._helpers:
            helper.join()
        if self._errors:
            raise self._errors[0]
        return [self._made[text] for text in texts]

    def _take(self, texts: Sequence[str]) -> None:
        with self._lock:
            new = [t for t in dict.fromkeys(texts) if t not in self._made]
            self._made.update(dict.fromkeys(new, b""))
            self._waiting += new

    def _start(self, most: int) -> None:
        """Let so many helpers run, if there may be as many."""
        with self._lock:
            more = max(0, min(most, self._threads - 1) - self._running)
            self._running += more
        new = [threading.Thread(target=self._help, name="agnesi-llvm") for _ in range(more)]
        self._helpers += new
        for helper in new:
            helper.start()

    def _help(self) -> None:
        """Work until nothing waits."""
        machines = self._machines.pop() if self._machines else {}
        with _OPTIONS:
            while (text := self._next()) is not None:
                try:
                    level = self._optimize or int(' "hot" {' in text)
                    if level not in machines:
                        machines[level] = _machine(*self._target, level)
                    machine = machines[level]
                    self._made[text] = _object(optimized(text, machine, level), machine)
                except BaseException as error:
                    self._errors.append(error.with_traceback(None))
        self._machines.append(machines)

    def _next(self) -> str | None:
        """The longest that waits; None ends the thread's work."""
        with self._lock:
            if not self._waiting or self._errors:
                self._running -= 1
                return None
            text = max(self._waiting, key=len)
            self._waiting.remove(text)
            return text


def texts(text: str, cpu: str, features: str, optimize: int) -> tuple[str, str]:
    """A module after LLVM's passes, and its assembly."""
    machine = _machine(cpu, features, optimize)
    module = optimized(text, machine, optimize)
    with _OPTIONS:
        return str(module), str(machine.emit_assembly(module))


def optimized(text: str, machine: Any, optimize: int) -> Any:
    """Parse, verify and run the passes of a level (see :func:`agnesi.runtime.machine.load`)."""
    llvm = binding()
    module = _parsed(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    if not optimize and " alwaysinline " not in text:
        return module  # to find out that nothing is to be done takes half a millisecond
    options = llvm.create_pipeline_tuning_options(speed_level=min(optimize, 2))
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    if optimize > 1:
        manager = builder.getModulePassManager()
    else:
        manager = llvm.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
        manager.add_sroa_pass()
        if optimize:
            manager.add_instruction_combine_pass()
            manager.add_simplify_cfg_pass()
    _unlocked("LLVMPY_RunNewModulePassManager")(manager, module, builder)
    return module


def _parsed(text: str) -> Any:
    """A verified module in a context of its own.

    An error must not hold the module through its traceback: when the garbage collector, and not
    the reference count, ends module and context, they go in the wrong order and LLVM crashes.
    """
    llvm = binding()
    module = llvm.parse_assembly(text, llvm.create_context())
    message = ""
    try:
        module.verify()
    except RuntimeError as error:
        message = str(error)
    if message:
        del module
        raise RuntimeError(message)
    return module


class Loaded:
    """Objects in LLVM's own loader, for systems that :mod:`agnesi.runtime.elf` does not serve."""

    def __init__(self, objects: Sequence[bytes], text: str) -> None:
        llvm = binding()
        for name in _DECLARED.findall(text):
            place = foreign.linked(name)
            if place is not None:
                llvm.add_symbol(name, place)
        self._machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine)
        for data in objects:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        names = [name for pattern in _EXPORTS for name in pattern.findall(text)]
        self.symbols = {name: self._engine.get_function_address(name) for name in names}


def _machine(cpu: str, features: str, optimize: int) -> Any:
    target = binding().Target.from_default_triple()
    return target.create_target_machine(
        cpu=cpu, features=features, opt=2 if optimize else 0, reloc="pic", codemodel="small"
    )


def _unlocked(name: str) -> Any:
    """A function of LLVM without llvmlite's global lock, which would make threads take turns.

    LLVM itself only asks that no two threads share a context or a target machine, and here every
    thread has its own.
    """
    function = getattr(binding().ffi.lib, name)
    return getattr(function, "_cfn", function)


def _object(module: Any, machine: Any) -> bytes:
    """Generate code."""
    ffi = binding().ffi
    with ffi.OutputString() as error:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        size = ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)
