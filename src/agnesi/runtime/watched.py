"""Guards that native code compares before each call: words of memory, entries of dicts, items of
lists.

The table is apart from the functions bound to it, which are several, so that it can be filled anew:
a number may have been replaced by an equal one.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.core.support.record import record

#: Whether every change of a dict gives it another tag; attributes that lie in their object give
#: none from CPython 3.13 on.
TAGGED = sys.version_info < (3, 13)
ALL_BITS = (1 << 64) - 1
TYPE_AT, DICT_AT, USED_AT, TAG_AT, CELL_AT = 8, -24, 16, 24, 16
#: Where an ndarray has its data, number of axes, sizes, dtype and flags; and the flags that count.
DATA_AT, RANK_AT, SIZES_AT, DTYPE_AT, FLAGS_AT = 16, 24, 32, 56, 64
CONTIGUOUS, LASTING_FLAGS = 0x1, 0x401
#: Blocks of an ndarray in which these lie, and the bits of them that count.
_LOW = (1 << 32) - 1
_WHERE_BLOCK, _WHERE_MASK = DATA_AT, (ALL_BITS, _LOW, ALL_BITS, 0)
_KIND_BLOCK, _KIND_MASK = DTYPE_AT - 8, (0, ALL_BITS, LASTING_FLAGS, 0)
CODE_AT, DEFAULTS_AT, KEYWORDS_AT, CLASS_NAME_AT, CLASS_TAG_AT = 48, 56, 64, 24, 384
_MANAGED = 1 << 4
_CLASS_TAG_BITS = (1 << 32) - 1


@record
class Word:
    """Eight bytes at ``base + offset`` that are compared under ``mask``; ``keep`` owns the memory.

    If set, ``extent`` bytes from the base may be read.  The address of a ``late`` word is valid
    only if the words before it hold.
    """

    base: int
    offset: int
    value: int
    mask: int = ALL_BITS
    keep: Any = None
    extent: int = 0
    late: bool = False

    def holds(self) -> bool:
        """Return whether it is there now."""
        return not (ctypes.c_uint64.from_address(_address(self)).value ^ self.value) & self.mask


@record
class Entry:
    """``mapping[key]`` is this very object; without a ``value``, there is no such key."""

    mapping: dict[Any, Any]
    key: Any
    value: tuple[Any, ...] = ()


@record
class Entries:
    """The dict has these entries and no others, in this order."""

    mapping: dict[Any, Any]
    items: tuple[tuple[Any, Any], ...]


@record
class Items:
    """The list has exactly these items."""

    sequence: list[Any]
    items: tuple[Any, ...]


def pointer(owner: Any, offset: int, value: Any) -> Word:
    """An object holds this very object at a place of its memory."""
    return Word(id(owner), offset, id(value), keep=(owner, value),
                extent=type(owner).__basicsize__)


def lying(array: np.ndarray) -> Any:
    """Where an array lies in memory, and as what: ``resize`` and its attributes change that."""
    where = ctypes.c_size_t.from_address(id(array) + SIZES_AT).value
    flags = array.flags.num & LASTING_FLAGS
    return array.ctypes.data, array.dtype, where, array.shape, array.strides, flags


def array_words(array: np.ndarray, lies: Any) -> list[Word]:
    """Words that show a change of an array's memory, dtype or shape, those of sizes included."""
    data, dtype, sizes, shape, _, flags = lies
    known = ((DATA_AT, data, ALL_BITS), (RANK_AT, len(shape), _LOW), (SIZES_AT, sizes, ALL_BITS),
             (DTYPE_AT, id(dtype), ALL_BITS), (FLAGS_AT, flags, LASTING_FLAGS))
    extent = type(array).__basicsize__
    return [Word(id(array), at, value, mask, (array, dtype), extent)
            for at, value, mask in known] + size_words(lies)


def size_words(lies: Any) -> list[Word]:
    """An array's sizes, and its strides where these do not follow."""
    _, _, sizes, shape, strides, flags = lies
    counts = shape if flags & CONTIGUOUS else (*shape, *strides)  # strides are behind sizes
    extent = 16 * len(shape)
    return [Word(sizes, 8 * i, n & ALL_BITS, ALL_BITS, None, extent, True)
            for i, n in enumerate(counts)]


def dict_pointer(owner: Any, attributes: dict[str, Any]) -> Word | None:
    """An object's attributes are still in this dict; None where that is not known to lie."""
    kind = type(owner)
    offset = DICT_AT if kind.__flags__ & _MANAGED else kind.__dictoffset__
    if offset > 0 or offset == DICT_AT:
        found = pointer(owner, offset, attributes)
        if ctypes.c_size_t.from_address(found.base + offset).value == found.value:
            return found
    return None


def class_tag(kind: type) -> Word | None:
    """Neither a class nor a base of it was changed; None where Python has no tag left for it."""
    getattr(kind, "__init__", None)  # a look-up gives it one
    tag = ctypes.c_uint32.from_address(id(kind) + CLASS_TAG_AT).value
    return Word(id(kind), CLASS_TAG_AT, tag, _CLASS_TAG_BITS, keep=kind) if tag else None


def class_name(kind: type) -> Word:
    """A class is still called as it is."""
    found = ctypes.c_uint64.from_address(id(kind) + CLASS_NAME_AT).value
    return Word(id(kind), CLASS_NAME_AT, found, keep=kind)


class _Part(ctypes.Structure):
    _fields_ = tuple((f, ctypes.c_uint64) for f in ("address", "value", "mask"))


class _Family(ctypes.Structure):
    _fields_ = (("mask", ctypes.c_uint64 * 4), ("count", ctypes.c_int64),
                ("blocks", ctypes.c_void_p))


class _Alike(ctypes.Structure):
    _fields_ = (("mask", ctypes.c_uint64 * 4), ("values", ctypes.c_uint64 * 4),
                ("count", ctypes.c_int64), ("addresses", ctypes.c_void_p))


class _Memory(ctypes.Structure):
    _fields_ = tuple((f, ctypes.c_int64) for f in (
        "family_count", "families", "alike_count", "alike", "word_groups", "words", "part_count",
        "parts"))


class Checks(ctypes.Structure):
    """``%Checks`` of entry.ll; whoever holds it keeps what it points to."""

    _fields_ = (("early", _Memory), ("late", _Memory))


#: Blocks of 32 bytes by the bits that count, and by what these are: their addresses.
_Blocks = dict[tuple[int, ...], dict[tuple[int, ...], list[int]]]


def checks(words: Iterable[Word], keep: list[Any],
           arrays: Iterable[tuple[np.ndarray, Any]] = ()) -> Checks:
    """Words to be compared, several of one object at once, and how arrays lie."""
    known, held = list(words), list(arrays)
    blocks: _Blocks = {}
    for array, lies in held:
        data, dtype, sizes, shape, _, flags = lies
        where = blocks.setdefault(_WHERE_MASK, {})
        where.setdefault((data, len(shape), sizes, 0), []).append(id(array) + _WHERE_BLOCK)
        kinds = blocks.setdefault(_KIND_MASK, {})
        kinds.setdefault((0, id(dtype), flags, 0), []).append(id(array) + _KIND_BLOCK)
        known += size_words(lies)
    keep.append([(array, lies[1]) for array, lies in held])
    return Checks(_memory([w for w in known if not w.late], keep, blocks),
                  _memory([w for w in known if w.late], keep, {}))


def _memory(words: Iterable[Word], keep: list[Any], blocks: _Blocks) -> _Memory:
    of: dict[int, dict[int, Word]] = {}
    for w in words:
        of.setdefault(w.base, {})[w.offset] = w
    keep.append([w.keep for held in of.values() for w in held.values()])
    single: list[Word] = []
    for base, found in of.items():
        if len(found) == 1:
            single += found.values()
            continue
        for start, group in _groups(found):
            if len(group) == 1 or start < 0:
                single += group
                continue
            values, mask = [0] * 4, [0] * 4
            for w in group:
                values[(w.offset - start) // 8] = w.value & w.mask
                mask[(w.offset - start) // 8] = w.mask
            blocks.setdefault(tuple(mask), {}).setdefault(tuple(values), []).append(base + start)
    parts = [_Part(_address(w), w.value & w.mask, w.mask) for w in single if w.mask != ALL_BITS]
    families, many = _families(blocks, keep)
    return _Memory(len(families), c_array(_Family, families, keep),
                   len(many), c_array(_Alike, many, keep),
                   *_in_groups([w for w in single if w.mask == ALL_BITS], keep),
                   len(parts), c_array(_Part, parts, keep))


def _groups(found: dict[int, Word]) -> Iterable[tuple[int, list[Word]]]:
    """Words of one object that lie in 32 bytes from some place on, all of which may be read."""
    group: list[Word] = []
    start = 0
    for at in sorted(found):
        if not group or at >= start + 32 or (at - start) % 8:
            if group:
                yield start, group
            group = []
            start = at - max(-(-(at + 32 - found[at].extent) // 8) * 8, 0)
        group.append(found[at])
    if group:
        yield start, group


def _families(blocks: _Blocks, keep: list[Any]) -> tuple[list[_Family], list[_Alike]]:
    """Blocks in which the same bits count; apart from them those that hold the same, too."""
    families, many = [], []
    for mask, found in blocks.items():
        own = [(places[0], *values) for values, places in found.items() if len(places) == 1]
        if own:
            families.append(_Family(mask, len(own), _table(own, keep)))
        many += [_Alike(mask, values, len(places), _table(places, keep))
                 for values, places in found.items() if len(places) > 1]
    return families, many


def _address(word: Word) -> int:
    return word.base + word.offset & ALL_BITS


def _in_groups(words: Iterable[Word], keep: list[Any]) -> tuple[int, int]:
    """How many groups of four words there are, the last one filled up, and where they begin."""
    found = [(_address(w), w.value) for w in words]
    found += found[-1:] * (-len(found) % 4)
    return len(found) // 4, _table(found, keep)


class _Entry(ctypes.Structure):
    _fields_ = (("key", ctypes.c_void_p), ("value", ctypes.c_void_p))


class _Entries(ctypes.Structure):
    _fields_ = (
        ("mapping", ctypes.c_void_p),
        ("tag", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("entries", ctypes.c_void_p),
    )


class _Items(ctypes.Structure):
    _fields_ = (
        ("sequence", ctypes.c_void_p), ("count", ctypes.c_int64), ("items", ctypes.c_void_p),
    )


class Watched(ctypes.Structure):
    """``%Watched`` of entry.ll, filled with records; its attribute keeps what they point to."""

    _fields_ = (
        ("checks", Checks),
        ("mapping_count", ctypes.c_int64),
        ("mappings", ctypes.c_void_p),
        ("list_count", ctypes.c_int64),
        ("lists", ctypes.c_void_p),
    )

    def fill(self, records: Iterable[Any]) -> None:
        """Compare these from now on."""
        known = list(records)
        keep: list[Any] = [known]
        self.checks = checks((w for w in known if isinstance(w, Word)), keep)
        mappings = _mappings(known, keep)
        self.mapping_count, self.mappings = len(mappings), c_array(_Entries, mappings, keep)
        once = {id(r.sequence): r for r in known if isinstance(r, Items)}
        lists = [
            _Items(key, len(r.items), c_array(ctypes.c_void_p, [id(v) for v in r.items], keep))
            for key, r in once.items()
        ]
        self.list_count, self.lists = len(lists), c_array(_Items, lists, keep)
        self.keep = keep


def _mappings(known: Iterable[Any], keep: list[Any]) -> list[_Entries]:
    wanted: dict[int, tuple[dict[Any, Any], dict[Any, int], bool]] = {}
    for r in known:
        if isinstance(r, Entries):
            wanted[id(r.mapping)] = r.mapping, {id(k): id(v) for k, v in r.items}, True
        elif isinstance(r, Entry):
            _, entries, whole = wanted.setdefault(id(r.mapping), (r.mapping, {}, False))
            if not whole:
                entries[id(r.key)] = id(r.value[0]) if r.value else 0
    return [
        _Entries(
            id(mapping), _tag(mapping), len(entries) if whole else -1, len(entries),
            c_array(_Entry, [_Entry(k, v or None) for k, v in entries.items()], keep),
        )
        for mapping, entries, whole in wanted.values()
    ]


def _tag(mapping: dict[Any, Any]) -> int:
    return ctypes.c_int64.from_address(id(mapping) + TAG_AT).value if TAGGED else -1


def _table(rows: Sequence[Any], keep: list[Any]) -> int:
    """Return the address of numbers of 64 bits, in rows or not, which ``keep`` keeps."""
    array = np.array(rows, np.uint64)
    keep.append(array)
    return array.ctypes.data


def c_array(kind: Any, items: Sequence[Any], keep: list[Any]) -> int:
    """Return the address of a C array of ``items``, which ``keep`` keeps."""
    array = (kind * len(items))(*items)
    keep.append(array)
    return ctypes.addressof(array)
