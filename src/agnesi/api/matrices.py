"""Methods of matrices: functions of ``agnesi.linalg``, which is loaded when one is first called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Method -> function.
NAMES = {
    "cholesky": "cholesky", "det": "det", "inverse": "inv", "kron": "kron", "matrix_exp": "expm",
    "matrix_power": "matrix_power", "pinverse": "pinv", "slogdet": "slogdet",
}


def method(name: str) -> Callable[..., Any]:
    """The function of this name as a method."""

    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        return getattr(import_module("agnesi.api.linalg"), name)(self, *args, **keywords)

    call.__name__ = name
    call.__doc__ = f"As ``agnesi.linalg.{name}``."
    return call
