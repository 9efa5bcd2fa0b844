"""Files that are saved while the disk is full or the process is told to end, and caches that
several versions of the library share.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import agnesi
from agnesi import saving
from agnesi.core.support.config import config
from agnesi.runtime import disk_cache
from tests.hostile.attempt import LOADED, PATIENCE, Forked, Trial
from tests.hostile.work import check

#: Elements of a large checkpoint's array, bytes of a small disk.
SIZE, DISK = 200_000, 1 << 20


# -- checkpoints --------------------------------------------------------------------------------
def save(path: Path, number: int, size: int = SIZE) -> None:
    """A checkpoint that says itself what it must be."""
    saving.save_checkpoint(path, values=np.full(size, float(number)), number=number)


def number_of(path: Path) -> int:
    """The number of a checkpoint, all of whose values are that."""
    found = saving.load_checkpoint(path)
    assert (np.asarray(found["values"]) == found["number"]).all(), "the checkpoint is mixed"
    return int(found["number"])


def save_on(path: Path, politely: bool) -> int:
    """Save again and again until told to end, where a handler may raise; the last that is done.

    What the handler raises in the callback of a weak reference is lost: it leaves a note, too.
    """
    done, told = 0, []

    def leave(*_: Any) -> None:
        told.append(True)
        raise SystemExit

    signal.signal(signal.SIGTERM, leave if politely else signal.SIG_DFL)
    with contextlib.suppress(SystemExit):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        while not told:
            save(path, done + 1)
            done += 1
    return done


def ends(attempts: int, folder: Path) -> Trial:
    """Every other process ends at once, the others by an exception, which leaves nothing behind."""
    chance = random.Random(0)
    failures, notes = [], {"checkpoints written": 0, "unfinished files": 0}
    folder.mkdir()
    for i in range(attempts):
        path, politely = folder / f"{i}.safetensors", bool(i % 2)
        save(path, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until the handler is there
        writer = Forked(lambda path=path, politely=politely: save_on(path, politely))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        time.sleep(chance.uniform(0.01, 0.2))
        os.kill(writer.number, signal.SIGTERM)
        done, failure = writer.end()
        try:
            number = number_of(path)
            left = [p.name for p in folder.glob(".*")]
            if politely and (failure or left or not done <= number <= done + 1):
                failures.append(f"attempt {i}: {failure} {left}, {number} after {done}")
            save(path, number + 1)  # which removes what another left
            assert number_of(path) == number + 1 and not [*folder.glob(".*")]
        except Exception as error:
            failures.append(f"attempt {i}: {error}")
            continue
        notes["checkpoints written"] += number
        notes["unfinished files"] += len(left)
        path.unlink()
    return Trial("SIGTERM while checkpoints are saved", attempts, failures, notes)


# -- disks --------------------------------------------------------------------------------------
@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A file system of one megabyte; False where this process may mount none."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "tmpfs", str(folder)]
    made = bool(shutil.which("mount")) and subprocess.run(
        mount, capture_output=True, check=False).returncode == 0
    try:
        yield made
    finally:
        if made:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def on_full_disk(folder: Path, free: int, size: int, seed: int, mounted: bool) -> dict[str, int]:
    """Save a checkpoint and compile where there is so much room; what could be written."""
    if mounted:
        room = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        (folder / "filler").write_bytes(bytes(max(0, room - free)))
    else:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (free, free))
    told = {"checkpoints written": 1, "checkpoints refused": 0}
    before = number_of(folder / "last")
    try:
        save(folder / "last", before + 1, size)
    except OSError as error:
        assert error.errno in (errno.ENOSPC, errno.EFBIG), error
        assert "last' cannot be written" in str(error) and __file__ in str(error), error
        told = {"checkpoints written": 0, "checkpoints refused": 1}
    assert number_of(folder / "last") == before + told["checkpoints written"]
    with config(cache_dir=folder / "agnesi"):
        check(seed)
        check(seed)
        assert "not read" not in disk_cache.report()
    (folder / "filler").unlink(missing_ok=True)
    left = [p.name for p in folder.rglob("*") if p.suffix in (".tmp", ".partial")]
    assert not left, left
    return told


def disks(attempts: int, folder: Path) -> Trial:
    """Room is left for some of what is written."""
    chance = random.Random(0)
    failures, notes = [], {"checkpoints written": 0, "checkpoints refused": 0}
    with small_disk(folder) as mounted:
        for i in range(attempts):
            if i % 10 == 0:
                shutil.rmtree(folder / "agnesi", ignore_errors=True)
                save(folder / "last", i, 1000)
            free, size = int(2 ** chance.uniform(8, 18)), int(2 ** chance.uniform(4, 15))
            told, failure = Forked(lambda f=free, s=size, i=i: on_full_disk(
                folder, f, s, i, mounted)).end()
            (folder / "filler").unlink(missing_ok=True)
            if failure:
                failures.append(f"attempt {i}, {free} bytes free: {failure}")
            for what, count in (told or {}).items():
                notes[what] += count
    kind = "a full file system" if mounted else "files that may not grow"
    return Trial(f"checkpoints and entries on {kind}", attempts, failures, notes)


# -- versions -----------------------------------------------------------------------------------
#: Changes by which a version's compiled code, and its cache's format, are other ones: file, what
#: stands there, what stands there then.
VERSIONS: tuple[tuple[str, str, str], ...] = (
    ("core/__init__.py", '"""The', '"""The'),
    ("codegen/arithmetic/scalars.py", '"add": _contracted("fadd")', '"add": _contracted("fsub")'),
    ("runtime/disk_cache.py", 'b"2\\n"', 'b"3\\n"'),
)
PROGRAM = """
import agnesi as ag
x, y = ag.tensor([5.0, 7.0]), ag.tensor([2.0, 3.0])
print(ag.jit(lambda x, y: (x + y) * {scale})(x, y).tolist())
"""


def versions(attempts: int, folder: Path) -> Trial:
    """Two at a time compile the same function on one cache; each has its own values."""
    failures, tops = [], []
    for number, (file, old, new) in enumerate(VERSIONS):
        top = folder.with_suffix(f".{number}")
        copy = Path(shutil.copytree(Path(agnesi.__file__).parent, top / "agnesi",
                                    ignore=shutil.ignore_patterns("__pycache__")))
        text = (copy / file).read_text()
        assert text.count(old) == 1 or old == new, f"{file} has changed: {old}"
        (copy / file).write_text(text.replace(old, new))
        tops.append(top)
    chance = random.Random(0)
    for i in range(0, attempts, 2):
        scale = float(2 + i // 8)  # each function is met by all versions, in any order
        running = []
        for number in chance.sample(range(len(tops)), 2):
            environment = {**os.environ, "PYTHONPATH": str(tops[number]),
                           "AGNESI_CACHE_DIR": str(folder)}
            running.append((number, subprocess.Popen(
                [sys.executable, "-c", PROGRAM.format(scale=scale)], env=environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder.parent)))
        for number, process in running:
            told, error = process.communicate(timeout=LOADED * PATIENCE)
            wanted = [3 * scale, 4 * scale] if number == 1 else [7 * scale, 10 * scale]
            if told.strip() != str(wanted):
                failures.append(f"attempt {i}, version {number}: {told} {error[-500:]}")
    with config(cache_dir=folder):
        report = disk_cache.report()
    failures += [line for line in report.splitlines() if "not read" in line]
    entries = len([*folder.glob("*" + disk_cache.SUFFIX)])
    return Trial("versions on one cache", attempts, failures, {"entries": entries})
