"""Reads of containers by a trace: all that a list or dict holds, parts of it, arrays' elements."""

from __future__ import annotations

import ctypes
import functools
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import numpy as np

from agnesi.compiler.tracing.sources import (
    MISSING,
    PLAIN,
    Source,
    attributes,
    describe_value,
    same,
)
from agnesi.core.ir.dims import TUPLES
from agnesi.core.support.exports import module_of
from agnesi.core.support.forks import unforked
from agnesi.runtime.guard_words import container_words, elements_words
from agnesi.runtime.guards import Entries, Items, dict_pointer

#: Bytes of objects' addresses that native code compares.
_MAX_WORDS_BYTES = 1 << 12
#: Objects that are nothing but their attributes.
NAMESPACES = (SimpleNamespace, threading.local)


class Contents(Source):
    """A guard on what ``take`` returns for a container, such as all of its entries in order."""

    __slots__ = ("container", "owner", "take")

    def __init__(self, path: str, container: Any, take: Callable[[Any], Any],
                 owner: Any = None) -> None:
        self.owner = owner
        self.container = container
        self.take = take
        super().__init__(path, self.now())

    def now(self) -> Any:
        return tuple(self.take(self._held))

    @property
    def _held(self) -> Any:
        """Return the present container of its owner, which may have replaced it."""
        return self.container if self.owner is None else attributes(self.owner)

    def put(self, value: Any) -> None:
        container = self._held
        if isinstance(container, NAMESPACES):
            container = vars(container)
        kind: Any = next(k for k in _CONTAINERS if isinstance(container, k))
        if kind in (list, bytearray):
            kind.__setitem__(container, slice(None), value)
            return
        kind.clear(container)
        if kind is OrderedDict:
            for key, held in value:
                kind.__setitem__(container, key, held)
        else:
            (kind.extend if kind is deque else kind.update)(container, value)

    def records(self) -> Iterable[Any]:
        container = self.container
        if self.owner is not None:
            there = dict_pointer(self.owner, container)
            return () if there is None else (there, Entries(container, self.value))
        if isinstance(container, list):
            return [Items(container, self.value)]
        if isinstance(container, threading.local):
            return ()  # each thread has its own
        if isinstance(container, SimpleNamespace):
            container = vars(container)  # always the same one
        if isinstance(container, dict) and not isinstance(container, OrderedDict):
            return [Entries(container, self.value)]
        return container_words(container, self.value)

    def condition(self, name: Callable[[Any], str]) -> str:
        otherwise = super().condition(name)
        if not isinstance(self.container, threading.local):
            return otherwise
        held = f"{name(self.container)}.__dict__"
        parts = [f"len({held}) == {len(self.value)}"] + [
            f"{held}.get({key!r}) is {name(value)}" for key, value in self.value]
        return f"({' and '.join(parts)} or {otherwise})"

    def change(self) -> str:
        now = self.now()
        if len(now) != len(self.value):
            return f"{self.path} had {len(self.value)} elements, now {len(now)}"
        pairs = zip(self.value, now, strict=True)
        i, a, b = next((i, a, b) for i, (a, b) in enumerate(pairs) if not same(a, b))
        if isinstance(self.container, dict) and same(a[0], b[0]):
            return f"{self.path}[{a[0]!r}] was {describe_value(a[1])}, now {describe_value(b[1])}"
        return f"{self.path}[{i}] was {describe_value(a)}, now {describe_value(b)}"


#: The classes whose methods change what a container holds; those of subclasses may do otherwise.
_CONTAINERS = (list, bytearray, OrderedDict, dict, set, deque)


class Appended(Contents):
    """A list or deque to which code appends without reading it."""

    __slots__ = ()

    counts = False

    def holds(self) -> bool:
        return True

    def put(self, value: Any) -> None:
        self.container.extend(value)

    def undo(self, before: Any) -> None:
        while len(self.container) > len(before):
            self.container.pop()

    def records(self) -> Iterable[Any]:
        return ()


class Item(Source):
    """An element of a list, by index.

    :ivar varies: (bool) Whether the element is expected to differ between calls; if not, native
        code compares the list as a whole.
    """

    __slots__ = ("container", "index", "varies")

    def __init__(self, path: str, container: list[Any], index: int) -> None:
        self.container = container
        self.index = index
        self.varies = False
        super().__init__(path, self.now())

    def now(self) -> Any:
        return self.container[self.index] if self.index < len(self.container) else MISSING

    def put(self, value: Any) -> None:
        self.container[self.index] = value

    def records(self) -> Iterable[Any]:
        return () if self.varies else (Items(self.container, tuple(self.container)),)

    def condition(self, name: Callable[[Any], str]) -> str:
        held = name(self.container)
        same_one = f"len({held}) > {self.index} and {held}[{self.index}] is {name(self.value)}"
        return f"({same_one} or {super().condition(name)})"


class Length(Source):
    """The length of a list whose indices code computes."""

    __slots__ = ("container", "elements")

    def __init__(self, path: str, container: list[Any]) -> None:
        self.container = container
        self.elements = tuple(container)
        super().__init__(f"the length of {path}", self.now())

    def now(self) -> Any:
        return len(self.container)

    def undo(self, before: Any) -> None:
        self.container[:] = self.elements

    def condition(self, name: Callable[[Any], str]) -> str:
        return f"len({name(self.container)}) == {self.value}"


class Keys(Source):
    """The keys of a dict, in order, of which code computes some or takes all."""

    __slots__ = ("mapping",)

    def __init__(self, path: str, mapping: dict[Any, Any]) -> None:
        self.mapping = mapping
        super().__init__(path, self.now())

    def now(self) -> Any:
        return tuple(self.mapping)

    def holds(self) -> bool:
        return bool(self.now() == self.value)

    def condition(self, name: Callable[[Any], str]) -> str:
        return f"(*{name(self.mapping)},) == {name(self.value)}"

    def change(self) -> str:
        return f"{self.path} has other keys, or in another order"


class Entered(Contents):
    """A dict that code only stores into, by keys that are known at run time, without reading it."""

    __slots__ = ()

    counts = False

    def holds(self) -> bool:
        return True

    def new(self) -> dict[Any, Any]:
        """Return the entries that changed since the trace began."""
        before = dict(self.value)
        return {k: v for k, v in self.now() if before.get(k, MISSING) is not v}

    def put(self, value: Any) -> None:
        self.container.update(value)

    def undo(self, before: Any) -> None:
        super().put(before)

    def records(self) -> Iterable[Any]:
        return ()


def owner_of(array: np.ndarray) -> Any:
    """Return the object that owns an array's memory: the array itself, its base, or a buffer."""
    owner: Any = array
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return owner


def put_back(array: np.ndarray, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """Restore the dtype and shape of an array."""
    if array.dtype != dtype and array.dtype.itemsize == dtype.itemsize:
        vars(np.ndarray)["dtype"].__set__(array, dtype)
    if array.shape != shape:
        np.ndarray.resize(array, shape, refcheck=False)
    if array.dtype != dtype:
        vars(np.ndarray)["dtype"].__set__(array, dtype)
    if array.shape != shape:
        vars(np.ndarray)["shape"].__set__(array, shape)


class Elements(Source):
    """A guard on the elements of an array that Python may read."""

    __slots__ = ("array",)

    def __init__(self, path: str, array: np.ndarray) -> None:
        self.array = array
        super().__init__(path, self.now())

    def now(self) -> Any:
        plain = np.asarray(self.array)  # what a mask hides counts, too
        return plain.dtype, plain.shape, plain.tobytes()

    def holds(self) -> bool:
        return bool(self.now() == self.value)

    def records(self) -> Iterable[Any]:
        dtype, shape, found = self.value
        if (self.array.dtype, self.array.shape) != (dtype, shape):
            return []
        return elements_words(self.array, found)

    def undo(self, before: Any) -> None:
        dtype, shape, found = before
        put_back(self.array, dtype, shape)
        np.asarray(self.array)[...] = np.frombuffer(found, dtype).reshape(shape)

    def change(self) -> str:
        return f"{self.path}, an array, holds other elements"


class Objects(Elements):
    """A guard on the objects in an array of dtype object."""

    __slots__ = ()

    def now(self) -> Any:
        return self.array.dtype, self.array.shape, tuple(self.array.ravel().tolist())

    def holds(self) -> bool:
        now = self.now()
        if now[:2] != self.value[:2] or not same(now[2], self.value[2]):
            return False
        self.value = now  # whose objects are there: native code compares their addresses
        return True

    def records(self) -> Iterable[Any]:
        if self.array.nbytes > _MAX_WORDS_BYTES or not self.holds():
            return ()
        return elements_words(self.array, self.array.tobytes(), self.value)

    def undo(self, before: Any) -> None:
        for index, value in zip(np.ndindex(before[1]), before[2], strict=True):
            self.array[index] = value


class Remembered(Elements):
    """The elements of a large array that the function must not change; calls do not compare them.
    """

    __slots__ = ()

    counts = False


class Compared(Elements):
    """The elements of a large array that Python reads; each call compares them."""

    __slots__ = ()

    def holds(self) -> bool:
        array, compare = self.array, _comparing()
        dtype, shape, found = self.value
        if compare is None or not array.flags.c_contiguous:
            return super().holds()
        return bool(array.dtype == dtype and array.shape == shape
                    and compare(array.ctypes.data, found, array.nbytes) == 0)

    def records(self) -> Iterable[Any]:
        return ()


@functools.cache
@unforked()
def _comparing() -> Any:
    """Return C's ``memcmp``, which compares memory without a copy; None if it is not found."""
    try:
        found = ctypes.CDLL(None).memcmp
    except (AttributeError, OSError, TypeError):
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    return found


class Raw(Source):
    """A guard on the bytes of an ``array.array``, a memoryview or a ``ctypes`` object. It exports
    no buffer between calls, so that the owner can be resized.
    """

    __slots__ = ("buffer",)

    def __init__(self, path: str, buffer: Any) -> None:
        self.buffer = buffer
        super().__init__(path, self.now())

    def now(self) -> Any:
        with memoryview(self.buffer) as view:
            return view.format, view.shape, view.tobytes()

    def put(self, value: Any) -> None:
        _, _, found = value
        if module_of(type(self.buffer)) == "array":
            del self.buffer[:]
            self.buffer.frombytes(found)
        else:
            with memoryview(self.buffer).cast("B") as view:
                view[:] = found

    def condition(self, name: Callable[[Any], str]) -> str:
        if isinstance(self.buffer, memoryview) or module_of(type(self.buffer)) == "array":
            return f"{name(self.buffer)}.tobytes() == {name(self.value[-1])}"
        return super().condition(name)

    def change(self) -> str:
        return f"{self.path} holds other elements"


class Context(Source):
    """The value of a context variable."""

    __slots__ = ("variable",)

    def __init__(self, path: str, variable: ContextVar[Any]) -> None:
        self.variable = variable
        super().__init__(path, self.now())

    def now(self) -> Any:
        return self.variable.get(MISSING)

    def put(self, value: Any) -> None:
        if value is not MISSING:
            self.variable.set(value)


class Printing(Context):
    """A guard on NumPy's print options, which are a new dict after each change."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        return


def _is_equal_to_itself(value: Any) -> bool:
    """Return whether a value, or each element of a tuple, compares equal to a copy of itself."""
    if type(value) in TUPLES:
        return all(map(_is_equal_to_itself, value))
    kind: Any = type(value)
    return kind in (*PLAIN, re.Pattern) or kind.__eq__ is object.__eq__


class Answer(Source):
    """A guard on the result of a search through an object, and on the dicts and lists that were
    searched.
    """

    __slots__ = ("ask", "sources")

    def __init__(self, path: str, ask: Callable[[], Iterable[Any]],
                 sources: Callable[[], Iterable[Any]]) -> None:
        self.ask = ask
        self.sources = sources
        super().__init__(path, self.now())

    def now(self) -> Any:
        return tuple(self.ask())

    def records(self) -> Iterable[Any]:
        for source in self.sources():
            if isinstance(source, dict):
                yield Entries(source, tuple(source.items()))
            else:
                yield Items(source, tuple(source))

    def condition(self, name: Callable[[Any], str]) -> str:
        otherwise = super().condition(name)
        if _is_equal_to_itself(self.value):  # what is reported has one type, whatever it is
            return f"({name(self.ask)}() == {name(self.value)} or {otherwise})"
        return otherwise

    def change(self) -> str:
        return f"the tensors and modules in {self.path} are others"
