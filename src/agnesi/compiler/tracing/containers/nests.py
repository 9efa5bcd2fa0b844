"""Parts of lists, dicts and tuples that change from call to call, and are arguments of the code.

A recurrent state (``self.h = h, c``) or the values of an optimizer (``self.v = {k: ... for k in
self.v}``) are other objects after each call, of one structure; a queue (``q.append(q.popleft() +
x)``) or a dict of counts stays one object that holds others.  What changes in them are numbers and
tensors; all else is compared.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any

from agnesi.compiler.tracing.containers.contents import Appended, Contents, Entered, Item
from agnesi.compiler.tracing.sources import (
    MISSING,
    Attribute,
    Cell,
    Name,
    Slot,
    Source,
    WeaklyHeld,
    same,
)
from agnesi.core.tensor import Tensor

#: Numbers and tensors in one nest that are arguments of the code.
_MAX_LEAVES = 64
#: Containers in each other that are looked into.
_MAX_DEPTH = 6
#: Containers whose content varies while they stay the same.
_CHANGED = (list, dict, deque, defaultdict, OrderedDict)
#: Stands for a number or tensor that is another one at each call.
_VARIES = object()
_Way = tuple[Any, ...]


class Nest:
    """The value of a source: nested containers of which some parts vary between calls.

    :param like: The nest with ``_VARIES`` in place of the varying parts.
    """

    def __init__(self, whole: Source, like: Any) -> None:
        self.whole = whole
        self.like = like

    def take(self, ways: Iterable[_Way]) -> tuple[Any, ...]:
        """Return the parts at these paths; ``MISSING`` where the structure differs."""
        held = _nest(self.whole, self.whole.now())
        if not _fits(held, self.like):
            return tuple([MISSING for _ in ways])
        return tuple([_at(held, way) for way in ways])

    def put(self, ways: Iterable[_Way], values: Iterable[Any]) -> None:
        """Return the nest with other parts at these paths; all containers on the paths are copied.
        """
        held = _nest(self.whole, self.whole.now())
        if not _fits(held, self.like):
            held = _nest(self.whole, self.whole.value)
        held = _with(held, list(zip(ways, values, strict=True)))
        if isinstance(self.whole, Contents):
            held = tuple(held.items() if type(held) is dict else held)
        self.whole.put(held)


class Parts(Source):
    """The varying numbers and tensors in a nest that another source holds.

    :param ways: The path of keys to each of them.
    """

    __slots__ = ("nest", "ways")

    def __init__(self, nest: Nest, ways: tuple[_Way, ...], value: Any) -> None:
        self.nest = nest
        self.ways = ways
        super().__init__(f"parts of {nest.whole.path}", value)

    @property
    def width(self) -> int:  # type: ignore[override]
        """The number of parts."""
        return len(self.ways)

    @property
    def holder(self) -> Any:
        return self.nest.whole.holder

    def now(self) -> Any:
        return self.nest.take(self.ways)

    def put(self, value: Any) -> None:
        self.nest.put(self.ways, value)

    def undo(self, before: Any) -> None:
        self.nest.whole.put(self.nest.whole.value)


class Part(Parts):
    """A single entry of a nest, as a source."""

    __slots__ = ()

    def __init__(self, nest: Nest, way: _Way, value: Any) -> None:
        super().__init__(nest, (way,), value)
        self.path = nest.whole.path + "".join(f"[{key!r}]" for key in way)

    @property
    def whole(self) -> Source:
        """The source that holds the nest."""
        return self.nest.whole

    def now(self) -> Any:
        return self.nest.take(self.ways)[0]

    def put(self, value: Any) -> None:
        self.nest.put(self.ways, (value,))


def together(sources: Iterable[Source]) -> list[Source]:
    """Merge consecutive sources that are parts of one nest."""
    found: list[Source] = []
    for source in sources:
        last = found[-1] if found else None
        if isinstance(source, Part) and isinstance(last, Parts) and last.nest is source.nest:
            before = last.value if type(last) is Parts else (last.value,)
            found[-1] = Parts(source.nest, (*last.ways, *source.ways), (*before, source.value))
        else:
            found.append(source)
    return found


class StandIns:
    """Copies of nests that hold symbols in place of their varying parts while the function is
    traced.

    :param parts: The varying parts, before any of them holds a symbol.
    """

    def __init__(self, parts: Iterable[Source]) -> None:
        self._wholes = list({id(p.whole): p.whole for p in parts if isinstance(p, Part)}.values())
        for whole in self._wholes:
            whole.value = whole.now()
        #: By identity: what stands for a container, as it was made, the way to it, and its source.
        self._made: dict[int, tuple[Any, Any, _Way, Source]] = {}
        self._replaced: list[tuple[Any, str]] = []

    def __bool__(self) -> bool:
        return bool(self._wholes)

    def containers(self) -> Iterator[Any]:
        """Yield the copied lists and dicts; to be called once all parts hold symbols."""
        for whole in self._wholes:
            before, now = (_nest(whole, v) for v in (whole.value, whole.now()))
            for held, way in _new_containers(before, now):
                if way or not isinstance(whole, Contents):
                    self._made[id(held)] = held, copy(held), way, whole
                    self._replaced.append((_at(before, way), whole.path))
                    yield held

    def kept(self) -> Iterator[tuple[Any, str]]:
        """Yield the objects in nests that stay as they are, which code may change, and their
        paths.
        """
        for whole in self._wholes:
            yield from _kept(_nest(whole, whole.value), _nest(whole, whole.now()), whole.path)

    def changed(self) -> str:
        """The path of a nest that code has changed in place instead of replacing it; empty if there
        is none.
        """
        return next((whole.path for held, before, _, whole in self._made.values()
                     if not _have_one_shape(held, before) or any(
                         held[key] is not before[key] for key in _keys(held))), "")

    def known_otherwise(self, is_seen: Callable[[Any], bool], kept: Iterable[Any]) -> str:
        """The path of a nest that code also reaches by another name, or keeps elsewhere; empty if
        there is none.

        :param is_seen: Whether a container was recorded.
        :param kept: Containers that code stores or returns.
        """
        found = [path for held, path in self._replaced if is_seen(held)]
        found += [self._made[id(c)][-1].path for c in kept if id(c) in self._made]
        for whole in self._wholes:
            for held, way in _new_containers(None, _nest(whole, whole.now())):
                if id(held) in self._made and self._made[id(held)][2:] != (way, whole):
                    found.append(whole.path)
        return found[0] if found else ""


def varying(key: Any, source: Source, now: Any) -> dict[Any, Source]:
    """Return the sources of numbers and tensors that code can take at run time: the source itself,
    or parts of the nest that it holds; empty if anything else has changed too.
    """
    kinds = (Attribute, Slot, Name, Cell, Item)
    content = isinstance(source, Contents) and type(source.container) in _CHANGED and (
        source.owner is None and not isinstance(source, (Appended, Entered)))
    if isinstance(source, WeaklyHeld) or not (content or isinstance(source, kinds)):
        return {}
    before, now = _nest(source, source.value), _nest(source, now)
    if not _is_nest(now):
        return {key: copy(source)} if _is_alike(before, now) else {}
    leaves: list[tuple[_Way, Any]] = []
    like = _template(before, now, (), leaves)
    if like is MISSING or not 0 < len(leaves) <= _MAX_LEAVES:
        return {}
    nest = Nest(copy(source), like)
    return {(key, way): Part(nest, way, v) for way, v in leaves}


def _nest(source: Source, held: Any) -> Any:
    """Return what a source holds as a nest; a dict's content is that of its entries."""
    if not isinstance(source, Contents):
        return held
    return dict(held) if isinstance(source.container, dict) else held


def _template(before: Any, now: Any, way: _Way, leaves: list[tuple[_Way, Any]]) -> Any:
    """Return the structure that two nests have in common; differing numbers and tensors are
    appended to ``leaves``.
    """
    if same(before, now):
        return now
    if _is_alike(before, now):
        leaves.append((way, now))
        return _VARIES
    if not _have_one_shape(before, now) or len(way) > _MAX_DEPTH:
        return MISSING
    if type(now) is not dict and all([type(v) is float for v in (*before, *now)]):
        # a window: what is equal now will differ when the others have moved on
        leaves += [((*way, k), v) for k, v in enumerate(now)]
        return _built(now, dict.fromkeys(range(len(now)), _VARIES))
    parts = [(k, _template(before[k], now[k], (*way, k), leaves)) for k in _keys(now)]
    if any(part is MISSING for _, part in parts):
        return MISSING
    return _built(now, dict(parts))


def _fits(held: Any, like: Any) -> bool:
    """Return whether a nest equals ``like`` apart from the varying parts."""
    if held is like or like is _VARIES:
        return True
    if not _is_nest(like):
        return same(held, like)
    return _have_one_shape(held, like) and all([_fits(held[key], like[key]) for key in _keys(like)])


def _have_one_shape(a: Any, b: Any) -> bool:
    """Return whether two containers have the same type and keys."""
    if type(a) is not type(b) or not _is_nest(a) or len(a) != len(b):
        return False
    return type(a) is not dict or all(map(same, a, b))


def _is_nest(held: Any) -> bool:
    return type(held) in (list, tuple, dict) or (
        isinstance(held, tuple) and hasattr(held, "_fields"))


def _keys(held: Any) -> Iterable[Any]:
    """The keys of a container, in order."""
    return held if type(held) is dict else range(len(held))


def _new_containers(before: Any, now: Any, way: _Way = ()) -> Iterator[tuple[Any, _Way]]:
    """Yield the lists and dicts of a nest that are not in the former one, with their paths."""
    if now is before or not _is_nest(now) or len(way) > _MAX_DEPTH:
        return
    for key in _keys(now):
        yield from _new_containers(before[key] if _is_nest(before) else None, now[key], (*way, key))
    if not isinstance(now, tuple):
        yield now, way


def _kept(before: Any, now: Any, path: str) -> Iterator[tuple[Any, str]]:
    """Yield the parts of a nest that are the same objects in the former one, with their paths."""
    if now is before:
        yield now, path
    elif _is_nest(now) and _is_nest(before):
        for key in _keys(now):
            yield from _kept(before[key], now[key], f"{path}[{key!r}]")


def _at(held: Any, way: _Way) -> Any:
    """Return the part of a nested container that a sequence of keys leads to."""
    for key in way:
        held = held[key]
    return held


def _with(held: Any, parts: Sequence[tuple[_Way, Any]]) -> Any:
    """Return a nest with some parts replaced; all containers on the paths to them are copied."""
    if not parts or not parts[-1][0]:
        return parts[-1][1] if parts else held
    inner: dict[Any, list[tuple[_Way, Any]]] = {}
    for (key, *rest), value in parts:
        inner.setdefault(key, []).append((tuple(rest), value))
    return _built(held, {
        k: _with(held[k], inner[k]) if k in inner else held[k] for k in _keys(held)})


def _built(like: Any, parts: dict[Any, Any]) -> Any:
    """Return a container of the same type with these parts."""
    if type(like) is dict:
        return parts
    return list(parts.values()) if type(like) is list else tuple.__new__(type(like), parts.values())


def _is_alike(before: Any, now: Any) -> bool:
    """Return whether a number or tensor replaces one of its own type."""
    return type(now) is type(before) and (
        type(now) in (float, int) or (isinstance(now, Tensor) and now.array is not None))
