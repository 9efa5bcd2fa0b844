"""What a function demands of its inputs' types: ``check_type_forward`` of Chainer's functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at, call_user, typed


class InvalidType(Exception):  # noqa: N818
    """An input has a type that the function does not take."""


class TypeInfo:
    """The shape and the dtype of an array.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype, self.ndim = shape, np.dtype(dtype), len(shape)


class TypeInfoTuple(tuple[TypeInfo, ...]):
    """Those of all inputs; ``in_types.size()`` is their number."""

    __slots__ = ()

    def size(self) -> int:
        """How many there are."""
        return len(self)


def get_types(data: Sequence[Any], name: str, accept_none: bool) -> TypeInfoTuple:
    """The types of arrays.

    :param data:
    :type data: sequence of numpy.ndarray
    :param name: What they are, for messages.
    :param accept_none: Whether None may stand for an array.
    :returns:
    :raises TypeError: If one is no array.
    """
    if wrong := [x for x in data if not hasattr(x, "dtype") and not (x is None and accept_none)]:
        raise TypeError(at(f"{name} must be arrays, not {typed(wrong[0])}"))
    return TypeInfoTuple([TypeInfo((), None) if x is None else TypeInfo(x.shape, x.dtype)
                          for x in data])


def expect(*conditions: Any) -> None:
    """Refuse inputs unless all conditions hold.

    :param *conditions:
    :type *conditions: bool
    :raises InvalidType: With the line that demands it, and the types.
    """
    for i, condition in enumerate(conditions):
        if not condition:
            raise InvalidType(at(f"condition {i + 1} of {len(conditions)} of type_check.expect "
                                 "does not hold"))


def eval(x: Any) -> Any:
    """The value of an expression of types, which is one here."""
    return x


def checked(function: Any, arrays: Sequence[Any]) -> None:
    """Let a function of a user's look at the types of its inputs, if it does."""
    check = getattr(function, "check_type_forward", None)
    if check is None:
        return
    try:
        call_user(check, (get_types(arrays, "inputs", False),), {}, function.label,
                  "check_type_forward(self, in_types)")
    except InvalidType as error:
        raise InvalidType(f"{function.label} of {', '.join(map(typed, arrays))}: {error}") from None


_strictly(__name__)
