"""Files that are written take the place of files alone."""

import os

import pytest

import agnesi as ag


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
