"""Tensors that view others: what they know of those, and who they are.

Chains of views are followed without recursion, whatever their length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.tensor import Tensor, register


class View:
    """A tensor's relation to its base: the base, the operation, and the version of the base that
    the value is of.

    ``seen`` is None if the view must be recomputed at its next use.
    """

    __slots__ = ("base", "op", "seen")

    #: Operands of the operation behind the base.
    operands: tuple[Node, ...] = ()

    def __init__(self, base: Tensor, op: Op, seen: int | None) -> None:
        self.base = base
        self.op = op
        self.seen = seen


class PlacedView(View):
    """A view in a trace of elements that values choose: the operation has further operands."""

    __slots__ = ("operands",)

    def __init__(self, base: Tensor, op: Op, seen: int | None, operands: tuple[Node, ...]) -> None:
        super().__init__(base, op, seen)
        self.operands = operands


def share(t: Tensor, op: Op, base: Tensor, operands: tuple[Node, ...] = ()) -> None:
    """Make ``t`` a view of ``base`` if their memory may overlap: changes of one then show in the
    other's record.
    """
    counter = base._version
    if counter is None:
        counter = base._version = [0]
    data, source = t.array, base.array
    if data is not None and source is not None and data.base is not source and not _alias(
            data, source):
        return
    t._version = counter
    t._view = PlacedView(base, op, counter[0], operands) if operands else View(base, op, counter[0])
    register(counter, t)


def taken(t: Tensor) -> Tensor:
    """Detach a view of one element from its base, as NumPy's scalars are, so that later writes to
    the base do not change it.

    It remembers its position, for methods that write to the base.
    """
    view = t._view
    if view is not None:
        family: Any = t._version
        t._element, t._view, t._version = view, None, None
        if t.array is not None:
            family.pop()
            t.array = t.array.copy()
    return t


def base_view(t: Tensor) -> View | None:
    """Return a tensor's relation to its base, or to the tensor that it was taken from as an
    element.
    """
    return t._view or element_view(t)


def element_view(t: Tensor) -> View | None:
    """Where an element was taken from."""
    return getattr(t, "_element", None)


def _alias(view: np.ndarray, base: np.ndarray) -> bool:
    """Return whether two arrays may be in the same memory."""
    owner = view.base
    if owner is not None and (owner is base or owner is base.base):
        return True
    return np.may_share_memory(view, base)


def views_of(x: Tensor) -> list[Tensor]:
    """All tensors that look into the memory of one."""
    found = [ref() for ref in (x._version or [0])[1:]]
    return [t for t in found if isinstance(t, Tensor) and t._view is not None]


def let_go(x: Tensor) -> None:
    """Drop the relation to a base that ``x.array = ...`` has ended."""
    while (view := x._view) is not None and x.array is not None:
        if view.base.array is not None and not _alias(x.array, view.base.array):
            x._view = None
        x = view.base


def looking_through(x: Tensor, ends: Callable[[Tensor], bool] | None = None) -> list[Tensor]:
    """Return a tensor with its bases, the outermost first, up to one for which ``ends`` is true."""
    found = [x]
    while (view := found[-1]._view) is not None and not (ends and ends(found[-1])):
        found.append(view.base)
    return found[::-1]


def keep_old(target: Tensor) -> None:
    """Keep the old values of memory that is about to change for gradient rules that need them:
    those of ``x *= y`` itself, and of operations that read it, or a view of it, before.
    """
    data: Any = target.array
    family = target._version or [0]
    relatives = [ref() for ref in family[1:]]
    readers = [*looking_through(target), *relatives]
    for node in [x.node if isinstance(x, Tensor) else x for x in readers]:
        if node is None or node.value is None:
            continue
        if node.version is family or (
            node.version is None and np.may_share_memory(node.value, data)
        ):
            node.value = node.value.copy()
            node.version = node.version and node.version[:1]
    family[1:] = [ref for ref, x in zip(family[1:], relatives, strict=True)  # of no copies
                  if isinstance(x, Tensor) or (x is not None and x.version is family)]


def root(target: Tensor) -> Tensor:
    """Return the tensor that owns the memory of a view."""
    while target._view is not None:
        target = target._view.base
    return target
