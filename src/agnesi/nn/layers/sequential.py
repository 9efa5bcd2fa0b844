"""Layers one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Self

from agnesi.core.support.errors import at, typed
from agnesi.nn.base.containers import ModuleSequence
from agnesi.nn.base.module import Module


class Sequential(ModuleSequence):
    """Modules and functions applied one after another.

    :param *layers: The modules; their parameters are named by their places, as in PyTorch.  What
        has no parameters may be a function.  One mapping instead gives names to all of them.
    :type *layers: Module or callable
    :raises TypeError: If a layer is not callable.
    :see: nn.Module, nn.ModuleList, nn.Identity

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
        super().__init__(layers if named is None else named.values())

    @property
    def layers(self) -> tuple[Any, ...]:
        """The layers in their order."""
        return self.entries

    def forward(self, x: Any) -> Any:
        for layer in self.entries:
            x = layer(x)
        return x

    def _checked(self, entry: Any, place: int) -> Any:
        if isinstance(entry, type):
            raise TypeError(at(f"Sequential: layer {place} is the class {entry.__name__}: make a "
                               f"layer of it, {entry.__name__}(...)"))
        if not callable(entry):
            what = f"layer {place} is no module and no function: {typed(entry)}"
            if isinstance(entry, (list, tuple)):
                what += "; give the layers one by one: Sequential(*layers)"
            raise TypeError(at(f"Sequential: {what}"))
        return entry

    def _names(self) -> tuple[str, ...]:
        return tuple(map(str, range(len(self.entries)))) if self.names is None else self.names

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        return zip(self._names(), self.entries, strict=True)

    def _fill(self, pairs: list[Any]) -> None:
        if self.names is not None:
            taken = {name for name, _ in pairs}
            self.names = tuple([name or _free(i, taken) for i, (name, _) in enumerate(pairs)])
        super()._fill(pairs)

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            pairs = [*self._pairs()][i]
            return Sequential(*self.entries[i]) if self.names is None else Sequential(dict(pairs))
        return self._entry(i)

    def __add__(self, other: Iterable[Any]) -> Self:
        return type(self)(*self.entries, *other)

    def insert(self, index: int, entry: Callable[..., Any]) -> Self:  # type: ignore[override]
        """Put a layer before a place.

        :param index: The place.
        :param entry: The layer.
        :type entry: Module or callable
        :returns: The module.
        """
        super().insert(index, entry)
        return self

    # -- layers as attributes -----------------------------------------------------------------
    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, Module) or name in vars(self) or hasattr(type(self), name):
            super().__setattr__(name, value)
            return
        names = self._names()
        if name in names:
            self[names.index(name)] = value
        else:
            self.names = names  # indices no longer name them
            self._change(lambda pairs: pairs.append((name, value)))

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
