"""Parts of what a place holds where code puts another one there: tuples, lists and dicts.

A recurrent state (``self.h = h, c``) or the values of an optimizer (``self.v = {k: ... for k in
self.v}``) are other objects after each call, of one structure.  The numbers and tensors in them are
arguments of the code; the containers are made anew for each trace, and for what it puts there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

from agnesi.compiler.tracing.containers.contents import Item
from agnesi.compiler.tracing.places import (
    MISSING,
    Attribute,
    Cell,
    Name,
    Place,
    Slot,
    WeaklyHeld,
)
from agnesi.core.tensor import Tensor

#: Numbers and tensors in one nest that are arguments of the code.
_MAX_LEAVES = 64
#: A step into a container: its structure, and the key of what it leads to.
_Step = tuple[Any, Any]


class Part(Place):
    """A number or tensor in a nest that another place holds, which may hold another such nest
    later."""

    __slots__ = ("way", "whole")

    def __init__(self, whole: Place, way: tuple[_Step, ...], value: Any) -> None:
        self.whole = whole
        self.way = way
        super().__init__(whole.path + "".join(f"[{key!r}]" for _, key in way), value)

    @property
    def holder(self) -> Any:
        return self.whole.holder

    def now(self) -> Any:
        held = self.whole.now()
        for structure, key in self.way:
            if _structure(held) != structure:
                return MISSING
            held = held[key]
        return held

    def put(self, value: Any) -> None:
        held = self.whole.now() if self.now() is not MISSING else self.whole.value
        self.whole.put(_with(held, self.way, value))

    def undo(self, before: Any) -> None:
        self.whole.put(self.whole.value)


class StandIns:
    """Nests that stand for those which the places of parts hold, while their parts are symbols.

    :param parts: Before any of them holds a symbol.
    """

    def __init__(self, parts: Iterable[Place]) -> None:
        self._wholes = list({id(p.whole): p.whole for p in parts if isinstance(p, Part)}.values())
        for whole in self._wholes:
            whole.value = whole.now()
        self._made: list[tuple[str, Any, Any]] = []

    def containers(self) -> Iterator[Any]:
        """The lists and dicts that stand for others, from when all parts hold symbols on."""
        for whole in self._wholes:
            for held in _containers(whole.now()):
                self._made.append((whole.path, held, copy(held)))
                yield held

    def changed(self) -> str:
        """The path of a nest that code has changed itself, instead of putting another one there;
        empty if there is none."""
        return next((path for path, held, before in self._made
                     if _structure(held) != _structure(before) or any(
                         held[key] is not before[key] for key in _keys(held))), "")


def varying(key: Any, place: Place, now: Any) -> dict[Any, Place]:
    """Return what holds numbers or tensors, which the code can take at run time, by its key: a
    place, or the parts of a nest that it holds; nothing where not all are such."""
    kinds = (Attribute, Slot, Name, Cell, Item)
    if isinstance(place, WeaklyHeld) or not isinstance(place, kinds):
        return {}
    if _is_leaf(now):
        return {key: copy(place)} if _is_alike(place.value, now) else {}
    leaves, before = dict(_leaves(now)), dict(_leaves(place.value))
    if leaves.keys() != before.keys() or not 0 < len(leaves) <= _MAX_LEAVES or not all(
            _is_alike(before[way], v) for way, v in leaves.items()):
        return {}
    whole = copy(place)
    return {(key, way): Part(whole, way, v) for way, v in leaves.items()}


def _structure(held: Any) -> Any:
    """Return what two nests have in common whose parts may differ; None for what is none."""
    if type(held) in (list, tuple) or (isinstance(held, tuple) and hasattr(held, "_fields")):
        return type(held), len(held)
    return (dict, *held) if type(held) is dict else None


def _is_leaf(held: Any) -> bool:
    return _structure(held) is None


def _keys(held: Any) -> Iterable[Any]:
    return held if type(held) is dict else range(len(held))


def _leaves(held: Any, way: tuple[_Step, ...] = ()) -> Iterator[tuple[tuple[_Step, ...], Any]]:
    """The parts of a nest that are no containers, with the ways to them."""
    structure = _structure(held)
    if structure is None:
        yield way, held
        return
    for key in _keys(held):
        yield from _leaves(held[key], (*way, (structure, key)))


def _containers(held: Any) -> Iterator[Any]:
    """The lists and dicts of a nest."""
    if not _is_leaf(held):
        for key in _keys(held):
            yield from _containers(held[key])
        if not isinstance(held, tuple):
            yield held


def _with(held: Any, way: tuple[_Step, ...], value: Any) -> Any:
    """Return a nest with another part; all containers on the way to it are new ones."""
    if not way:
        return value
    (_, key), *rest = way
    part = _with(held[key], tuple(rest), value)
    if type(held) is dict:
        return {**held, key: part}
    parts = [*held[:key], part, *held[key + 1:]]
    return parts if type(held) is list else tuple.__new__(type(held), parts)


def _is_alike(before: Any, now: Any) -> bool:
    """Return whether a number or tensor stands where one of its type was."""
    return type(now) is type(before) and (
        type(now) in (float, int) or (isinstance(now, Tensor) and now.array is not None))
