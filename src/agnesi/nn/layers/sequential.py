"""Layers one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, Self

from agnesi.core.support.errors import at, shown
from agnesi.nn.base.containers import ModuleSequence
from agnesi.nn.base.module import Module


class Sequential(ModuleSequence):
    """Modules and functions applied one after another.

    Parameters
    ----------
    *layers : Module or callable
        The modules; their parameters are named by their places, as in PyTorch.  What has no
        parameters may be a function.  One mapping instead gives names to all of them.

    Raises
    ------
    TypeError
        If a layer is not callable.

    See Also
    --------
    nn.Module, nn.ModuleList, nn.Identity

    Examples
    --------
    >>> from agnesi import nn
    >>> nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    Sequential()            58
      (0): Linear(4, 8)     40
      (1): Tanh()
      (2): Linear(8, 2)     18
    >>> import agnesi as ag
    >>> model = nn.Sequential(nn.Linear(4, 2), ag.sin, lambda y: y.max(-1))
    >>> model(ag.ones((3, 4))).shape
    (3,)
    >>> model[:2](ag.ones((3, 4))).shape
    (3, 2)
    >>> model[-1] = nn.Linear(2, 5)
    >>> model(ag.ones((3, 4))).shape
    (3, 5)

    It is a list whose layers can be named; a module that is set as an attribute is one more layer,
    or takes the place of that name:

    >>> named = nn.Sequential({"body": nn.Linear(4, 2), "act": nn.Tanh()})
    >>> named.head = nn.Linear(2, 1)
    >>> [name for name, _ in named.named_parameters()]
    ['body.weight', 'body.bias', 'head.weight', 'head.bias']
    >>> len(named.append(nn.Sigmoid()))
    4
    """

    #: Names of the layers; None where they are their places.
    names: tuple[str, ...] | None = None

    def __init__(self, *layers: Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]]) -> None:
        named = layers[0] if len(layers) == 1 and isinstance(layers[0], Mapping) else None
        if named is not None:
            self.names = tuple(named)
        self.entries = tuple([
            _layer(i, e) for i, e in enumerate(layers if named is None else named.values())])

    @property
    def layers(self) -> tuple[Any, ...]:
        """The layers in their order."""
        return self.entries

    def forward(self, x: Any) -> Any:
        for layer in self.entries:
            x = layer(x)
        return x

    def _checked(self, entry: Any) -> Any:
        return _layer(len(self.entries), entry)

    def _names(self) -> tuple[str, ...]:
        return tuple(map(str, range(len(self.entries)))) if self.names is None else self.names

    def _entries(self) -> Iterator[tuple[str, Any]]:
        return zip(self._names(), self.entries, strict=True)

    def _changed(self, change: Callable[[list[Any]], Any], name: str | None = None) -> None:
        """Change the list of pairs of names and layers; those without a name get ``name``."""
        pairs: list[Any] = [*self._entries()]
        change(pairs)
        if self.names is not None or name is not None:
            taken = {n for n, _ in pairs}
            self.names = tuple([n or name or _free(i, taken) for i, (n, _) in enumerate(pairs)])
        self.entries = tuple([layer for _, layer in pairs])

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            pairs = [*self._entries()][i]
            return Sequential(*self.entries[i]) if self.names is None else Sequential(dict(pairs))
        return self.entries[i]

    def __setitem__(self, i: int, entry: Any) -> None:
        entries = list(self.entries)
        entries[i] = _layer(i, entry)
        self.entries = tuple(entries)

    def __delitem__(self, i: int | slice) -> None:
        self._changed(lambda pairs: pairs.__delitem__(i))

    def __add__(self, other: Iterable[Any]) -> Self:
        return type(self)(*self.entries, *other)

    def append(self, entry: Any) -> Self:
        """Add a layer at the end.

        Parameters
        ----------
        entry : Module or callable
            The layer.

        Returns
        -------
        Self
            The module.
        """
        return self.extend([entry])

    def extend(self, entries: Iterable[Any]) -> Self:
        """Add layers at the end.

        Parameters
        ----------
        entries : iterable
            The layers.

        Returns
        -------
        Self
            The module.
        """
        more = [("", self._checked(e)) for e in entries]
        self._changed(lambda pairs: pairs.extend(more))
        return self

    def insert(self, index: int, entry: Any) -> Self:  # type: ignore[override]
        """Put a layer before a place.

        Parameters
        ----------
        index : int
            The place.
        entry : Module or callable
            The layer.

        Returns
        -------
        Self
            The module.
        """
        checked = self._checked(entry)
        self._changed(lambda pairs: pairs.insert(index, ("", checked)))
        return self

    # -- layers as attributes -----------------------------------------------------------------
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if not name.startswith("_") and "entries" in vars(self):  # not before it is filled
                for known, layer in self._entries():
                    if known == name:
                        return layer
            return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, Module):
            super().__setattr__(name, value)
            return
        names = self._names()
        if name in names:
            self[names.index(name)] = value
        else:
            self._changed(lambda pairs: pairs.append(("", value)), name)

    def __delattr__(self, name: str) -> None:
        names = self._names()
        if name in names:
            del self[names.index(name)]
        else:
            super().__delattr__(name)


def _free(place: int, taken: set[str]) -> str:
    """The first number from a place on that is no name yet; it is one then."""
    found = next(n for n in map(str, count(place)) if n not in taken)
    taken.add(found)
    return found


def _layer(place: int, entry: Any) -> Any:
    """A layer of a sequence, or the error that it is none."""
    if isinstance(entry, type):
        raise TypeError(at(f"Sequential: layer {place} is the class {entry.__name__}: make a layer "
                           f"of it, {entry.__name__}(...)"))
    if not callable(entry):
        what = f"layer {place} is no module and no function: {shown(entry)}"
        if isinstance(entry, (list, tuple)):
            what += "; give the layers one by one: Sequential(*layers)"
        raise TypeError(at(f"Sequential: {what}"))
    return entry
