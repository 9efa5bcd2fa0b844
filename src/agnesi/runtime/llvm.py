"""LLVM through llvmlite's library, which is opened at first use (12 ms)."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from agnesi.core.ir import foreign
from agnesi.core.support.forks import at_fork, unforked
from agnesi.core.support.undo import Block
from agnesi.core.support.worker_threads import started

if TYPE_CHECKING:
    from agnesi.core.target import Target
    from agnesi.runtime.llvm_api import Library

_EXPORTS = (
    re.compile(r"^define (?!internal|private)[^@]*@([\w.$]+)\(", re.MULTILINE),
    re.compile(r"^@([\w.$]+) = (?:global|constant)", re.MULTILINE),
)
#: Seconds after which one thread's Python gives way to another's, while both generate code.  So
#: long a thread waits behind each function of LLVM's that takes long, while kernels are written:
#: three times in 3 ms.
_SWITCH_SECONDS = 0.0001
#: Passes of levels 0 and 1: the first two are there for functions that are put into others, and
#: those of level 1 alone find, above all, loops of one iteration.  Combining instructions would
#: take a sixth of the time, and kernels are 2 % faster without: constants are folded when written.
PASSES = ("AlwaysInliner", "SROA", "SCCP", "SimplifyCFG")
#: Passes of LLVM that find nothing to gain in the code of this library.
USELESS = ("lsr", "cgp", "machine-cse", "machine-sink", "copyprop")
_HEAVY = re.compile(r'^define (?!.* "light" \{$)', re.MULTILINE)
_DECLARED = re.compile(r"^declare [^@]*@([\w.$]+)\(", re.MULTILINE)


#: The last version of llvmlite whose functions are known to take what is given here.
_KNOWN = 0, 50
_VERSION = re.compile(r"""["']?version["']?\s*[:=]\s*["'](\d+)\.(\d+)""")
_opening = threading.Lock()


@functools.cache
def folder() -> str:
    """Return llvmlite's folder."""
    spec = PathFinder.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise ImportError("compiling needs llvmlite; install it with `pip install llvmlite`")
    return os.path.dirname(spec.origin)


def version() -> tuple[int, int]:
    """Return llvmlite's version, read from its files; a version above all others if the files do
    not say.
    """
    with contextlib.suppress(OSError), open(os.path.join(folder(), "_version.py")) as file:
        if found := _VERSION.search(file.read()):
            return int(found[1]), int(found[2])
    return sys.maxsize, 0


def library() -> Library:
    """LLVM's functions, ready for this machine."""
    with unforked(), _opening:
        return _library()


@functools.cache
def _library() -> Library:
    from agnesi.runtime import llvm_api

    if version() > _KNOWN:
        from llvmlite.binding import ffi

        if names := llvm_api.differing(ffi.lib):
            raise RuntimeError(
                f"this version of agnesi knows llvmlite up to {'.'.join(map(str, _KNOWN))}, and "
                f"yours declares other arguments of {', '.join(names)}: install an older llvmlite"
            )
    llvm = llvm_api.Library(folder())
    llvm.c.InitializeNativeTarget()
    llvm.c.InitializeNativeAsmPrinter()
    # What levels above 0 do anyway: without it, level 0 keeps no value of a loop in a register.
    llvm.c.SetCommandLine(b"", b"-optimize-regalloc=true")
    return llvm


def host() -> tuple[str, str, dict[str, bool]]:
    """Name and features of this processor: as text for the code generator, and as a table."""
    llvm = library()
    _, text = llvm.with_text(llvm.c.GetHostCPUFeatures)
    features = {f[1:]: f[0] == "+" for f in sorted(text.split(","), key=lambda f: f[1:]) if f}
    flat = ",".join(f"{'+' if there else '-'}{name}" for name, there in features.items())
    if features.get("avx512f"):
        flat += ",-prefer-256-bit"
    return llvm.with_text(llvm.c.GetHostCPUName)[1], flat, features


class _Options:
    """LLVM without passes that gain nothing here, for as long as this library generates code.

    Reduction of strength: the loops here have the addresses that they want.  It looks for better
    ones, at a price that grows with the square of a loop's accesses: it was most of the time of
    some kernels.  The others cost 2 to 7 % together, and without them kernels are as fast.  So they
    are at level 0 without LLVM's scheduler, which is a sixth of that level's time.

    Meanwhile Python's threads change often: those that generate code need it for moments only.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users: dict[int, int] = {}  # the levels that blocks are at
        self._state: tuple[bool, bool] | None = (False, True)  # None while it changes
        self._interval = 0.0  # what the interpreter's was, while it is another

    def use(self, user: object, optimize: int | None) -> None:
        """Set the optimization level that a user needs, None if it needs none any more; the options
        are those of the highest level in use.
        """
        with self._lock:
            if optimize is None:
                self._users.pop(id(user), None)
            else:
                self._users[id(user)] = optimize
            levels = self._users.values()
            busy, scheduled = bool(levels), max(levels, default=1) > 0
            if self._state != (busy, scheduled):
                self._state = None
                given = [f"-disable-{name}={str(busy).lower()}" for name in USELESS]
                for option in (*given, f"-enable-misched={str(scheduled).lower()}"):
                    library().c.SetCommandLine(b"", option.encode())
                self._state = busy, scheduled
            if busy and not self._interval:
                self._interval = sys.getswitchinterval()
            if self._interval:
                sys.setswitchinterval(
                    min(_SWITCH_SECONDS, self._interval) if busy else self._interval
                )
            if not busy:
                self._interval = 0.0

    def restart(self) -> None:
        """Forget all users; called in a forked process, which has none of their threads."""
        self._lock, self._users = threading.RLock(), {}
        self.use(self, None)


_OPTIONS = _Options()


class _At(Block):
    """A block in which LLVM's global options are those of an optimization level."""

    def __init__(self, optimize: int) -> None:
        self._optimize = optimize

    def begin(self) -> None:
        _OPTIONS.use(self, self._optimize)

    def end(self) -> None:
        _OPTIONS.use(self, None)


def _in_child() -> None:
    """Threads that generated code are gone after a fork; LLVM's options and the interval stay."""
    global _opening
    _opening = threading.Lock()
    _OPTIONS.restart()


at_fork(in_child=_in_child)


class Team:
    """Threads that generate code: relocatable objects of modules, by text.

    Level 0 is level 1 for modules with a function that is marked as ``"hot"``, and level 1 is
    level 0 for those all of whose functions are marked as ``"light"``.
    """

    def __init__(self, target: Target, optimize: int, threads: int) -> None:
        self._target = target
        self._optimize = optimize
        self._threads = threads
        self._lock = threading.Lock()
        self._made: dict[str, bytes] = {}
        self._waiting: list[str] = []
        self._helpers: list[threading.Thread] = []
        self._running = 0
        self._errors: list[BaseException] = []

    def add(self, text: str) -> None:
        """Queue a module for a compiling thread; errors are raised by :meth:`objects`."""
        self._take([text])
        self._start(len(self._waiting))

    def objects(self, texts: Sequence[str]) -> list[bytes]:
        """Return the objects of these modules in order; the calling thread compiles too until all
        are done.
        """
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
        """Start up to ``most`` more threads that compile, within the number allowed."""
        with self._lock:
            more = max(0, min(most, self._threads - 1) - self._running)
            self._running += more
        for _ in range(more):
            helper = threading.Thread(target=self._help, name="agnesi-llvm")
            if started(helper):
                self._helpers.append(helper)
            else:
                with self._lock:
                    self._running -= 1

    def _help(self) -> None:
        """Compile queued modules until the queue is empty or one has failed."""
        generators: dict[int, Generator] = {}
        with _At(self._optimize):
            while (text := self._next()) is not None:
                try:
                    level = _level(text, self._optimize)
                    if level not in generators:
                        generators[level] = _idle(self._target, level)
                    self._made[text] = generators[level].object(text)
                except BaseException as error:
                    self._errors.append(error.with_traceback(None))
        for level, generator in generators.items():
            idle = _IDLE.setdefault((self._target.cpu, self._target.features, level), [])
            if len(idle) < self._threads:
                idle.append(generator)

    def _next(self) -> str | None:
        """Remove the longest module from the queue and return it; None if there is none left or one
        has failed.
        """
        with self._lock:
            if not self._waiting or self._errors:
                self._running -= 1
                return None
            text = max(self._waiting, key=lambda text: text.count("\n"))
            self._waiting.remove(text)
            return text


def _level(text: str, optimize: int) -> int:
    """The optimization level of a module, given the program's: at level 0 one with hot functions
    has 1, at level 1 one without costly instructions has 0."""
    if optimize == 0:
        return int(' "hot" {' in text)
    return 0 if optimize == 1 and not _HEAVY.search(text) else optimize


class Generator:
    """LLVM's generator of code for a target, at a level of :func:`agnesi.runtime.machine.load`.

    Each thread needs one of its own.
    """

    def __init__(self, target: Target, optimize: int) -> None:
        self._llvm, self._optimize, self._machine = library(), optimize, None
        with_text, c = self._llvm.with_text, self._llvm.c
        self._triple = with_text(c.GetDefaultTargetTriple)[1].encode()
        self._machine = c.CreateTargetMachine(
            self._llvm.made(c.GetTargetFromTriple, self._triple), self._triple,
            target.cpu.encode(), target.features.encode(), 2 if optimize else 0, b"pic", b"small",
            0, 0, b"",
        )
        if not self._machine:
            raise RuntimeError(f"LLVM makes no code for {self._triple.decode()}")
        layout = c.CreateTargetMachineData(self._machine)
        self._layout = with_text(c.CopyStringRepOfTargetData, layout)[1].encode()
        c.DisposeTargetData(layout)

    def __del__(self) -> None:
        if self._machine:
            self._llvm.c.DisposeTargetMachine(self._machine)

    def object(self, text: str) -> bytes:
        """The relocatable object of a module."""
        with unforked(), self._optimized(text) as module:
            return self._code(module, 1)

    def texts(self, text: str) -> tuple[str, str]:
        """A module after LLVM's passes, and its assembly."""
        with unforked(), self._optimized(text) as module:
            after = self._llvm.with_text(self._llvm.c.PrintModuleToString, module)[1]
            return after, self._code(module, 0).decode()

    def _code(self, module: int, kind: int) -> bytes:
        emit = self._llvm.c.TargetMachineEmitToMemory
        return self._llvm.content(self._llvm.made(emit, self._machine, module, kind))

    @contextlib.contextmanager
    def _optimized(self, text: str) -> Iterator[int]:
        """A module after the passes of the level, in a context of its own."""
        c = self._llvm.c
        context = c.ContextCreate()
        try:
            module = self._llvm.made(c.ParseAssembly, context, text.encode())
            try:
                wrong, error = self._llvm.with_text(c.VerifyModule, module)
                if wrong:
                    raise RuntimeError(error)
                c.SetTarget(module, self._triple)
                c.SetDataLayout(module, self._layout)
                # To find out that nothing is to be done takes half a millisecond.
                if self._optimize or " alwaysinline " in text:
                    self._run_passes(module)
                yield module
            finally:
                c.DisposeModule(module)
        finally:
            c.ContextDispose(context)

    def _run_passes(self, module: int) -> None:
        c = self._llvm.c
        options = c.CreatePipelineTuningOptions()
        for name in ("LoopVectorization", "SLPVectorization", "LoopUnrolling", "LoopInterleaving"):
            getattr(c, f"PTOSet{name}")(options, False)
        builder = c.CreatePassBuilder(self._machine, options)
        if self._optimize > 1:
            passes = c.buildPerModuleDefaultPipeline(builder, 2, 0)  # for speed, not size
        else:
            passes = c.CreateNewModulePassManager()
            for name in PASSES if self._optimize else PASSES[:2]:
                getattr(c, f"module_Add{name}Pass")(passes)
        c.RunNewModulePassManager(passes, module, builder)
        c.DisposeNewModulePassManger(passes)
        c.DisposePassBuilder(builder)
        c.DisposePipelineTuningOptions(options)


#: Generators that no thread uses, by processor and level.  To make one, and what it finds out about
#: the processor at its first module, takes a third of the time for a small module.
_IDLE: dict[tuple[str, str, int], list[Generator]] = {}


def _idle(target: Target, level: int) -> Generator:
    """Return a generator of this target and level that no other thread uses: a cached one, or a new
    one.
    """
    try:
        return _IDLE[target.cpu, target.features, level].pop()
    except (KeyError, IndexError):
        return Generator(target, level)


def texts(text: str, target: Target, optimize: int) -> tuple[str, str]:
    """A module after LLVM's passes, and its assembly."""
    with _At(optimize):
        return Generator(target, optimize).texts(text)


class Loaded:
    """Objects in LLVM's own loader, for systems that :mod:`agnesi.runtime.elf` does not serve."""

    def __init__(self, objects: Sequence[bytes], text: str) -> None:
        library()
        import llvmlite.binding as llvm

        for name in _DECLARED.findall(text):
            address = foreign.linked(name)
            if address is not None:
                llvm.add_symbol(name, address)
        self._machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine)
        for data in objects:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        names = [name for pattern in _EXPORTS for name in pattern.findall(text)]
        self.symbols = {name: self._engine.get_function_address(name) for name in names}
