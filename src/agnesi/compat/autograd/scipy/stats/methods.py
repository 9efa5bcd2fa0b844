"""Methods of SciPy's distributions, each with a formula for values inside of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.numpy.forwarding import lifted

Function = Callable[..., Any]


def densities(distribution: Any, own: dict[str, Any], log: Function, name: str = "pdf") -> None:
    """Give a module the density (``pdf`` or ``pmf``) and its logarithm, by the logarithm."""
    own[f"log{name}"] = lifted(getattr(distribution, f"log{name}"), log)
    own[name] = lifted(getattr(distribution, name),
                       lambda *args, **keywords: np.exp(log(*args, **keywords)))


def others(where: str, distribution: Any) -> Function:
    """The ``__getattr__`` of a module: all else is SciPy's own."""
    def found(name: str) -> Any:
        if name.startswith("__") or not hasattr(distribution, name):
            raise AttributeError(f"module {where!r} has no attribute {name!r}")
        return getattr(distribution, name)

    return found
