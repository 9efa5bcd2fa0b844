"""What code reads of functions, classes, arrays and containers about themselves, besides what they
hold.

What code queries is seen in the names that it has; the answers are checked again by each call.
Names of attributes that code spells are known from it.  Classes, functions and modules do not show
of reads as other objects do (``hooks``), so a name that code computes is taken down where
``getattr`` or its kin is called with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from operator import attrgetter, methodcaller
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from agnesi.compiler.tracing.arguments.attributes import asks
from agnesi.compiler.tracing.arguments.numpy_numbers import NumPyNumber
from agnesi.compiler.tracing.arguments.texts import Text, TextReadError
from agnesi.compiler.tracing.builtin_calls import STAND_INS, OfAttributes
from agnesi.compiler.tracing.containers.borrowed_arrays import BorrowedArray
from agnesi.compiler.tracing.numbers import Number
from agnesi.core.ir.dims import STAND_INS as OF_SIZES
from agnesi.core.ir.extents import Extent
from agnesi.core.support.config import STATE
from agnesi.core.tensor import Tensor

Ask = Callable[[], tuple[Any, ...]]


def _named(name: str) -> Callable[[Any], tuple[Any, ...]]:
    return lambda thing: (getattr(thing, name),)


def _annotations(thing: Any) -> tuple[Any, ...]:
    return tuple(getattr(thing, "__annotations__", {}).items())


#: By type and attribute: how to read what may change of such an object, for a guard.
_QUESTIONS: dict[type, dict[str, Callable[[Any], tuple[Any, ...]]]] = {
    FunctionType: {
        "__annotations__": _annotations,
        **{name: _named(name) for name in ("__doc__", "__name__")}},
    type: {"__subclasses__": lambda kind: tuple(type.__subclasses__(kind)),
           **dict.fromkeys(("__annotations__", "get_type_hints"), _annotations),
           **dict.fromkeys(("dir", "getmembers"), lambda kind: tuple(dir(kind)))},
    ModuleType: dict.fromkeys(("dir", "getmembers", "vars", "__dict__"),
                              lambda module: tuple(vars(module))),
    np.ndarray: {"flags": lambda array: (array.flags.num,)},
}
_ALL_NAMES = frozenset(name for some in _QUESTIONS.values() for name in some)


def questions(things: Callable[[], list[Any]], names: AbstractSet[str]
              ) -> Iterator[tuple[Any, str, Ask]]:
    """Yield the queries that code with these names may make: the object, the attribute, and the
    query.
    """
    queried = _ALL_NAMES & names
    if not queried:
        return
    for thing in things():
        for kind, some in _QUESTIONS.items():
            if isinstance(thing, kind):
                for name in queried & some.keys():
                    yield thing, name, functools.partial(some[name], thing)


#: What lists all attributes of a class, function or module, where code has the name.
LIST_ALL = frozenset(("__dict__", "attrgetter", "getmembers"))
#: Types whose attributes may be looked up by code without a hook being called.
SILENT = (type, FunctionType, ModuleType)


def names_in(getter: Any) -> set[str]:
    """Names of the attributes that an ``attrgetter`` or ``methodcaller`` reads; none of others.

    >>> import operator
    >>> from agnesi.compiler.tracing.introspection import names_in
    >>> sorted(names_in(operator.attrgetter("w", "scale.k")))
    ['k', 'scale', 'w']
    """
    if not isinstance(getter, (attrgetter, methodcaller)):
        return set()
    texts = [text for part in getter.__reduce__() if type(part) is tuple for text in part]
    return {name for text in texts if type(text) is str for name in text.split(".")}


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function called from a frame that counts as user code, so that symbols of a trace
    answer as Python's values do.
    """
    def made(*operands: Any) -> Any:
        return function(*operands)

    made.__code__ = made.__code__.replace(co_filename=f"<{function.__name__}>")
    return made


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    outside = _called(function)

    def call(*operands: Any) -> Any:
        if len(operands) > 1 and isinstance(operands[0], SILENT) and isinstance(operands[1], str):
            if (reads := STATE.reads) is not None:
                reads.by_name(*operands[:2])
        elif operands and isinstance(operands[0], Tensor):
            if len(operands) > 1 and isinstance(operands[1], str):
                asks(*operands[:2])
            if type(operands[0]) is not Tensor:
                return outside(*operands)
        return function(*operands)

    return call


def _of_all(function: Callable[..., Any]) -> Callable[..., Any]:
    outside = _called(function)

    def call(owner: Any, /) -> Any:
        if isinstance(owner, SILENT) and (reads := STATE.reads) is not None:
            reads.all_of(owner)
        elif isinstance(owner, Tensor):
            asks(owner)
        is_plain = type(owner) is Tensor or not isinstance(owner, Tensor)
        return function(owner) if is_plain else outside(owner)

    return call


def reader_of(frame: Any) -> Any:
    """Return the frame of the code that reads an attribute, perhaps by a stand-in."""
    return frame.f_back if frame.f_code is _STAND_IN else frame


_STAND_IN = _by_name(getattr).__code__
#: What stands for Python's numbers, NumPy's, and arrays.
_STANDING = (Number, NumPyNumber, BorrowedArray)


def _kind(value: Any) -> type:
    """The class of what a tensor stands for."""
    found: type = value.dtype.type if isinstance(value, NumPyNumber) else value.python_type
    return found


def _isinstance(value: Any, kinds: Any) -> bool:
    if type(value) is Text:
        raise TextReadError
    if isinstance(value, _STANDING):
        return issubclass(_kind(value), kinds)
    if (reads := STATE.reads) is not None:
        reads.kinship(type(value), kinds)
    return isinstance(value, kinds)


def _issubclass(kind: Any, kinds: Any) -> bool:
    if (reads := STATE.reads) is not None and isinstance(kind, type):
        reads.kinship(kind, kinds)
    return issubclass(kind, kinds)


def _type(*args: Any, **keywords: Any) -> Any:
    if len(args) == 1 and type(args[0]) is Text:
        raise TextReadError
    if len(args) == 1 and isinstance(args[0], _STANDING):
        return _kind(args[0])
    if len(args) == 1 and type(args[0]) is Extent:
        return int
    found = type(*args, **keywords)
    return found if STATE.reads is None or len(args) != 1 else STATE.reads.kind(found)


OF_SIZES.add(_isinstance.__code__)
STAND_INS.update({id(isinstance): _isinstance, id(issubclass): _issubclass, id(type): _type})
STAND_INS.update({id(f): OfAttributes(_by_name(f)) for f in (getattr, hasattr, setattr, delattr)})
STAND_INS.update({id(f): OfAttributes(_of_all(f)) for f in (vars, dir)})
