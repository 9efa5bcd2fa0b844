"""Arguments of a jitted function where a call of it runs eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.support.tree import tuples_inside
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_array


def called_with_tensors(function: Callable[..., Any], args: tuple[Any, ...],
                        keywords: dict[str, Any]) -> Any:
    """Call a function with NumPy arrays replaced by tensors on their memory, as compiled code has
    them, because results may depend on the class.

    Lists and dicts hold tensors until the function returns; its changes to them stay. Arrays that
    no tensor can hold are passed as they are.
    """
    given = _Given()
    try:
        return function(*[given.with_tensors(v) for v in args],
                        **{k: given.with_tensors(v) for k, v in keywords.items()})
    finally:
        given.restore()


class _Given:
    """The tensors that replace arrays during a call, and the containers that hold them."""

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        self.arrays: dict[int, np.ndarray] = {}
        self.containers: dict[int, Any] = {}
        self._to_change: list[Any] = []

    def with_tensors(self, value: Any) -> Any:
        found = _replaced(value, self._given)
        while self._to_change:
            self._change(self._to_change.pop(), self._given)
        return found

    def _given(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self._tensor(value)
        if type(value) in (list, dict) and id(value) not in self.containers:
            self.containers[id(value)] = value
            self._to_change.append(value)
        return value

    def _tensor(self, value: np.ndarray) -> Any:
        try:
            array = as_array(value)
        except (TypeError, ValueError):  # no tensor holds such elements
            return value
        if array.__array_interface__["data"] != value.__array_interface__["data"]:
            return value
        found = self.tensors.setdefault(id(value), wrap(array))
        self.arrays[id(found)] = value
        return found

    def restore(self) -> None:
        """Put the arrays back wherever containers still hold their tensors."""
        for container in self.containers.values():
            self._change(container, self._array)

    def _array(self, value: Any) -> Any:
        return self.arrays.get(id(value), value)

    @staticmethod
    def _change(container: Any, of: Callable[[Any], Any]) -> None:
        """Replace what a list or dictionary holds, itself or in tuples."""
        for key, v in _items(container):
            found = _replaced(v, of)
            if found is not v:
                container[key] = found


def _replaced(value: Any, of: Callable[[Any], Any]) -> Any:
    """``of`` a value, or a tuple with ``of`` all that it holds; tuples may be nested to any depth.
    """
    if type(value) is not tuple:
        return of(value)
    done: dict[int, tuple[Any, ...]] = {}
    for inner in tuples_inside(value):
        parts = [done[id(v)] if type(v) is tuple else of(v) for v in inner]
        changed = any(a is not b for a, b in zip(parts, inner, strict=True))
        done[id(inner)] = tuple(parts) if changed else inner
    return done[id(value)]


def _items(container: Any) -> list[tuple[Any, Any]]:
    return list(container.items() if type(container) is dict else enumerate(container))
