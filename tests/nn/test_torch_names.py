"""The page of PyTorch's names tells the truth about agnesi."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "torch-names.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w.]+)` \| (?:`([\w.]+)`)? \| (.*) \|$", PAGE, re.MULTILINE)


def test_names_are_here_or_left_out_for_a_reason() -> None:
    assert len(ROWS) > 350
    for theirs, ours, reason in ROWS:
        place, _, name = theirs.rpartition(".")
        module = import_module(f"agnesi.{place}")
        if ours:
            assert ours == theirs and name in dir(module) and callable(getattr(module, name))
        else:
            assert reason and name not in dir(module)
            with pytest.raises(AttributeError):
                getattr(module, name)


def test_the_share_is_what_the_rows_say() -> None:
    there = sum(bool(ours) for _, ours, _ in ROWS)
    assert f"| all | {there} | {len(ROWS)} | {there / len(ROWS):.1%} |" in PAGE
    assert there / len(ROWS) >= 0.97
