"""NumPy's arrays of the user's that are tensors over their memory while a function is traced.

``losses[i] = loss`` for an array of a module, a function around or an object is a change of state
that the code repeats.  Which arrays are changed element by element is seen in the bytecode
(``uses.py``).  An array that code hands on whole, or slices of it, may be an operand of tensors,
which is read at each call, or NumPy may compute with it once: ``ExposedArray`` finds out which.
Code that does anything else is given the array itself, whose elements each call compares.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from agnesi.compiler.tracing.containers.uses import READ_WHOLE, SLICE, Named, Uses, What
from agnesi.compiler.tracing.sources import Source
from agnesi.core.support import dtypes
from agnesi.core.support.config import switched
from agnesi.core.support.errors import TraceError, Where, causes, ours
from agnesi.core.support.tree import tuples_inside
from agnesi.core.tensor import Tensor, as_kind, wrap

#: Types of elements that tensors have, too.
_KINDS = "biufc"


class BorrowedArray(Tensor):
    """A tensor that stands for a NumPy array on the same memory; no gradient flows through it."""

    __slots__ = ()

    #: The class that ``isinstance`` and ``type`` show to code.
    python_type = np.ndarray

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Tensor) and value._requires_grad:
            raise LendingError  # NumPy's arrays take none: the error is that of the plain function
        with switched(recording=False):
            Tensor.__setitem__(self, key, value)


class LendingError(Exception):
    """Raised when code uses an array in a way that a tensor on its memory does not support."""


class ExposedArray(BorrowedArray):
    """A tensor that stands for an array which code only passes on; operations take it only together
    with tensors.

    It replaces the array where that is stored, so other threads see it; for their code it behaves
    as the array.
    """

    __slots__ = ("spoil", "thread")

    #: Ends the trace.
    spoil: Callable[[], NoReturn]
    #: The one that traces.
    thread: int

    def __getattribute__(self, name: str) -> Any:
        if not ours(sys._getframe(1).f_code.co_filename):
            if _is_elsewhere(self):
                return getattr(_array_of(self), name)
            if name not in _KNOWN_NAMES:
                object.__getattribute__(self, "spoil")()
        return object.__getattribute__(self, name)

    def refuse_change(self) -> NoReturn:
        """Refuse a change in place."""
        self.spoil()

    def __len__(self) -> int:
        return len(_array_of(self))

    def __getitem__(self, key: Any) -> Any:
        if _is_elsewhere(self):
            return _array_of(self)[key]
        if type(key) is not slice:
            self.spoil()
        return _exposed(Tensor.__getitem__(self, key), self.spoil)

    @property
    def T(self) -> Any:  # noqa: N802
        """The array with its axes in reverse order."""
        if _is_elsewhere(self):
            return _array_of(self).T
        found: Any = Tensor
        return _exposed(found.T.__get__(self), self.spoil)


def _exposed(x: Tensor, spoil: Callable[[], NoReturn]) -> ExposedArray:
    made: ExposedArray = as_kind(ExposedArray, x)
    made.spoil, made.thread = spoil, threading.get_ident()
    return made


def _is_elsewhere(x: ExposedArray) -> bool:
    """Return whether the caller is code outside of the trace, such as another thread."""
    thread: int = object.__getattribute__(x, "thread")
    return threading.get_ident() != thread


def _array_of(x: ExposedArray) -> np.ndarray:
    array: np.ndarray = object.__getattribute__(x, "array")
    return array


def _as_arrays(value: Any) -> Any:
    """Replace stand-ins in operands, lists and tuples by their arrays, for code in other threads.
    """
    if type(value) is ExposedArray:
        return _array_of(value)
    if type(value) in (list, tuple):
        return type(value)(map(_as_arrays, value))
    return value


def _elsewhere(name: str, x: ExposedArray, operands: Any, keywords: Any) -> Any:
    """Return the result of the array's own special method, for a call by another thread."""
    operands = _as_arrays(operands)
    keywords = {key: _as_arrays(value) for key, value in keywords.items()}
    if name == "__array_ufunc__":
        function, method, *operands = operands
        return getattr(function, method)(*operands, **keywords)
    if name == "__array_function__":
        function, _, operands, keywords = operands
        return function(*operands, **{k: _as_arrays(v) for k, v in keywords.items()})
    own = getattr(np.ndarray, name, None)
    return getattr(object, name)(x, *operands) if own is None else own(
        _array_of(x), *operands, **keywords)


def _computing(name: str) -> Callable[..., Any]:
    """Return a special method of arrays that a trace passed to user code.

    With a tensor among the operands the method computes as tensors do. On arrays and numbers alone
    results must be NumPy's, so the trace ends, except for operations in which both agree.
    """

    def call(self: ExposedArray, *operands: Any, **keywords: Any) -> Any:
        if _is_elsewhere(self):
            return _elsewhere(name, self, operands, keywords)
        given = [v for t in operands for v in (t if type(t) is tuple else (t,))]
        alone = not any(isinstance(v, Tensor) and type(v) is not ExposedArray for v in given)
        if alone and not (name in _ALIKE and self.dtype.kind == "f" and all(
                type(v) in (int, float) or getattr(v, "dtype", None) is self.dtype for v in given)):
            self.spoil()
        found = getattr(Tensor, name)(self, *operands, **keywords)
        return _exposed(found, self.spoil) if alone else found

    return call


def _spoiling(name: str) -> Callable[..., Any]:
    """Return a special method that reads or changes elements, which ends the trace with the array
    kept as it is.
    """

    def call(self: ExposedArray, *operands: Any, **keywords: Any) -> Any:
        if _is_elsewhere(self):
            return _elsewhere(name, self, operands, keywords)
        self.spoil()

    return call


_OPERATORS = "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor".split()
#: Operations that give the same of an array and a number as of a tensor and a number.
_ALIKE = frozenset(f"__{name}__" for name in "add radd sub rsub mul rmul lt le eq ne gt ge".split())
for _name in (*_OPERATORS, *(f"r{name}" for name in _OPERATORS),
              *"lt le eq ne gt ge array_ufunc array_function".split()):
    setattr(ExposedArray, f"__{_name}__", _computing(f"__{_name}__"))
for _name in (*(f"i{name}" for name in _OPERATORS), *"""
        abs array array_namespace bool complex contains copy deepcopy delitem dlpack dlpack_device
        float format index int invert iter neg pos reduce_ex repr round setitem str""".split()):
    setattr(ExposedArray, f"__{_name}__", _spoiling(f"__{_name}__"))


class Borrowed:
    """The arrays for which tensors stand in during a trace, and the sources that hold these
    tensors.
    """

    def __init__(self, borrowing: Any = None) -> None:
        self._borrowing = borrowing
        if borrowing is not None:
            borrowing.borrowed = borrowing.exposed = False
            borrowing.spoiled = None
        self._tensors: dict[int, tuple[Any, Any]] = {}
        self._sources: list[Source] = []
        self._containers: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._tensors)

    def take(self, array: np.ndarray, uses: Uses) -> Any:
        """Return what code gets for an array with these uses: a stand-in tensor, or the array."""
        if self._borrowing is None or not self._borrowing.borrows:
            return array
        fits, changed = _fit(uses)
        known = self._tensors.get(id(array))
        if known is not None:
            if not fits or (changed and type(known[1]) is ExposedArray):
                self._spoil(array)
            return known[1]
        if not (fits and _can_be_borrowed(array, changed) and (
                changed or (self._borrowing.exposes and id(array) not in self._borrowing.refused))):
            return array
        made: BorrowedArray = as_kind(BorrowedArray, wrap(array)) if changed else _exposed(
            wrap(array), functools.partial(self._spoil, array))
        self._tensors[id(array)] = array, made
        if changed:
            self._borrowing.borrowed = True
        else:
            self._borrowing.exposed = True
        return made

    def taken(self, value: Any) -> Any:
        """Return what code gets for an array, or a tuple of arrays, whose uses are unknown."""
        if type(value) is np.ndarray:
            return self.take(value, READ_WHOLE)
        if type(value) is not tuple or self._borrowing is None:
            return value
        known = self._tensors.get(id(value))
        if known is not None:
            return known[1]
        found: dict[int, Any] = {}
        for inner in tuples_inside(value):
            found[id(inner)] = self._rebuilt(inner, found)
        return found[id(value)]

    def _rebuilt(self, value: tuple[Any, ...], found: dict[int, Any]) -> Any:
        """A tuple whose tuples were found; itself where nothing in it is an array."""
        known = self._tensors.get(id(value))
        if known is not None:
            return known[1]
        inner = tuple([found[id(x)] if type(x) is tuple else self.taken(x) for x in value])
        if all(a is b for a, b in zip(value, inner, strict=True)):
            return value
        self._tensors[id(value)] = value, inner
        return inner

    def held(self, source: Source) -> Any:
        """Return what a source holds, with arrays replaced by stand-in tensors."""
        given = self.taken(source.value)
        if given is not source.value:
            self.put(source, given)
        return given

    def known(self, value: Any) -> Any:
        """Return the stand-in that code already got for an object, or the object itself."""
        found = self._tensors.get(id(value))
        return value if found is None else found[1]

    def fill(self, container: Any) -> None:
        """Replace the arrays in a list or dict by tensors until ``give_back``."""
        for key, value in list(_entries(container)):
            given = self.taken(value)
            if given is not value:
                container[key] = given
                self._containers.append(container)

    def _spoil(self, array: np.ndarray) -> NoReturn:
        self._borrowing.spoiled = id(array)
        raise LendingError

    def check(self, others: Iterable[np.ndarray], identifies: bool) -> None:
        """Raise LendingError if code reaches an array in another way too, or used one in a way that
        a tensor does not support.
        """
        if self and (self._borrowing.spoiled or (identifies and self._borrowing.exposed)):
            raise LendingError
        borrowed = [a for a, _ in self._tensors.values() if type(a) is np.ndarray]
        if borrowed and any(np.may_share_memory(a, b) for a in others for b in borrowed):
            raise LendingError

    def refuse_views(self, values: Iterable[Any]) -> None:
        """Raise LendingError if a stand-in for an array, or for a part of one, leaves the function.
        """
        if any(type(v) is ExposedArray for v in values):
            raise LendingError

    def refuse(self, array: np.ndarray) -> None:
        """Raise LendingError if a tensor stands in for an array whose source was assigned."""
        if id(array) in self._tensors:
            raise LendingError

    def put(self, source: Source, tensor: Any) -> None:
        """Replace an array in its source by a tensor until ``give_back``."""
        if source.now() is not tensor:
            source.put(tensor)
            self._sources.append(source)

    def give_back(self) -> None:
        """Put the arrays back where code has put nothing else."""
        while self._sources:
            source = self._sources.pop()
            source.put(self.array_of(source.now()))
        while self._containers:
            container = self._containers.pop()
            for key, value in list(_entries(container)):
                if self.array_of(value) is not value:
                    container[key] = self.array_of(value)

    def array_of(self, value: Any) -> Any:
        """Return the array (or tuple of arrays) that a stand-in stands for; other values
        unchanged.
        """
        return next((a for a, t in self._tensors.values() if t is value), value)


def _entries(container: Any) -> Iterable[tuple[Any, Any]]:
    return enumerate(container) if type(container) is list else container.items()


def _fit(uses: Uses) -> tuple[bool, bool]:
    """Return whether a tensor can stand in for an array with these uses, and whether they change
    it.
    """
    used = [use for use in uses if not (use.keys and use.keys[0] in _SIZES)]
    changes = [use for use in used if use.keys and use.what in (What.PUT, What.CHANGE)
               and not any(isinstance(key, Named) for key in use.keys)]
    operand = [use for use in used if use.what is What.READ and all(
        key is SLICE or key == _REVERSED for key in use.keys)]
    return bool(used) and len(changes) + len(operand) == len(used), bool(changes)


#: Attributes that arrays and tensors have alike.
_REVERSED = Named("T")
_SIZES = frozenset(map(Named, ("shape", "dtype", "ndim", "size")))
_KNOWN_NAMES = frozenset((_REVERSED.name, *(key.name for key in _SIZES)))
#: Attributes of arrays that do not depend on elements, and those that are views.
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


def _can_be_borrowed(array: np.ndarray, changed: bool) -> bool:
    return (type(array) is np.ndarray and (
        not changed or (array.flags.writeable and array.flags.c_contiguous))
            and array.dtype.kind in _KINDS and array.dtype.isnative and array.size > 0
            and np.dtype(array.dtype) in dtypes.ALL)


def stored_at(error: BaseException) -> Where:
    """Return where user code was storing a computed value into an array, if that is what raised the
    error.
    """
    refused = next((e for e in causes(error) if isinstance(e, TraceError)), None)
    last, at = None, error.__traceback__
    while at is not None:
        if not ours(at.tb_frame.f_code.co_filename):
            last = at
        at = at.tb_next
    if refused is None or last is None:
        return None
    code = last.tb_frame.f_code
    found = next((i for i in dis.get_instructions(code) if i.offset == last.tb_lasti), None)
    if found is None or found.opname not in ("STORE_SUBSCR", "STORE_SLICE"):
        return None
    return code, last.tb_lasti, ""
