"""Python numbers and lists of them that go where a dtype is given already, or whole numbers are
requested."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import SCALARS, as_array, as_tensor, cast, check_range, is_written


def literal(x: Any, dtype: np.dtype) -> Any:
    """An array of a dtype for a Python number or a list of them; all else as it is.

    :raises DTypeError: If the dtype does not hold the numbers exactly; digits of floats may be
        rounded.
    """
    if type(x) not in SCALARS and not is_written(x):
        return x
    kind = _kind(x)
    if kind not in "biufcO":
        return x
    found = as_array(x, _NATURAL.get(kind))
    if found.dtype.kind in "iu" and dtype.kind in "iu":
        check_range(found, dtype)
    with np.errstate(all="ignore"):
        made = (found.real if dtype.kind not in "cb" else found).astype(dtype)
        back = (made if found.dtype.kind in "cb" else made.real).astype(found.dtype)
    same = (back == found) | ((back != back) & (found != found))
    if found.dtype.kind in "fc" and dtype.kind in "fcV":
        same = np.isfinite(back) | ~np.isfinite(found)
        if dtype.kind != "c" and found.dtype.kind == "c":
            same &= found.imag == 0
    if not np.all(same):
        value = found[~same].flat[0].item() if found.shape else found.item()
        raise DTypeError(
            f"{value!r} is no {dtype}: round or convert it, or declare a dtype that holds it")
    return made


#: Dtypes in which nothing of Python numbers is lost.
_NATURAL = {"f": dtypes.float64, "c": dtypes.complex128, "b": dtypes.bool_}


def _kind(x: Any) -> str:
    """Return NumPy's kind of a Python number; O where it has none."""
    try:
        return np.asarray(x).dtype.kind
    except ValueError:  # its parts differ in length
        return "O"


def stored(x: Any, dtype: np.dtype) -> Tensor:
    """A new value of state of a dtype."""
    found = as_tensor(literal(x, dtype))
    return cast(found, dtype) if found.weak else found


def to_write(x: Any, dtype: np.dtype) -> Tensor:
    """A tensor that is written into one of a dtype, which Python's numbers must fit."""
    return as_tensor(x, None if isinstance(x, Tensor) and not of_python(x) else dtype)


def of_python(x: Any) -> bool:
    """Return whether something is a number of Python's, or stands for one."""
    return type(x) in SCALARS or (isinstance(x, Tensor) and type(x) is not Tensor and x.weak)


def as_indices(x: Any) -> Tensor:
    """A tensor of positions or counts: a list without elements has integers."""
    return as_tensor(np.zeros(0, np.int64) if isinstance(x, (list, tuple)) and not x else x)


def whole_numbers(name: str, x: Any) -> Tensor:
    """Return an order of the function ``name``; floats must hold whole numbers, which compiled
    code checks when it runs."""
    order = as_tensor(x)
    rule = f"{name} takes whole numbers for its order"
    if order.dtype.kind not in "biuf" or (
            order.dtype.kind == "f" and order.array is not None and (order.array % 1).any()):
        raise DTypeError(f"{rule}, not {typed(x)}; convert them with x.astype('int64')")
    if order.dtype.kind == "f" and order.array is None:
        order = HOOKS.ensured(name, order, order % 1 == 0, f"{rule}: x.astype('int64')")
    return order
