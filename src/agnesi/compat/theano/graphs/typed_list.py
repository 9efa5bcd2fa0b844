"""``theano.typed_list``: lists of arrays of one type as variables, computed by Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.api.objects import Generic, _computed, generic, value_of
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.types import TensorType
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import at, typed


class TypedListType:
    """Lists of arrays of a type; calling it makes a variable.

    :param ttype: Of the entries.
    :type ttype: TensorType
    """

    def __init__(self, ttype: Any, depth: int = 0) -> None:
        self.ttype = ttype if isinstance(ttype, TensorType) else ttype().type
        if depth:
            raise NotImplementedError(at("TypedListType: lists of lists are no variables here"))

    def __call__(self, name: str | None = None) -> TypedListVariable:
        """A new input of this type."""
        return TypedListVariable(generic(name)._handle, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedListType) and self.ttype == other.ttype

    def __hash__(self) -> int:
        return hash(self.ttype)

    def __repr__(self) -> str:
        return f"TypedList <{self.ttype}>"


class TypedListVariable(Generic):
    """A list of arrays; entries are variables, slices are lists.

    Parameters
    ----------
    handle : Tensor
        Names the object in the graph.
    kind : TypedListType
    entries : sequence of Variable, optional
        The entries, where the graph knows them.
    """

    __slots__ = ("entries", "type")

    def __init__(self, handle: Any, kind: TypedListType, entries: Sequence[Any] = ()) -> None:
        super().__init__(handle)
        self.type, self.entries = kind, entries

    @property
    def ttype(self) -> TensorType:
        """The type of the entries."""
        return self.type.ttype

    def _accept(self, value: Any, label: str) -> Any:
        if not isinstance(value, (list, tuple)):
            raise TypeError(at(f"{label} is a list of arrays, not {typed(value)}"))
        try:
            return [self.ttype.filter(v, allow_downcast=False) for v in value]
        except TypeError as error:
            raise TypeError(at(f"{label} is a list of {self.ttype}: {error}")) from None

    def __getitem__(self, key: Any) -> Any:
        if self.entries and type(key) is int:
            return self.entries[key]
        found = super().__getitem__(
            slice(*map(bare, (key.start, key.stop, key.step))) if isinstance(key, slice)
            else bare(key))
        if isinstance(key, slice):
            return TypedListVariable(found._handle, self.type)
        return wrapped(value_of(found, self.ttype.dtype, self.ttype.shape))

    def append(self, toAppend: Any) -> TypedListVariable:
        """The list with an entry behind it."""
        return append(self, toAppend)

    def extend(self, toAppend: Any) -> TypedListVariable:
        """The list with another one behind it."""
        return extend(self, toAppend)

    def insert(self, index: Any, toInsert: Any) -> TypedListVariable:
        """The list with an entry at a place."""
        return insert(self, index, toInsert)

    def remove(self, toRemove: Any) -> TypedListVariable:
        """The list without the first entry that is equal."""
        return remove(self, toRemove)

    def reverse(self) -> TypedListVariable:
        """The list from its end on."""
        return reverse(self)

    def count(self, elem: Any) -> Variable:
        """How many entries are equal to a value."""
        return count(self, elem)

    def ind(self, elem: Any) -> Variable:
        """The place of the first entry that is equal to a value."""
        return index_(self, elem)


def _entry(x: TypedListVariable, value: Any) -> Any:
    """An entry for a list, if it is of its type."""
    found = as_tensor_variable(value)
    if not x.ttype.is_super(found.type):
        raise TypeError(at(f"{found!r} is {found.type}, and the list is of {x.ttype}"))
    return found._value


def _list(x: TypedListVariable, function: Callable[..., Any], *args: Any) -> TypedListVariable:
    """A list that a function gives."""
    return TypedListVariable(_computed(function, [x, *args]), x.type)


def _number(x: TypedListVariable, function: Callable[..., Any], *args: Any) -> Variable:
    """A number that a function gives."""
    found: Variable = wrapped(_computed(
        lambda *values: np.asarray(function(*values)), [x, *args], dtype=int64))
    return found


def _place(entries: Sequence[Any], value: Any) -> int:
    """The place of the first entry that is equal to a value."""
    for i, entry in enumerate(entries):
        if np.array_equal(entry, value):
            return i
    raise ValueError("no entry of the list is equal to it")


def make_list(entries: Sequence[Any]) -> TypedListVariable:
    """A list of variables of one type."""
    given = [as_tensor_variable(v) for v in entries]
    if not given or any(v.type != given[0].type for v in given):
        raise TypeError(at("make_list takes variables of one type, at least one"))
    return TypedListVariable(_computed(
        lambda *values: [np.array(v) for v in values], [v._value for v in given]),
        TypedListType(given[0].type), given)


def append(x: TypedListVariable, toAppend: Any) -> TypedListVariable:
    """The list with an entry behind it."""
    return _list(x, lambda entries, v: [*entries, np.array(v)], _entry(x, toAppend))


def extend(x: TypedListVariable, toAppend: TypedListVariable) -> TypedListVariable:
    """The list with another one behind it."""
    return _list(x, lambda entries, more: [*entries, *more], toAppend)


def insert(x: TypedListVariable, index: Any, toInsert: Any) -> TypedListVariable:
    """The list with an entry at a place."""
    return _list(x, lambda entries, i, v: [*entries[:int(i)], np.array(v), *entries[int(i):]],
                 bare(index), _entry(x, toInsert))


def remove(x: TypedListVariable, toRemove: Any) -> TypedListVariable:
    """The list without the first entry that is equal."""
    return _list(x, lambda entries, v: [
        e for i, e in enumerate(entries) if i != _place(entries, v)], _entry(x, toRemove))


def reverse(x: TypedListVariable) -> TypedListVariable:
    """The list from its end on."""
    return _list(x, lambda entries: entries[::-1])


def count(x: TypedListVariable, elem: Any) -> Variable:
    """How many entries are equal to a value."""
    return _number(x, lambda entries, v: sum(np.array_equal(e, v) for e in entries),
                   _entry(x, elem))


def index_(x: TypedListVariable, elem: Any) -> Variable:
    """The place of the first entry that is equal to a value."""
    return _number(x, _place, _entry(x, elem))


def length(x: TypedListVariable) -> Variable:
    """How many entries there are."""
    return _number(x, len)


def getitem(x: TypedListVariable, index: Any) -> Any:
    """An entry, or the list of a slice."""
    return x[index]


_strictly(__name__)
