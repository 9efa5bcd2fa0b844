"""What native code compares before each call: words of memory, entries of dicts, items of lists.

The table is apart from the functions bound to it, which are several, so that it can be filled anew:
a number may have been replaced by an equal one.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from typing import Any

from agnesi.core.record import record

#: Whether every change of a dict gives it another tag; attributes that lie in their object give
#: none from CPython 3.13 on.
TAGGED = sys.version_info < (3, 13)
ALL_BITS = (1 << 64) - 1
TYPE_AT, DICT_AT, USED_AT, TAG_AT, CELL_AT = 8, -24, 16, 24, 16
CODE_AT, DEFAULTS_AT, KEYWORDS_AT, CLASS_TAG_AT = 48, 56, 64, 384
_MANAGED = 1 << 4
_CLASS_TAG_BITS = (1 << 32) - 1


@record
class Word:
    """Eight bytes at ``base + offset``, as far as ``mask`` goes; ``keep`` owns that memory."""

    base: int
    offset: int
    value: int
    mask: int = ALL_BITS
    keep: Any = None


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
    return Word(id(owner), offset, id(value), keep=(owner, value))


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


class _Word(ctypes.Structure):
    _fields_ = tuple((f, ctypes.c_uint64) for f in ("base", "offset", "value", "mask"))


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
        ("word_count", ctypes.c_int64),
        ("words", ctypes.c_void_p),
        ("mapping_count", ctypes.c_int64),
        ("mappings", ctypes.c_void_p),
        ("list_count", ctypes.c_int64),
        ("lists", ctypes.c_void_p),
    )

    def fill(self, records: Iterable[Any]) -> None:
        """Compare these from now on."""
        known = list(records)
        keep: list[Any] = [known]
        words = {(w.base, w.offset): w for w in known if isinstance(w, Word)}
        self.word_count, self.words = len(words), words_of(words.values(), keep)
        mappings = _mappings(known, keep)
        self.mapping_count, self.mappings = len(mappings), _array(_Entries, mappings, keep)
        lists = [
            _Items(id(r.sequence), len(r.items),
                   _array(ctypes.c_void_p, [id(v) for v in r.items], keep))
            for r in known if isinstance(r, Items)
        ]
        self.list_count, self.lists = len(lists), _array(_Items, lists, keep)
        self.keep = keep


def words_of(words: Iterable[Word], keep: list[Any]) -> int:
    """The address of words as native code reads them."""
    return _array(_Word, [_Word(w.base, w.offset & ALL_BITS, w.value, w.mask) for w in words], keep)


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
            _array(_Entry, [_Entry(k, v or None) for k, v in entries.items()], keep),
        )
        for mapping, entries, whole in wanted.values()
    ]


def _tag(mapping: dict[Any, Any]) -> int:
    return ctypes.c_int64.from_address(id(mapping) + TAG_AT).value if TAGGED else -1


def _array(kind: Any, items: list[Any], keep: list[Any]) -> int:
    array = (kind * len(items))(*items)
    keep.append(array)
    return ctypes.addressof(array)
