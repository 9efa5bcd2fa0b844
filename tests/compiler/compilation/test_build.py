"""Which build of the library entries of the cache are for: its contents tell, read once."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agnesi
from agnesi.compiler.compilation import build
from agnesi.core.support.config import config
from agnesi.runtime import disk_cache

PROGRAM = """
import sys, time
import agnesi as ag
from agnesi.compiler.compilation import build
read = build._read
told = []
build._read = lambda *args: told.append(1) or read(*args)
found = float(ag.jit(lambda x: ag.erf(x).sum())(ag.ones(3)))
print(build.build(), len(told), found)
"""


@pytest.fixture
def library(tmp_path):
    """A copy of the library with what Python has compiled of it."""
    return Path(shutil.copytree(Path(agnesi.__file__).parent, tmp_path / "library" / "agnesi"))


@pytest.fixture
def fresh_cache(tmp_path):
    with config(cache_dir=tmp_path / "agnesi"):
        yield tmp_path / "agnesi"


def run(top, cache):
    """The build that a process finds, how often it read the files, and a value."""
    environment = {**os.environ, "PYTHONPATH": str(top.parent), "AGNESI_CACHE_DIR": str(cache)}
    found = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, text=True,
                           capture_output=True)
    assert found.returncode == 0, found.stderr
    name, read, value = found.stdout.split()
    return name, int(read), value


def test_contents_count_and_not_times(library, tmp_path):
    """Another build whose files have equal sizes and times compiles anew."""
    cache = tmp_path / "cache"
    first = run(library, cache)
    path = library / "codegen/llvm/literals.py"
    before = path.stat()
    text = path.read_text()
    path.write_text(text.replace("of LLVM IR", "on LLVM IR", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.read_text() != text and path.stat().st_size == before.st_size
    second = run(library, cache)
    assert first[0] != second[0] and first[2] == second[2]

    def recipes():
        return [p.name.partition("-")[0] for p in cache.iterdir()].count("recipe")

    assert recipes() == 2
    path.write_text(text)
    elsewhere = library.parent.rename(tmp_path / "elsewhere") / "agnesi"
    assert run(elsewhere, cache)[::2] == first[::2] and recipes() == 2


def test_files_are_read_once(fresh_cache, monkeypatch):
    """Later processes ask for their status only; where that does not tell, they read them."""
    reads = []
    read = build._read
    monkeypatch.setattr(build, "_read", lambda *args: reads.append(args) or read(*args))
    monkeypatch.setattr(build, "_MIN_AGE_SECONDS", -1e9)
    found = [build.build.__wrapped__() for _ in range(3)]
    assert len(set(found)) == 1 and len(found[0]) == 64 and len(reads) == 1
    monkeypatch.setattr(build, "_are_distinguishable", lambda files: False)
    assert build.build.__wrapped__() == found[0] and len(reads) == 2


def test_images_of_file_systems_do_not_tell_files_apart(monkeypatch):
    """Their times of change are those of the build: whole seconds."""
    files = build._files(os.path.dirname(agnesi.__file__))
    name, found = files[0]
    whole = os.stat_result(
        (*found,), {"st_ctime_ns": 1_700_000_000 * build._NANOSECONDS_PER_SECOND}
    )
    assert not build._are_distinguishable([*files, (name, whole)])


def test_files_that_were_just_written_are_read_again(fresh_cache, monkeypatch):
    monkeypatch.setattr(build, "_MIN_AGE_SECONDS", 1e9)
    build.build.__wrapped__()
    assert not fresh_cache.exists()


def test_files_exchanged_behind_a_process_that_runs(monkeypatch):
    """It has loaded some of the old ones: nothing that it compiles is kept, or taken from disk."""
    files = build._files(os.path.dirname(agnesi.__file__))
    changed = max(found.st_ctime for _, found in files)
    monkeypatch.setattr(build, "STARTED", changed - 1)
    assert build.build.__wrapped__() == ""
    monkeypatch.setattr(build, "STARTED", time.time())
    assert build.build.__wrapped__() != ""
    calls = iter([files, files[1:]])
    monkeypatch.setattr(build, "_files", lambda top: next(calls))
    monkeypatch.setattr(disk_cache, "load", lambda name, decode: None)
    assert build.build.__wrapped__() == ""


def test_files_that_cannot_be_read(monkeypatch):
    def refused(top):
        raise PermissionError

    monkeypatch.setattr(build, "_files", refused)
    assert build.build.__wrapped__() == ""
