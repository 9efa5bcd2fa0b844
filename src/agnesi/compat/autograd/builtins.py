"""Python's own names for containers and types, which values inside of derivatives answer to."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from agnesi.compat.autograd.values import getval
from agnesi.core.tensor import Tensor

list = builtins.list
tuple = builtins.tuple
dict = builtins.dict


def isinstance(x: Any, kinds: Any) -> bool:
    """Return whether a value is of a class; those inside of derivatives are arrays or numbers."""
    return builtins.isinstance(getval(x), kinds) or builtins.isinstance(x, kinds)


def type(x: Any) -> Any:
    """The class of a value; those inside of derivatives are arrays."""
    return np.ndarray if builtins.isinstance(x, Tensor) else builtins.type(x)
