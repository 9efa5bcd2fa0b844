"""``theano.tensor.inplace``: elementwise functions; what is written where is the compiler's."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano import tensor


def __getattr__(name: str) -> Any:
    plain = name.removesuffix("_inplace")
    if plain == name or name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(tensor, plain)
