"""Files and folders that somebody else may have written are not read, and the report tells why."""

import errno
import os
import random
import resource
import subprocess
import sys
import threading
from collections import Counter

import pytest

from agnesi.core.support import undo
from agnesi.core.support.config import config
from agnesi.core.support.record import replace
from agnesi.runtime import cache_folder, disk_cache, machine

NAME = disk_cache.key("program", "x")
FILE = NAME + disk_cache.SUFFIX
WHOLE = disk_cache._head(NAME, b"body") + b"body"

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no such users")


def entry(path, data=WHOLE):
    path.write_bytes(data)
    path.chmod(0o600)


def link(path):
    entry(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def second_name(path):
    entry(path)
    os.link(path, path.with_suffix(".second"))


def holes(path):
    entry(path)
    os.truncate(path, 1 << 40)


def open_to(mode):
    def made(path):
        entry(path)
        path.chmod(mode)

    return made


KINDS = {
    "a pipe": (os.mkfifo, "no regular file"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "no regular file"),
    "a link": (link, "no regular file"),
    "a folder": (os.mkdir, "no regular file"),
    "a terabyte of holes": (holes, "larger than 128 MB"),
    "another name": (second_name, "a hard link"),
    "open to all": (open_to(0o666), "others may write it (mode 666)"),
    "open to its group": (open_to(0o620), "others may write it (mode 620)"),
    "for nobody": (open_to(0o000), None),
    "damaged": (lambda path: entry(path, WHOLE[:-1]), "damaged"),
}


@posix
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_not_to_be_read(fresh_cache, kind):
    """None of them hangs, fills memory or is read; what can be replaced is."""
    make, why = KINDS[kind]
    fresh_cache.mkdir(mode=0o700)
    make(fresh_cache / FILE)
    if why is not None:
        told = disk_cache.report()
        assert f"  {FILE}: " in told and why in told.splitlines()[-1]
        assert disk_cache.get(NAME) is None
    disk_cache.put(NAME, b"again")
    assert disk_cache.get(NAME) == (None if kind == "a folder" else b"again")
    if kind != "a folder":
        assert (fresh_cache / FILE).stat().st_mode & 0o777 == 0o600
        assert "not read" not in disk_cache.report()
    disk_cache.clear()


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_the_umask_does_not_matter(fresh_cache, umask):
    before = os.umask(umask)
    try:
        disk_cache.put(NAME, b"body")
    finally:
        os.umask(before)
    assert fresh_cache.stat().st_mode & 0o777 == 0o700
    assert (fresh_cache / FILE).stat().st_mode & 0o777 == 0o600
    assert disk_cache.get(NAME) == b"body"


@posix
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_folders_that_others_may_write_are_not_used(fresh_cache, mode):
    disk_cache.put(NAME, b"body")
    fresh_cache.chmod(mode)
    assert disk_cache.get(NAME) is None
    disk_cache.put(NAME, b"other")
    assert f"others may write it (mode {mode:o})" in disk_cache.report()
    fresh_cache.chmod(0o755)
    assert disk_cache.get(NAME) == b"body"


@posix
def test_a_folder_that_is_a_link_is_not_used(fresh_cache):
    disk_cache.put(NAME, b"body")
    path = fresh_cache.parent / "link"
    path.symlink_to(fresh_cache)
    with config(cache_dir=path):
        assert disk_cache.get(NAME) is None
        assert "is a symbolic link" in disk_cache.report()


@posix
def test_a_folder_that_is_exchanged_while_it_is_read(fresh_cache, monkeypatch):
    """What is behind the opened folder counts, not what its name leads to meanwhile."""
    disk_cache.put(NAME, b"body")
    check = cache_folder.objection

    def exchange(found):
        why = check(found)
        moved = fresh_cache.with_name("moved")
        if not moved.exists():
            fresh_cache.rename(moved)
            fresh_cache.mkdir()
            entry(fresh_cache / FILE, disk_cache._head(NAME, b"planted") + b"planted")
        return why

    monkeypatch.setattr(cache_folder, "objection", exchange)
    assert disk_cache.get(NAME) == b"body"


@posix
def test_access_lists_count_as_the_group(fresh_cache):
    disk_cache.put(NAME, b"body")
    acl = bytes.fromhex(  # version 2; owner rw, user 54321 rw, group none, mask rw, others none
        "02000000 0100 0600 ffffffff 0200 0600 31d40000 0400 0000 ffffffff"
        "1000 0600 ffffffff 2000 0000 ffffffff")
    try:
        os.setxattr(fresh_cache / FILE, "system.posix_acl_access", acl)
    except (OSError, AttributeError):
        pytest.skip("this file system has no access lists")
    assert disk_cache.get(NAME) is None
    assert "others may write it" in disk_cache.report()
    disk_cache.put(NAME, b"body")
    assert disk_cache.get(NAME) == b"body"


@posix
@pytest.mark.parametrize("ids", [(0, 1, 1), (1, 1, 0), (1, 0, 1)])
def test_privileged_processes_have_no_cache(fresh_cache, monkeypatch, ids):
    disk_cache.put(NAME, b"body")
    if not hasattr(os, "getresuid"):
        pytest.skip("this system does not tell saved ids")
    for name in ("getresuid", "getresgid"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, lambda: ids)
            assert disk_cache.get(NAME) is None
            assert "more rights than its user" in disk_cache.report()
    monkeypatch.setattr(cache_folder, "_started_privileged", lambda: True)
    assert disk_cache.get(NAME) is None


class Failing:
    """The system's functions, some of which fail at random."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.failed = Counter()

    def __getattr__(self, name):
        found = getattr(os, name)
        if name not in CALLS:
            return found

        def call(*args, **keywords):
            if self.chance.random() < 0.2:
                number = self.chance.choice(ERRORS)
                self.failed[name] += 1
                raise OSError(number, os.strerror(number))
            return found(*args, **keywords)

        return call


CALLS = ("open", "fstat", "stat", "mkdir", "read", "write", "replace", "unlink", "utime", "scandir",
         "fchmod")
ERRORS = (errno.EROFS, errno.ENOSPC, errno.EIO, errno.EACCES, errno.EMFILE, errno.ESTALE,
          errno.EDQUOT, errno.ENOENT, errno.ENOMEM)


def test_a_disk_that_fails(fresh_cache, monkeypatch):
    """Whatever call fails with whatever error: an entry is there as it was written, or absent."""
    failed = Counter()
    for seed in range(60):
        system = Failing(seed)
        monkeypatch.setattr(cache_folder, "os", system)
        monkeypatch.setattr(undo, "os", system)
        for number in range(5):
            name = disk_cache.key("fault", str(number))
            disk_cache.put(name, name.encode())
            assert disk_cache.get(name) in (None, name.encode())
        disk_cache.report()
        disk_cache.clear()
        failed += system.failed
    assert {*failed} == {*CALLS} - {"utime"}
    assert len(os.listdir("/proc/self/fd")) < 200


def test_a_read_only_folder(fresh_cache, monkeypatch):
    """Entries are read where none can be written, nor be marked as used."""
    disk_cache.put(NAME, b"body")
    os.utime(fresh_cache / FILE, (1, 1))

    def refused(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for call in ("replace", "unlink", "utime", "mkdir"):
        monkeypatch.setattr(os, call, refused)
    assert disk_cache.get(NAME) == b"body"
    disk_cache.put(NAME, b"other")
    assert disk_cache.get(NAME) == b"body"


def test_processors_of_other_types_share_no_entries():
    at = machine.native()
    names = set()
    for target in (at, replace(at, features=at.features + ",+other"), replace(at, cpu="other")):
        names |= {machine._key(kind, "text", 1, target) for kind in ("program", "unit")}
    assert len(names) == 6


@posix
def test_a_full_disk_leaves_nothing_behind(fresh_cache):
    disk_cache.put(NAME, b"body")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        disk_cache.put(NAME, bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {path.name for path in fresh_cache.iterdir()} == {FILE, disk_cache._SIZE_FILE}
    assert disk_cache.get(NAME) == b"body"


def test_entries_that_are_too_large_are_not_kept(fresh_cache, monkeypatch):
    monkeypatch.setattr(disk_cache, "MAX_ENTRY", 1000)
    disk_cache.put(NAME, bytes(1000))
    assert not fresh_cache.exists()


def test_an_interrupted_write_leaves_nothing_behind(fresh_cache, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    disk_cache.put(NAME, b"body")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            disk_cache.put(NAME, b"other")
    assert {path.name for path in fresh_cache.iterdir()} == {FILE, disk_cache._SIZE_FILE}


@posix
def test_without_descriptors_left_all_is_absent(fresh_cache):
    """As in a process that has as many files open as it may."""
    disk_cache.put(NAME, b"body")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    for left in (0, 1):
        taken = [os.open(os.devnull, os.O_RDONLY)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 1 + left, before[1]))
        try:
            assert disk_cache.get(NAME) is None
            disk_cache.put(NAME, b"other")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            os.close(taken[0])
    assert disk_cache.get(NAME) == b"body"


def test_a_wrong_clock(fresh_cache):
    """Entries of the future are as old as those just used, and files left there go, too."""
    disk_cache.put(NAME, b"body")
    ahead = fresh_cache.stat().st_mtime + 10 * 365 * disk_cache._DAY_SECONDS
    os.utime(fresh_cache / FILE, (ahead, ahead))
    left = fresh_cache / "left.tmp"
    left.touch()
    os.utime(left, (ahead, ahead))
    assert disk_cache.get(NAME) == b"body"
    assert (fresh_cache / FILE).stat().st_mtime < ahead - disk_cache._DAY_SECONDS
    with cache_folder.Folder() as folder:
        disk_cache._prune(folder, 1 << 30)
    assert not left.exists()


def test_a_folder_that_is_renamed_and_removed_while_in_use(fresh_cache):
    """Threads read and write; each finds the entry, or none."""
    wrong = []
    stop = threading.Event()

    def use():
        while not stop.is_set():
            disk_cache.put(NAME, b"body")
            found = disk_cache.get(NAME)
            if found not in (None, b"body"):
                wrong.append(found)

    def run():
        with config(cache_dir=fresh_cache):
            try:
                use()
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(30):
        moved = fresh_cache.with_name(f"moved{i}")
        try:
            fresh_cache.rename(moved)
            (moved / FILE).unlink(missing_ok=True)
        except OSError:
            continue
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_report_tells_what_is_there(fresh_cache):
    assert disk_cache.report() == f"folder: {fresh_cache}, which is not there yet"
    disk_cache.put(NAME, bytes(2_000_000))
    disk_cache.put(disk_cache.key("recipe", "y"), bytes(300_000))
    entry(fresh_cache / ("0" * 64 + disk_cache.SUFFIX), b"agnesi-cache-1\n" + bytes(99_985))
    assert disk_cache.report().splitlines() == [
        f"folder: {fresh_cache}", "entries: 3, 2.4 MB, limit 536.9 MB",
        "  of other versions: 1, 0.1 MB", "  program: 1, 2.0 MB", "  recipe: 1, 0.3 MB"]
    for i in range(disk_cache._MAX_REPORTED_FILES + 1):
        entry(fresh_cache / f"program-{i}{disk_cache.SUFFIX}")
    told = disk_cache.report().splitlines()
    assert (
        f"not read, and replaced by the next that is made: {disk_cache._MAX_REPORTED_FILES + 1}"
        in told
    )
    assert told[-1] == "  ..." and len(told) == 5 + 1 + disk_cache._MAX_REPORTED_FILES + 1


def test_the_shell_shows_and_clears(fresh_cache):
    def told(what):
        command = [sys.executable, "-m", "agnesi", "cache", what]
        environment = {**os.environ, "AGNESI_CACHE_DIR": str(fresh_cache),
                       "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        return subprocess.run(command, env=environment, capture_output=True, text=True,
                              check=True).stdout.strip()

    disk_cache.put(NAME, b"body")
    assert told("show") == disk_cache.report()
    assert told("clear") == "1 entries removed"
