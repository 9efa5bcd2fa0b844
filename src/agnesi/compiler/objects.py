"""Python objects in symbolic programs: variables that stand for any object, and their functions.

In a graph an object is a handle, an int64 scalar that names it in a table.  A call enters its
arguments into the table, and objects computed from them, too; these entries are removed when the
call ends.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor

_NUMBERS = itertools.count(1)
_OBJECTS: dict[int, Any] = {}
_CALLS = threading.local()


class ObjectVariable:
    """Stands for an object; ``_handle`` is the scalar that names it in the graph."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Tensor) -> None:
        self._handle = handle

    def _accept(self, value: Any, label: str) -> Any:
        """Return the value of a call; raise TypeError where it does not fit."""
        return value


def kept(value: Any) -> np.ndarray:
    """Store an object, and return its handle as an array.

    The handle is valid until the current call ends.
    """
    made = _CALLS.__dict__.get("made")
    if not made:
        raise TypeError("an object is made in a function without objects among its inputs and "
                        "outputs: return it, too")
    number = next(_NUMBERS)
    _OBJECTS[number] = value
    made[-1].append(number)
    return np.asarray(number, np.int64)


def object_at(handle: Any) -> Any:
    """The object that a handle names."""
    return _OBJECTS[int(handle)]


def bare(x: Any) -> Any:
    """Replace object variables in nested containers by their handles."""
    if isinstance(x, ObjectVariable):
        return x._handle
    if isinstance(x, dict):
        return {bare(k): bare(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(bare(v) for v in x)
    return x


def has_objects(inputs: Sequence[Any], outputs: Any) -> bool:
    """Return whether objects go in or out."""
    every = outputs.values() if isinstance(outputs, dict) else (
        outputs if isinstance(outputs, (list, tuple)) else (outputs,))
    return any(isinstance(x, ObjectVariable) for x in (*inputs, *every))


class ObjectFunction:
    """A compiled function of arrays and objects; made by :func:`agnesi.function`.

    All that a :class:`~agnesi.compiler.function.Function` has, it has, too.
    """

    def __init__(self, inputs: Sequence[Any], outputs: Any, make: Callable[..., Any]) -> None:
        self._objects = [x if isinstance(x, ObjectVariable) else None for x in inputs]
        self._outputs = outputs
        self._compiled = make(bare(list(inputs)), bare(outputs))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        calls: list[list[int]] = _CALLS.__dict__.setdefault("made", [])
        calls.append([])
        try:
            values = [a if o is None else self._held(o, a)
                      for o, a in itertools.zip_longest(self._objects[:len(args)], args)]
            named = {o._handle.name: o for o in self._objects if o is not None}
            given = {k: self._held(named[k], v) if k in named else v for k, v in keywords.items()}
            return _objects_of(self._compiled(*values, **given), self._outputs)
        finally:
            for number in calls.pop():
                del _OBJECTS[number]

    def _held(self, variable: ObjectVariable, value: Any) -> np.ndarray:
        name = variable._handle.name
        return kept(variable._accept(value, f"input {name or typed(variable._handle)} of "
                                            f"{self._compiled.name}"))

    def __repr__(self) -> str:
        return repr(self._compiled)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._compiled, name)


def _objects_of(found: Any, outputs: Any) -> Any:
    """Results with objects instead of handles."""
    if isinstance(outputs, dict):
        return {k: _objects_of(found[k], v) for k, v in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        return tuple(_objects_of(f, o) for f, o in zip(found, outputs, strict=True))
    return object_at(found) if isinstance(outputs, ObjectVariable) else found


def strings_of(value: Any, ndim: int, label: str) -> np.ndarray:
    """A value as an array of strings or objects.

    :raises TypeError: If it is an array of numbers, or has another number of axes.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "OUS":
        raise TypeError(at(f"{label} takes strings or objects, not {typed(array)}"))
    if array.ndim != ndim:
        raise TypeError(at(f"{label} is {ndim}-dimensional; an array of shape {array.shape} does "
                           "not fit"))
    return array
