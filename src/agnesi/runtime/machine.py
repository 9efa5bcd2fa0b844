"""The machine at hand, and IR text to machine code through LLVM or the disk cache.

LLVM is loaded only when something must really be compiled: the description of the
processor that LLVM gives is itself kept in the disk cache, under what the kernel says about it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import platform
import re
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnesi.core.ir import foreign
from agnesi.core.support.cached import cached_property
from agnesi.core.support.forks import unforked
from agnesi.core.support.record import record
from agnesi.runtime import diskcache, elf, llvm, units

_CPUINFO = "/proc/cpuinfo"
_IDENTITY = re.compile(
    r"^(vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+)\s*:.*$", re.MULTILINE
)
_CACHES = "/sys/devices/system/cpu/cpu0/cache"
_QUOTAS = (
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
)
_MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
MAX_THREADS = 512
_shared: weakref.WeakValueDictionary[tuple[str, int], elf.Image] = weakref.WeakValueDictionary()


@record
class Target:
    """What code is made for.

    Attributes
    ----------
    cpu, features : str
        LLVM's names: the processor, and ``+a,-b,...``.
    vector_bits : int
        Width of the vectors that kernels should use.
    l1, l2, l3 : int
        Bytes of the data caches seen by one core.
    """

    cpu: str
    features: str
    vector_bits: int
    l1: int
    l2: int
    l3: int

    @cached_property
    def names(self) -> frozenset[str]:
        """The features that are there, without signs."""
        return frozenset(f[1:] for f in self.features.split(",") if f.startswith("+"))


@functools.cache
def target() -> Target:
    """Describe this machine.

    Examples
    --------
    >>> from agnesi.runtime.machine import target
    >>> target().vector_bits in (128, 256, 512)
    True
    """
    identity = _identity()
    name = diskcache.key("target", identity, *_versions()) if identity else ""
    known = diskcache.load(name, _described) if name else None
    if known is not None:
        return known
    found = _ask_llvm()
    if name:
        diskcache.put(name, "\n".join(map(str, vars(found).values())).encode())
    return found


def _described(text: bytes) -> Target:
    """The target that was kept as text."""
    cpu, features, *numbers = text.decode().split("\n")
    return Target(cpu, features, *map(int, numbers))


class Code:
    """A loaded module: the addresses of its external symbols, and its texts on demand."""

    def __init__(self, text: str, optimize: int, images: Sequence[Any]) -> None:
        self.text = text
        self._optimize = optimize
        self._images = tuple(images)
        self._symbols: dict[str, int] = images[-1].symbols
        _LOADED.add(self)

    def address(self, symbol: str) -> int:
        """Address of a function or variable that the module defines."""
        try:
            return self._symbols[symbol]
        except KeyError:
            raise KeyError(f"the module defines no external symbol {symbol!r}") from None

    def ir(self) -> str:
        """The IR after LLVM's passes."""
        return self._texts()[0]

    def asm(self) -> str:
        """The assembly text."""
        return self._texts()[1]

    def _texts(self) -> tuple[str, str]:
        at = target()
        return llvm.texts(self.text, at.cpu, at.features, self._optimize)


#: All code in memory.
_LOADED: weakref.WeakSet[Code] = weakref.WeakSet()


def _keep_to_the_end() -> None:
    """At the end of the process, leave code where it is: other threads may still run it."""
    for code in list(_LOADED):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))


atexit.register(_keep_to_the_end)


class Ahead:
    """Functions of a program whose code is generated while the rest is still being written."""

    def __init__(self, optimize: int) -> None:
        at = target()
        self._optimize = optimize
        self._stream = units.Stream(optimize)
        self._units: list[units.Unit] = []
        self.team = llvm.Team(at.cpu, at.features, optimize, cores())

    def add(self, function: str, outside: Callable[[], list[str]]) -> None:
        """A function is written; ``outside`` gives the lines outside of functions."""
        for unit in self._stream.feed(function, outside):
            if diskcache.get(_key("unit", unit.name, self._optimize)) is None:
                self.team.add(unit.text)

    def units(self, text: str) -> list[units.Unit]:
        """All units of the program with this text."""
        if not self._units:
            self._units = self._stream.end(text)
        return self._units


class Begun:
    """A module whose code other threads begin to generate at once, if there are any."""

    def __init__(self, text: str, optimize: int = 1) -> None:
        self._text, self._optimize = text, optimize
        self._ahead: Ahead | None = None
        if diskcache.get(_key("program", text, optimize)) is None:
            self._ahead = Ahead(optimize)
            for unit in self._ahead.units(text):
                self._ahead.team.add(unit.text)

    @cached_property
    def code(self) -> Code:
        """Its machine code, as :func:`load` gives it."""
        ahead, self._ahead = self._ahead, None
        return load(self._text, optimize=self._optimize, ahead=ahead)


def load(text: str, *, optimize: int = 1, ahead: Ahead | None = None) -> Code:
    """Machine code of a module, from the disk cache where it was compiled before.

    Parameters
    ----------
    text : str
        LLVM IR.  No address may be baked in.
    optimize : int
        0: LLVM's quickest code generation, but with its best allocation of registers: half the
        time for loops that are 10 to 30 % slower; functions marked as ``"hot"`` get level 1; 1: a
        short clean-up, then code that is scheduled and cleared of what is done twice; 2: LLVM's O2
        without its vectorisers.
    ahead : Ahead, optional
        Where parts of it were begun at that level.

    Examples
    --------
    >>> from agnesi.runtime.machine import load
    >>> code = load("define i32 @answer() nounwind { ret i32 42 }")
    >>> import ctypes
    >>> ctypes.CFUNCTYPE(ctypes.c_int)(code.address("answer"))()
    42
    """
    name = _key("program", text, optimize)
    code = diskcache.load(name, lambda packed: _code(text, optimize, units.unpack(packed)))
    if code is not None:
        return code
    parts = ahead.units(text) if ahead else units.split(text, optimize)
    names = [_key("unit", part.name, optimize) if part.name else "" for part in parts]
    found = [diskcache.get(unit) if unit else None for unit in names]
    made = _complete(parts, found, optimize, ahead)
    try:
        code = _code(text, optimize, made)
    except Exception:
        if not any(found):
            raise
        made = _complete(parts, [None] * len(parts), optimize)  # what came from disk is no code
        code = _code(text, optimize, made)
        found = [None] * len(parts)
    for unit, before, (_, data) in zip(names, found, made, strict=True):
        if unit and before is None:
            diskcache.put(unit, data)
    diskcache.put(name, units.pack(made))
    return code


def _code(text: str, optimize: int, objects: Sequence[tuple[str, bytes]]) -> Code:
    """A module's objects, linked."""
    try:
        return Code(text, optimize, _load_images(objects, optimize))
    except elf.UnsupportedError:
        return Code(text, optimize, [llvm.Loaded([data for _, data in objects], text)])


def _complete(parts: Sequence[units.Unit], found: Sequence[bytes | None], optimize: int,
              ahead: Ahead | None = None) -> list[tuple[str, bytes]]:
    """The objects of a program's units; those that were not found are compiled."""
    wanted = [part.text for part, data in zip(parts, found, strict=True) if data is None]
    made = iter(ahead.team.objects(wanted) if ahead else compile_objects(wanted, optimize))
    return [(part.name, next(made) if data is None else data)
            for part, data in zip(parts, found, strict=True)]


def _load_images(objects: Sequence[tuple[str, bytes]], optimize: int) -> list[elf.Image]:
    """Load units in order; one that this process has already is used again."""
    known: dict[str, elf.Image] = {}

    images = []
    for name, data in objects:
        image = _shared.get((name, optimize)) if name else None
        if image is None:
            image = _linked(data, known)
            if name:
                _shared[name, optimize] = image
        known.update(dict.fromkeys(image.symbols, image))
        images.append(image)
    return images


def _linked(data: bytes, known: Mapping[str, elf.Image]) -> elf.Image:
    """An object in memory, which keeps alive the images that it calls into."""
    used: dict[str, elf.Image] = {}

    def resolve(name: str) -> int:
        found = known.get(name)
        if found is None:
            return _library_function(name)
        used[name] = found
        return found.symbols[name]

    image = elf.load(data, resolve)
    image.needs = tuple(dict.fromkeys(used.values()))
    return image


def compile_objects(texts: Sequence[str], optimize: int = 1) -> list[bytes]:
    """The relocatable objects of modules, without the cache."""
    at = target()
    return llvm.Team(at.cpu, at.features, optimize, cores()).objects(texts)


def _key(kind: str, text: str, optimize: int) -> str:
    at = target()
    passes = (*llvm.PASSES, *llvm.USELESS)
    return diskcache.key(kind, text, str(optimize), *passes, at.cpu, at.features, *_versions())


def _versions() -> tuple[str, str, str]:
    return _llvmlite_version(), sys.platform, platform.machine()


@functools.cache
def _llvmlite_version() -> str:
    """The version of llvmlite, read from its files: importing it costs 25 ms."""
    folder = llvm.folder()
    return _read(os.path.join(folder, "_version.py")) or str(os.stat(folder).st_mtime_ns)


def _read(path: str) -> str:
    """The text of a small file; empty if there is none."""
    try:
        with open(path) as file:
            return file.read(8192).strip()
    except OSError:
        return ""


def _identity() -> str:
    """What the kernel says about the first processor; empty where it says nothing."""
    lines = [m[0] for m in _IDENTITY.finditer(_read(_CPUINFO).split("\n\n")[0])]
    return "\n".join(lines) if len(lines) > 2 else ""


def _ask_llvm() -> Target:
    cpu, flat, features = llvm.host()
    l1, l2, l3 = _cache_sizes()
    return Target(cpu, flat, _vector_bits(features), l1, l2, l3)


def _vector_bits(features: Mapping[str, bool]) -> int:
    if all(features.get(f) for f in ("avx512f", "avx512bw", "avx512dq", "avx512vl")):
        return 512
    return 256 if features.get("avx2") and features.get("fma") else 128


def _cache_sizes() -> tuple[int, int, int]:
    """Data caches of the first core, with careful guesses where the system tells nothing."""
    sizes = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}
    for index in range(16):
        kind, level, text = (
            _read(f"{_CACHES}/index{index}/{name}") for name in ("type", "level", "size")
        )
        size = re.fullmatch(r"(\d+)([KMG]?)", text)
        if kind in ("Data", "Unified") and level.isdigit() and size:
            sizes[int(level)] = int(size[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[size[2]]
    return sizes[1], sizes[2], sizes[3]


def cores(bound: int = 0) -> int:
    """Cores that this process may use, at most ``bound`` if that is not 0."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return max(1, min(count, MAX_THREADS, _quota(count), bound or count))


def memory() -> int:
    """Bytes of memory that this process may use; 4 GiB where the system does not tell."""
    limits = [int(text) for text in map(_read, _MEMORY) if text.isdigit()]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=4 << 30)


def _quota(count: int) -> int:
    """Cores that the control group grants, rounded up; ``count`` where there is no quota."""
    limits = _read(_QUOTAS[0]).split() or [_read(path) for path in _QUOTAS[1:]]
    if len(limits) != 2 or not all(n.isdigit() and int(n) for n in limits):
        return count
    return max(1, -(-int(limits[0]) // int(limits[1])))


@unforked()
def _library_function(name: str) -> int:
    """Address of a function of a library that the code names, of C's, or of the compiler's own."""
    found = foreign.linked(name)
    if found is not None:
        return found
    for library in (None, "libgcc_s.so.1"):
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value or 0
        except (OSError, AttributeError):
            continue
    raise RuntimeError(f"compiled code needs {name!r}, which no library of this process defines")
