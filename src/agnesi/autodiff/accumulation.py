"""Accumulation: gradients that arrive at tensors are added to their ``grad``, often in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.hooks import HOOKED
from agnesi.core.dispatch import current, touch
from agnesi.core.storage.views import element_view
from agnesi.core.support.config import MODE
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.tracing import current_trace, is_tracing
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.ops.sparse.words import is_sparse


def leave(arrived: Sequence[tuple[Tensor, Tensor]], apart: Callable[[Tensor], Tensor]) -> None:
    """Add gradients to the ``grad`` of tensors, given as pairs (tensor, gradient).

    ``apart`` copies a first gradient that shares its memory, so that later changes in place stay
    local.
    """
    traced, recording = is_tracing(), MODE.get().recording
    if not (traced or HOOKED.any or [None for t, _ in arrived if t._grad is not None]):
        for target, g in arrived:
            target.grad = apart(g)
        return
    there: list[Tensor | None] = [
        current_trace().read_grad(t, adds=True) if traced else t._grad for t, _ in arrived]
    users: dict[int, int] = {}
    if any([before is not None for before in there]):
        for t in (*there, *[target for target, _ in arrived]):
            if t is not None:
                memory = _memory(t)
                users[memory] = users.get(memory, 0) + 1
    for (target, g), held in zip(arrived, there, strict=True):
        before = target.grad if HOOKED.any else held  # the hooks of others may have taken it away
        if before is None:
            _put(target, apart(g), traced)
        elif before is held and not recording and users[_memory(before)] == 1 and _may_change(
                before):
            if traced or not _added(before, g):
                before += g if type(g) is Tensor or not is_sparse(g) else g.to_dense()
        else:
            _put(target, before + g, traced)
        if HOOKED.any:
            HOOKED.arrived(target)


def _put(target: Tensor, grad: Tensor, traced: bool) -> None:
    """Set the ``grad`` of a tensor."""
    if traced:
        current_trace().write_grad(target, grad, adds=True)
    else:
        target.grad = grad


def _added(before: Tensor, g: Any) -> bool:
    """Return whether a gradient of plain numbers could be added to another in its memory."""
    if type(g) is not Tensor or type(before) is not Tensor or MODE.get().watch is not None:
        return False
    data: Any = before.array
    more = g.array
    if more is None or more.dtype is not data.dtype or more.shape != data.shape or (
            data.dtype.kind not in "fc") or element_view(before) is not None:
        return False
    silently(np.add, data, more, out=data)
    touch(before)
    return True


def _memory(t: Tensor) -> int:
    """Return a key of the memory that a tensor is in."""
    data: Any = t.array if type(t) is Tensor or not is_sparse(t) else t.values().array
    while type(data) is np.ndarray and data.base is not None:
        data = data.base
    return id(t if data is None else data)


def _may_change(before: Tensor) -> bool:
    """Return whether a gradient may be added to in place, so that it stays the same tensor, by
    whose identity compiled functions recognize it.
    """
    data = None if type(before) is not Tensor and is_sparse(before) else before.array
    return data is not None and data.flags.writeable and not before._requires_grad


def _copied(g: Tensor) -> Tensor:
    """Return a copy of a gradient that keeps its record; gradients flow through the copy, even if
    the gradient is a leaf.
    """
    if g._requires_grad and current(g).op is None:
        from agnesi.ops.arrays.replicate import copy

        return copy(g)
    assert g.array is not None
    other = wrap(g.array.copy())
    other.node, other._requires_grad = g.node, g._requires_grad
    return other


class Apart:
    """Copies gradients that share memory with others or are views, so that later changes in place
    stay local.

    ``taken`` are the gradients that already have an owner, the cotangent among them.
    """

    def __init__(self, *taken: Tensor) -> None:
        self.taken = {id(g.array) for g in taken}

    def __call__(self, g: Any) -> Any:
        if type(g) is not Tensor and is_sparse(g):
            return g.with_values(self(g.values()))
        data = g.array
        if data is None:
            if g._view is None:
                return symbol(current(g))
            from agnesi.ops.arrays.replicate import copy

            return copy(g)
        if data.base is not None or not data.flags.writeable or id(data) in self.taken:
            g = _copied(g)
        self.taken.add(id(g.array))
        return g
