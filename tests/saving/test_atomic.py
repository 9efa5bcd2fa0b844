"""Files that are written take the place of files alone."""

import errno
import os

import numpy as np
import pytest

import agnesi as ag
from agnesi import training
from agnesi.compat import torch7
from agnesi.compat.chainer import links, serializers

#: By each format: write, read.
WRITERS = {
    "tensors": (lambda path, n: ag.save({"w": ag.ones(n, n)}, path), ag.load),
    "checkpoint": (lambda path, n: ag.saving.save_checkpoint(path, net=ag.nn.Linear(n, n)),
                   ag.saving.load_checkpoint),
    "torch7": (lambda path, n: torch7.save(path, torch7.ones(n, n)), torch7.load),
    "chainer": (lambda path, n: serializers.save_npz(path, links.Linear(n, n)),
                lambda path: np.load(path)["W"]),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_neither_a_pipe_nor_a_link_is_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a device or a pipe"):
        ag.save({"w": ag.ones(2)}, tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "kept")
    for value in (1.0, 2.0):
        ag.save({"w": ag.full((2,), value)}, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert ag.load(tmp_path / "folder" / "kept")["w"].tolist() == [2, 2]


@pytest.mark.parametrize("form", WRITERS)
def test_a_full_disk_leaves_the_old_file(tmp_path, form):
    """It takes a part of the last write, and says so only by how much."""
    resource = pytest.importorskip("resource")
    write, read = WRITERS[form]
    path = str(tmp_path / "kept")
    write(path, 4)
    before = (tmp_path / "kept").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match="kept' cannot be written, and stays as it was") as found:
            write(path, 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert found.value.errno == errno.EFBIG and __file__ in str(found.value)
    assert os.listdir(tmp_path) == ["kept"] and (tmp_path / "kept").read_bytes() == before
    read(path)


def test_an_interrupt_while_a_file_is_read_stays_one(tmp_path, monkeypatch):
    def interrupted(source, place, data):
        raise KeyboardInterrupt

    ag.save({"w": ag.ones(1000)}, tmp_path / "a")
    monkeypatch.setattr("agnesi.saving.pieces.Source._fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ag.load(tmp_path / "a")


def test_a_log_has_whole_lines(tmp_path):
    """The half of one stays a line of its own; a disk that is full takes nothing of the next."""
    resource = pytest.importorskip("resource")
    log = training.JSONLogger(tmp_path / "log.jsonl")
    log.on_epoch_end(None, {"epoch": 1})
    with open(log.path, "a") as file:
        file.write('{"epo')
    log.on_epoch_end(None, {"epoch": 2})
    before = log.path.read_text()
    assert before.splitlines() == ['{"epoch": 1}', '{"epo', '{"epoch": 2}']
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9, limits[1]))
    try:
        with pytest.raises(OSError, match=r"no line can be added to .*log.jsonl'"):
            log.on_epoch_end(None, {"epoch": 3})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert log.path.read_text() == before
