"""``autograd.misc``: flat vectors of nests, optimizers, fixed points, graphs kept for reuse."""

import importlib
from typing import Any

from agnesi.compat.autograd.misc.flatten import flatten as flatten
from agnesi.compat.autograd.misc.tracers import const_graph as const_graph


def __getattr__(name: str) -> Any:
    if name == "logsumexp":
        return importlib.import_module("agnesi.compat.autograd.scipy.special").logsumexp
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
