"""Where the cache on disk is: paths as users write them, and systems that lack what these need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agnesi.core.support import settings
from agnesi.core.support.config import config
from agnesi.runtime import cache_folder, disk_cache

PROGRAM = """
import os
from agnesi.runtime import disk_cache
os.chdir("elsewhere/gone")
os.rmdir(os.getcwd())
disk_cache.put(disk_cache.key("x"), b"body")
assert disk_cache.get(disk_cache.key("x")) == b"body"
print(disk_cache.report().splitlines()[0])
"""


def test_a_relative_folder_stays_where_it_was(tmp_path):
    """Wherever the process goes, and if what it is in is removed."""
    (tmp_path / "elsewhere" / "gone").mkdir(parents=True)
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": path, "AGNESI_CACHE_DIR": "here/kept"})
    assert found.stdout == f"folder: {tmp_path}/here/kept\n"
    assert {p.name for p in tmp_path.iterdir()} == {"here", "elsewhere"}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="caches lie elsewhere")
def test_the_platforms_place(tmp_path, monkeypatch):
    home, caches = tmp_path / "home", tmp_path / "caches"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with config(cache_dir=""):
        assert cache_folder.path() == f"{home}/.cache/agnesi"
        disk_cache.put(disk_cache.key("x"), b"body")
        assert (home / ".cache").stat().st_mode & 0o777 == 0o700
        monkeypatch.setenv("XDG_CACHE_HOME", "not/full")
        assert cache_folder.path() == f"{home}/.cache/agnesi"
        monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
        assert cache_folder.path() == f"{caches}/agnesi"
    with config(cache_dir="~/kept"):
        assert cache_folder.path() == f"{home}/kept"


def test_without_a_home_folder_there_is_no_cache(tmp_path, monkeypatch):
    """As for a user without a row in the system's table, where HOME is not set."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    for folder in ("", "~/kept"):
        with config(cache_dir=folder):
            disk_cache.put(disk_cache.key("x"), b"body")
            assert disk_cache.get(disk_cache.key("x")) is None
            assert disk_cache.clear() == 0
            assert "AGNESI_CACHE_DIR" in disk_cache.report()
    assert [*tmp_path.iterdir()] == []


def test_a_working_folder_that_is_gone(tmp_path, monkeypatch):
    def gone():
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", gone)
    with config(cache_dir="kept"):
        disk_cache.put(disk_cache.key("x"), b"body")
        assert disk_cache.get(disk_cache.key("x")) is None
        assert "there is no folder kept" in disk_cache.report()
    with config(cache_dir=tmp_path):
        assert cache_folder.path() == str(tmp_path)


@pytest.mark.parametrize("wrong", ["a\0b", "\ud800", 3, None, b"a\0b"])
def test_what_is_no_path_is_refused_when_it_is_set(wrong):
    before = config.cache_dir
    with pytest.raises(ValueError, match="must be the path of a folder"):
        config.cache_dir = wrong
    with pytest.raises(ValueError, match="must be the path of a folder"):
        config(cache_dir=wrong)
    assert config.cache_dir == before


def test_paths_of_all_kinds_are_taken(tmp_path):
    for path in (tmp_path, str(tmp_path), os.fsencode(tmp_path), f"{tmp_path}/x/..//",
                 os.fsdecode(b"/\xff\xfe")):
        with config(cache_dir=path):
            assert os.path.isabs(config.cache_dir)
    with config(cache_dir=Path("x")):
        assert config.cache_dir == os.path.join(os.getcwd(), "x")
    assert settings.checked("cache_dir", "") == ""
    with config(cache_dir=os.path.join(tmp_path, "x" * 300)):
        disk_cache.put(disk_cache.key("x"), b"body")
        assert disk_cache.get(disk_cache.key("x")) is None
