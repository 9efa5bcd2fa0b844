"""Functions that are traced once: later calls repeat the operations without Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agnesi.api.symbolic import variable
from agnesi.compat.autograd.values import Parts, mapped, plain, traced
from agnesi.compiler.declaration import function

Function = Callable[..., Any]


def const_graph(fun: Function, *args: Any, **keywords: Any) -> Function:
    """A function of the remaining arguments that runs as Python once, and compiled after that.

    Parameters
    ----------
    fun : callable
        Of floats and arrays.
    *args, **keywords : object
        Its first arguments, and those by name.

    Returns
    -------
    callable
    """
    compiled: list[Any] = []

    @functools.wraps(fun)
    def repeated(*rest: Any) -> Any:
        parts = Parts(rest)
        if not compiled:
            inputs = [variable(None, x.dtype, x.shape) for x in parts.floats()]
            with traced():
                result = fun(*args, *parts.build(inputs), **keywords)
            compiled.append(function(inputs, result))
        return mapped(plain, compiled[0](*parts.floats()))

    return repeated
