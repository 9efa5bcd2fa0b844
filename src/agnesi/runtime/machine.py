"""The processor at hand as a target, and IR text to machine code through LLVM or the disk cache.

LLVM is loaded only when something must really be compiled: the description of the
processor that LLVM gives is itself kept in the disk cache, under what the kernel says about it.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnesi.core.ir import foreign
from agnesi.core.support import host
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.forks import unforked
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.target import Costs, Target
from agnesi.runtime import disk_cache, elf, llvm, units

_shared: weakref.WeakValueDictionary[tuple[str, int], elf.Image] = weakref.WeakValueDictionary()

#: Intel's server processors of which all cores share a third-level cache across a mesh.
_MESH = frozenset(("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"))


@functools.cache
def native() -> Target:
    """The processor that this process runs on.

    >>> from agnesi.runtime.machine import native
    >>> native().vector_bits in (128, 256, 512)
    True
    """
    identity = host.identity()
    name = disk_cache.key("target", identity, *_versions()) if identity else ""
    known = disk_cache.load(name, _described) if name else None
    if known is not None:
        return known
    found = _ask_llvm()
    if name:
        facts = found.cpu, found.features, found.vector_bits, found.l1, found.l2, found.l3
        disk_cache.put(name, "\n".join(map(str, facts)).encode())
    return found


def _described(text: bytes) -> Target:
    """Read back a target that was stored as text in the cache."""
    cpu, features, *numbers = text.decode().split("\n")
    bits, l1, l2, l3 = map(int, numbers)
    return Target(bits, l1, l2, l3, cpu, features, costs=_costs(cpu))


class Code:
    """A loaded module: the addresses of its external symbols, and its texts on demand."""

    def __init__(self, text: str, optimize: int, at: Target, images: Sequence[Any]) -> None:
        self.text = text
        self._optimize, self._target = optimize, at
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
        return llvm.texts(self.text, self._target, self._optimize)


#: All code in memory.
_LOADED: weakref.WeakSet[Code] = weakref.WeakSet()


def _keep_to_the_end() -> None:
    """At the end of the process, leave code where it is: other threads may still run it."""
    for code in list(_LOADED):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))


atexit.register(_keep_to_the_end)


class Ahead:
    """Compiles the functions of a program in other threads while the rest of the program is still
    being emitted.
    """

    def __init__(self, optimize: int, target: Target) -> None:
        self._optimize, self._target = optimize, target
        self._stream = units.Stream(optimize)
        self._units: list[units.Unit] = []
        self.team = llvm.Team(self._target, optimize, host.cores())

    def add(self, function: str, outside: Callable[[], list[str]]) -> None:
        """Take an emitted function; queue the units that it completes and the disk cache does not
        have. ``outside`` gives the lines outside of functions.
        """
        for unit in self._stream.feed(function, outside):
            if disk_cache.get(_key("unit", unit.name, self._optimize, self._target)) is None:
                self.team.add(unit.text)

    def units(self, text: str) -> list[units.Unit]:
        """All units of the program with this text."""
        if not self._units:
            self._units = self._stream.end(text)
        return self._units


class Begun:
    """A module whose compilation begins at once in other threads, unless the disk cache has it."""

    def __init__(self, text: str, target: Target) -> None:
        self._text, self._target = text, target
        self._ahead: Ahead | None = None
        if disk_cache.get(_key("program", text, 1, target)) is None:
            self._ahead = Ahead(1, target)
            for unit in self._ahead.units(text):
                self._ahead.team.add(unit.text)

    @cached_property
    def code(self) -> Code:
        """The machine code, as :func:`load` returns it."""
        ahead, self._ahead = self._ahead, None
        return load(self._text, target=self._target, ahead=ahead)


def is_on_disk(text: str) -> bool:
    """Return whether :func:`load` would find a module's code in the disk cache."""
    return disk_cache.get(_key("program", text, 1, native())) is not None


def load(text: str, *, optimize: int = 1, target: Target | None = None,
         ahead: Ahead | None = None) -> Code:
    """Machine code of a module, from the disk cache where it was compiled before.

    :param text: LLVM IR.  No address may be baked in.
    :param optimize: 0: LLVM's quickest code generation, but with its best allocation of registers:
        half the time for loops that are 10 to 30 % slower; functions marked as ``"hot"`` get level
        1; 1: a short clean-up, then code that is scheduled and cleared of what is done twice; 2:
        LLVM's O2 without its vectorisers.
    :param target: What the code is made for; by default the processor that this process runs on.
    :param ahead: Where parts of it were begun, for that target at that level.

    >>> from agnesi.runtime.machine import load
    >>> code = load("define i32 @answer() nounwind { ret i32 42 }")
    >>> import ctypes
    >>> ctypes.CFUNCTYPE(ctypes.c_int)(code.address("answer"))()
    42
    """
    at = target or native()
    name = _key("program", text, optimize, at)
    code = disk_cache.load(name, lambda packed: _code(text, optimize, at, units.unpack(packed)))
    if code is not None:
        return code
    parts = ahead.units(text) if ahead else units.split(text, optimize)
    names = [_key("unit", part.name, optimize, at) if part.name else "" for part in parts]
    found = [disk_cache.get(unit) if unit else None for unit in names]
    made = _complete(parts, found, optimize, at, ahead)
    try:
        code = _code(text, optimize, at, made)
    except Exception as error:
        raise_if_from_signal(error)
        if not any(found):
            raise
        made = _complete(parts, [None] * len(parts), optimize, at)  # what came from disk is no code
        code = _code(text, optimize, at, made)
        found = [None] * len(parts)
    for unit, before, (_, data) in zip(names, found, made, strict=True):
        if unit and before is None:
            disk_cache.put(unit, data)
    disk_cache.put(name, units.pack(made))
    return code


def _code(text: str, optimize: int, at: Target, objects: Sequence[tuple[str, bytes]]) -> Code:
    """A module's objects, linked."""
    try:
        return Code(text, optimize, at, _load_images(objects, optimize))
    except elf.UnsupportedError:
        return Code(text, optimize, at, [llvm.Loaded([data for _, data in objects], text)])


def _complete(parts: Sequence[units.Unit], found: Sequence[bytes | None], optimize: int,
              at: Target, ahead: Ahead | None = None) -> list[tuple[str, bytes]]:
    """The objects of a program's units; those that were not found are compiled."""
    wanted = [part.text for part, data in zip(parts, found, strict=True) if data is None]
    made = iter(ahead.team.objects(wanted) if ahead else compile_objects(wanted, optimize, at))
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


def compile_objects(texts: Sequence[str], optimize: int = 1,
                    target: Target | None = None) -> list[bytes]:
    """The relocatable objects of modules, without the cache."""
    return llvm.Team(target or native(), optimize, host.cores()).objects(texts)


def _key(kind: str, text: str, optimize: int, at: Target) -> str:
    passes = (*llvm.PASSES, *llvm.USELESS)
    return disk_cache.key(kind, text, str(optimize), *passes, at.cpu, at.features, *_versions())


def _versions() -> tuple[str, str, str]:
    return _llvmlite_version(), host.SYSTEM, host.ARCHITECTURE


@functools.cache
def _llvmlite_version() -> str:
    """The version of llvmlite, read from its files: importing it costs 25 ms."""
    folder = llvm.folder()
    return host.read(os.path.join(folder, "_version.py")) or str(os.stat(folder).st_mtime_ns)


def _ask_llvm() -> Target:
    cpu, flat, features = llvm.host()
    return Target(_vector_bits(features), *host.cache_sizes(), cpu, flat, costs=_costs(cpu))


def _costs(cpu: str) -> Costs:
    """Costs by LLVM's name of a processor.

    A chain of dependent reads in 4 to 128 MB took 210 to 280 ns a read on an Emerald Rapids with
    2 MB and 300 MB of caches, and 17 to 47 ns in 0.5 to 1.5 MB.  There
    two multiply-adds of 512 bits started in each cycle.
    """
    return Costs(l3_cycles=600, multiply_add_bytes=128) if cpu in _MESH else Costs()


def _vector_bits(features: Mapping[str, bool]) -> int:
    if all(features.get(f) for f in ("avx512f", "avx512bw", "avx512dq", "avx512vl")):
        return 512
    return 256 if features.get("avx2") and features.get("fma") else 128


@unforked()
def _library_function(name: str) -> int:
    """Return the address of a function that compiled code calls: one of a library that the user has
    linked, of the C library, or of the compiler's support library (libgcc)."""
    found = foreign.linked(name)
    if found is not None:
        return found
    for library in (None, "libgcc_s.so.1"):
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value or 0
        except (OSError, AttributeError):
            continue
    raise RuntimeError(f"compiled code needs {name!r}, which no library of this process defines")
