"""Arithmetic and comparisons of sizes that give no size: what tensors make of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim, combine
from agnesi.core.ir.extents import Extent, UnknownSizeError
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import at
from agnesi.core.support.tracing import current_reads, is_number_of_trace, present
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, compare
from agnesi.ops.base.convert import Cast, as_tensor

_FUNCTIONS: dict[str, Any] = {
    "+": arith.add, "-": arith.subtract, "*": arith.multiply, "/": arith.divide,
    "//": arith.floor_divide, "%": arith.remainder, "**": arith.power,
    "eq": compare.equal, "ne": compare.not_equal, "lt": compare.less, "le": compare.less_equal,
    "gt": compare.greater, "ge": compare.greater_equal,
}
#: The same of numbers.
_IN_PYTHON: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
    **{n: getattr(operator, n) for n in ("eq", "ne", "lt", "le", "gt", "ge")},
}
_PRECISE = Cast(dtypes.float64)
#: Operands of the traced function that are numbers eagerly.
_NUMBERS = (Extent, int, float)
_OPERANDS = (Dim, int, float, complex, Tensor, np.ndarray, np.generic)


def with_tensors(name: str, a: TensorLike, b: TensorLike) -> Any:
    """An operation on a size that gives no size; NotImplemented for what is no number.

    Where Python would have a float, a size is as precise as that and gives way as that does.

    Parameters
    ----------
    name : str
        Of the operation.
    a, b : size, number or array_like
        The operands.

    Returns
    -------
    Tensor, float or NotImplemented
        The result.
    """
    if not isinstance(a, _OPERANDS) or not isinstance(b, _OPERANDS):
        return NotImplemented
    if any(isinstance(x, np.integer) for x in (a, b)) and len(name) < 3 and name in "+-*//%":
        return combine(name, *(int(x) if isinstance(x, np.integer) else x for x in (a, b)))
    a, b = (present(x) if isinstance(x, Dim) else x for x in (a, b))
    if type(a) is type(b) is int:
        return _IN_PYTHON[name](a, b)
    exact = name == "/" or any(isinstance(x, (float, complex)) for x in (a, b))
    found = _FUNCTIONS[name](*(
        apply(_PRECISE, as_tensor(x)) if exact and isinstance(x, Dim) else x for x in (a, b)))
    numbers = current_reads() is not None and all(
        [type(x) in _NUMBERS or is_number_of_trace(x) for x in (a, b)])
    return _as_number(found) if numbers else found


def _as_number(found: Tensor) -> Any:
    """Return what stands for Python's number in the traced function: eagerly, sizes are such."""
    if found.dtype.kind == "f":
        return HOOKS.traced_number(found)
    if found.dtype.kind == "b":
        return bool(found)
    raise UnknownSizeError(at("an integer that is no polynomial of sizes depends on a size that "
                              "changes from call to call"))
