"""Guards of a specialization: variables that the trace read, their values, and native checks of
them.

A source answers ``now()`` with what it holds, ``holds()`` with whether that is what it was (the
same object, or an equal number or text of the same type), and lists the ``records`` by which native
code sees that nothing was changed.  Where it has none, ``holds`` is called before each call.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from agnesi.compiler.tracing.builtin_calls import own_code
from agnesi.core.ir.dims import TUPLES
from agnesi.core.support.tree import exact, nested_beyond
from agnesi.runtime.guards import (
    CELL_AT,
    CODE_AT,
    DEFAULTS_AT,
    KEYWORDS_AT,
    TYPE_AT,
    Entry,
    Word,
    class_name,
    class_tag,
    dict_pointer,
    pointer,
)


class _Missing:
    """The value of a source that does not exist."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Any = _Missing()
#: Tuples in each other that are shown.
_MAX_SHOWN_LEVELS = 8
#: Types of values that are compared by value.
PLAIN = (int, str, bytes, bool, type(None))


def same(a: Any, b: Any) -> bool:
    """Return whether code that was made for one value serves for the other: never by ``==`` alone.

    >>> from agnesi.compiler.tracing.sources import same
    >>> same((1, "a"), (1, "a")), same(0.0, -0.0), same(1, True), same(float("nan"), float("nan"))
    (True, False, False, True)
    """
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if a is not b and type(a) is type(b) in TUPLES and len(a) == len(b):
            pairs.extend(zip(a, b, strict=True))
        elif not _same(a, b):
            return False
    return True


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in PLAIN:
        return bool(a == b)
    if kind is float:
        return exact(a) == exact(b)
    if kind is complex:
        return exact(a) == exact(b)
    return isinstance(a, np.generic) and bool(a.dtype == b.dtype) and a.tobytes() == b.tobytes()


class Source:
    """A place where a traced function found a value, by its path for the user."""

    __slots__ = ("path", "value")

    #: Whether code depends on what it held.
    counts = True
    #: How many values it holds; ``now`` is a tuple of several.
    width = 1

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.value = value

    @property
    def holder(self) -> Any:
        """The object that holds the value."""
        names = ("owner", "mapping", "cell", "container")
        return next(held for held in (getattr(self, n, None) for n in names) if held is not None)

    def now(self) -> Any:
        """Return the present value of the source."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Store a value, or delete it if ``value`` is ``MISSING``, without calling hooks of the
        class.
        """
        raise TypeError

    def undo(self, before: Any) -> None:
        """Restore what it held before a trace."""
        self.put(before)

    def holds(self) -> bool:
        """Return whether the source still holds its value; an equal one becomes the expected value.
        """
        value = self.now()
        if value is self.value:
            return True
        if not same(value, self.value):
            return False
        self.value = value
        return True

    def records(self) -> Iterable[Any]:
        """Return what native code compares; empty if only ``holds`` can decide."""
        return ()

    def condition(self, name: Callable[[Any], str]) -> str:
        """Return the condition that the text of a call checks, for sources that native code cannot
        compare; empty if none is needed.

        ``name`` returns a variable for an object.
        """
        return f"{name(self.holds)}()"

    def change(self) -> str:
        """Describe the change of the source, for the user."""
        return f"{self.path} was {describe_value(self.value)}, now {describe_value(self.now())}"


class Attribute(Source):
    """An entry of an object's own attributes, which may be missing."""

    __slots__ = ("name", "owner")

    def __init__(self, path: str, owner: Any, name: str, value: Any) -> None:
        super().__init__(path, value)
        self.owner = owner
        self.name = name

    def now(self) -> Any:
        return attributes(self.owner).get(self.name, MISSING)

    def put(self, value: Any) -> None:
        _enter(attributes(self.owner), self.name, value)

    def records(self) -> Iterable[Any]:
        held = attributes(self.owner)
        there = dict_pointer(self.owner, held)
        return [] if there is None else [there, entry(held, self.name, self.value)]


class Name(Source):
    """A name of a module, or an entry of another dict."""

    __slots__ = ("mapping", "name")

    def __init__(self, path: str, mapping: dict[Any, Any], name: Any, value: Any) -> None:
        super().__init__(path, value)
        self.mapping = mapping
        self.name = name

    def now(self) -> Any:
        return self.mapping.get(self.name, MISSING)

    def put(self, value: Any) -> None:
        _enter(self.mapping, self.name, value)

    def records(self) -> Iterable[Any]:
        return [entry(self.mapping, self.name, self.value)]


class WeaklyHeld(Name):
    """An attribute of an object that the function holds only by weak references."""

    __slots__ = ()


class Alive(Source):
    """An object that the function holds only by weak references; the guard does not keep it alive.
    """

    __slots__ = ("reference",)

    def __init__(self, path: str, owner: Any) -> None:
        self.reference = weakref.ref(owner)
        super().__init__(path, self.now())

    def now(self) -> Any:
        owner = self.reference()
        return None if owner is None else (type(owner), attributes(owner))

    def condition(self, name: Callable[[Any], str]) -> str:
        kind, held = self.value
        found = f"{name(self.reference)}()"
        return f"type({found}) is {name(kind)} and getattr({found}, '__dict__', 0) is {name(held)}"

    def change(self) -> str:
        return f"{self.path} is gone, or another one"


def weakly(sources: dict[Any, Source], owner: Any) -> bool:
    """Replace the sources of ``owner`` by ones that refer to it weakly; return whether none is left
    that does not, as for attributes in slots."""
    own = {key: p for key, p in sources.items() if getattr(p, "owner", None) is owner}
    held = attributes(owner)
    if type(held) is not dict or not all(isinstance(p, (Attribute, Kind)) for p in own.values()):
        return not own
    for key, source in own.items():
        if isinstance(source, Attribute):
            sources[key] = WeaklyHeld(source.path, held, source.name, source.value)
        else:
            sources[key] = Alive(source.path.removeprefix("the class of "), owner)
    return True


class Cell(Source):
    """A guard on a variable of an enclosing function."""

    __slots__ = ("cell",)

    def __init__(self, path: str, cell: Any) -> None:
        self.cell = cell
        super().__init__(path, self.now())

    def now(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def put(self, value: Any) -> None:
        if value is MISSING:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value

    def records(self) -> Iterable[Any]:
        empty = self.value is MISSING
        return [Word(id(self.cell), CELL_AT, 0 if empty else id(self.value),
                     keep=(self.cell, self.value))]


class Slot(Source):
    """A slot of an object."""

    __slots__ = ("member", "owner")

    def __init__(self, path: str, owner: Any, member: Any, value: Any) -> None:
        super().__init__(path, value)
        self.owner = owner
        self.member = member

    def now(self) -> Any:
        try:
            return self.member.__get__(self.owner)
        except AttributeError:
            return MISSING

    def put(self, value: Any) -> None:
        if value is MISSING:
            self.member.__delete__(self.owner)
        else:
            self.member.__set__(self.owner, value)

    def records(self) -> Iterable[Any]:
        from agnesi.runtime.entry import slot_offset

        if self.value is MISSING:
            return []
        try:
            offset = slot_offset(self.member.__objclass__, self.member.__name__)
        except TypeError:
            return []
        return [pointer(self.owner, offset, self.value)]


class PartOfPartial(Slot):
    """The function, the arguments or the keywords of a ``functools.partial``."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        state = {n: getattr(self.owner, n) for n in ("func", "args", "keywords")}
        state[self.member.__name__] = value
        self.owner.__setstate__((*state.values(), vars(self.owner)))


def part_of_partial(path: str, owner: Any, name: str) -> PartOfPartial:
    """The source of a part of a ``functools.partial``."""
    member: Any = vars(functools.partial)[name]
    return PartOfPartial(f"{path}.{name}", owner, member, member.__get__(owner))


class Defaults(Source):
    """The defaults of a function, which ``Function`` compares."""

    __slots__ = ("function",)

    def __init__(self, path: str, function: FunctionType) -> None:
        self.function = function
        super().__init__(path, self.now())

    def now(self) -> Any:
        return self.function.__defaults__

    def put(self, value: Any) -> None:
        self.function.__defaults__ = value


class Fact(Slot):
    """A property of a tensor besides its value, which a trace does not change."""

    __slots__ = ()


class MemoryType(Fact):
    """The shape and dtype of a tensor; other memory of the same type satisfies the guard."""

    __slots__ = ()

    def holds(self) -> bool:
        now = self.now()
        if now is not self.value and (
                now is None or (now.shape, now.dtype) != (self.value.shape, self.value.dtype)):
            return False
        self.value = now
        return True


class Kind(Source):
    """The class of an object."""

    __slots__ = ("owner",)

    def __init__(self, path: str, owner: Any) -> None:
        super().__init__(f"the class of {path}", type(owner))
        self.owner = owner

    def now(self) -> Any:
        return type(self.owner)

    def put(self, value: Any) -> None:
        object.__setattr__(self.owner, "__class__", value)

    def records(self) -> Iterable[Any]:
        return [pointer(self.owner, TYPE_AT, self.value)]


class Definition(Source):
    """A class: its methods, and the attributes that code read of it."""

    __slots__ = ("absent", "called", "known", "looked", "names", "order", "parts")

    def __init__(self, path: str, kind: type) -> None:
        super().__init__(path, kind)
        self.names: dict[tuple[type, str], Any] = {}
        #: Names that were looked for and that no class has.
        self.absent: set[str] = set()
        self.order, self.called = kind.__mro__, kind.__name__
        self.parts = [part for part in kind.__mro__ if not is_builtin(part)]
        #: The names of each part when those that came later were looked for last.
        self.looked: list[list[str]] = [[] for _ in self.parts]
        #: The names of each part, where code reads all.
        self.known: list[set[str]] | None = None
        for part in self.parts:
            self.names.update({(part, name): _own(value) for name, value in vars(part).items()
                               if _is_method(value) or name in IMPLICIT})

    def attributes(self) -> list[str]:
        """Return the names of all attributes of the class; from now on an added one is a change."""
        if self.known is None:
            self.known = [{*vars(part), *HOOKED} for part in self.parts]
        return [name for part in self.parts for name in vars(part) if not name.startswith("__")]

    def add(self, name: str) -> None:
        """Record that an attribute of the class was read, unless it is one that tracing itself
        replaces.
        """
        if name in HOOKED or name in self.absent:  # Python calls those itself; those are known
            return
        if not any(name in vars(part) for part in self.parts):
            self.absent.add(name)
            return
        for part in self.parts:
            self.names.setdefault((part, name), vars(part).get(name, MISSING))

    def now(self) -> Any:
        return self.value

    def put(self, value: Any) -> None:
        self.value.__name__ = self.called
        while (found := self._changed()) is not None:
            part, name = found
            if self.names.get(found, MISSING) is MISSING:
                type.__delattr__(part, name)
            else:
                type.__setattr__(part, name, self.names[found])

    def holds(self) -> bool:
        return (self.value.__mro__ == self.order and self.value.__name__ == self.called
                and self._changed() is None)

    def _changed(self) -> tuple[type, str] | None:
        for (part, name), value in self.names.items():
            now = vars(part).get(name, MISSING)
            if now is not value and (now := _own(now)) is not value:
                if not same(now, value):
                    return part, name
                self.names[part, name] = now
        for i, part in enumerate(self.parts):
            names = [*vars(part)]
            if names == self.looked[i]:
                continue
            more = set() if self.known is None else {*names} - self.known[i]
            for name in (self.absent | IMPLICIT).intersection(names) | more:
                if (part, name) not in self.names and _own(vars(part)[name]) is not MISSING:
                    return part, name
            self.looked[i] = names
        return None

    def records(self) -> Iterable[Any]:
        tag = class_tag(self.value)
        return [] if tag is None else [tag, class_name(self.value)]

    def change(self) -> str:
        if self.value.__name__ != self.called:
            return f"{self.called} is called {self.value.__name__} now"
        if self.value.__mro__ != self.order:
            return f"{self.path} has other bases"
        part, name = self._changed() or (self.value, "")
        before, now = self.names.get((part, name), MISSING), vars(part).get(name, MISSING)
        return f"{part.__name__}.{name} was {describe_value(before)}, now {describe_value(now)}"


class Function(Source):
    """A function's code and defaults."""

    __slots__ = ("function",)

    def __init__(self, path: str, function: FunctionType) -> None:
        self.function = function
        super().__init__(f"the code or the defaults of {path}", self.now())

    def now(self) -> Any:
        f = self.function
        return own_code(f), f.__defaults__, f.__kwdefaults__

    def put(self, value: Any) -> None:
        self.function.__code__, self.function.__defaults__, self.function.__kwdefaults__ = value

    def holds(self) -> bool:
        return all(a is b for a, b in zip(self.value, self.now(), strict=True))

    def records(self) -> Iterable[Any]:
        code, defaults, keywords = self.value
        for offset, value in ((CODE_AT, code), (DEFAULTS_AT, defaults), (KEYWORDS_AT, keywords)):
            yield Word(id(self.function), offset, 0 if value is None else id(value),
                       keep=(self.function, value))


#: What is put into classes while a function is traced.
HOOKED = ("__getattribute__", "__setattr__", "__delattr__")
#: Special methods, which Python calls though code does not name them; classes may get some later.
IMPLICIT = frozenset(
    f"__{name}__" for name in [
        *(f"{how}{name}" for name in "add sub mul truediv floordiv mod divmod pow matmul lshift "
          "rshift and or xor".split() for how in ("", "r", "i")),
        *"""lt le eq ne gt ge hash bool len length_hint contains iter next reversed getitem setitem
        delitem missing call getattr getattribute setattr delattr get set delete neg pos abs invert
        int float complex index round trunc floor ceil enter exit new init repr str format bytes
        array array_priority array_ufunc array_function instancecheck subclasscheck
        class_getitem match_args copy deepcopy dir""".split()])


def attributes(owner: Any) -> Any:
    """An object's own attributes; empty where it has no dict."""
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}


def _enter(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    if value is MISSING:
        mapping.pop(key, None)
    else:
        mapping[key] = value


def entry(mapping: dict[Any, Any], key: Any, value: Any) -> Entry:
    """The record of an entry that is there or missing."""
    return Entry(mapping, key, () if value is MISSING else (value,))


def describe_value(value: Any) -> str:
    """A value in a sentence."""
    if value is MISSING:
        return "missing"
    plain = isinstance(value, (*PLAIN, float, complex, tuple))
    text = repr(value) if plain and not nested_beyond(value, _MAX_SHOWN_LEVELS) else ""
    return text if 0 < len(text) < 60 else f"a {type(value).__name__}"


def is_builtin(kind: type) -> bool:
    """Return whether a class was not made at run time."""
    return not kind.__flags__ & (1 << 9)  # Py_TPFLAGS_HEAPTYPE


def _own(value: Any) -> Any:
    """Return the original of a class attribute that a trace has replaced by a hook."""
    return getattr(value, "stands_for", value) if type(value) is FunctionType else value


def _is_method(value: Any) -> bool:
    return hasattr(type(value), "__get__")
