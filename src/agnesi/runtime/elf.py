"""A small loader of relocatable x86-64 ELF objects: from bytes to callable addresses.

It exists so that a process which finds its code in the disk cache never loads LLVM.  Sections are
copied into one anonymous mapping (code and constants first, then writable data), the relocations
that LLVM emits for position-independent small-model code are applied, and the code becomes
executable and read-only.  Whatever else an object contains raises :class:`UnsupportedError`.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable
from typing import NamedTuple

from agnesi.core.support import host
from agnesi.core.support.forks import unforked

SUPPORTED = host.SYSTEM == "linux" and host.ARCHITECTURE == "x86_64" and host.WIDE

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
#: Constants of the ELF format: types and flags of sections, relocations of x86-64; bytes of a
#: stub.
_NOBITS, _RELA_TYPE, _SYMTAB = 8, 4, 2
_WRITE, _ALLOC = 1, 2
_ABS64, _PC32, _PLT32, _GOTPCREL, _PC64 = 1, 2, 4, 9, 24
_GOTPCRELX, _REX_GOTPCRELX = 41, 42
_STUB_BYTES = 16
_UNWIND = (".eh_frame", ".rela.eh_frame")


class UnsupportedError(Exception):
    """The object needs something that this loader does not do."""


class Section(NamedTuple):
    """A header of the section table."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class Image:
    """Code in memory; lives as long as this object, and ``needs`` with it."""

    def __init__(self, memory: mmap.mmap, base: int, symbols: dict[str, int]) -> None:
        self.memory = memory
        self.base = base
        self.symbols = symbols
        self.needs: tuple[Image, ...] = ()


def load(data: bytes, resolve: Callable[[str], int]) -> Image:
    """Load an object; ``resolve`` gives the addresses of symbols that it does not define."""
    if not SUPPORTED:
        raise UnsupportedError("this is not Linux on x86-64")
    if data[:6] != b"\x7fELF\x02\x01" or data[16:20] != b"\x01\x00\x3e\x00":
        raise ValueError("not a relocatable x86-64 ELF object")
    return _Loader(data, resolve).run()


class _Loader:
    def __init__(self, data: bytes, resolve: Callable[[str], int]) -> None:
        self.data = data
        self.resolve = resolve
        self.sections = self._read_sections()
        self.offsets: dict[int, int] = {}
        self.stubs: dict[int, int] = {}

    def run(self) -> Image:
        total, writable = self._assign_offsets()
        self.memory = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        anchor = ctypes.c_char.from_buffer(self.memory)
        self.base = ctypes.addressof(anchor)
        del anchor
        for index, at in self.offsets.items():
            section = self.sections[index]
            if section.type != _NOBITS:
                self.memory[at : at + section.size] = self.data[
                    section.offset : section.offset + section.size
                ]
        symbols = self._read_symbols()
        for section in self.sections:
            if section.type == _RELA_TYPE and section.info in self.offsets:
                self._relocate(section)
        if _mprotect(self.base, writable, mmap.PROT_READ | mmap.PROT_EXEC):
            raise UnsupportedError("this system forbids making memory executable")
        return Image(self.memory, self.base, symbols)

    def _read_sections(self) -> list[Section]:
        (start,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        raw = [_SECTION.unpack_from(self.data, start + size * i) for i in range(count)]
        strings = raw[names][4]
        return [Section(self._text(strings + r[0]), *r[1:3], *r[4:9]) for r in raw]

    def _text(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode()

    def _assign_offsets(self) -> tuple[int, int]:
        """Give each section an offset; returns the total size and where writable data begins."""
        kept = [
            (i, s)
            for i, s in enumerate(self.sections)
            if s.flags & _ALLOC and s.name not in _UNWIND and s.size
        ]
        if any(s.flags & 0x400 for _, s in kept):
            raise UnsupportedError("thread-local storage")
        at = 0
        for index, section in kept:
            if not section.flags & _WRITE:
                at = _up(at, max(section.align, 1))
                self.offsets[index] = at
                at += section.size
        self.stub_at = at = _up(at, _STUB_BYTES)
        at += _STUB_BYTES * self._external_count()
        writable = at = _up(at, mmap.PAGESIZE)
        for index, section in kept:
            if section.flags & _WRITE:
                at = _up(at, max(section.align, 1))
                self.offsets[index] = at
                at += section.size
        return max(_up(at, mmap.PAGESIZE), mmap.PAGESIZE), max(writable, mmap.PAGESIZE)

    def _external_count(self) -> int:
        """Space for one table entry per symbol that may be reached through the table."""
        names = set()
        for section in self.sections:
            if section.type == _RELA_TYPE:
                for _, info, _ in self._relocations(section):
                    if info & 0xFFFFFFFF in (_PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX):
                        names.add(info >> 32)
        return len(names)

    def _relocations(self, section: Section) -> list[tuple[int, int, int]]:
        return list(_RELA.iter_unpack(self.data[section.offset : section.offset + section.size]))

    def _read_symbols(self) -> dict[str, int]:
        """Fill ``values`` (an address per symbol number); returns the global functions and data."""
        table = next(s for s in self.sections if s.type == _SYMTAB)
        strings = self.sections[table.link].offset
        exported, self.values, self.outside = {}, [], set()
        body = self.data[table.offset : table.offset + table.size]
        for number, (name, info, _, section, value, _) in enumerate(_SYMBOL.iter_unpack(body)):
            if section in self.offsets:
                address = self.base + self.offsets[section] + value
                if info >> 4:
                    exported[self._text(strings + name)] = address
            elif section == 0 and name:
                address = self.resolve(self._text(strings + name))
                self.outside.add(number)
            else:
                address = value
            self.values.append(address)
        return exported

    def _stub(self, symbol: int) -> int:
        """A table entry ``jmp [rip]; address``: calls land on it, loads read its second half."""
        found = self.stubs.get(symbol)
        if found is None:
            found = self.stubs[symbol] = self.stub_at
            self.memory[found : found + _STUB_BYTES] = b"\xff\x25\x02\0\0\0\x66\x90" + struct.pack(
                "<Q", self.values[symbol]
            )
            self.stub_at += _STUB_BYTES
        return self.base + found

    def _relocate(self, section: Section) -> None:
        start = self.offsets[section.info]
        memory, base, values, outside = self.memory, self.base, self.values, self.outside
        pack32, pack64 = struct.Struct("<i").pack_into, struct.Struct("<Q").pack_into
        for offset, info, addend in self._relocations(section):
            kind, symbol, at = info & 0xFFFFFFFF, info >> 32, start + offset
            target = values[symbol]
            if kind in (_PC32, _PLT32):
                if kind == _PLT32 and symbol in outside:
                    target = self._stub(symbol)
                value = target + addend - base - at
            elif kind in (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX):
                value = self._stub(symbol) + 8 + addend - base - at
            elif kind in (_ABS64, _PC64):
                origin = base + at if kind == _PC64 else 0
                pack64(memory, at, (target + addend - origin) % (1 << 64))
                continue
            else:
                raise UnsupportedError(f"relocation type {kind} in {section.name}")
            if not -(1 << 31) <= value < 1 << 31:
                raise UnsupportedError(f"relocation out of reach in {section.name}")
            pack32(memory, at, value)


def _up(value: int, to: int) -> int:
    return (value + to - 1) // to * to


@unforked()
def _mprotect(address: int, size: int, protection: int) -> int:
    function = ctypes.CDLL(None).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return int(function(address, size, protection))
