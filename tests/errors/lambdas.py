"""Errors of one-line calls: their kind, their text, and that they name the line of the call."""

from typing import Any

import pytest


def check(wrong: Any, kind: Any, text: str) -> None:
    """Let a lambda fail, and compare."""
    with pytest.raises(kind) as caught:
        wrong()
    told, _, place = str(caught.value).partition("\n  at ")
    assert told == text
    assert place == f"{wrong.__code__.co_filename}:{wrong.__code__.co_firstlineno}"
