"""Modules and parameters in lists and dicts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import MissingKeyError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.nn.base.lookups import check_name
from agnesi.nn.base.module import Module
from agnesi.nn.base.owned import begins, frozen
from agnesi.ops.base.convert import as_tensor


def _begun(data: TensorLike, requires_grad: bool = True) -> Tensor:
    found = as_tensor(data).detach()
    if found.array is not None and not found.array.flags.writeable:
        found = found.clone()
    if requires_grad and not is_inexact(found.dtype):
        raise TypeError(f"only float and complex tensors can require grad, not {typed(found)}; "
                        "give floats, as in 3.0")
    return found.requires_grad_() if requires_grad else frozen(found)


_begun.__name__ = _begun.__qualname__ = "Parameter"  # as errors name it
_made = strict(_begun)


class _OfParameters(type):
    """A class whose calls give tensors, and whose instances are those that gradients begin at."""

    def __call__(cls, *args: Any, **keywords: Any) -> Tensor:
        return _made(*args, **keywords)

    def __instancecheck__(cls, value: Any) -> bool:
        return begins(value)


if TYPE_CHECKING:

    class Parameter(Tensor):
        """What a type checker sees."""

        def __init__(self, data: TensorLike, requires_grad: bool = True) -> None: ...

else:

    class Parameter(metaclass=_OfParameters):
        """A tensor that a module owns and that training changes.

        Every float tensor that requires a gradient and is made in a module's ``__init__`` is one;
        this is PyTorch's word for it.  Such tensors are instances of it, though none has that type.

        :param data: Its value; shares memory with a tensor that is given, unless that is read-only.
        :type data: array_like
        :param requires_grad: Whether gradients flow to it; else it is a frozen parameter.
        :see: nn.ParameterList, nn.Module

        >>> p = ag.nn.Parameter(ag.zeros(2))
        >>> p, isinstance(p, ag.nn.Parameter)
        (tensor([0., 0.], requires_grad=True), True)
        """

        __signature__ = inspect.signature(_made)

        def __init__(self, data: TensorLike, requires_grad: bool = True) -> None:
            """It says what a call takes."""


class _Container(Module):
    """A module whose entries are attributes, too, by their names; subclasses may have others."""

    def _pairs(self) -> Iterable[tuple[str, Any]]:
        """Names and entries."""
        raise NotImplementedError

    def _listed(self, held: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        yield from self._pairs()
        if len(held) > 1:
            yield from super()._listed({k: v for k, v in held.items() if k != "entries"})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and "entries" in vars(self):  # not before it is filled
                for known, entry in self._entries():
                    if known == name:
                        return entry
            return super().__getattr__(name)


class ModuleSequence(_Container):
    """A list whose entries are named by their places."""

    def __init__(self, entries: Iterable[Any] = ()) -> None:
        self.entries: tuple[Any, ...] = tuple([self._checked(e, i) for i, e in enumerate(entries)])

    def _checked(self, entry: Any, place: int) -> Any:
        """An entry for a place, or the error that it is none."""
        raise NotImplementedError

    def _change(self, change: Callable[[list[Any]], Any]) -> None:
        """Change the list of pairs of names and entries; new ones have the name ""."""
        pairs: list[Any] = [*self._pairs()]
        change(pairs)
        self._fill(pairs)

    def _fill(self, pairs: list[Any]) -> None:
        """Hold the entries of such pairs."""
        self.entries = tuple([entry for _, entry in pairs])

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        return ((str(i), entry) for i, entry in enumerate(self.entries))

    if not TYPE_CHECKING:  # setattr(layers, "1", layer), as programs do that exchange layers

        def __setattr__(self, name: str, value: Any) -> None:
            count = len(self.__dict__.get("entries", ()))
            if not name.isdecimal() or name != str(int(name)) or int(name) > count:
                super().__setattr__(name, value)
            elif int(name) == count:
                self.append(value)
            else:
                self[int(name)] = value

        def __delattr__(self, name: str) -> None:
            if name.isdecimal() and name in dict(self._pairs()):
                del self[int(name)]
            else:
                super().__delattr__(name)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def __getitem__(self, i: int | slice) -> Any:
        return type(self)(self.entries[i]) if isinstance(i, slice) else self._entry(i)

    def _entry(self, i: Any) -> Any:
        """Return the entry of a place."""
        try:
            return self.entries[i]
        except (IndexError, TypeError) as error:
            count = len(self.entries)
            places = f"its entries are 0 to {count - 1}" if count else "it is empty"
            if isinstance(i, str):
                places += ", by number, and by name in a ModuleDict"
            raise type(error)(at(f"{type(self).__name__}[{typed(i)}]: {places}")) from None

    def __setitem__(self, i: int, entry: Any) -> None:
        entries = list(self.entries)
        if isinstance(i, int) and not -len(entries) <= i < len(entries):
            raise IndexError(at(f"{type(self).__name__}[{i}] = ...: its entries are 0 to "
                                f"{len(entries) - 1}; append(...) adds one"))
        entries[i] = self._checked(entry, i)
        self.entries = tuple(entries)

    def __delitem__(self, i: int | slice) -> None:
        if isinstance(i, int) and not -len(self) <= i < len(self):
            raise IndexError(at(f"{type(self).__name__}[{i}]: its entries are 0 to "
                                f"{len(self) - 1}"))
        self._change(lambda pairs: pairs.__delitem__(i))

    def __add__(self, other: Iterable[Any]) -> Self:
        return type(self)([*self.entries, *other])

    def append(self, entry: object) -> Self:
        """Add an entry at the end.

        :param entry: What the list holds.
        :type entry: Module or Tensor
        :returns: The list.
        """
        return self.extend([entry])

    def extend(self, entries: Iterable[Any]) -> Self:
        """Add entries at the end.

        :param entries: What the list holds.
        :returns: The list.
        """
        more = [("", self._checked(e, i)) for i, e in enumerate(entries, len(self.entries))]
        self._change(lambda pairs: pairs.extend(more))
        return self

    def insert(self, index: int, entry: object) -> None:
        """Put an entry before a place.

        :param index: The place.
        :param entry: What the list holds.
        :type entry: Module or Tensor
        """
        pair = "", self._checked(entry, index)
        self._change(lambda pairs: pairs.insert(index, pair))

    def pop(self, index: int = -1) -> Any:
        """Take an entry out.

        :param index: Its place.
        :returns: The entry.
        """
        found = self.entries[index]
        del self[index]
        return found


class _Dict(_Container):
    """A dict whose entries are named by their keys."""

    def __init__(self, entries: Any = ()) -> None:
        self.entries: dict[str, Any] = {}
        self.update(entries)

    def _checked(self, entry: Any) -> Any:
        raise NotImplementedError

    def _pairs(self) -> Iterable[tuple[str, Any]]:
        return self.entries.items()

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            if name in self.__dict__.get("entries", {}):
                self[name] = value
            else:
                super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if name in self.__dict__.get("entries", {}):
                del self[name]
            else:
                super().__delattr__(name)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __getitem__(self, key: str) -> Any:
        if key not in self.entries:
            raise MissingKeyError(at(f"{type(self).__name__} has no {key!r}, but "
                                     f"{list(self.entries)}"))
        return self.entries[key]

    def __setitem__(self, key: str, entry: Any) -> None:
        check_name(self, "update", key)
        self.entries = {**self.entries, key: self._checked(entry)}

    def __delitem__(self, key: str) -> None:
        self[key]  # or an error with the names that there are
        self.entries = {k: v for k, v in self.entries.items() if k != key}

    def update(self, entries: object) -> None:
        """Add entries, or replace those of the same keys.

        :param entries: Names and what the dict holds.
        :type entries: mapping or pairs
        :raises TypeError: If there are no names, or it holds something else.
        """
        given: Any = entries
        try:
            new = dict(given.items() if isinstance(given, (Mapping, _Dict)) else given)
        except (TypeError, ValueError):
            raise TypeError(at(f"{type(self).__name__} takes a dict, or pairs of a name and a value"
                               f", not {typed(entries)}; a list has no names: take "
                               f"{type(self).__name__.replace('Dict', 'List')}")) from None
        for key in new:
            check_name(self, "update", key)
        self.entries = {**self.entries, **{k: self._checked(v) for k, v in new.items()}}

    def keys(self) -> Any:
        """The names.

        :returns: A view, as of a dict.
        """
        return self.entries.keys()

    def values(self) -> Any:
        """The entries.

        :returns: A view, as of a dict.
        """
        return self.entries.values()

    def items(self) -> Any:
        """Names and entries.

        :returns: A view, as of a dict.
        """
        return self.entries.items()

    def pop(self, key: str) -> Any:
        """Take an entry out.

        :param key: Its name.
        :returns: The entry.
        """
        found = self[key]
        del self[key]
        return found

    def clear(self) -> None:
        """Take all entries out."""
        self.entries = {}


def _module(owner: Any, entry: Any) -> Any:
    if entry is not None and not isinstance(entry, Module):
        raise TypeError(at(f"{type(owner).__name__} holds modules, not {typed(entry)}"))
    return entry


def _parameter(owner: Any, entry: Any) -> Any:
    """Return a parameter as it is, as None in the place of one; a constant of floats as one."""
    if isinstance(entry, Tensor):
        constant = is_inexact(entry.dtype) and not entry._requires_grad and (
            entry.array is not None or is_tracing())
        return entry.requires_grad_() if constant else entry
    if entry is None or isinstance(entry, (ParameterList, ParameterDict)):
        return entry
    if not isinstance(entry, Module):
        return Parameter(entry)
    raise TypeError(at(f"{type(owner).__name__} holds parameters, not {typed(entry)}"))


class ModuleList(ModuleSequence):
    """A list of modules; their parameters are named by index, as ``0.weight``.

    :param modules: What it holds; None keeps a place empty.
    :type modules: iterable of Module or None
    :raises TypeError: If an entry is no module.
    :see: nn.ModuleDict, nn.Sequential

    >>> layers = nn.ModuleList([nn.Linear(2, 3)])
    >>> len(layers.append(nn.Linear(3, 1)))
    2
    >>> [name for name, _ in layers.named_parameters()]
    ['0.weight', '0.bias', '1.weight', '1.bias']
    """

    def __init__(self, modules: Iterable[Module | None] = ()) -> None:
        super().__init__(modules)

    def _checked(self, entry: Any, place: int) -> Any:
        return _module(self, entry)


class ModuleDict(_Dict):
    """A dict of modules; their parameters are named by the keys, as ``key.weight``.

    :param modules: Names and modules.
    :type modules: mapping or pairs
    :raises TypeError: If an entry is no module.
    :see: nn.ModuleList

    >>> parts = nn.ModuleDict({"encode": nn.Linear(2, 3)})
    >>> parts["decode"] = nn.Linear(3, 2)
    >>> [name for name, _ in parts.named_parameters()]
    ['encode.weight', 'encode.bias', 'decode.weight', 'decode.bias']
    """

    def __init__(self, modules: object = ()) -> None:
        super().__init__(modules)

    def _checked(self, entry: Any) -> Any:
        return _module(self, entry)

    def add_module(self, name: str, module: object) -> None:
        self[name] = module

    register_module = add_module


class ParameterList(ModuleSequence):
    """Parameters in a list, named by their places.

    :param values: Tensors and None as they are; of anything else parameters are made.
    :type values: iterable of array_like
    :see: nn.ParameterDict, nn.Parameter

    >>> weights = ag.nn.ParameterList([ag.nn.Parameter(ag.zeros(2)) for _ in range(3)])
    >>> len(list(weights.parameters()))
    3
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__(values)

    def _checked(self, entry: Any, place: int) -> Any:
        return _parameter(self, entry)


class ParameterDict(_Dict):
    """Parameters in a dict, named by their keys.

    :param parameters: Names and tensors or None; of anything else parameters are made.
    :type parameters: mapping or pairs
    :see: nn.ParameterList, nn.Parameter

    >>> weights = ag.nn.ParameterDict({"scale": ag.nn.Parameter(ag.ones(2))})
    >>> [name for name, _ in weights.named_parameters()]
    ['scale']
    """

    def __init__(self, parameters: object = ()) -> None:
        super().__init__(parameters)

    def _checked(self, entry: Any) -> Any:
        return _parameter(self, entry)
