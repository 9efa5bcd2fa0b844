"""Code that no longer serves, for something that it does not look at changed: the first hook of a
tensor whose gradient it computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.hooks import HOOKED
from agnesi.compiler.tracing.sources import Source
from agnesi.runtime.guards import Word


class Retired(Source):
    """A source whose guard always fails."""

    __slots__ = ()

    def now(self) -> Any:
        return None

    def holds(self) -> bool:
        return False

    def change(self) -> str:
        """The reason, for the user."""
        return self.path

    def records(self) -> Iterable[Any]:
        word = np.zeros(1, np.uint64)
        return [Word(word.ctypes.data, 0, 1, keep=word)]


class Retiring:
    """A base of code that depends on sources, which native code watches."""

    sources: Sequence[Source]

    def watch(self) -> bool:
        """Make native guards compare with what the sources hold now."""
        raise NotImplementedError

    def changes(self) -> list[str]:
        """Return what the sources that tracing read hold now, where that is something else."""
        return [p.change() for p in self.sources if not p.holds()]

    def retire(self, why: str) -> None:
        """Serve no call any more."""
        self.sources = [Retired(why, None), *self.sources]
        self.watch()

    def retire_with_hooks(self, tensors: Iterable[Any]) -> None:
        """Retire when one of these, whose gradients are computed, gets its first hook."""
        for x in tensors:
            HOOKED.compile(x, self)
