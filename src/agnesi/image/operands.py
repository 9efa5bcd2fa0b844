"""Conversion and checks of the operands of image functions."""

from __future__ import annotations

from typing import Any

from agnesi.core.op import typed
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast


def checked(name: str, image: Any, channels: int | None = None) -> Tensor:
    """An image of floats, or an error that names the function."""
    x = as_tensor(image)
    if x.ndim != 3 or (channels is not None and x.shape[0] != channels):
        form = f"({channels or 'channels'}, height, width)"
        raise ShapeError(at(f"{name}: an image is {form}, not {typed(x)}"))
    return cast(x, dtypes.floating(x.dtype))
