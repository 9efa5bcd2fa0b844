"""States as files hold them: tensors aside, each by its path, all else as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import check_unmasked

#: What a JSON object is that has one key, which stands for no name.
_TENSOR, _ARRAY, _NUMBER, _TUPLE, _ITEMS = "$tensor", "$array", "$number", "$tuple", "$items"
#: Elements that the file format lacks, and what their parts are.
_WIDE = np.dtype("complex128")


def taken_apart(value: Any, path: str, tensors: dict[str, Any]) -> Any:
    """A nest of containers as JSON; its tensors are added to ``tensors``, by their paths."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        check_unmasked(value)
        kind = _TENSOR if isinstance(value, Tensor) else (
            _ARRAY if isinstance(value, np.ndarray) else _NUMBER)
        return {kind: _kept(value, path, tensors)}
    if isinstance(value, Mapping):
        if all(isinstance(name, str) and not name.startswith("$") for name in value):
            return {n: taken_apart(v, f"{path}.{n}", tensors) for n, v in value.items()}
        return {_ITEMS: [[taken_apart(x, f"{path}.{k}.{part}", tensors)
                          for x, part in zip(pair, ("key", "value"), strict=True)]
                         for k, pair in enumerate(value.items())]}
    if isinstance(value, (list, tuple)):
        found = [taken_apart(v, f"{path}.{k}", tensors) for k, v in enumerate(value)]
        return {_TUPLE: found} if isinstance(value, tuple) else found
    raise TypeError(at(f"{path} is {typed(value)}, which a file cannot hold: it takes "
                       "tensors, arrays, numbers, texts, None, and lists, tuples and dicts"
                       + "; save its state_dict()" * hasattr(value, "state_dict")))


def _kept(value: Any, path: str, tensors: dict[str, Any]) -> str | list[str]:
    """Keep a tensor under a free name."""
    array = np.asarray(value.array if isinstance(value, Tensor) else value)
    name = path
    while name in tensors:
        name += "'"
    wide = array.dtype == _WIDE
    tensors[name] = np.ascontiguousarray(array)[..., None].view(np.float64) if wide else array
    return [name] if wide else name


def put_together(content: Any, read: Callable[[str], Any]) -> Any:
    """Return the object that :func:`taken_apart` took apart; ``read`` returns an array_like by its
    name.

    Raises ValueError where the JSON is not such.
    """
    if isinstance(content, list):
        return [put_together(v, read) for v in content]
    if not isinstance(content, dict):
        return content
    if len(content) != 1 or not next(iter(content)).startswith("$"):
        return {n: put_together(v, read) for n, v in content.items()}
    [(kind, inside)] = content.items()
    if kind in (_TENSOR, _ARRAY, _NUMBER):
        return _read(kind, inside, read)
    if kind == _TUPLE and isinstance(inside, list):
        return tuple(put_together(inside, read))
    if kind == _ITEMS and isinstance(inside, list) and all(
            isinstance(pair, list) and len(pair) == 2 for pair in inside):
        return {_key(put_together(k, read)): put_together(v, read) for k, v in inside}
    raise ValueError(f"it has an unknown {kind!r}")


def _read(kind: str, name: Any, read: Callable[[str], Any]) -> Any:
    wide = isinstance(name, list) and len(name) == 1
    name = name[0] if wide else name
    if not isinstance(name, str):
        raise ValueError(f"it names a tensor {name!r}")
    found = read(name)
    if not wide and not isinstance(found, np.ndarray):
        return found  # it is read later
    array = np.asarray(found)
    if wide:
        if array.dtype != np.float64 or array.shape[-1:] != (2,):
            raise ValueError(f"{name!r} holds no complex numbers")
        array = array.view(_WIDE)[..., 0]
    if kind == _TENSOR:
        return wrap(array)
    return array if kind == _ARRAY else array[()]


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        raise ValueError(f"it has a key {typed(value)}") from None
    return value
