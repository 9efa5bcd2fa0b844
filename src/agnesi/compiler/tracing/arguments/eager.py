"""Arguments of a jitted function where a call of it runs eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_array


def called_with_tensors(function: Callable[..., Any], args: tuple[Any, ...],
                        keywords: dict[str, Any]) -> Any:
    """Call a function with tensors on the memory of NumPy's arrays, as compiled code has them: what
    it computes depends on that.

    Lists and dictionaries hold tensors until it returns: it may change them, and its changes stay.
    Arrays that no tensor can hold as they are stay in any case.
    """
    given = _Given()
    try:
        return function(*[given.with_tensors(v) for v in args],
                        **{k: given.with_tensors(v) for k, v in keywords.items()})
    finally:
        given.restore()


class _Given:
    """The tensors in place of arrays, and the containers that hold some meanwhile."""

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        self.arrays: dict[int, np.ndarray] = {}
        self.containers: dict[int, Any] = {}

    def with_tensors(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray or isinstance(value, np.ndarray):
            return self._tensor(value)
        if kind is tuple:
            parts = [self.with_tensors(v) for v in value]
            return value if all(a is b for a, b in zip(parts, value, strict=True)) else tuple(parts)
        if kind in (list, dict) and id(value) not in self.containers:
            self.containers[id(value)] = value
            for key, v in _items(value):
                found = self.with_tensors(v)
                if found is not v:
                    value[key] = found
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
        """Put the arrays back where the function left the tensors around them."""
        for container in self.containers.values():
            for key, v in _items(container):
                found = self._array(v)
                if found is not v:
                    container[key] = found

    def _array(self, value: Any) -> Any:
        if type(value) is tuple:
            parts = [self._array(v) for v in value]
            return value if all(a is b for a, b in zip(parts, value, strict=True)) else tuple(parts)
        return self.arrays.get(id(value), value)


def _items(container: Any) -> list[tuple[Any, Any]]:
    return list(container.items() if type(container) is dict else enumerate(container))
