"""Where nothing can be compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from agnesi.core.support.config import HOOKS


@contextmanager
def interpreted(on: bool = True) -> Iterator[None]:
    """Functions that are made and first called in the block run on the interpreter."""
    if not on:
        yield
        return
    with (mock.patch("agnesi.compiler.compilation.compiled._can_compile", lambda: False),
          mock.patch.object(HOOKS, "run", lambda *args: None)):  # eager operations, too
        yield
