"""NumPy's arrays of the user's that a function changes: tensors over their memory meanwhile.

``losses[i] = loss`` for an array of a module, a function around or an object is a change of state
that the code repeats.  Which arrays are changed element by element tells the bytecode
(``uses.py``); code that does anything else with one is given the array itself.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.compiler.tracing.containers.uses import SLICE, Named, Uses, What
from agnesi.compiler.tracing.places import Place
from agnesi.core.support import dtypes
from agnesi.core.support.config import switched
from agnesi.core.support.errors import TraceError, Where, ours
from agnesi.core.tensor import Tensor, as_kind, wrap

#: Types of elements that tensors have, too.
_KINDS = "biufc"


class LentArray(Tensor):
    """A tensor over the memory of an array, which no gradient goes through."""

    __slots__ = ()

    #: The class that ``isinstance`` and ``type`` tell code.
    python_type = np.ndarray

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Tensor) and value._requires_grad:
            raise LendingError  # NumPy's arrays take none: the error is that of the plain function
        with switched(recording=False):
            Tensor.__setitem__(self, key, value)


class LendingError(Exception):
    """Code does with an array what a tensor over its memory cannot stand for."""


class Lent:
    """The arrays of a trace that are tensors meanwhile, and where these are."""

    def __init__(self, lending: Any = None) -> None:
        self._lending = lending
        if lending is not None:
            lending.lent = False
        self._tensors: dict[int, tuple[np.ndarray, LentArray]] = {}
        self._places: list[Place] = []

    def __bool__(self) -> bool:
        return bool(self._tensors)

    def take(self, array: np.ndarray, uses: Uses) -> Any:
        """Return what code is given that uses an array so: a tensor, or the array itself."""
        if self._lending is None or not self._lending.lends:
            return array
        fits, changed = _fit(uses)
        known = self._tensors.get(id(array))
        if known is not None and fits:
            return known[1]
        if known is not None:
            raise LendingError
        if not (fits and changed and _can_be_lent(array)):
            return array
        made = as_kind(LentArray, wrap(array))
        self._tensors[id(array)] = array, made
        self._lending.lent = True
        return made

    def check(self, others: Iterable[np.ndarray]) -> None:
        """Raise if code has also been given an array itself, whose elements it may have read."""
        for array in others if self else ():
            if any(np.may_share_memory(array, lent) for lent, _ in self._tensors.values()):
                raise LendingError

    def put(self, place: Place, tensor: Any) -> None:
        """Put a tensor where its array is, until ``give_back``."""
        if place.now() is not tensor:
            place.put(tensor)
            self._places.append(place)

    def give_back(self) -> None:
        """Put the arrays back where code has put nothing else."""
        while self._places:
            place = self._places.pop()
            place.put(self.array_of(place.now()))

    def array_of(self, value: Any) -> Any:
        """Return the array that a value stands for; others as they are."""
        if type(value) is LentArray:
            return next((a for a, t in self._tensors.values() if t is value), value)
        return value


def _fit(uses: Uses) -> tuple[bool, bool]:
    """Return whether a tensor can stand for an array that is used so, and whether it is changed."""
    plain = [use for use in uses if not any(isinstance(key, Named) for key in use.keys)]
    changes = [use for use in plain if use.keys and use.what in (What.PUT, What.CHANGE)]
    operand = [use for use in plain if all(key is SLICE for key in use.keys)
               and use.what is What.READ]
    return len(changes) + len(operand) == len(uses), bool(changes)


#: Attributes of arrays that tell nothing of elements, and those that are views.
_OUTSIDE = frozenset(("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides", "flags"))
_VIEWS = frozenset(("T", "mT", "reshape", "ravel", "transpose", "squeeze", "swapaxes", "view"))


def reads_elements(uses: Uses) -> bool | None:
    """Return whether code reads elements of an array itself; None where it hands the array on, or
    a view of it, to what may use its memory.

    >>> from agnesi.compiler.tracing.containers.uses import uses_of
    >>> def f(x):
    ...     return table[3] * x, table.shape
    >>> reads_elements(uses_of(f.__code__, "table", {}))
    True
    """
    ways = [[key.name if isinstance(key, Named) else key for key in keys] for keys, what in uses
            if what is not What.PUT]
    ways = [way for way in ways if not way or way[0] not in _OUTSIDE]
    if all(key is SLICE or key in _VIEWS for way in ways for key in way):
        return None if ways else False
    return True


def _can_be_lent(array: np.ndarray) -> bool:
    return (type(array) is np.ndarray and array.flags.writeable and array.flags.c_contiguous
            and array.dtype.kind in _KINDS and array.dtype.isnative and array.size > 0
            and np.dtype(array.dtype) in dtypes.ALL)


def stored_at(error: BaseException) -> Where:
    """Return where the user's code was putting a computed value into an array, if an error is of
    that."""
    told: BaseException | None = error
    while told is not None and not isinstance(told, TraceError):
        told = told.__cause__ or told.__context__
    last, at = None, error.__traceback__
    while at is not None:
        if not ours(at.tb_frame.f_code.co_filename):
            last = at
        at = at.tb_next
    if told is None or last is None:
        return None
    code = last.tb_frame.f_code
    found = next((i for i in dis.get_instructions(code) if i.offset == last.tb_lasti), None)
    if found is None or found.opname not in ("STORE_SUBSCR", "STORE_SLICE"):
        return None
    return code, last.tb_lasti, ""
