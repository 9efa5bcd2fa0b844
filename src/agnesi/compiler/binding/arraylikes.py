"""Convert array-likes to the ndarrays that native code reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.support.errors import at
from agnesi.core.support.foreign import imported
from agnesi.ops.base.convert import exported


def plain(value: Any, label: str) -> np.ndarray:
    """The memory of an array-like (a memory map, a subclass, what DLPack exports) as an ndarray.

    ``label`` names the argument in the TypeError that masked arrays get.
    """
    masked = imported("numpy.ma")  # which takes long to import; before, there is none of it
    if masked is not None and isinstance(value, masked.MaskedArray):
        raise TypeError(at(
            f"{label}: a masked array's mask would be ignored; pass .filled(value), or the data "
            "and the mask as two inputs"))
    return exported(value)
