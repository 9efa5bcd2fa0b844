"""``theano.compile``: functions, shared variables and modes."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.functions import Function as Function
from agnesi.compat.theano.functions import In as In
from agnesi.compat.theano.functions import Out as Out
from agnesi.compat.theano.functions import Param as Param
from agnesi.compat.theano.functions import function as function
from agnesi.compat.theano.functions import shared as shared
from agnesi.compat.theano.ops import OpFromGraph as OpFromGraph
from agnesi.compat.theano.ops import as_op as as_op
from agnesi.compat.theano.variable import SharedVariable as SharedVariable
from agnesi.core.support.errors import UnusedInputError as UnusedInputError


class Mode:
    """How a function is compiled: by the optimizer's name; the linker is always LLVM."""

    def __init__(self, linker: Any = None, optimizer: Any = "default") -> None:
        self.linker, self.optimizer = linker, optimizer

    def including(self, *tags: str) -> Mode:
        """The mode itself: which rules run is told by agnesi's ``include``."""
        return self

    excluding = register = including


class MonitorMode(Mode):
    """A mode under whose name programs watch values; they are watched by ``Print`` here."""


def get_default_mode() -> Mode:
    """The mode of functions that are given none."""
    return Mode()


get_mode = Mode
predefined_modes = {"FAST_RUN": Mode(), "FAST_COMPILE": Mode(optimizer="FAST_COMPILE")}
