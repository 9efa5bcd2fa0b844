"""Types of the parameters of public functions: the words that signatures use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from agnesi.core.ir.dims import Dim
from agnesi.core.tensor import Tensor

#: Whatever becomes a tensor: tensors, arrays, sizes, numbers, and lists of them.
TensorLike: TypeAlias = (
    Tensor | np.ndarray | np.generic | bool | int | float | complex | Dim | Sequence[Any]
)
#: A size, or the sizes of all axes; where some functions take one, a name of a size.
ShapeLike: TypeAlias = int | Dim | Sequence[Any]
#: One number for all axes of an image, or one for each.
PerAxis: TypeAlias = int | Sequence[Any]
#: An axis, several, or all of them.
Axis: TypeAlias = int | tuple[int, ...] | None
#: How a convolution is computed: one word for all three products, or one for each.
Algorithm: TypeAlias = str | Sequence[str] | Mapping[str, str] | None
#: Whatever names a dtype: ``ag.float32``, "float32", ``numpy.float32``, ``float``; None by default.
DTypeLike: TypeAlias = str | np.dtype | type | None
