"""Attributes that programs give tensors, of those that are arguments.

The symbol of an argument has the attributes that the argument has.  Those that code requests are
facts of it (``facts.py``), by their name behind a point; code that changes them runs eagerly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

from agnesi.compiler.tracing.builtin_calls import ByIdentity
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.core.support.config import STATE
from agnesi.core.support.tracing import outermost
from agnesi.core.support.tree import exact
from agnesi.core.tensor import Tensor

#: The fact that holds the attributes of an argument at the call.
ATTRIBUTES = "attributes"
_MISSING = "no such attribute"
#: Exact types of attributes that are equal to others; of others, which objects they are counts.
_BY_VALUE = frozenset((int, str, bytes, bool, type(None)))
#: What holds nothing else that code may read without reading a tensor's attribute.
_WHOLE = (float, complex, type, FunctionType, BuiltinFunctionType, Tensor)


def is_own(kind: type, name: str) -> bool:
    """Return whether tensors have an attribute of this name themselves."""
    return any(name in vars(part) for part in kind.__mro__)


def asks(x: Tensor, name: str | None = None) -> None:
    """Code reads an attribute of a tensor, or all, by a function."""
    trace = outermost()
    if id(x) in getattr(trace, "facts", ()):
        if name is None:
            trace.refuse("it asks for all attributes of an argument")
        elif not is_own(type(x), name):
            trace.questions.add(f".{name}")
    elif x.array is not None and (reads := STATE.reads) is not None:
        reads.asks_tensor(x, name)


def show(symbols: Iterable[Any], leaves: Iterable[Any]) -> None:
    """Give symbols the attributes of the arguments that they stand for."""
    for x, value in zip(symbols, leaves, strict=True):
        if isinstance(x, Tensor) and isinstance(value, Tensor) and vars(value):
            vars(x).update(vars(value))


def queries_of(reads: Any, tensors: Iterable[Any]) -> frozenset[str]:
    """Return the queries of code that names attributes of arguments."""
    found: set[str] = set()
    for x in tensors:
        if isinstance(x, Tensor):
            found |= reads.queried(vars(x))
    return frozenset(f".{name}" for name in found)


def refuse(trace: Any, reads: Any, symbols: Sequence[Any], results: Iterable[Any]) -> None:
    """End the trace of code that gives attributes to arguments or results, or requests attributes
    that hold others.
    """
    queries = trace.questions | queries_of(reads, symbols)
    for x in symbols:
        before = trace.facts.get(id(x), {}).get(ATTRIBUTES)
        if before is None:
            continue
        now = vars(x)
        changed = [n for n in {**before, **now}
                   if now.get(n, _MISSING) is not before.get(n, _MISSING)]
        if changed:
            raise OnlyEagerError(f"it changes the attribute {changed[0]!r} of an argument")
        for name in before:
            held = before[name]
            if f".{name}" in queries and type(held) not in _BY_VALUE and not isinstance(
                    held, _WHOLE):
                raise OnlyEagerError(f"it reads the attribute {name!r} of an argument, "
                                     f"{type(held).__name__}")
    given = {id(x) for x in symbols}
    for x in results:
        if isinstance(x, Tensor) and x.array is None and id(x) not in given and vars(x):
            raise OnlyEagerError(f"it gives a result the attribute {next(iter(vars(x)))!r}")


def attribute_of(x: Any, name: str) -> Any:
    """Return what stands for an attribute in a signature."""
    value = getattr(x, name, _MISSING)
    if type(value) in _BY_VALUE:
        return type(value), value
    return (float, exact(value)) if type(value) is float else ByIdentity(value)
