"""The page of PyTorch's names is that of the PyTorch which is installed."""

from __future__ import annotations

from benchmarks import layer_names as names


def test_the_page_is_the_one_that_would_be_written() -> None:
    assert names.DOCUMENT.read_text(encoding="utf-8") == names.text(names.rows())
