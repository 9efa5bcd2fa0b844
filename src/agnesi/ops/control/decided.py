"""Decided: a check by which compiled code finds out that Python would have gone another way."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.ir.kernels import DECIDES
from agnesi.core.op import Op
from agnesi.core.support.record import record


class LeftError(BaseException):
    """Python would have decided otherwise."""


@record
class Decided(Op):
    """The first operand, where the one bool of the second holds; else the call goes elsewhere.

    ``number`` counts the decisions of a function in their order.  Where ``sizes`` depend on it, no
    kernel that decides computes anything else: what else there is might read beyond an operand.
    """

    number: int
    sizes: bool = False
    name = "decided"
    traits = frozenset(("decision",))
    keep_inputs = ()
    condition = 1

    def infer(self, x: Any, condition: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray, condition: np.ndarray) -> np.ndarray:
        if not condition:
            raise LeftError
        return x

    def failure(self, x: Any, condition: Any) -> tuple[str, str]:
        """The word for such checks, and which it is."""
        return DECIDES, f"{self.number}"

    def lower(self, at: Any, x: Any, condition: Any) -> Any:
        return x(*at)
