"""Signatures: what code depends on of the arguments of a call, as keys of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.tracing.leaves import Constant, Forwarded, is_small, requires_grad
from agnesi.compiler.tracing.object_kinds import is_users_object
from agnesi.core.support.errors import DTypeError, at
from agnesi.core.support.tree import exact
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import check_unmasked

#: Types of static arguments of which there are as many versions as values.
_COUNTED = (bool, int, complex, slice, range, type(...), type(NotImplemented))


def kinds_of(leaves: Sequence[Any], count: int, dynamic: Collection[int]) -> Iterator[Any]:
    """The kinds of arguments, and of what is hidden behind them."""
    for i, v in enumerate(leaves):
        number = type(v) is int and (i >= count or i in dynamic) and is_small(v)
        yield ("int",) if number else ("text",) if type(v) is str and i in dynamic else kind_of(v)


def kind_of(value: Any) -> Any:
    """Return the part of the signature that an argument contributes: dtype and shape of arrays, the
    value of anything static.
    """
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        try:
            check_unmasked(value)
        except DTypeError as error:
            raise DTypeError(at(f"jit: {error}")) from None
        # A number of NumPy's is never changed in place.
        grad = None if isinstance(value, np.generic) else requires_grad(value)
        return ("array", value.dtype, value.shape, grad)
    if type(value) is float:
        return ("float",)
    if type(value) is Forwarded:
        return ("forwarded",)
    if type(value) is Constant:
        return ("static", exact(value.value))
    try:
        hash(value)
    except (TypeError, ValueError):  # a memoryview that may be written to
        return ("object", id(value))
    if is_users_object(type(value)):  # equal objects of the user's may have different attributes
        return ("object", id(value))
    return ("static", exact(value))


def is_thing(kind: Any) -> bool:
    """Return whether an argument of this kind is a text, or an object that is no number."""
    return kind[0] == "object" or (kind[0] == "static" and kind[1][0] not in _COUNTED)


def but_sizes(key: Any) -> Any:
    """Return the key without sizes, equal for calls that differ in sizes only."""
    return key[0], tuple(map(_kind_but_sizes, key[1])), *key[2:]


def _kind_but_sizes(kind: Any) -> Any:
    """Return the kind of an argument without the sizes of an array."""
    return kind_with(kind, (-1,) * len(kind[2]) if kind[0] == "array" else ())


def kind_with(kind: Any, shape: Any) -> Any:
    """Return a kind with another shape."""
    return (*kind[:2], shape, kind[3]) if kind[0] == "array" else kind


def describe_kind(kind: Any) -> str:
    """A kind in words, for the user."""
    if kind[0] == "array" and kind[3] is None:
        return f"a NumPy {kind[1]}"
    if kind[0] == "array":
        return f"{kind[1]}{list(kind[2])}" + (" requiring grad" if kind[3] else "")
    if kind[0] != "static":
        return kind[0]
    of, *parts = kind[1]
    if of is complex:
        return f"{complex(*(1.0 if p[1] == 'nan' else p[1][0] for p in parts))!r}"
    return f"{parts[0]!r}"
