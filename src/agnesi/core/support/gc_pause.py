"""Python's collector of garbage, which looks at nothing while graphs grow."""

from __future__ import annotations

import gc
from contextlib import ContextDecorator
from threading import get_ident

from agnesi.core.support.forks import at_fork
from agnesi.core.support.undo import Block

#: New objects that the collector looks through in no time.
_SCANNED_OBJECTS = 2_000
#: New objects that have become old without having been looked through, from which others do not.
_MAX_UNSCANNED_OBJECTS = 300_000
_blocks: dict[int, int] = {}  # those that stopped the collector, and the threads that they are in
_unseen = 0, 0  # how many there are, and how often all objects had been looked through by then
_frozen_at = -1  # how often all had been looked through when many objects were found frozen


class no_gc(Block, ContextDecorator):  # noqa: N801 - used as a function
    """A context that keeps the garbage collector from scanning a growing graph repeatedly, so that
    time stays linear.

    Objects made meanwhile become old at once. Most of them stay alive, and scanning them for the
    rest would take a tenth of a small function's compilation; a full collection finds what is
    garbage.
    """

    _running = False

    def _recreate_cm(self) -> no_gc:  # as a decorator, a block of its own for each call
        return no_gc()

    def begin(self) -> None:
        self._running = gc.isenabled()
        if self._running:
            _blocks[id(self)] = get_ident()
        gc.disable()

    def end(self) -> None:
        if self._running:
            _age()
            gc.enable()
            _blocks.pop(id(self), None)
            self._running = False


def _age() -> None:
    """Make new objects old for the collector, unless too many were never scanned, or the user froze
    all objects.
    """
    global _unseen
    new, now = gc.get_count()[0], gc.get_stats()[2]["collections"]
    count, before = _unseen
    count = count if before == now else 0
    if new > _SCANNED_OBJECTS and count <= _MAX_UNSCANNED_OBJECTS and not _frozen(now):
        gc.freeze()
        gc.unfreeze()
        _unseen = count + new, now


def _frozen(collections: int) -> bool:
    """Return whether the user called ``gc.freeze``, as far as is known since the last full
    collection.

    Python counts frozen objects one by one, 8 ms for a million, so they are counted once between
    two full collections. Python 3.12 itself freezes some hundred at its start, which are old
    anyway.
    """
    global _frozen_at
    if _frozen_at != collections and gc.get_freeze_count() >= _SCANNED_OBJECTS:
        _frozen_at = collections
    return _frozen_at == collections


def _in_child() -> None:
    """Let the collector run where only threads that are not there had stopped it."""
    me = get_ident()
    if _blocks and me not in _blocks.values():
        gc.enable()
    for block in [block for block, thread in _blocks.items() if thread != me]:
        del _blocks[block]


at_fork(in_child=_in_child)
