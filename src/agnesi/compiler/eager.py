"""Compiled code for single operations on values at hand, lent to the operations that gain by it."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.compiler import sorting
from agnesi.core.config import LENT, config
from agnesi.core.dispatch import apply
from agnesi.core.foreign import BEGINNERS, RESOLVERS
from agnesi.core.op import Op
from agnesi.core.tensor import wrap

#: Multiply-adds that NumPy does in about the time that compiling takes, and in that of a call.
_WORTH, _CALL = 300_000_000, 100_000
_MOST = 512

_spent: dict[Any, int] = {}


def run(op: Op, arrays: Sequence[np.ndarray], work: int) -> np.ndarray | None:
    """The operation's result from compiled code, once it has been wanted often enough for that.

    ``work`` says what one call costs NumPy, in multiply-adds.
    """
    if not config.compile or any(a.dtype.char not in "fdI" for a in arrays[:1]):
        return None
    key = op, tuple([(a.shape, a.dtype.char) for a in arrays])
    spent = _spent.get(key, 0)
    if spent < _WORTH:
        if len(_spent) > 16 * _MOST:
            _spent.clear()
        _spent[key] = spent + work + _CALL
        if spent + work < _WORTH:
            return None
    return _made(*key)(*arrays) if compiles() else None


@functools.cache
def compiles() -> bool:
    """Whether there is a compiler."""
    return importlib.util.find_spec("llvmlite") is not None


def native(op: Op, arrays: Sequence[np.ndarray]) -> Callable[..., np.ndarray]:
    """Compiled code of an operation for arrays like these."""
    return _made(op, tuple([(a.shape, a.dtype.char) for a in arrays]))


@functools.lru_cache(_MOST)
def _made(op: Op, types: Any) -> Callable[..., np.ndarray]:
    from agnesi.compiler.jit import jit

    function = jit(lambda *xs: apply(op, *xs))

    def call(*arrays: np.ndarray) -> np.ndarray:
        result: np.ndarray = function(*map(wrap, arrays)).data
        return result

    return call


def _memory() -> int:
    from agnesi.runtime import machine

    return machine.memory()


def _generated(name: str) -> int | None:
    if not compiles():
        return None
    from agnesi.compiler.generated import address

    return address(name)


def _begun(name: str) -> bool:
    if not compiles():
        return False
    from agnesi.compiler.generated import begin

    return begin(name)


def _lend_library() -> None:
    """Let compiled programs find our functions, whose files are read when they are wanted."""
    def address(library: str, name: str) -> int:
        from agnesi.compiler.library import address

        return address(library, name)

    def begin(library: str, name: str) -> bool:
        from agnesi.compiler.library import begin

        return begin(library, name)

    for library in ("sort", "first", "extreme", "running", "take", "add at", "blocks"):
        RESOLVERS[library] = functools.partial(address, library)
        BEGINNERS[library] = functools.partial(begin, library)


def lend() -> None:
    """Let operations use what stands above them."""
    LENT.run, LENT.native, LENT.compiles, LENT.memory = run, native, compiles, _memory
    LENT.sort = sorting.sort
    _lend_library()
    RESOLVERS["generated"], BEGINNERS["generated"] = _generated, _begun
