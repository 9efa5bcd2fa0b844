"""Entries of a module as a mapping, which PyTorch's programs read and write by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

Pairs = Callable[[], Iterator[tuple[str, Any]]]


class Entries(MutableMapping[str, Any]):
    """The present entries of one kind; what is set or deleted here is so in the module.

    Parameters
    ----------
    pairs : callable
        The entries now, with their names.
    put : callable
        Takes a name and a value: sets the entry.
    remove : callable
        Takes a name.
    """

    __slots__ = ("pairs", "put", "remove")

    def __init__(self, pairs: Pairs, put: Callable[[str, Any], object],
                 remove: Callable[[str], object]) -> None:
        self.pairs, self.put, self.remove = pairs, put, remove

    def __getitem__(self, name: str) -> Any:
        return dict(self.pairs())[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.put(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self.remove(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in list(self.pairs()))

    def __len__(self) -> int:
        return len(dict(self.pairs()))

    def __repr__(self) -> str:
        return repr(dict(self.pairs()))
