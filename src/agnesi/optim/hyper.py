"""Numbers that steer an optimizer and may change between steps without a new compilation."""

from __future__ import annotations

from typing import Any, Self, overload

import numpy as np

from agnesi.autodiff.recording import ALIAS
from agnesi.core.dispatch import touch
from agnesi.core.ir.node import Node
from agnesi.core.support.errors import TraceError, at
from agnesi.core.support.tracing import current_trace, is_tracing
from agnesi.core.tensor import Tensor, symbol, wrap


class Hyper:
    """A float attribute that compiled steps read at run time.

    Users read and write a Python float; a traced step reads a weak scalar, which leaves float32
    parameters float32 as a Python float does.  An ``optional`` one that was 0 at first leaves its
    term out for good, so that nobody pays for it.
    """

    def __init__(self, optional: bool = False, below: float = np.inf) -> None:
        self.optional = optional
        self.below = below

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.slot = name, f"_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> float: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        cell: Tensor = getattr(instance, self.slot)
        if not is_tracing():
            return cell.data.item()
        source = current_trace().node_of(cell)
        return symbol(Node(ALIAS, (source,), (), source.dtype, weak=True, where=source.where))

    def __set__(self, instance: Any, value: float) -> None:
        """Set the number in all groups of an optimizer."""
        for part in vars(instance).get("parts") or (instance,):
            self._set(part, value)

    @classmethod
    def put(cls, part: Any, name: str, value: float) -> None:
        """Set the number of one group only."""
        getattr(type(part), name)._set(part, value)

    def _set(self, instance: Any, value: float) -> None:
        number = np.float64(np.nan if isinstance(value, str) else value)
        if not 0 <= number < self.below:
            most = "" if self.below == np.inf else f" and less than {self.below}"
            raise ValueError(at(f"{type(instance).__name__}: {self.name} must be a number of at "
                                f"least 0{most}, not {value!r}"))
        cell = vars(instance).get(self.slot)
        if cell is None:
            setattr(instance, self.slot, wrap(np.array(number)))
            return
        if is_tracing():
            raise TraceError(at(f"set {self.name} outside of the compiled function"))
        if self.optional and (number == 0) != (cell.data == 0):
            raise ValueError(
                at(f"{self.name} was {cell.data} when this {type(instance).__name__} was made, and "
                   f"cannot become {value}: make another one")
            )
        cell.data[()] = number
        touch(cell)
