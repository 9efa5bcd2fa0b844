"""The results that functions keep: those of ``functools.lru_cache`` and ``functools.cache``.

A trace takes what it finds there. A call that finds nothing runs eagerly, so that what the function
does besides is done once. How often something was found, or not, is not counted as in eager calls.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from agnesi.compiler.tracing.object_kinds import holds_symbol
from agnesi.compiler.tracing.obstacles import OnceEagerError
from agnesi.compiler.tracing.sources import MISSING, PLAIN, Source, entry
from agnesi.core.support.tracing import current_trace
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor

#: Results of a cached function that are compared one by one.
_MAX_KEPT = 64


def fill_first() -> NoReturn:
    """Raise OnceEagerError: the function would fill a cache, so this call runs eagerly."""
    raise OnceEagerError("each call computes something new that functools keeps",
                         "Give what it keeps as arguments", "call it once before")


def refill(caches: Iterable[tuple[Any, Any]]) -> None:
    """Remove tensors of the trace from caches that it filled, or give them values of this call.

    :param caches: Cached functions, each with its ``cache_info`` before the trace.
    """
    missed = [(f, then) for f, then in caches if f.cache_info().misses > then.misses]
    empty = not any(then.currsize for _, then in missed)
    if missed and (empty or any([holds_symbol(results_kept(f)) for f, _ in missed])):
        for function, _ in missed:
            if empty or not computed_now(results_kept(function)):
                function.cache_clear()
        fill_first()


def results_kept(function: Any) -> list[Any]:
    """Return the keys and results in the cache of a function."""
    held = [v for v in gc.get_referents(function) if v is not vars(function)]
    return [v for h in held for v in (h.values() if type(h) is dict else (h,))]


def computed_now(results: list[Any]) -> bool:
    """Give tensors of the trace among cached results their values in the present call; return
    whether all have one.
    """
    decisions = getattr(current_trace(), "decisions", None)
    for x in flatten(results)[0]:
        if not isinstance(x, Tensor) or x.array is not None:
            continue
        value = None
        if type(x) is Tensor and not x._requires_grad and decisions is not None and x.node:
            value = decisions.value_of(x.node)
        if value is None:
            return False
        x.array, x.node = np.array(value), None
    return True


def found_in(function: Any) -> tuple[tuple[Any, Any], ...]:
    """Return the keys and results of a cached function; empty if there are many.

    With ``maxsize``, ``functools`` wraps each result in a link object, among whose referents it
    comes directly before the link's class.
    """
    mapping = _mapping_of(function)
    if not mapping or len(mapping) > _MAX_KEPT:
        return ()
    if function.cache_parameters()["maxsize"] is None:
        return tuple(mapping.items())
    entry_class, held = type(next(iter(mapping.values()))), gc.get_referents(function)
    return tuple((held[i - 2], held[i - 1]) for i in range(3, len(held))
                 if held[i] is entry_class)[:len(mapping)]


def _mapping_of(function: Any) -> Any:
    """Return the dict in which a cached function keeps results."""
    return next((d for d in gc.get_referents(function)
                 if type(d) is dict and d is not vars(function)), None)


class Kept(Source):
    """A guard on the results in a function's cache: after ``cache_clear`` the function may compute
    others.

    A full cache reuses the link of the oldest result, so the results themselves are compared then.
    """

    __slots__ = ("full", "function", "mapping")

    def __init__(self, path: str, function: Any) -> None:
        self.function = function
        self.mapping = _mapping_of(function)
        info = function.cache_info()
        self.full = info.maxsize is not None and info.currsize == info.maxsize <= _MAX_KEPT
        super().__init__(f"the results that {path} keeps", self.now())

    def now(self) -> Any:
        if self.mapping is None or len(self.mapping) > _MAX_KEPT:
            return self.function.cache_info().currsize
        return found_in(self.function) if self.full else tuple(self.mapping.items())

    def holds(self) -> bool:
        if type(self.value) is int:
            return bool(self.function.cache_info().currsize >= self.value)
        if self.full:
            found = {id(key): result for key, result in found_in(self.function)}
            return all(found.get(id(key), MISSING) is result for key, result in self.value)
        known: Any = self.mapping
        return all(known.get(key, MISSING) is value for key, value in self.value)

    def records(self) -> Iterable[Any]:
        if type(self.value) is int or self.full or any(
                type(key) not in PLAIN for key, _ in self.value):
            return ()
        return [entry(self.mapping, key, value) for key, value in self.value]

    def change(self) -> str:
        return f"{self.path} were cleared"
