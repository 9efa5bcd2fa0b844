"""Words of memory by which native guards see that a container or a small array is unchanged.

A container says in its own memory where its elements are, and how many: these words come first.
Each function returns no words where the container is not laid out as expected, or holds something
else than ``held`` already.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.support.record import replace
from agnesi.runtime.guards import Entries, Word, array_words

#: Where a set has the size of its table less one, and the table, with entries of 16 bytes.
_SET_MASK_AT, _SET_TABLE_AT = 32, 40
#: Where a deque has its number of elements, its first block, where that begins, and the number of
#: changes of its length; where a block has its elements and the next block.
_COUNT_AT, _DEQUE_FIRST_AT, _DEQUE_START_AT, _DEQUE_CHANGES_AT = 16, 24, 40, 56
_BLOCK_ITEMS_AT, _BLOCK_ITEMS = 8, 64
_BLOCK_NEXT_AT = _BLOCK_ITEMS_AT + 8 * _BLOCK_ITEMS
#: Where an OrderedDict counts the changes of its order.
_ORDER_CHANGES_AT = 88
#: Where a bytearray has the first of its bytes.
_BYTES_AT = 40
#: Elements of containers that are compared natively; a word of each is kept.
_MAX_ELEMENTS = 1 << 12


def container_words(container: Any, held: Sequence[Any]) -> list[Any]:
    """Return guards on the memory of a set, deque, OrderedDict or bytearray that fail once it has
    changed; none where it cannot be guarded.
    """
    if len(container) > _MAX_ELEMENTS:
        return []
    if isinstance(container, set):
        found: list[Any] = _set_words(container, held)
    elif isinstance(container, deque):
        found = _deque_words(container, held)
    elif isinstance(container, OrderedDict):
        if not _counts_changes()[1]:
            return []
        return [_as_now(container, _ORDER_CHANGES_AT), Entries(container, tuple(held))]
    else:
        found = _bytearray_words(container, bytes(held))
    return [replace(w, keep=(container, held)) for w in found]


def _word(base: int, offset: int) -> int:
    return ctypes.c_uint64.from_address(base + offset).value


def _as_now(owner: Any, offset: int) -> Word:
    return Word(id(owner), offset, _word(id(owner), offset), keep=owner)


@functools.cache
def _counts_changes() -> tuple[bool, bool]:
    """Return whether a deque and an OrderedDict count their changes at the offsets that are
    assumed.
    """
    queue, table = deque("ab"), OrderedDict.fromkeys("ab")
    before = _as_now(queue, _DEQUE_CHANGES_AT), _as_now(table, _ORDER_CHANGES_AT)
    queue.append(queue.popleft())
    table.move_to_end("a")
    return not before[0].holds(), not before[1].holds()


def _set_words(container: set[Any], held: Sequence[Any]) -> list[Word]:
    """Return guards on the entries of a set's table, each by the address of its key."""
    if len(container) != len(held) or not all(a is b for a, b in zip(container, held, strict=True)):
        return []
    words = [_as_now(container, at) for at in (_SET_MASK_AT, _SET_TABLE_AT)]
    last, table = (w.value for w in words)
    keys = [Word(table, 16 * i, _word(table, 16 * i), extent=16 * (last + 1), late=True)
            for i in range(last + 1)]
    there = {id(v) for v in held}
    return words + keys if there <= {k.value for k in keys} else []


def _deque_words(container: deque[Any], held: Sequence[Any]) -> list[Word]:
    """Return guards on a deque: its blocks are the same ones as long as no element was added or
    removed.
    """
    offsets = (_COUNT_AT, _DEQUE_FIRST_AT, _DEQUE_START_AT, _DEQUE_CHANGES_AT)
    words = [_as_now(container, at) for at in offsets]
    count, block, start, _ = (w.value for w in words)
    if not _counts_changes()[0] or count != len(held) or start > _BLOCK_ITEMS:
        return []
    item = start
    for value in held:
        if item == _BLOCK_ITEMS:
            block, item = _word(block, _BLOCK_NEXT_AT), 0
        words.append(Word(block, _BLOCK_ITEMS_AT + 8 * item, id(value),
                          extent=_BLOCK_NEXT_AT + 8, late=True))
        item += 1
    return words if all(w.holds() for w in words) else []


def _bytearray_words(container: bytearray, held: bytes) -> list[Word]:
    if bytes(container) != held:
        return []
    words = [_as_now(container, at) for at in (_COUNT_AT, _BYTES_AT)]
    inner = bytes_words(words[1].value, len(held))
    return words + inner if inner or not held else []


def bytes_words(start: int, count: int) -> list[Word]:
    """Return guards that ``count`` bytes from address ``start`` on stay as they are, by words of 8
    bytes.  The last bytes are compared by a masked word if they are aligned, so that it is in the
    same page, else by a word that overlaps the one before; none where neither is possible."""
    words = [Word(start, at, _word(start, at), extent=count, late=True)
             for at in range(0, count - 7, 8)]
    rest = count % 8
    if rest and start % 8 == 0:
        used = b"\xff" * rest + bytes(8 - rest)
        words.append(Word(start, count - rest, _word(start, count - rest),
                          int.from_bytes(used, sys.byteorder), late=True))
    elif rest and words:
        last = start + count - 8
        words.append(Word(last, 0, _word(last, 0), late=True))
    elif rest:
        return []
    return words


def elements_words(array: np.ndarray, held: bytes, objects: Any = None) -> list[Word]:
    """Return guards that a small array has kept its address and holds the bytes ``held``;
    ``objects`` are its elements if it holds Python objects.
    """
    if array.dtype.hasobject and objects is None:
        return []
    if not array.flags.c_contiguous or array.tobytes() != held:
        return []
    inner = bytes_words(array.ctypes.data, len(held))
    if held and not inner:
        return []
    return [*array_words(array), *(replace(w, keep=(array, objects)) for w in inner)]
