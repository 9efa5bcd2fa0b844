"""Shared variables: symbolic tensors with a value that lasts from call to call."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from agnesi.core.dims import Dim
from agnesi.core.dispatch import touch
from agnesi.core.dtypes import is_inexact
from agnesi.core.errors import DTypeError, ShapeError, at, user_where
from agnesi.core.node import Node
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.convert import as_array


class Shared(Tensor):
    """A symbolic variable with a value of its own; make one with :func:`agnesi.shared`.

    Every compiled function that depends on it takes its value as an implicit input, and may
    replace it through ``updates``.
    """

    __slots__ = ("storage",)

    storage: Tensor

    def __reduce__(self) -> Any:
        return _variable, (self.storage, self.node, self._name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Shared:
        return _variable(deepcopy(self.storage, memo), deepcopy(self.node, memo), self._name)

    def get_value(self, borrow: bool = False) -> np.ndarray:
        """The present value: a copy, or with ``borrow=True`` the memory itself."""
        data: Any = self.storage.data
        return data if borrow else data.copy()

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Replace the value by one of the same dtype and number of axes; sizes may change.

        Raises
        ------
        DTypeError, ShapeError
            If dtype or number of axes differ from the variable's.
        """
        array = value.data if isinstance(value, Tensor) else np.asarray(value)
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                at(
                    f"the shared variable {self.name or ''} holds {self.dtype}; a value of dtype "
                    f"{array.dtype} does not fit: convert it first"
                )
            )
        if array.ndim != self.ndim:
            raise ShapeError(
                at(
                    f"the shared variable {self.name or ''} has {self.ndim} axes; a value of shape "
                    f"{array.shape} does not fit: its number of axes cannot change"
                )
            )
        new = np.array(array, self.dtype, order="C", copy=None if borrow else True)
        if new.shape == self.storage.shape and self.storage.data.flags.writeable:
            np.copyto(self.storage.data, new)
        else:
            self.storage.data = new
        touch(self.storage)


def shared(value: Any, name: str | None = None, *, borrow: bool = False) -> Shared:
    """A shared variable: a symbolic tensor whose value lasts between calls of functions.

    Parameters
    ----------
    value : array_like
        First value; its dtype and number of axes are the variable's for good.
    name : str, optional
        Name for printing.
    borrow : bool
        Use the array's own memory instead of a copy.

    Returns
    -------
    Shared

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> total = ag.shared(0.0)
    >>> x = T.scalar("x")
    >>> add = ag.function([x], total, updates={total: total + x})
    >>> add(2.0), add(3.0), total.get_value()
    (array(0.), array(2.), array(5.))
    """
    if isinstance(value, (float, complex)):
        value = np.asarray(value)
    array = value.data if isinstance(value, Tensor) else as_array(value)
    storage = wrap(np.array(array, order="C", copy=None if borrow else True))
    storage.name = name
    node = Node(
        None, (), tuple(Dim() for _ in array.shape), array.dtype,
        requires_grad=is_inexact(array.dtype), where=user_where(), handle=lambda: storage,
        name=name,
    )
    return _variable(storage, node, name)


def _variable(storage: Tensor, node: Any, name: str | None) -> Shared:
    t = Tensor.__new__(Shared)
    t.storage, t.node = storage, node
    t.data = None
    t.requires_grad = node.requires_grad
    t._grad = t._view = t._version = None
    t._name = name
    return t
