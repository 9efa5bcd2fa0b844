"""While graphs grow, the collector of garbage waits, and does not look at them afterwards."""

import gc
import os
import signal
import threading
import time
import weakref

import pytest

import agnesi as ag
from agnesi.core.support import gc_pause
from agnesi.core.support.gc_pause import no_gc


class Circle:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.itself = self


@pytest.fixture
def looks(monkeypatch):
    """The generations that the collector looks through; all has been looked through before."""
    gc.unfreeze()
    gc.collect()
    monkeypatch.setattr(gc_pause, "_unseen", (0, 0))
    monkeypatch.setattr(gc_pause, "_frozen_at", -1)
    seen = []

    def note(phase, info):
        if phase == "stop":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.freeze()


def many(count=10_000):
    return [Circle() for _ in range(count)]


def test_what_was_made_is_not_looked_at(looks):
    with no_gc():
        made = many()
    made += [[] for _ in range(10)]
    assert not looks and gc.isenabled()


def test_garbage_is_found_all_the_same(looks):
    with no_gc():
        made = many()
    last = weakref.ref(made[-1])
    del made
    gc.collect()
    assert last() is None


def test_too_much_is_looked_at(looks, monkeypatch):
    monkeypatch.setattr(gc_pause, "_MAX_UNSCANNED_OBJECTS", 15_000)
    made = []
    for _ in range(3):
        with no_gc():
            made += many()
    made += [[] for _ in range(10)]
    assert looks == [0]
    gc.collect()
    with no_gc():
        made += many()
    made += [[] for _ in range(10)]
    assert looks == [0, 2]


def test_one_block_is_not_looked_at_however_much_it_makes(looks, monkeypatch):
    monkeypatch.setattr(gc_pause, "_MAX_UNSCANNED_OBJECTS", 5_000)
    with no_gc():
        made = many()
    made += [[] for _ in range(10)]
    assert not looks


@pytest.mark.parametrize("cut", [
    list, ag.unbind, lambda x: ag.split(x, 4000), lambda x: ag.chunk(x, 4000),
    lambda x: ag.array_split(x, 4000),
])
def test_many_views_are_not_looked_at(looks, cut):
    x = ag.ones((4000, 2))
    rows = cut(x)
    assert len(looks) < 9 and len(rows) == 4000  # each 700 new objects are looked through otherwise
    x[3999] = 2
    assert rows[-1].tolist()[-1] in (2, [2, 2]) and rows[0].tolist() in ([1, 1], [[1, 1]])


def test_rows_of_an_iteration_are_those_of_each_moment():
    x, seen = ag.zeros((9, 2)), []
    for i, row in enumerate(x):
        seen.append(row.tolist())
        x.fill_(i + 1)
    assert seen == [[i, i] for i in range(9)]


def test_what_the_user_froze_stays_frozen(looks):
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with no_gc():
            made = many()
        assert made and gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_many_frozen_objects_are_counted_once(looks, monkeypatch):
    counts = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counts.append(1) or 1_000_000)
    for expected in (1, 2):
        for _ in range(3):
            with no_gc():
                made = many()
            assert made and len(counts) == expected
        gc.collect()


def test_a_collector_that_is_off_stays_off(looks):
    gc.disable()
    try:
        with no_gc():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def child_collects():
    """Whether a forked child's collector runs by itself, and finds garbage."""
    pid = os.fork()
    if not pid:
        signal.alarm(20)
        ref = weakref.ref(Circle())
        running = gc.isenabled()
        gc.collect()
        os._exit(0 if running and ref() is None else 1)
    return os.waitpid(pid, 0)[1] == 0


class Slow(Circle):
    """Garbage whose finalizer lets other threads run."""

    begun = threading.Event()

    def __del__(self):
        self.begun.set()
        time.sleep(0.2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("here", [False, True])
def test_a_child_collects_where_another_thread_grows_a_graph(here):
    # The other thread's block had stopped the collector, and is never over in the child.
    begun, done = threading.Event(), threading.Event()

    def grow():
        with no_gc():
            begun.set()
            done.wait(20)

    thread = threading.Thread(target=grow)
    thread.start()
    begun.wait(20)
    try:
        if here:
            with no_gc():
                assert child_collects()
        else:
            assert child_collects()
    finally:
        done.set()
        thread.join()
    assert gc.isenabled() and not gc_pause._blocks


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_waits_for_the_collector():
    # In the child it was at work for ever, and never began again.
    def collect():
        Slow()
        gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    Slow.begun.wait(20)
    try:
        assert child_collects()
    finally:
        thread.join()
