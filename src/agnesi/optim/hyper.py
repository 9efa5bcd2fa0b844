"""Numbers that steer an optimizer and may change between steps without a new compilation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, overload

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.compiler.tracing.decisions import from_user_code
from agnesi.core.dispatch import touch
from agnesi.core.ir.node import Node
from agnesi.core.support.errors import TraceError, at
from agnesi.core.support.tracing import current_trace, is_tracing
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.identity import ALIAS

#: Numbers in the place of the cells', by cell: while Python computes new ones in a compiled step.
_ASIDE: ContextVar[dict[int, float] | None] = ContextVar("aside", default=None)


@contextmanager
def aside(cells: Iterable[Tensor], numbers: Iterable[Any]) -> Iterator[dict[int, float]]:
    """A block that reads and sets numbers of cells, by id, without the cells."""
    found = {id(cell): float(number) for cell, number in zip(cells, numbers, strict=True)}
    token = _ASIDE.set(found)
    try:
        yield found
    finally:
        _ASIDE.reset(token)


def cells_of(part: Any) -> list[Tensor]:
    """The cells of all numbers of a group of an optimizer."""
    kind = type(part)
    numbers = (getattr(kind, name) for name in dir(kind))
    return [getattr(part, n.slot) for n in numbers if isinstance(n, Hyper)]


class Hyper:
    """A float attribute that compiled steps read at run time.

    Users read and write a Python float; a traced step reads a weak scalar, which leaves float32
    parameters float32 as a Python float does.  Steps leave out the term of an ``optional`` one
    that is 0, so that unused ones cost nothing; its optimizer is notified where it begins or ends.
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
            other = _ASIDE.get()
            return cell.array.item() if other is None else other.get(id(cell), cell.array.item())
        trace = current_trace()
        source = trace.node_of(cell)
        found = symbol(Node(ALIAS, (source,), (), source.dtype, weak=True, where=source.where))
        numbers = getattr(trace, "decisions", None) is not None and from_user_code(1)
        return found.item() if numbers else found

    def __set__(self, instance: Any, value: float) -> None:
        """Set the number in all groups of an optimizer."""
        for part in vars(instance).get("parts") or (instance,):
            self._set(part, value)

    @classmethod
    def put(cls, part: Any, name: str, value: float) -> None:
        """Set the number of one group only."""
        getattr(type(part), name)._set(part, value)

    def _set(self, instance: Any, value: Any) -> None:
        cell = vars(instance).get(self.slot)
        if isinstance(value, Tensor) and is_tracing():
            if cell is None or self.optional:
                raise self._decides()
            self._write(cell, value)
            return
        try:
            number = np.float64(np.nan if isinstance(value, str) or np.ndim(value) else value)
        except (TypeError, ValueError):  # no number at all
            number = np.float64(np.nan)
        if not 0 <= number < self.below:
            most = "" if self.below == np.inf else f" and less than {self.below}"
            raise ValueError(at(f"{type(instance).__name__}: {self.name} must be a number of at "
                                f"least 0{most}, not {value!r}"))
        other = _ASIDE.get()
        if self.optional and (cell is None or (number == 0) != (cell.array == 0)):
            if cell is not None and (is_tracing() or other is not None):
                raise self._decides()
            instance.take_term(self.name, bool(number != 0))
        if cell is None:
            setattr(instance, self.slot, wrap(np.array(number)))
            return
        if other is not None:
            other[id(cell)] = float(number)
        elif is_tracing():
            self._write(cell, as_tensor(number))
        else:
            cell.array[()] = number
            touch(cell)

    def _decides(self) -> TraceError:
        return TraceError(at(f"{self.name} decides which terms a step has: set it outside of the "
                             "compiled function"))

    @staticmethod
    def _write(cell: Any, value: Tensor) -> None:
        """Let compiled code write a cell."""
        with no_grad():
            cell.copy_(cast(value, cell.dtype))
