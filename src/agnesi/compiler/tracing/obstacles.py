"""Why a function cannot be traced, and has to run eagerly."""

from __future__ import annotations

from agnesi.core.support.errors import TraceError, at, typed
from agnesi.core.tensor import Tensor


class OnlyEagerError(BaseException):
    """The function does what no trace can repeat, nor undo: it has to run eagerly.

    ``instead`` is what to write.
    """

    def __init__(self, why: str, instead: str = "Give what it takes as an argument") -> None:
        super().__init__(why)
        self.instead = instead


class OnceEagerError(BaseException):
    """This call has to run eagerly, for it fills what later calls find: a trace of those fits."""


def missing_key(error: BaseException) -> TraceError | None:
    """The error where a dict was asked for a tensor, which is a key by its identity alone."""
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    step = error.__traceback__
    if step is None or not isinstance(key, Tensor) or key.array is not None:
        return None
    while step.tb_next is not None:
        step = step.tb_next
    return TraceError(at(f"a dict has no key {typed(key)}: tensors are keys by identity, not by "
                         "value; write d[x.item()], or take ag.tensor(values)[x]",
                         (step.tb_frame.f_code, step.tb_lasti, "")))
