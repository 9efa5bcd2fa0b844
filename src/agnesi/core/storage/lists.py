"""Lists of Python's objects and arrays, made of each other in parts.

One call for the whole would keep Python's lock and see no signal: between parts Python handles
signals and lets other threads run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: Numbers that become objects of Python, or are read from them, in about a millisecond.
_AT_ONCE = 1 << 15
_OF_PYTHON = frozenset((bool, int, float, complex))


def array_of(x: Sequence[Any]) -> np.ndarray:
    """The array of a list, as NumPy makes it of the whole."""
    each = len(x[0]) if x and isinstance(x[0], (list, tuple)) else 1
    step = max(1, _AT_ONCE // max(1, each))
    if len(x) <= step:
        return np.asarray(x)
    parts = [np.asarray(x[i:i + step]) for i in range(0, len(x), step)]
    kinds = {(part.dtype, part.shape[1:]) for part in parts}
    return np.concatenate(parts) if len(kinds) == 1 else np.asarray(x)


def list_of(x: np.ndarray) -> Any:
    """The elements of an array as nested lists."""
    if x.size <= _AT_ONCE or not x.ndim:
        return x.tolist()
    step = _AT_ONCE // (x.size // len(x))
    if not step:
        return [list_of(part) for part in x]
    found: list[Any] = []
    for i in range(0, len(x), step):
        found += x[i:i + step].tolist()
    return found


def kinds_in(x: Any) -> set[type]:
    """Types of all that a nested list holds, but for Python's numbers."""
    nests, seen, found = [x], {id(x)}, set[type]()
    plain = set(_OF_PYTHON)  # those met that are no lists
    for nest in nests:
        kinds = {*map(type, nest)} if len(nest) <= _AT_ONCE else set[type]().union(
            *[{*map(type, nest[i:i + _AT_ONCE])} for i in range(0, len(nest), _AT_ONCE)])
        if kinds <= plain:
            continue
        found |= kinds
        if any([issubclass(kind, (list, tuple)) for kind in kinds]):
            inner = [v for v in nest if isinstance(v, (list, tuple)) and id(v) not in seen]
            seen.update(map(id, inner))
            nests += inner
        else:
            plain |= kinds
    return found - _OF_PYTHON
