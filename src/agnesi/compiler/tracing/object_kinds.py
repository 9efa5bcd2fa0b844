"""Kinds of objects in a trace: the user's and libraries', containers, random generators."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import sys
import sysconfig
import types
import warnings
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from agnesi.compiler.tracing.containers.contents import NAMESPACES
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.sources import MISSING, Source, is_builtin
from agnesi.core.support.config import environment, shows_environment
from agnesi.core.support.exports import module_of
from agnesi.core.support.foreign import imported
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor

SCALARS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), np.generic, np.dtype,
            Tensor, np.ndarray)
#: Types of objects that are plain memory.
RAW = (memoryview, ctypes.Array, ctypes._SimpleCData, ctypes.Structure)
#: Modules whose objects users fill, and libraries for themselves.
HOLDERS = ("_weakrefset", "configparser", "queue", "weakref")
#: Packages whose objects hold memory of their own, which users change.
TABLES = ("h5py", "netCDF4", "pandas", "polars", "pyarrow", "sqlite3", "xarray", "zarr")
#: Packages whose objects hold nothing that users change between calls.
_LIBRARIES = frozenset(sys.stdlib_module_names) - {
    "argparse", "collections", "__main__", *HOLDERS} | {
    "agnesi", "llvmlite", "numpy", "scipy"}
#: Types of weak references.
REFERENCES: tuple[Any, ...] = (weakref.ref, *weakref.ProxyTypes)
#: What shows another dict's content.
_WINDOWS: tuple[Any, ...] = (
    MappingProxyType, *(type(f({})) for f in (dict.keys, dict.values, dict.items)))
_OWN_OBJECTS = ("agnesi.amp", "agnesi.distributions", "agnesi.metrics", "agnesi.nn", "agnesi.optim")
_FOLDERS = tuple(os.path.join(folder, "") for folder in (
    os.path.dirname(os.path.dirname(os.path.dirname(__file__))), os.path.dirname(np.__file__),
    sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))


def generators() -> tuple[type, ...]:
    """Return the classes of random generators of NumPy and Python, if these modules are loaded."""
    found = [(imported("numpy.random"), ("Generator", "RandomState")),
             (imported("random"), ("Random",))]
    return tuple(getattr(m, name) for m, names in found if m is not None for name in names)


def described(value: Any) -> str:
    """Return the name of a value's class, with its article."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def taking_elements(value: Any) -> Callable[[Any], Any] | None:
    """Return the function that lists the elements of a container; None for anything else."""
    if isinstance(value, dict):
        return OrderedDict.items if isinstance(value, OrderedDict) else dict.items
    if isinstance(value, (list, tuple, set, frozenset, deque, bytearray)):
        return iter
    if isinstance(value, NAMESPACES):
        return lambda namespace: vars(namespace).items()
    return None


def behind(value: Any) -> tuple[Any, ...] | None:
    """Return what a built-in object refers to, such as the function of a method or the target of a
    weak reference; None if it refers to nothing.
    """
    if isinstance(value, weakref.ref):
        return value(),
    if type(value) in weakref.ProxyTypes:
        return value.__repr__.__self__,
    if shows_environment(value):
        return environment(),
    if isinstance(value, _WINDOWS):
        return tuple(gc.get_referents(value))
    if isinstance(value, np.ufunc):  # that of ``frompyfunc`` has a function inside
        return tuple(f for f in gc.get_referents(value) if isinstance(f, FunctionType))
    if isinstance(value, BuiltinFunctionType):
        return (value.__self__,) if taking_elements(value.__self__) is not None else ()
    return None


def is_dead(value: Any) -> bool:
    """Return whether a value is a weak proxy whose target is gone; any access to it raises."""
    if type(value) not in weakref.ProxyTypes:
        return False
    try:
        return value.__class__ is None
    except ReferenceError:
        return True


def inside(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a container as (key, element); keys of sequences are None."""
    if isinstance(value, NAMESPACES):
        value = vars(value)
    if isinstance(value, dict):
        yield from list(value.items())
    elif not isinstance(value, bytearray):
        yield from ((None, v) for v in list(value))


#: Classes of Python's module ``types`` itself.
_OF_TYPES = frozenset(vars(types))


def is_users_object(kind: type) -> bool:
    """Return whether objects of a class are defined by the user, or by ours for users to build;
    exceptions, classes and tensors are not.
    """
    return not issubclass(kind, (BaseException, type, Tensor)) and is_users(kind)


def is_users(kind: type) -> bool:
    """Return whether a class is the user's."""
    module = module_of(kind)
    if module in ("builtins", "types"):  # where code without a name made it, too
        return not is_builtin(kind) and kind.__name__ not in _OF_TYPES
    return module.startswith(_OWN_OBJECTS) or module.partition(".")[0] not in _LIBRARIES


def of_library(module: ModuleType) -> bool:
    """Return whether a module belongs to Python or to a library."""
    return module.__name__.partition(".")[0] in _LIBRARIES or is_library(
        vars(module).get("__file__") or "")  # a __getattr__ of its own may say anything


@functools.cache
def is_library(file: str) -> bool:
    """Return whether a file belongs to Python or to a library."""
    return file.startswith(_FOLDERS)


def is_librarys_cache(value: Any) -> bool:
    """Return whether a value is a library's function under ``functools.lru_cache``."""
    if not isinstance(value, functools._lru_cache_wrapper):
        return False
    code = getattr(value.__wrapped__, "__code__", None)
    return code is not None and is_library(code.co_filename)


def holds_symbol(value: Any) -> bool:
    """Return whether a value, or an entry of a container, is a symbol of the trace."""
    return any(isinstance(v, Tensor) and v.array is None for v in flatten(value)[0])


def contents_of(error: BaseException) -> tuple[Any, ...]:
    """Return the arguments and attributes of an exception."""
    return error.args, tuple(vars(error).items())


def restore_contents(error: BaseException, contents: tuple[Any, ...]) -> None:
    """Restore the arguments and attributes of an exception."""
    error.args = contents[0]
    vars(error).clear()
    vars(error).update(contents[1])


#: How to read what exceptions hold, and to restore it.
ERROR_CONTENTS = contents_of, restore_contents


def holds_nan(values: tuple[Any, ...]) -> bool:
    """Return whether a tuple, at any depth, contains NaN."""
    return any(holds_nan(v) if type(v) is tuple else type(v) is float and v != v for v in values)


def held_by(owner: Any, member: Any) -> Any:
    """Return the value in a slot of an object; ``MISSING`` if it is empty."""
    try:
        return member.__get__(owner)
    except AttributeError:
        return MISSING


#: What compiled code and its guards keep.
_KEPT = (Tensor, np.ndarray, FunctionType)


def refuse_unreadable(value: Any, path: str) -> None:
    """Raise for an object whose state no guard can compare, or that tracing would change.

    :raises OnlyEagerError: If the object is an iterator, a random generator that is not the
        library's, a pandas table, or a function that prints or warns.
    """
    if isinstance(value, Iterator) and not is_users_object(type(value)):
        raise OnlyEagerError(f"it takes elements from {path}, {described(value)}, which a "
                             "trace would use up")
    if isinstance(value, generators()):
        raise OnlyEagerError(f"it draws from {path}, {described(value)} that is not of ag.random")
    if module_of(type(value)).partition(".")[0] in TABLES:
        raise OnlyEagerError(f"it reads {path}, {described(value)}, whose content no call can "
                             "compare", "Give arrays of it as arguments")
    if value is print or value is warnings.warn:  # by a name that has no stand-in
        raise OnlyEagerError(f"it says something by {path}")


def refuse_weak(things: Iterable[Any], sources: Iterable[Source]) -> None:
    """Raise OnlyEagerError if a guard would keep alive an object that the function refers to only
    weakly.
    """
    held = {id(v) for p in sources for v in (p.value if type(p.value) is tuple else (p.value,))}
    for thing in things:
        if isinstance(thing, _KEPT) and id(thing) not in held:
            raise OnlyEagerError(f"it has {described(thing)} by a weak reference only")
