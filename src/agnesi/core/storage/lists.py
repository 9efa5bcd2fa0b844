"""Lists of Python's objects and arrays, made of each other in parts.

One call for the whole would keep Python's lock and see no signal: between parts Python handles
signals and lets other threads run.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from agnesi.core.support.config import STATE
from agnesi.core.support.tracing import is_number_of_trace, is_tracing
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, wrap

#: Numbers that become objects of Python, or are read from them, in about a millisecond.
_AT_ONCE = 1 << 15
#: Operands from which it costs less to take all of them at once than to shape each.
MANY_OPERANDS = 1 << 12
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


def dtype_of_numbers(x: Any) -> np.dtype | None:
    """The dtype that NumPy gives a nested list of its numbers, some of a trace, and of Python's;
    None of lists with other tensors or arrays, and without numbers of NumPy's."""
    leaves = [x]
    for leaf in leaves:
        leaves += leaf if isinstance(leaf, (list, tuple)) else ()
    leaves = [v for v in leaves if not isinstance(v, (list, tuple))]
    numpys = [v._is_number if isinstance(v, Tensor) else isinstance(v, np.generic) for v in leaves]
    if not any(numpys) or not all(
            one or is_number_of_trace(v) or type(v) in _OF_PYTHON
            for v, one in zip(leaves, numpys, strict=True)):
        return None
    return np.result_type(*[v.dtype if isinstance(v, (Tensor, np.generic)) else np.dtype(type(v))
                            for v in leaves])


_shape_of, _dtype_of = attrgetter("shape"), attrgetter("dtype")


def many_values(xs: Sequence[Any]) -> np.ndarray | None:
    """The values of thousands of tensors of one type, stacked; None of fewer, and where a record or
    a trace is to have each of them."""
    if len(xs) < MANY_OPERANDS or {*map(type, xs)} != {Tensor} or is_tracing():
        return None
    arrays: list[Any] = [x.array for x in xs]
    if {*map(type, arrays)} != {np.ndarray} or (
            STATE.recording and True in [x._requires_grad for x in xs]):
        return None
    if len({*map(_shape_of, arrays)}) > 1 or len({*map(_dtype_of, arrays)}) > 1:
        return None
    found: np.ndarray = aside(arrays[0].size * len(arrays), array_of, arrays)
    return found


def stacked_at_once(x: Sequence[Any]) -> Tensor | None:
    """Thousands of tensors, or rows of them that make thousands together, stacked; None of others.
    """
    if (values := many_values(x)) is not None:
        return wrap(values)
    if not {*map(type, x)} <= {list, tuple} or len({*map(len, x)}) > 1:
        return None
    values = many_values([v for row in x for v in row])
    return None if values is None else wrap(values.reshape(len(x), len(x[0]), *values.shape[1:]))
