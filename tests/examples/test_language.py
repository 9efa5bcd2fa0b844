"""The recurrent network learns something of the manual's language, and writes."""

import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = str(Path(__file__).parents[2] / "examples")


@pytest.fixture
def language(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import language

    return language


def test_pieces_are_streams_of_the_text(language):
    numbers = np.arange(language.BATCH * language.LENGTH * 2 + 40)
    first, second = language.pieces(numbers)
    assert first[0].shape == (language.LENGTH, language.BATCH)
    np.testing.assert_array_equal(first[1], first[0] + 1)
    np.testing.assert_array_equal(second[0][0], first[0][-1] + 1)


def test_it_learns_and_writes(language, capsys, monkeypatch):
    monkeypatch.setattr(language, "WIDTH", 64)
    doubt = language.main(1, 40_000)
    out = capsys.readouterr().out
    assert doubt < 40  # of about 90 characters
    assert "characters/s" in out and "\n\nThe " in out
    assert len(out.partition("\n\nThe ")[2]) >= 400


@pytest.mark.parametrize("count", [0, 1, 59, 61, 1000])
def test_without_a_bar_there_is_a_line_of_dots(count, language, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(language.progress(range(count), "epoch 1")) == list(range(count))
    line = capsys.readouterr().err
    assert line.startswith("epoch 1") and len(line) < 80
    assert line.count(".") == count if count < 60 else line.count(".") > 30
