"""The cache on disk: whole files or none, whatever happens around it."""

import multiprocessing
import os
import time

import pytest

from agnesi.core.support.config import config
from agnesi.runtime import diskcache
from agnesi.runtime.cachefolder import Folder


def test_put_get_clear(fresh_cache):
    name = diskcache.key("a", "b")
    assert diskcache.get(name) is None
    diskcache.put(name, b"body")
    assert diskcache.get(name) == b"body"
    assert diskcache.clear() == 1
    assert diskcache.get(name) is None


def test_key_depends_on_every_part():
    keys = {diskcache.key(*p) for p in [("a", "b"), ("ab", ""), ("", "ab"), ("a",), ("b", "a")]}
    assert len(keys) == 5


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_damage_is_a_miss_and_is_removed(fresh_cache, damage):
    name = diskcache.key("x")
    diskcache.put(name, b"0123456789" * 100)
    path = fresh_cache / (name + diskcache.SUFFIX)
    whole = path.read_bytes()
    path.write_bytes(whole[:200] if damage is None else damage)
    assert diskcache.get(name) is None
    assert not path.exists()
    flipped = bytearray(whole)
    flipped[-1] ^= 1
    path.write_bytes(flipped)
    assert diskcache.get(name) is None


def test_off_reads_and_writes_nothing(fresh_cache):
    with config(cache=False):
        diskcache.put(diskcache.key("x"), b"body")
    assert not fresh_cache.exists()
    diskcache.put(diskcache.key("x"), b"body")
    with config(cache=False):
        assert diskcache.get(diskcache.key("x")) is None


def test_an_entry_under_another_name_is_a_miss_and_is_removed(fresh_cache):
    one, other = diskcache.key("x"), diskcache.key("y")
    diskcache.put(one, b"body")
    path = fresh_cache / (one + diskcache.SUFFIX)
    path.rename(fresh_cache / (other + diskcache.SUFFIX))
    assert diskcache.get(other) is None
    assert not [*fresh_cache.glob("*" + diskcache.SUFFIX)]


def test_what_cannot_be_decoded_is_a_miss_and_is_removed(fresh_cache):
    name = diskcache.key("x")
    diskcache.put(name, b"12")
    assert diskcache.load(name, int) == 12
    diskcache.put(name, b"twelve")
    assert diskcache.load(name, int) is None
    assert not [*fresh_cache.glob("*" + diskcache.SUFFIX)]


def test_folder_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with config(cache_dir=str(tmp_path / "file" / "agnesi")):
        diskcache.put(diskcache.key("x"), b"body")
        assert diskcache.get(diskcache.key("x")) is None


def test_oldest_go_first_beyond_the_limit(fresh_cache):
    names = [diskcache.key(str(i)) for i in range(10)]
    now = time.time()
    for age, name in enumerate(reversed(names)):
        diskcache.put(name, bytes(1000))
        os.utime(fresh_cache / (name + diskcache.SUFFIX), (now - age, now - age))
    forgotten = fresh_cache / "left.tmp"
    forgotten.write_bytes(b"x")
    os.utime(forgotten, (1, 1))
    with Folder() as folder:
        diskcache._prune(folder, 8 * 1100)
    assert not forgotten.exists()
    left = [diskcache.get(n) is not None for n in names]
    assert left == [False] * (10 - sum(left)) + [True] * sum(left)
    assert 4 <= sum(left) <= 6


@pytest.fixture
def looks(monkeypatch):
    """How often all files of the folder were looked at."""
    found = []
    prune = diskcache._prune
    monkeypatch.setattr(diskcache, "_prune", lambda *args: found.append(1) or prune(*args))
    return found


def test_the_folder_is_looked_at_when_much_was_written(fresh_cache, monkeypatch, looks):
    """Not at every entry, and always before it is much beyond the limit."""
    monkeypatch.setattr(diskcache, "limit_bytes", 64_000)
    for i in range(100):
        diskcache.put(diskcache.key(str(i)), bytes(100))
    assert 2 <= len(looks) <= 4
    for i in range(200):
        diskcache.put(diskcache.key(f"large {i}"), bytes(900))
        assert sum(f.stat().st_size for f in fresh_cache.iterdir()) <= 66_000
    assert len(looks) <= 25
    assert diskcache.get(diskcache.key("large 199")) is not None


@pytest.mark.parametrize("lost", ["removed", "a link", "a second name", "for others", "a folder"])
def test_a_count_that_cannot_be_trusted_is_made_anew(fresh_cache, tmp_path, looks, lost):
    def put():
        diskcache.put(diskcache.key("x"), bytes(10_000))

    put()
    put()
    assert len(looks) == 1
    count, other = fresh_cache / diskcache._SIZE_FILE, tmp_path / "other"
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
    assert diskcache.get(diskcache.key("x")) == bytes(10_000)
    diskcache.clear()
    assert [p.name for p in fresh_cache.iterdir()] == ([count.name] if lost == "a folder" else [])


def test_a_count_that_was_cut_off_is_right_after_the_next_look(fresh_cache, monkeypatch, looks):
    monkeypatch.setattr(diskcache, "limit_bytes", 64_000)
    for i in range(20):
        diskcache.put(diskcache.key(str(i)), bytes(2_000))
    count = fresh_cache / diskcache._SIZE_FILE
    count.write_bytes(b"")
    for i in range(60):
        diskcache.put(diskcache.key(f"more {i}"), bytes(2_000))
    assert sum(f.stat().st_size for f in fresh_cache.iterdir()) <= 66_000
    count.write_bytes(bytes(1_000))
    del looks[:]
    diskcache.put(diskcache.key("one"), b"")
    diskcache.put(diskcache.key("another"), b"")
    assert len(looks) == 1


def _race(folder, barrier, results):
    config.cache_dir = folder
    diskcache.limit_bytes = 60_000  # others evict what is just read
    barrier.wait()
    wrong = 0
    for turn in range(60):
        name, body = diskcache.key(str(turn % 5)), str(turn % 5).encode() * 20000
        diskcache.put(name, body)
        found = diskcache.get(name)
        wrong += found is not None and found != body
        if turn % 20 == 19:
            diskcache.clear()
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


def test_a_library_function_whose_text_was_cut_is_made_again(tmp_path):
    """Under a checksum that is right: LLVM would refuse the text, in every later call."""
    from agnesi.compiler.library import functions
    from agnesi.runtime import machine

    with config(cache_dir=tmp_path, cache=True):
        name, target = "maximum float32", machine.native()
        text = functions._text("extreme", name, target)
        (entry,) = [p.name.removesuffix(diskcache.SUFFIX) for p in tmp_path.glob("library-*")]
        for size in (0, 10, len(text) // 2, len(text)):
            diskcache.put(entry, text.encode()[:size])
            assert functions._text("extreme", name, target) == text
