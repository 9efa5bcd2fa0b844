"""Arguments of a jitted function where a call of it runs eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_array


def with_tensors(args: tuple[Any, ...], keywords: dict[str, Any]
                 ) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with tensors on the memory of NumPy's arrays, as compiled code has them: what a
    function computes depends on that.  Lists and dictionaries stay, as the function may change
    them; so do arrays that no tensor can hold as they are."""
    tensors: dict[int, Tensor] = {}
    return (tuple([_with_tensors(v, tensors) for v in args]),
            {k: _with_tensors(v, tensors) for k, v in keywords.items()})


def _with_tensors(value: Any, tensors: dict[int, Tensor]) -> Any:
    if isinstance(value, np.ndarray):
        try:
            array = as_array(value)
        except (TypeError, ValueError):  # no tensor holds such elements
            return value
        if array.__array_interface__["data"] != value.__array_interface__["data"]:
            return value
        return tensors.setdefault(id(value), wrap(array))
    if type(value) is tuple:
        parts = [_with_tensors(v, tensors) for v in value]
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else tuple(parts)
    return value
