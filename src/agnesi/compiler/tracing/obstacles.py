"""Why a function cannot be traced, and has to run eagerly."""

from __future__ import annotations


class OnlyEagerError(BaseException):
    """The function does what no trace can repeat, nor undo: it has to run eagerly.

    ``instead`` is what to write.
    """

    def __init__(self, why: str, instead: str = "Give what it takes as an argument") -> None:
        super().__init__(why)
        self.instead = instead


class OnceEagerError(BaseException):
    """This call has to run eagerly, for it fills what later calls find: a trace of those fits."""
