"""Classes of fields: like those of ``dataclass``, but nearly free at import.

Operations and plans are declared by the dozen, and ``dataclass`` would spend half a millisecond on
each.  Here the constructor is written when some objects of a class have been made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C", bound=type)
#: Objects of a class before it gets a constructor of its own.
_FEW = 32
_NOTHING = object()
_NO_FIELDS: Callable[[Any], Any] = lambda self: ()  # noqa: E731 - stands beside attrgetter


def _eq(self: Any, other: Any) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return self._key(self) == self._key(other)


def _hash(self: Any) -> int:
    return hash((type(self), self._key(self)))


def _setattr(self: Any, name: str, value: Any) -> None:
    raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")


def _repr(self: Any) -> str:
    values = ", ".join(f"{n}={getattr(self, n)!r}" for n in self._fields)
    return f"{type(self).__name__}({values})"


class _Made:
    """A default that every object gets anew."""

    def __init__(self, make: Callable[[], Any], kw_only: bool) -> None:
        self.make = make
        self.kw_only = kw_only


def field(*, default_factory: Callable[[], Any], kw_only: bool = False) -> Any:
    """A field whose default is made for each object, as ``dataclasses.field`` says it."""
    return _Made(default_factory, kw_only)


def _constructor(cls: Any) -> Any:
    """``__init__`` for the fields of a class, with the class attributes as defaults."""
    known = {f"_{n}": getattr(cls, n) for n in cls._fields if hasattr(cls, n)}
    made = {n for n in cls._fields if isinstance(known.get(f"_{n}"), _Made)}
    last = [n for n in cls._fields if n in made and known[f"_{n}"].kw_only]
    order = [*(n for n in cls._fields if n not in last), *(["*"] if last else []), *last]
    parameters = ", ".join(f"{n}=_{n}" if f"_{n}" in known else n for n in order)
    values = {n: f"_{n}.make() if {n} is _{n} else {n}" if n in made else n for n in cls._fields}
    body = "".join(f"\n    values[{n!r}] = {value}" for n, value in values.items())
    if hasattr(cls, "__post_init__"):
        body += "\n    self.__post_init__()"
    source = f"def __init__(self, {parameters}):\n    values = self.__dict__{body}\n"
    exec(compile(source, __file__, "exec"), known)  # errors tell lines that are not ours
    return known["__init__"]


def _first_init(cls: Any) -> Any:
    """A constructor for the first objects, which are all that most classes ever have.

    To write one for a class takes 0.15 ms.
    """
    made = 0

    def __init__(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: N807
        nonlocal made
        made += 1
        if made > _FEW or not _filled(cls, self.__dict__, args, keywords):
            cls.__init__ = _constructor(cls)
            cls.__init__(self, *args, **keywords)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _filled(cls: Any, values: dict[str, Any], args: Sequence[Any],
            keywords: Mapping[str, Any]) -> bool:
    """Give all fields their values; False if these are not what a constructor takes."""
    left = dict(keywords)
    for name in cls._fields:
        default: Any = getattr(cls, name, _NOTHING)
        fresh = isinstance(default, _Made)
        if args and not (fresh and default.kw_only):
            values[name], args = args[0], args[1:]
            continue
        if default is _NOTHING and name not in left:
            return False
        values[name] = left.pop(name, default)
        if values[name] is default and fresh:
            values[name] = default.make()
    return not args and not left


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: C) -> C:
    """A class decorator: annotated names are fields, given to the constructor in their order.

    Records are immutable, and equal (with equal hashes) when their fields are.  A class attribute
    of a field's name is its default.

    Examples
    --------
    >>> from agnesi.core.record import record
    >>> @record
    ... class Scale:
    ...     factor: float
    ...     shift: float = 0.0
    >>> Scale(2.0), Scale(2.0) == Scale(2.0, 0.0)
    (Scale(factor=2.0, shift=0.0), True)
    """
    return _declared(cls, _hash, {"__setattr__": _setattr})


@dataclass_transform(field_specifiers=(field,))
def struct(cls: C) -> C:
    """A class decorator like :func:`record` for objects that change, and so have no hash.

    Examples
    --------
    >>> from agnesi.core.record import field, struct
    >>> @struct
    ... class Basket:
    ...     owner: str
    ...     apples: list[int] = field(default_factory=list)
    >>> Basket("Eve").apples.append(1)
    >>> Basket("Eve")
    Basket(owner='Eve', apples=[])
    """
    return _declared(cls, None, {})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def handle(cls: C) -> C:
    """A class decorator like :func:`record` for objects that are equal to themselves only.

    Examples
    --------
    >>> from agnesi.core.record import handle
    >>> @handle
    ... class Ticket:
    ...     event: str
    >>> Ticket("opera") == Ticket("opera")
    False
    """
    cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__  # type: ignore
    return _declared(cls, None, {"__setattr__": _setattr})


def _declared(cls: C, hashed: Any, given: dict[str, Any]) -> C:
    own = cls.__dict__
    kinds = own.get("__annotations__", {})
    added = [n for n, k in kinds.items() if not str(k).startswith("ClassVar")]
    names = tuple(dict.fromkeys((*getattr(cls, "_fields", ()), *added)))
    given["_fields"] = names
    given["_key"] = attrgetter(*names) if names else staticmethod(_NO_FIELDS)
    if "__init__" not in own:
        given["__init__"] = _first_init(cls)
    if "__eq__" not in own:
        given["__eq__"], given["__hash__"] = _eq, hashed
    if "__repr__" not in {n for base in cls.__mro__[:-1] for n in base.__dict__}:
        given["__repr__"] = _repr
    for name, value in given.items():
        setattr(cls, name, value)
    return cls


def replace(self: Any, **changes: Any) -> Any:
    """A copy of a record or struct with some fields changed."""
    values = {n: getattr(self, n) for n in self._fields}
    return type(self)(**{**values, **changes})
