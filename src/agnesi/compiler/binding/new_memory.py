"""``x.data = y`` in a trace: the tensor gets other memory, and views keep the old one.

Compiled code writes into the memory that a tensor has, so that it gets a copy of its own before a
call (``NewMemory``); in the trace, views of the old value have a base of their own from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.recording import detach
from agnesi.core.dispatch import current, touch
from agnesi.core.ir.node import Node
from agnesi.core.op import typed
from agnesi.core.storage.views import root, share, views_of
from agnesi.core.support.config import MODE
from agnesi.core.support.errors import TraceError, at
from agnesi.core.support.tracing import current_trace, outermost
from agnesi.core.tensor import Tensor, symbol


class Renewed:
    """Tensors that a traced function gave other memory (``x.data = y``).

    :ivar tensors: By id, each tensor that existed before the trace, a stand-in for its former
        memory, and the node of its value when the trace began.
    """

    def __init__(self) -> None:
        self.tensors: dict[int, tuple[Tensor, Tensor, Node]] = {}

    def add(self, x: Tensor, old: Tensor, first: Node) -> None:
        """Note a tensor, and what stands for the memory that it had."""
        self.tensors.setdefault(id(x), (x, old, first))

    def restore(self) -> None:
        """Restore the version counters that the tensors had before the trace."""
        for x, old, _ in self.tensors.values():
            if x.array is not None:
                x._version = old._version


def shares_memory(x: Tensor, y: Tensor) -> bool:
    """Return whether two tensors of a trace share memory.

    Ends the trace where that depends on data.
    """
    if x.array is not None and y.array is not None:
        return bool(np.may_share_memory(x.array, y.array))
    base = root(x)
    if root(y) is not base:
        return False
    if x.shape != base.shape and x.size != base.size:
        _refuse(f"x.data = y of {typed(x)}, where both are views of a tensor")
    return True


def renew(x: Tensor) -> None:
    """Give a tensor of a trace memory of its own; existing views keep the old memory."""
    outer = outermost()
    node, view = current(x), x._view
    views = [t for t in views_of(x)
             if t.array is None and t._view is not None and t._view.base is x]
    if x.array is not None and view is not None:
        _refuse(f"x.data = y of {typed(x)}, a view")
    if current_trace() is not outer and views:
        _refuse("x.data = y in the body of a loop or branch, where x.data before is used, too")
    old = symbol(node)
    old._version = x._version
    if view is not None:
        share(old, view.op, view.base, view.operands)
    for t in views:
        t._view.base = old
    own = view is None and hasattr(outer, "renewed") and (
        x.array is not None or any(x is a for a in outer.arguments.values()))
    if own:
        first = outer.leaves[id(x)][1] if x.array is not None else outer.first(x)
        outer.renewed.add(x, old, first)
    x._version = x._view = None


class NewMemory:
    """The memory that each call of the compiled code allocates for tensors whose ``data`` was
    assigned.

    :ivar written: Final contents of the former memory, where the function writes to that, too.
    """

    def __init__(self, trace: Any, symbols: Sequence[Any]) -> None:
        known = trace.renewed.tensors
        for x, _ in trace.leaves.values():
            if x._view is not None and id(root(x)) in known:
                trace.refuse(f"it uses {typed(x)}, a view of what x.data was before x.data = y")
        #: Live tensors, and the indices of arguments.
        self._tensors = [
            next((i for i, s in enumerate(symbols) if s is x), x) for x, *_ in known.values()]
        written = [(i, detach(old)) for i, (_, old, first) in enumerate(known.values())
                   if current(old) is not first]
        self._which = [i for i, _ in written]
        self.written = [y for _, y in written]
        #: Arrays that were made here, with their references while no other code has one.
        self._own: dict[int, tuple[np.ndarray, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._tensors)

    def prepare(self, leaves: Sequence[Any]) -> list[np.ndarray | None]:
        """Allocate new memory for the tensors of a call; return the former memory where something
        else refers to it, else None.
        """
        return [self._parted(leaves[x] if isinstance(x, int) else x) for x in self._tensors]

    def _parted(self, x: Any) -> np.ndarray | None:
        if not isinstance(x, Tensor) or x.array is None:
            return None
        array, count = self._own.get(id(x), (None, 0))
        if array is x.array and sys.getrefcount(array) <= count:
            return None
        before = x.array
        part(x, before)
        return before

    def finish(self, before: Sequence[np.ndarray | None], found: Any) -> None:
        """Write the final contents to the former memory; they are the last results of the call."""
        values = found[-len(self._which):] if self._which else ()
        for i, value in zip(self._which, values, strict=True):
            if (memory := before[i]) is not None:
                np.copyto(memory, value.array)
        for x in self._tensors:
            if isinstance(x, Tensor) and x.array is not None:
                self._own[id(x)] = x.array, 0
                self._own[id(x)] = x.array, sys.getrefcount(x.array) + 1


def part(x: Tensor, value: Any) -> None:
    """Move a tensor to a fresh copy of ``value``; its views keep the old memory."""
    look_into(x, np.array(value))


def look_into(x: Tensor, array: np.ndarray) -> None:
    """Let a tensor look into the memory of an array; its views keep the old memory."""
    if (watch := MODE.get().watch) is not None:
        watch(x)
    x.array = array
    x._version = [touch(x)]  # apart from what it was before, which has the other counter


def _refuse(what: str) -> None:
    outer = outermost()
    if not hasattr(outer, "refuse"):
        raise TraceError(at(f"{what}: write into its elements, x.data.copy_(y)"))
    outer.refuse(f"it does {what}")
