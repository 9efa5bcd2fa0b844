"""The namespace of agnesi in which every function of tensors runs under ``ag.jit``.

``tools/conformance.py --jit`` gives it to the tests of the array API standard.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import agnesi as ag

#: What needs no tensor, gives no tensor, or as many elements as the values say.
EAGER = frozenset("""
    __array_namespace_info__ arange asarray broadcast_shapes can_cast empty eye finfo from_dlpack
    full iinfo isdtype linspace nonzero ones repeat result_type unique_all unique_counts
    unique_inverse unique_values zeros
""".split())


def _taken_out(x: Any, tensors: list[ag.Tensor]) -> Callable[[tuple[Any, ...]], Any]:
    """How an argument is made from the tensors among all arguments, where these are noted."""
    if isinstance(x, ag.Tensor):
        place = len(tensors)
        tensors.append(x)
        return lambda given: given[place]
    if isinstance(x, (list, tuple)):
        parts = [_taken_out(v, tensors) for v in x]
        return lambda given: type(x)(part(given) for part in parts)
    return lambda given: x


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled for each call."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        tensors: list[ag.Tensor] = []
        places = [_taken_out(a, tensors) for a in args]
        named = {name: _taken_out(a, tensors) for name, a in keywords.items()}

        def run(*given: Any) -> Any:
            return function(
                *(place(given) for place in places),
                **{name: place(given) for name, place in named.items()},
            )

        return ag.jit(run)(*tensors) if tensors else run()

    return call


class Compiled:
    """A namespace whose functions of tensors are compiled for each call."""

    def __init__(self, namespace: Any) -> None:
        self.namespace = namespace

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.namespace, name)
        return jitted(found) if inspect.isroutine(found) and name not in EAGER else found


def __getattr__(name: str) -> Any:
    found = getattr(ag, name)
    if name in ("fft", "linalg"):
        return Compiled(found)
    return jitted(found) if inspect.isroutine(found) and name not in EAGER else found
