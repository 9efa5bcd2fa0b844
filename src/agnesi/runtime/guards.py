"""Guards that native code compares before each call: words of memory, entries of dicts, items of
lists.

The table is apart from the functions bound to it, which are several, so that it can be refilled:
a number may have been replaced by an equal one.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.record import record

#: Whether every change of a dict gives it another tag; attributes stored in their object give
#: none from CPython 3.13 on.
TAGGED = sys.version_info < (3, 13)
ALL_BITS = (1 << 64) - 1
TYPE_AT, DICT_AT, USED_AT, TAG_AT, CELL_AT = 8, -24, 16, 24, 16
#: Where an ndarray has its data, number of axes, sizes, dtype and flags; and the flags that count.
DATA_AT, RANK_AT, SIZES_AT, DTYPE_AT, FLAGS_AT = 16, 24, 32, 56, 64
CONTIGUOUS, LASTING_FLAGS = 0x1, 0x401
#: Blocks of an ndarray in which these are, and the bits of them that count.
_LOW = (1 << 32) - 1
_HEAD_MASK = np.array((ALL_BITS, _LOW, ALL_BITS, 0, 0, ALL_BITS, LASTING_FLAGS), np.uint64)
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
        """Return whether the word still has its value."""
        at = self.base + self.offset & ALL_BITS
        return not (ctypes.c_uint64.from_address(at).value ^ self.value) & self.mask


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
    """Return the guard that the word at ``offset`` bytes of an object is the address of
    ``value``."""
    return Word(id(owner), offset, id(value), keep=(owner, value), extent=type(owner).__basicsize__)


class ArrayHeads:
    """Guards of the heads of NumPy's arrays (address, shape, strides, dtype), which ``resize`` and
    assignments to attributes change.

    :ivar heads: A row for each array: the words from its address on that say so.
    """

    def __init__(self, arrays: Iterable[np.ndarray]) -> None:
        self.arrays = list(arrays)
        self.dtypes = [a.dtype for a in self.arrays]
        self.heads = self._heads()
        self.addresses: list[int] = self.heads[:, 0].tolist()
        self._sizes = self._sizes_at(self.heads)

    def holds(self) -> bool:
        """Return whether the arrays still have the same memory, dtypes and sizes."""
        heads = self._heads()
        return np.array_equal(heads, self.heads) and self._sizes_at(heads) == self._sizes

    def _heads(self) -> np.ndarray:
        width = 8 * len(_HEAD_MASK)
        held = b"".join([ctypes.string_at(id(a) + DATA_AT, width) for a in self.arrays])
        return np.frombuffer(held, np.uint64).reshape(-1, len(_HEAD_MASK)) & _HEAD_MASK

    @staticmethod
    def _sizes_at(heads: np.ndarray) -> list[bytes]:
        """Return the bytes of each array's shape, and of its strides where it is not contiguous."""
        counts = heads[:, 1] << (1 - (heads[:, -1] & CONTIGUOUS))
        return [ctypes.string_at(at, count) if count else b""
                for at, count in zip(heads[:, 2].tolist(), (counts * 8).tolist(), strict=True)]

    @cached_property
    def early(self) -> _Rows:
        """The words of the arrays' own structures, which can be read before any other guard was
        checked.
        """
        ids = np.array([id(a) for a in self.arrays], np.uint64)
        where, kinds = np.zeros((2, len(ids), 5), np.uint64)
        where[:, 0], where[:, 1:4] = ids + np.uint64(_WHERE_BLOCK), self.heads[:, :3]
        kinds[:, 0], kinds[:, 2:4] = ids + np.uint64(_KIND_BLOCK), self.heads[:, -2:]
        return _Rows({}, [(_WHERE_MASK, where), (_KIND_MASK, kinds)])

    @cached_property
    def late(self) -> _Rows:
        """The words of shapes and strides, valid only if those of ``early`` hold."""
        return _Rows(self.sizes())

    def sizes(self) -> dict[_Kind, list[tuple[int, ...]]]:
        """Return the words of shapes and strides, grouped by the offsets at which they are
        compared.
        """
        found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        for sizes, at, rank in zip(self._sizes, *self.heads[:, [2, 1]].T.tolist(), strict=True):
            if sizes:
                row = at, *memoryview(sizes).cast("Q")
                found.setdefault((rank, len(row) - 1), []).append(row)
        return {tuple([(8 * i, ALL_BITS, 16 * rank) for i in range(count)]): rows
                for (rank, count), rows in found.items()}


def array_words(array: np.ndarray) -> list[Word]:
    """Words that show a change of an array's memory, dtype or shape, those of sizes included."""
    heads = ArrayHeads([array])
    extent = type(array).__basicsize__
    found = [Word(id(array), DATA_AT + 8 * i, value, mask, (array, array.dtype), extent)
             for i, (value, mask) in enumerate(zip(heads.heads[0].tolist(), _HEAD_MASK.tolist(),
                                                   strict=True)) if mask]
    return found + [Word(at, offset, value, mask, None, extent, True)
                    for kind, ((at, *values),) in heads.sizes().items()
                    for (offset, mask, extent), value in zip(kind, values, strict=True)]


def dict_pointer(owner: Any, attributes: dict[str, Any]) -> Word | None:
    """Return a guard that the attributes of an object are in this dict; None where the address of
    the dict is unknown.
    """
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
    """Return a guard on the name of a class, which programs may assign."""
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
    """``%Checks`` of entry.ll; the holder keeps what it points to."""

    _fields_ = (("early", _Memory), ("late", _Memory))


#: Which words of an object count: where each is, its bits that count, and how much may be read.
_Kind = tuple[tuple[int, int, int], ...]
#: The words of objects by their addresses: what they are.
_Words = dict[int, dict[tuple[int, int, int], int]]


def checks(words: Iterable[Word], keep: list[Any], pointers: Iterable[tuple[Any, int, Any]] = (),
           array_heads: ArrayHeads | None = None) -> Checks:
    """Return the tables of what native code compares: words of memory, objects held at offsets of
    other objects (``pointers``), and the heads of arrays.
    """
    early: _Words = {}
    late: _Words = {}
    for w in words:
        of = late if w.late else early
        of.setdefault(w.base, {})[w.offset, w.mask, w.extent] = w.value & w.mask
        keep.append(w.keep)
    for owner, offset, value in pointers:
        where = offset, ALL_BITS, type(owner).__basicsize__
        early.setdefault(id(owner), {})[where] = id(value)
        keep += (owner, value)
    of_arrays = (None, None) if array_heads is None else (array_heads.early, array_heads.late)
    return Checks(*[_memory([rows, _Rows(_by_kind(words))], keep)
                    for rows, words in zip(of_arrays, (early, late), strict=True)])


def _by_kind(words: _Words) -> dict[_Kind, list[tuple[int, ...]]]:
    """Group objects by the offsets and masks of their words: one row of address and values for each
    object.
    """
    found: dict[_Kind, list[tuple[int, ...]]] = {}
    for base, held in words.items():
        found.setdefault(tuple(held), []).append((base, *held.values()))
    return found


class _Rows:
    """The tables of guards that native code compares: single words, masked words, and blocks of
    four words.  Guards of equal masks share a table."""

    def __init__(self, kinds: dict[_Kind, list[tuple[int, ...]]],
                 blocks: Iterable[tuple[tuple[int, ...], np.ndarray]] = ()) -> None:
        self.words: list[np.ndarray] = []
        self.parts: list[_Part] = []
        alike: dict[tuple[int, ...], list[np.ndarray]] = {mask: [rows] for mask, rows in blocks}
        for kind, held in kinds.items():
            rows = np.array(held, np.uint64)
            for start, group in _groups(kind):
                if len(group) == 1 or start < 0:
                    for column in group:
                        self._add(rows[:, [0, 1 + column]], *kind[column][:2])
                    continue
                block, bits = np.zeros((len(rows), 5), np.uint64), [0] * 4
                block[:, 0] = rows[:, 0] + np.uint64(start)
                for column in group:
                    offset, mask, _ = kind[column]
                    block[:, 1 + (offset - start) // 8] |= rows[:, 1 + column]
                    bits[(offset - start) // 8] |= mask
                alike.setdefault(tuple(bits), []).append(block)
        self.keep: list[Any] = []
        self.families, self.many = _families(alike, self.keep)

    def _add(self, words: np.ndarray, offset: int, mask: int) -> None:
        words[:, 0] += np.uint64(offset & ALL_BITS)
        if mask == ALL_BITS:
            self.words.append(words)
        else:
            self.parts += [_Part(at, value, mask) for at, value in words.tolist()]


def _memory(found: Iterable[_Rows | None], keep: list[Any]) -> _Memory:
    rows = [r for r in found if r is not None]
    keep += rows
    families = [f for r in rows for f in r.families]
    many = [a for r in rows for a in r.many]
    parts = [p for r in rows for p in r.parts]
    return _Memory(len(families), c_array(_Family, families, keep),
                   len(many), c_array(_Alike, many, keep),
                   *_in_groups([w for r in rows for w in r.words], keep),
                   len(parts), c_array(_Part, parts, keep))


def _groups(kind: _Kind) -> Iterable[tuple[int, list[int]]]:
    """Words of one object that are in 32 bytes from some offset on, all of which may be read."""
    group: list[int] = []
    start = 0
    for at, column in sorted([(offset, i) for i, (offset, _, _) in enumerate(kind)]):
        if not group or at >= start + 32 or (at - start) % 8:
            if group:
                yield start, group
            group = []
            start = at - max(-(-(at + 32 - kind[column][2]) // 8) * 8, 0)
        group.append(column)
    if group:
        yield start, group


def _families(blocks: dict[tuple[int, ...], list[np.ndarray]],
              keep: list[Any]) -> tuple[list[_Family], list[_Alike]]:
    """Group blocks by their mask of significant bits; blocks with equal contents are returned
    separately."""
    families, many = [], []
    for mask, found in blocks.items():
        rows = np.concatenate(found)
        rows = rows[np.lexsort(rows.T)]
        starts = np.flatnonzero(np.r_[True, np.any(rows[1:, 1:] != rows[:-1, 1:], axis=1)])
        counts = np.diff(starts, append=len(rows))
        own = rows[starts[counts == 1]]
        if len(own):
            families.append(_Family(mask, len(own), _table(own, keep)))
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            if count > 1:
                addresses = _table(rows[start:start + count, 0], keep)
                many.append(_Alike(mask, tuple(rows[start, 1:].tolist()), count, addresses))
    return families, many


def _in_groups(words: list[np.ndarray], keep: list[Any]) -> tuple[int, int]:
    """Return how many groups of four words there are (the last one is filled up) and the address of
    the first.
    """
    found = np.concatenate(words) if words else np.zeros((0, 2), np.uint64)
    found = np.concatenate([found, *[found[-1:]] * (-len(found) % 4)])
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
    """The guards of a function, ``%Watched`` of entry.ll; ``keep`` holds the objects that they
    point to.
    """

    _fields_ = (
        ("checks", Checks),
        ("mapping_count", ctypes.c_int64),
        ("mappings", ctypes.c_void_p),
        ("list_count", ctypes.c_int64),
        ("lists", ctypes.c_void_p),
    )

    def fill(self, records: Iterable[Any]) -> None:
        """Set the guards that are compared from now on."""
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


def _table(rows: np.ndarray, keep: list[Any]) -> int:
    """Return the address of numbers of 64 bits, in rows or not, which ``keep`` keeps."""
    array = np.ascontiguousarray(rows, np.uint64)
    keep.append(array)
    return array.ctypes.data


def c_array(kind: Any, items: Sequence[Any], keep: list[Any]) -> int:
    """Return the address of a C array of ``items``, which ``keep`` keeps."""
    array = (kind * len(items))(*items)
    keep.append(array)
    return ctypes.addressof(array)
