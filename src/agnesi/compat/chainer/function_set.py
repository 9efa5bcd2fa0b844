"""Sets of functions with parameters, as Chainer had them before links."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at, typed


class FunctionSet:
    """Functions with parameters under names, which are attributes; sets may be nested.

    :param **functions:
    :type **functions: Function, Link or FunctionSet

    >>> from agnesi.compat.chainer import FunctionSet, functions as F
    >>> model = FunctionSet(l1=F.Linear(4, 3), l2=F.Linear(3, 2))
    >>> [p.shape for p in model.parameters]
    [(3, 4), (3,), (2, 3), (2,)]
    """

    def __init__(self, **functions: Any) -> None:
        for name, function in functions.items():
            if not hasattr(function, "parameters"):
                raise TypeError(at(f"FunctionSet: {name} must be a function with parameters, as "
                                   f"functions.Linear(3, 2) is, not {typed(function)}"))
            setattr(self, name, function)

    def _members(self) -> list[Any]:
        return [f for _, f in sorted(self.__dict__.items()) if hasattr(f, "parameters")]

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def collect_parameters(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Arrays of all parameters, and of their gradients."""
        return self.parameters, self.gradients

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Arrays of all parameters, in the order of the functions' names."""
        return sum((f.parameters for f in self._members()), ())

    @parameters.setter
    def parameters(self, values: Iterable[Any]) -> None:
        values = iter(values)
        for f in self._members():
            f.parameters = values

    @property
    def gradients(self) -> tuple[Any, ...]:
        """Arrays of all gradients, in the same order."""
        return sum((f.gradients for f in self._members()), ())

    @gradients.setter
    def gradients(self, values: Iterable[Any]) -> None:
        values = iter(values)
        for f in self._members():
            f.gradients = values

    def copy_parameters_from(self, params: Iterable[Any]) -> None:
        """Take over values of parameters, into the arrays that are there."""
        for own, other in zip(self.parameters, params, strict=True):
            np.copyto(own, other)

    def to_gpu(self, device: Any = None) -> FunctionSet:
        """The set itself: devices are the processor."""
        return self

    def to_cpu(self) -> FunctionSet:
        """The set itself."""
        return self


_strictly(__name__)
