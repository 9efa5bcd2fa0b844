"""Whether an operand holds images of so many axes."""

from __future__ import annotations

from typing import Any

from agnesi.core.op import typed
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor


def as_images(x: Any, rank: int, layer: str = "", channels: Any = "channels") -> Tensor:
    """The operand: (batch, channels, ...) with ``rank`` axes behind, or one without the batch.

    A layer names itself and, where it wants a number of them, its channels.
    """
    x = as_tensor(x)
    found = x.shape[-rank - 1] if x.ndim in (rank + 1, rank + 2) else None
    wrong = isinstance(channels, int) and isinstance(found, int) and found != channels
    if found is None or wrong:
        text = (f"must be (batch, {channels}{', size' * rank}), or one image without the batch, "
                f"not {typed(x)}")
        raise ShapeError(at(f"{layer}: the input {text}") if layer else f"the operand {text}")
    return x
