"""Values that can be written in place: conversion, shape, overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.shapes import fits
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.tensor import Tensor


def written_value(target: Tensor, value: Tensor) -> Tensor:
    """A value that a change in place can write: of the target's shape, and no other kind of
    numbers."""
    if value.shape != target.shape:
        text = f"the value has shape {value.shape}, the target changed in place has {target.shape}"
        if not fits(value.shape, target.shape):
            raise ShapeError(text)
        value = HOOKS.ensured_sizes("", value, value.shape, target.shape, text)
    if value.dtype != target.dtype and not np.can_cast(value.dtype, target.dtype, "same_kind"):
        raise DTypeError(f"results of dtype {value.dtype} cannot be written into {typed(target)}; "
                         f"leave the operand as it is, or convert it to {value.dtype} first")
    return value


def read_only(target: Any) -> str:
    """Return the message for a tensor in read-only memory; it describes the outermost base that is
    read-only."""
    while (view := getattr(target, "_view", None)) is not None and (
            base := view.base).array is not None and not base.array.flags.writeable:
        target = base
    return (f"{typed(target)} lies in read-only memory, as results of broadcast_to "
            "and sliding_window_view do, and cannot be changed in place; change a copy")
