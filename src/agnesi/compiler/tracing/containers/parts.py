"""Containers of which code uses single entries: each of them is a source of its own.

A dict that is only read at ``d["n"]``, put to at ``d["last"]`` and appended to at ``d["loss"]`` is
not compared as a whole: what the function itself puts there would make each call another one.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from agnesi.compiler.tracing.containers.borrowed_arrays import Borrowed
from agnesi.compiler.tracing.containers.contents import (
    Appended,
    Contents,
    Entered,
    Item,
    Keys,
    Length,
)
from agnesi.compiler.tracing.containers.uses import (
    ANY,
    Named,
    Use,
    Uses,
    What,
    of_array,
    of_part,
    only,
)
from agnesi.compiler.tracing.sources import MISSING, Name, Source, part_of_partial

#: Elements or entries that are looked at one by one, where code computes which.
_MAX_PARTS = 256
#: The use of a container whose number of elements is requested.
_COUNTED = Use((), What.COUNT)
#: Types of keys that are nothing but their values.
_PLAIN_KEYS = (str, int, bool, float, bytes, type(None))


class Parts:
    """The containers of a trace of which single entries are recorded.

    :param reads: The recorder of all other reads.
    :param borrowing: Whether arrays may be replaced by tensors; notes that some were.
    """

    def __init__(self, reads: Any, borrowing: Any = None) -> None:
        self._reads = reads
        self.borrowed = Borrowed(borrowing)
        #: By identity: the name, and what they held before the trace.
        self._known: dict[int, tuple[str, tuple[Any, ...]]] = {}
        #: Those that are never looked into, by identity.
        self.passed_over: set[int] = set()
        #: The dicts whose keys the code computes: the path to each, itself, and its entries before
        #: the trace.
        self._made: list[tuple[str, dict[Any, Any], dict[Any, Any]]] = []

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._known

    def use(self, value: Any, path: str, uses: Callable[[], Uses], source: Source | None = None
            ) -> Any:
        """Record the parts of a value that code uses (``uses()``).

        Returns the value that code gets instead, which is also stored in the ``source`` that it was
        read from.
        """
        if type(value) is np.ndarray:
            by_code = of_array(uses())
            self._reads.note_uses(value, by_code)
            given = self.borrowed.take(value, by_code)
            if given is not value:
                self._reads.name(value, path)
        else:
            given = self.borrowed.taken(value)
            if given is not value:
                self._reads.meet(given, path)
        if given is not value:
            if source is not None:
                self.borrowed.put(source, given)
            return given
        if id(value) in self.passed_over:
            return value
        if _mapping(value) is None and not _grows(value):
            self._reads.meet(value, path)
        else:
            self._use(value, path, uses())
        return value

    def of_partial(self, value: functools.partial[Any], path: str) -> None:
        """Record what a ``functools.partial`` is of."""
        for name in ("func", "args", "keywords"):
            source = self._reads.source((id(value), name), lambda n=name: part_of_partial(
                path, value, n))
            self._reads.meet(self.borrowed.held(source), path)

    def _use(self, value: Any, path: str, uses: Uses) -> None:
        mapping, reads = _mapping(value), self._reads
        uses = frozenset(Use((ANY,), What.READ) if use == ((), What.ITERATE) else use
                         for use in uses)
        if isinstance(value, defaultdict):
            reads.factory(value, path)
        if _grows(value) and only(uses, What.APPEND):
            if not reads.is_seen(value):
                reads.take(value, path, lambda: Appended(path, value, iter))
            return
        is_open = value in self or not reads.is_seen(value)
        if is_open and type(value) is list and all(_leads_through(use) for use in uses):
            self._elements(value, path, uses)
        elif is_open and type(value) is list and self._are_of_items(value, uses):
            self._items(value, path, uses)
        elif is_open and mapping is not None and _are_of_parts(value, mapping, uses):
            self._entries(value, mapping, path, uses)
        else:
            reads.meet(value, path)

    def _elements(self, value: list[Any], path: str, uses: Uses) -> None:
        """Record how the elements of a list are used, where the list itself does not change."""
        if value not in self:
            self._known[id(value)] = path, tuple(enumerate(value))
            self._reads.take(value, path, lambda: Contents(path, value, iter))
        for i, inner in self._known[id(value)][1]:
            parts = of_part(uses, i) | of_part(uses, i - len(value))
            if parts:
                name = f"{path}[{i}]"
                self.use(inner, name, lambda parts=parts: parts,  # type: ignore[misc]
                         Item(name, value, i))

    def _are_of_items(self, value: list[Any], uses: Uses) -> bool:
        """Return whether code only indexes a list whose elements vary: it assigns elements, or
        reads numbers.

        Other lists are compared as a whole, which native code does in one step.
        """
        size = len(value)
        by_index = size <= _MAX_PARTS and all(
            use == _COUNTED or (use.keys and (use.keys[0] is ANY or (
                type(use.keys[0]) is int and -size <= use.keys[0] < size))) for use in uses)
        return by_index and (self._are_hidden(value) or _are_changed(uses) or any(
            float in map(type, value if use.keys[0] is ANY else [value[use.keys[0]]])
            for use in uses if _looks(use)))

    def _are_hidden(self, value: list[Any]) -> bool:
        """Return whether elements of a list are hidden arguments."""
        return any((id(value), i) in self._reads.hidden for i in range(min(len(value), _MAX_PARTS)))

    def _items(self, value: list[Any], path: str, uses: Uses) -> None:
        """Record how the elements at some indices of a list are used, and no others."""
        reads, size = self._reads, len(value)
        if value not in self:
            self._known[id(value)] = path, tuple(enumerate(value))
            reads.name(value, path)
        if any(not keys or keys[0] is ANY or keys[0] < 0 for keys, _ in uses):
            reads.source((id(value), "length"), lambda: Length(path, value))
        varies = self._are_hidden(value) or _are_changed(uses)
        for i, inner in self._known[id(value)][1]:
            name, parts = f"{path}[{i}]", of_part(uses, i) | of_part(uses, i - size)
            if parts:
                source = reads.source((id(value), i), lambda i=i, n=name: Item(n, value, i),
                                    only(parts, What.PUT))
                source.varies = source.varies or varies
                self._held(source, inner, name, parts)

    def _entries(self, value: Any, mapping: dict[Any, Any], path: str, uses: Uses) -> None:
        if value not in self:
            self._known[id(value)] = path, tuple(mapping.items())
            self._reads.name(value, path)
        before = dict(self._known[id(value)][1])
        plain = {key.name if isinstance(key, Named) else key
                 for keys, _ in uses for key in keys[:1]}
        if ANY in plain:
            plain = {*plain, *before} - {ANY}
            self._made.append((path, mapping, before))
        for key in plain:
            self._entry(mapping, key, before.get(key, MISSING), f"{path}[{key!r}]",
                        of_part(uses, key))
        if any(use == _COUNTED or (_looks(use) and use.keys[0] is ANY) for use in uses):
            self._reads.source((id(mapping), "keys"), lambda: Keys(path, mapping))
        elif any(keys == (ANY,) for keys, _ in uses):
            self._reads.source((id(mapping), "entered"), lambda: Entered(path, mapping, dict.items))

    def _entry(self, mapping: dict[Any, Any], key: Any, inner: Any, path: str, uses: Uses) -> None:
        """Record how the code of a function uses one entry of a container."""
        source = self._reads.source((id(mapping), key), lambda: Name(path, mapping, key, inner),
                                  only(uses, What.PUT))
        self._held(source, inner, path, uses)

    def _held(self, source: Source, inner: Any, path: str, uses: Uses) -> None:
        """Record the uses of the value that an attribute or entry had before the trace, unless code
        only overwrites it.
        """
        if not only(uses, What.PUT) and inner is not MISSING and source.now() is inner:
            deeper = frozenset(use for use in uses if use.keys or use.what is not What.PUT)
            self.use(inner, path, lambda: deeper, source)

    def settle(self) -> None:
        """Record as missing the entries that code looked up in other ways and then created."""
        for path, mapping, before in self._made:
            for key in [k for k in mapping if k not in before]:
                self._reads.source((id(mapping), key), lambda p=path, m=mapping, k=key: Name(
                    f"{p}[{k!r}]", m, k, MISSING))

    def look_into(self, value: Any) -> None:
        """Record a container as read as a whole, if only single entries were recorded so far."""
        found = self._known.pop(id(value), None)
        if found is None:
            return
        path, before = found
        mapping, reads, key = _mapping(value), self._reads, (id(value), "contents")
        held = value if mapping is None else mapping
        if key not in reads.sources:
            reads.forget(lambda source: isinstance(source, (Name, Item)) and source.holder is held)
            whole = Contents(path, value, _taken)
            whole.value = before if mapping is not None else tuple(v for _, v in before)
            reads.source(key, lambda: whole)
        for key, inner in before:
            reads.meet(inner, f"{path}[{key!r}]")


def _leads_through(use: Use) -> bool:
    """Return whether a use reads a list element only to use its parts, or appends to it."""
    keys, what = use
    return bool(keys) and (keys[0] is ANY or type(keys[0]) is int) and (
        len(keys) > 1 or what is What.APPEND)


def _are_changed(uses: Uses) -> bool:
    """Return whether code assigns to entries of a container."""
    return any(len(keys) == 1 and what in (What.PUT, What.CHANGE) for keys, what in uses)


def _looks(use: Use) -> bool:
    """Return whether a use reads an element or entry itself."""
    return len(use.keys) == 1 and use.what not in (What.PUT, What.APPEND)


def _grows(value: Any) -> bool:
    return type(value) is list or (type(value) is deque and value.maxlen is None)


def _mapping(value: Any) -> dict[Any, Any] | None:
    """Return the entries of a dict or namespace; None for other containers."""
    if type(value) in (dict, defaultdict, Counter):
        found: dict[Any, Any] = value
        return found
    return vars(value) if type(value) is SimpleNamespace else None


def _taken(value: Any) -> Iterable[Any]:
    """Return the entries or elements of a container."""
    mapping = _mapping(value)
    return value if mapping is None else mapping.items()


def _are_of_parts(value: Any, mapping: dict[Any, Any], uses: Uses) -> bool:
    """Return whether all uses are of single entries, by keys that are known or that only
    assignments use.
    """
    named = type(value) is SimpleNamespace
    looked_up = len(mapping) <= _MAX_PARTS and _are_changed(uses)
    for use in uses:
        keys = use.keys
        if use == _COUNTED and not named:
            continue
        if not keys or isinstance(keys[0], Named) is not named:
            return False
        if keys[0] is ANY and not (all(type(key) in _PLAIN_KEYS for key in mapping)
                                   and (looked_up or not _looks(use))):
            return False
        if keys[0] is not ANY and not named and type(keys[0]) not in _PLAIN_KEYS:
            return False
    return True
