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
_MIN_INSTANCES = 200
_NOTHING = object()
_PUT_OFF = "put off: "
_NONE: tuple[list[str], list[tuple[str, Any]], int] = [], [], 0
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
    """A default that is made for each object, and the field of those that put it off."""

    def __init__(self, make: Callable[[], Any], kw_only: bool) -> None:
        self.make = make
        self.kw_only = kw_only

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, cls: type) -> Any:
        if owner is None:
            return self
        values = owner.__dict__
        value = values[self.name] = values.pop(_PUT_OFF + self.name)()
        return value


def put_off(owner: Any, name: str, make: Callable[[], Any]) -> None:
    """Compute a field that has a ``default_factory`` lazily: ``make()`` runs at the first read."""
    del owner.__dict__[name]
    owner.__dict__[_PUT_OFF + name] = make


def field(*, default_factory: Callable[[], Any], kw_only: bool = False) -> Any:
    """A field whose default is computed for each object, like
    ``dataclasses.field(default_factory=...)``."""
    return _Made(default_factory, kw_only)


def _constructor(cls: Any) -> Any:
    """``__init__`` for the fields of a class, with the class attributes as defaults."""
    fields = _in_order(cls)
    known = {f"_{n}": default for n, default in fields if default is not _NOTHING}
    known["__name__"] = __name__  # what it raises is no function of the user's
    parameters, body = [], ""
    for name, default in fields:
        if _is_last(default) and "*" not in parameters:
            parameters.append("*")
        parameters.append(name if default is _NOTHING else f"{name}=_{name}")
        made = f"_{name}.make() if {name} is _{name} else {name}"
        body += f"\n    values[{name!r}] = {made if type(default) is _Made else name}"
    if hasattr(cls, "__post_init__"):
        body += "\n    self.__post_init__()"
    source = f"def __init__(self, {', '.join(parameters)}):\n    values = self.__dict__{body}\n"
    exec(compile(source, __file__, "exec"), known)  # errors name lines that are not ours
    return known["__init__"]


def _first_init(cls: Any) -> Any:
    """A constructor for the first objects, which are all that most classes ever have.

    To write one for a class takes as long as some hundred objects gain by it.
    """
    made, layout = 0, _NONE

    def __init__(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: N807
        nonlocal made, layout
        made += 1
        if layout is _NONE:
            layout = _layout(cls)
        names, fields, most = layout
        values, given = self.__dict__, len(args)
        values.update(zip(names, args, strict=False))
        fits = made <= _MIN_INSTANCES and given <= most
        if fits and (keywords or given != len(names)):
            fits = _completed(values, fields[given:], keywords)
        if not fits:  # or these are not what a constructor takes, and it will say so
            values.clear()
            cls.__init__ = _constructor(cls)
            cls.__init__(self, *args, **keywords)
        elif checked:
            self.__post_init__()

    checked = hasattr(cls, "__post_init__")
    return __init__


def _layout(cls: Any) -> tuple[list[str], list[tuple[str, Any]], int]:
    """The names of the fields, those with their defaults, and how many arguments there may be."""
    fields = _in_order(cls)
    return [n for n, _ in fields], fields, sum(not _is_last(default) for _, default in fields)


def _in_order(cls: Any) -> list[tuple[str, Any]]:
    """The fields and their defaults as a constructor takes them, those by keyword only last."""
    fields = [(name, getattr(cls, name, _NOTHING)) for name in cls._fields]
    return sorted(fields, key=lambda field: _is_last(field[1]))


def _is_last(default: Any) -> bool:
    return isinstance(default, _Made) and default.kw_only


def _completed(values: dict[str, Any], fields: Sequence[tuple[str, Any]],
               keywords: Mapping[str, Any]) -> bool:
    """Give fields that no argument is for their values; False if a constructor would refuse."""
    used = 0
    for name, default in fields:
        if name in keywords:
            values[name] = keywords[name]
            used += 1
        elif default is _NOTHING:
            return False
        else:
            values[name] = default.make() if type(default) is _Made else default
    return used == len(keywords)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: C) -> C:
    """A class decorator: annotated names are fields, given to the constructor in their order.

    Records are immutable, and equal (with equal hashes) when their fields are.  A class attribute
    of a field's name is its default.

    >>> from agnesi.core.support.record import record
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

    >>> from agnesi.core.support.record import field, struct
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

    >>> from agnesi.core.support.record import handle
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
