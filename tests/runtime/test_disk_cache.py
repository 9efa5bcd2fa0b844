"""The cache on disk: whole files or none, whatever happens around it."""

import multiprocessing
import os
import time

import pytest

from agnesi.core.support.config import config
from agnesi.runtime import disk_cache
from agnesi.runtime.cache_folder import Folder


def test_put_get_clear(fresh_cache):
    name = disk_cache.key("a", "b")
    assert disk_cache.get(name) is None
    disk_cache.put(name, b"body")
    assert disk_cache.get(name) == b"body"
    assert disk_cache.clear() == 1
    assert disk_cache.get(name) is None


def test_key_depends_on_every_part():
    keys = {disk_cache.key(*p) for p in [("a", "b"), ("ab", ""), ("", "ab"), ("a",), ("b", "a")]}
    assert len(keys) == 5


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_damage_is_a_miss_and_is_removed(fresh_cache, damage):
    name = disk_cache.key("x")
    disk_cache.put(name, b"0123456789" * 100)
    path = fresh_cache / (name + disk_cache.SUFFIX)
    whole = path.read_bytes()
    path.write_bytes(whole[:200] if damage is None else damage)
    assert disk_cache.get(name) is None
    assert not path.exists()
    flipped = bytearray(whole)
    flipped[-1] ^= 1
    path.write_bytes(flipped)
    assert disk_cache.get(name) is None


def test_off_reads_and_writes_nothing(fresh_cache):
    with config(cache=False):
        disk_cache.put(disk_cache.key("x"), b"body")
    assert not fresh_cache.exists()
    disk_cache.put(disk_cache.key("x"), b"body")
    with config(cache=False):
        assert disk_cache.get(disk_cache.key("x")) is None


def test_an_entry_under_another_name_is_a_miss_and_is_removed(fresh_cache):
    one, other = disk_cache.key("x"), disk_cache.key("y")
    disk_cache.put(one, b"body")
    path = fresh_cache / (one + disk_cache.SUFFIX)
    path.rename(fresh_cache / (other + disk_cache.SUFFIX))
    assert disk_cache.get(other) is None
    assert not [*fresh_cache.glob("*" + disk_cache.SUFFIX)]


def test_what_cannot_be_decoded_is_a_miss_and_is_removed(fresh_cache):
    name = disk_cache.key("x")
    disk_cache.put(name, b"12")
    assert disk_cache.load(name, int) == 12
    disk_cache.put(name, b"twelve")
    assert disk_cache.load(name, int) is None
    assert not [*fresh_cache.glob("*" + disk_cache.SUFFIX)]


def test_folder_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with config(cache_dir=str(tmp_path / "file" / "agnesi")):
        disk_cache.put(disk_cache.key("x"), b"body")
        assert disk_cache.get(disk_cache.key("x")) is None


def test_oldest_go_first_beyond_the_limit(fresh_cache):
    names = [disk_cache.key(str(i)) for i in range(10)]
    now = time.time()
    for age, name in enumerate(reversed(names)):
        disk_cache.put(name, bytes(1000))
        os.utime(fresh_cache / (name + disk_cache.SUFFIX), (now - age, now - age))
    forgotten = fresh_cache / "left.tmp"
    forgotten.write_bytes(b"x")
    os.utime(forgotten, (1, 1))
    with Folder() as folder:
        disk_cache._prune(folder, 8 * 1100)
    assert not forgotten.exists()
    left = [disk_cache.get(n) is not None for n in names]
    assert left == [False] * (10 - sum(left)) + [True] * sum(left)
    assert 4 <= sum(left) <= 6


@pytest.fixture
def looks(monkeypatch):
    """How often all files of the folder were looked at."""
    found = []
    prune = disk_cache._prune
    monkeypatch.setattr(disk_cache, "_prune", lambda *args: found.append(1) or prune(*args))
    return found


def test_the_folder_is_looked_at_when_much_was_written(fresh_cache, monkeypatch, looks):
    """Not at every entry, and always before it is much beyond the limit."""
    monkeypatch.setattr(disk_cache, "limit_bytes", 64_000)
    for i in range(100):
        disk_cache.put(disk_cache.key(str(i)), bytes(100))
    assert 2 <= len(looks) <= 4
    for i in range(200):
        disk_cache.put(disk_cache.key(f"large {i}"), bytes(900))
        assert sum(f.stat().st_size for f in fresh_cache.iterdir()) <= 66_000
    assert len(looks) <= 25
    assert disk_cache.get(disk_cache.key("large 199")) is not None


@pytest.mark.parametrize("lost", ["removed", "a link", "a second name", "for others", "a folder"])
def test_a_count_that_cannot_be_trusted_is_made_anew(fresh_cache, tmp_path, looks, lost):
    def put():
        disk_cache.put(disk_cache.key("x"), bytes(10_000))

    put()
    put()
    assert len(looks) == 1
    count, other = fresh_cache / disk_cache._SIZE_FILE, tmp_path / "other"
    other.write_bytes(b"mine")
    if lost == "a second name":
        os.link(count, tmp_path / "second")
    elif lost == "for others":
        count.chmod(0o666)
    else:
        count.unlink()
    if lost == "a link":
        count.symlink_to(other)
    elif lost == "a folder":
        count.mkdir()
    put()
    assert len(looks) == 2
    assert other.read_bytes() == b"mine"
    put()
    assert len(looks) == (3 if lost == "a folder" else 2)
    assert disk_cache.get(disk_cache.key("x")) == bytes(10_000)
    disk_cache.clear()
    assert [p.name for p in fresh_cache.iterdir()] == ([count.name] if lost == "a folder" else [])


def test_a_count_that_was_cut_off_is_right_after_the_next_look(fresh_cache, monkeypatch, looks):
    monkeypatch.setattr(disk_cache, "limit_bytes", 64_000)
    for i in range(20):
        disk_cache.put(disk_cache.key(str(i)), bytes(2_000))
    count = fresh_cache / disk_cache._SIZE_FILE
    count.write_bytes(b"")
    for i in range(60):
        disk_cache.put(disk_cache.key(f"more {i}"), bytes(2_000))
    assert sum(f.stat().st_size for f in fresh_cache.iterdir()) <= 66_000
    count.write_bytes(bytes(1_000))
    del looks[:]
    disk_cache.put(disk_cache.key("one"), b"")
    disk_cache.put(disk_cache.key("another"), b"")
    assert len(looks) == 1


def _race(folder, barrier, results):
    config.cache_dir = folder
    disk_cache.limit_bytes = 60_000  # others evict what is just read
    barrier.wait()
    wrong = 0
    for turn in range(60):
        name, body = disk_cache.key(str(turn % 5)), str(turn % 5).encode() * 20000
        disk_cache.put(name, body)
        found = disk_cache.get(name)
        wrong += found is not None and found != body
        if turn % 20 == 19:
            disk_cache.clear()
    results.put(wrong)


def test_processes_race_safely(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(8), context.Queue()
    processes = [
        context.Process(target=_race, args=(str(tmp_path / "agnesi"), barrier, results))
        for _ in range(8)
    ]
    for process in processes:
        process.start()
    assert [results.get(timeout=30) for _ in processes] == [0] * 8
    for process in processes:
        process.join()
