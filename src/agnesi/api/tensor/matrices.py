"""Methods that are functions of a module which is loaded when one is first requested."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from agnesi.core.tensor import Tensor

#: Methods of matrices, and the functions of ``agnesi.linalg``.
NAMES = {
    "cholesky": "cholesky", "det": "det", "inverse": "inv", "kron": "kron", "matrix_exp": "expm",
    "matrix_power": "matrix_power", "pinverse": "pinv", "slogdet": "slogdet",
}


class Late:
    """A module's function as the method ``name``; once requested, the function stands there."""

    def __init__(self, name: str, module: str, function: str) -> None:
        self.name, self.module, self.function = name, module, function

    def found(self) -> Callable[..., Any]:
        """The function."""
        function: Callable[..., Any] = getattr(import_module(self.module), self.function)
        return function

    def __get__(self, instance: Tensor | None, owner: type) -> Any:
        function: Any = self.found()
        setattr(Tensor, self.name, function)
        return function.__get__(instance, owner)
