"""How tensors print."""

from __future__ import annotations

import numpy as np

from agnesi.core.storage.leaves import left_over
from agnesi.core.support import dtypes
from agnesi.core.support.config import config
from agnesi.core.support.tracing import current_trace, is_known
from agnesi.core.tensor import Tensor

_KINDS = ("scalar", "vector", "matrix")


def __repr__(self: Tensor) -> str:  # noqa: N807
    if not is_known(self):
        refuse_text = getattr(current_trace(), "refuse_text", None)
        if refuse_text is not None:
            refuse_text(self)
        return symbolic(self)
    data = self.array
    text = np.array2string(data, separator=", ", prefix="tensor(")
    parts = [text]
    if data.size == 0 and data.shape != (0,):
        parts.append(f"shape={data.shape}")
    if data.dtype not in _usual():
        parts.append(f"dtype={data.dtype}")
    if self._requires_grad:
        parts.append("requires_grad=True")
    joined = ", ".join(parts)
    return f"tensor({joined})"


def _usual() -> tuple[np.dtype, ...]:
    default = config.float_dtype
    return dtypes.bool_, dtypes.int64, default, dtypes.complex_of(default)


def symbolic(x: Tensor) -> str:
    """A tensor without its values: ``<matrix x: float32[batch, 3]>``."""
    kind = _KINDS[x.ndim] if x.ndim < 3 else f"tensor{x.ndim}"
    node = x.node
    name = x._name or (node.op.name if node is not None and node.op is not None else "")
    sizes = ", ".join(map(str, x.shape))
    owner = left_over(x)
    kept = f", kept from {owner} without a value" if owner else ""
    return f"<{kind}{' ' + name if name else ''}: {x.dtype}[{sizes}]{kept}>"
