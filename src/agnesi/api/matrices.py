"""Methods that are functions of a module which is loaded when one is first called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Methods of matrices, and the functions of ``agnesi.linalg``.
NAMES = {
    "cholesky": "cholesky", "det": "det", "inverse": "inv", "kron": "kron", "matrix_exp": "expm",
    "matrix_power": "matrix_power", "pinverse": "pinv", "slogdet": "slogdet",
}
_DOC = """As :func:`{name}`, of this tensor.

Parameters
----------
*args : object
    What the function takes behind its first operand.
**keywords : object
    What it takes by name.

Returns
-------
Tensor, or tuple of Tensor
    What the function gives.
"""


def method(module: str, name: str) -> Callable[..., Any]:
    """A module's function as a method."""
    found: Any = None

    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(import_module(module), name)
        return found(self, *args, **keywords)

    call.__name__ = name
    shown = "agnesi" if module.startswith("agnesi.ops") else module.replace(".api", "")
    call.__doc__ = _DOC.format(name=f"{shown}.{name}")
    return call
