"""The sources that a trace has read, and the containers and objects whose contents it has read."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from agnesi.compiler.tracing.containers.borrowed_arrays import reads_elements
from agnesi.compiler.tracing.containers.contents import (
    Compared,
    Elements,
    Objects,
    Remembered,
    owner_of,
)
from agnesi.compiler.tracing.containers.uses import Uses
from agnesi.compiler.tracing.object_kinds import taking_elements
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.sources import Source, same
from agnesi.core.support.tree import children
from agnesi.core.tensor import Tensor

#: Bytes of arrays whose elements are compared.
_MAX_COMPARED_BYTES = 1 << 12
#: Bytes of all larger ones that Python reads and that each call compares.
_MAX_HELD_BYTES = 1 << 20
#: Bytes of larger arrays that are remembered during a trace, which must not change them.
_MAX_REMEMBERED_BYTES = 1 << 28


class SourceTable:
    """Guards by their keys; those whose values are passed as arguments are in ``hidden``."""

    def __init__(self, hidden: Iterable[Any] = ()) -> None:
        self.sources: dict[Any, Source] = {}
        #: Sources, by their keys, whose values are arguments.
        self.hidden = frozenset(hidden)
        #: Where the function put something without having read what was there.
        self.given: dict[Any, Source] = {}
        #: Those whose values are arguments of the code: they hold symbols.
        self.varying: Sequence[Source] = ()
        #: Containers of the arguments, by identity, which are put together for the trace.
        self.built: dict[int, Any] = {}
        #: What each call says.
        self.said: list[Callable[[], Any]] = []
        #: What the body of a loop or branch changes, the last of it; empty where there is none.
        self.repeated = ""
        self._seen: dict[int, Any] = {}
        self._paths: dict[int, str] = {}
        #: Ids of recorded objects that may be the function's own.
        self._new: set[int] = set()
        #: Small arrays, whose elements Python may read or change.
        self.arrays: dict[int, Elements] = {}
        #: Whether code that names an array reads its elements itself (``reads_elements``).
        self._uses: dict[int, bool | None] = {}
        #: What owns the memory of all arrays that the function can reach.
        self._memory: dict[int, Any] = {}
        #: Tensors that were met.
        self._tensors: dict[int, Tensor] = {}
        #: Bytes of larger ones.
        self._remembered = 0

    def _add(self, key: Any, source: Callable[[], Source]) -> Source:
        found = self.sources.get(key)
        if found is None:
            found = source()
            if key not in self.hidden:
                self.sources[key] = found
        return found

    def is_seen(self, value: Any) -> bool:
        """Return whether an object or a part of it was recorded."""
        return id(value) in self._seen

    def name(self, value: Any, path: str) -> None:
        """Record an object's name without its contents."""
        self._seen[id(value)] = value
        self._paths[id(value)] = path

    def take(self, value: Any, path: str, make: Callable[[], Source]) -> None:
        """Record a container whose contents are the source that ``make`` returns."""
        self.name(value, path)
        self._add((id(value), "contents"), make)

    def source(self, key: Any, make: Callable[[], Source], put: bool = False) -> Source:
        """Return the source for a key, made if it is new; with ``put`` it is written without being
        read.
        """
        found = self.sources.get(key) or self.given.get(key) or make()
        if key not in self.hidden and key not in self.sources:
            if put:
                self.given[key] = found
            else:
                self.given.pop(key, None)
                self.sources[key] = found
        return found

    def forget(self, which: Callable[[Source], bool]) -> None:
        """Drop the sources for which ``which`` is true, because a container around them is
        recorded.
        """
        for known in (self.sources, self.given):
            for key in [k for k, source in known.items() if which(source)]:
                del known[key]

    def remember(self, value: np.ndarray, path: str) -> None:
        """Record the elements of an array.

        Python may read those of a small one; those of a large one are assumed unread, and must not
        be changed by the trace.
        """
        if id(value) in self.arrays:
            return
        owner = owner_of(value)
        self._memory[id(owner)] = owner
        if value.dtype.hasobject:
            self.arrays[id(value)] = Objects(path, value)
        elif value.nbytes <= _MAX_COMPARED_BYTES:
            self.arrays[id(value)] = Elements(path, value)
        elif value.flags.writeable:
            self._remembered += value.nbytes
            if self._remembered <= _MAX_REMEMBERED_BYTES:
                self.arrays[id(value)] = Remembered(path, value)

    def note_uses(self, value: np.ndarray, uses: Uses) -> None:
        """Record how code uses an array that it names."""
        now, before = reads_elements(uses), self._uses.get(id(value), False)
        self._uses[id(value)] = before or now if now is not False else before

    def unchanged(self) -> list[Source]:
        """The sources, and small arrays whose elements code may read, that are as they were read:
        what the function itself has changed since is left out."""
        arrays = [p for key, p in self.arrays.items()
                  if p.counts and self._uses.get(key) is not False]
        return [p for p in (*self.sources.values(), *arrays) if p.holds()]

    def compared(self, used: Container[int]) -> Iterator[Elements]:
        """Yield the arrays whose elements each call compares: those that code, or NumPy, may read.

        Left out are arrays ``used`` as operands of which code reads no elements.

        :raises OnlyEagerError: If code reads elements of an array that is too large to compare.
        """
        bytes_left = _MAX_HELD_BYTES
        for key, source in self.arrays.items():
            if key in used and self._uses.get(key) is False:
                continue
            if source.counts:
                yield source
                continue
            bytes_left -= source.array.nbytes
            if bytes_left >= 0:
                made = Compared(source.path, source.array)
                made.value = source.value
                yield made
            elif source.array.flags.writeable:
                raise OnlyEagerError(
                    f"Python or NumPy reads elements of {source.path}, an array of "
                    f"{source.array.nbytes} bytes", "Wrap it (ag.tensor), so that compiled code "
                    "reads it")

    def reached(self, kinds: Container[type] = ()) -> dict[int, Any]:
        """Return, by identity, the tensors, arrays, containers and objects of these classes that
        the function reaches without being given them.
        """
        held = [p.value for p in self._all_sources()]
        keys = [k() if isinstance(k, weakref.ref) else k
                for v in self._seen.values() if isinstance(v, dict) for k in v]
        found = [*self._tensors.values(), *keys, *(a.array for a in self.arrays.values()), *held,
                 *self._seen.values()]
        return {id(v): v for v in found if isinstance(v, (Tensor, np.ndarray)) or type(v) in kinds
                or (taking_elements(v) is not None and not isinstance(v, (tuple, frozenset)))}

    def knows(self, value: Any) -> bool:
        """Return whether an object was there before the trace."""
        return id(value) in self._paths and id(value) not in self._new

    def note_new(self, known: int) -> None:
        """Mark all recorded objects after the first ``known`` as possibly created by the function.
        """
        last = reversed(self._paths)  # it is called for each read: all behind the first are few
        self._new.update(islice(last, len(self._paths) - known))

    def _all_sources(self) -> list[Source]:
        return [*self.sources.values(), *self.given.values()]

    @contextmanager
    def body(self) -> Iterator[None]:
        """A context for the body of a loop or branch; notes sources that the body changes, because
        Python would run it in each iteration.
        """
        before, said = {id(p): p.now() for p in self._all_sources()}, len(self.said)
        varying = [(source, source.now()) for source in self.varying]
        given = [(container, children(container) or []) for container in self.built.values()]
        yield
        for source, then in varying:
            if source.now() is not then:
                self.repeated = source.path
        for container, parts in given:
            found = children(container) or []
            if len(found) != len(parts) or any(
                    a is not b and not same(a, b) for a, b in zip(found, parts, strict=True)):
                self.repeated = f"a {type(container).__name__} among the arguments"
        if len(self.said) > said:
            self.repeated = "what it prints"
        for source in self._all_sources():
            now, then = source.now(), before.get(id(source), source.value)
            if now is not then and not same(now, then):
                self.repeated = source.path

    def knows_memory(self, array: np.ndarray) -> bool:
        """Return whether an array's memory existed before the trace, or may have: it is not owned
        by an array.
        """
        owner = owner_of(array)
        return not isinstance(owner, np.ndarray) or id(owner) in self._memory
