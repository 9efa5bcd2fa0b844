"""The dtypes that Theano joins operands by: constants keep theirs, and int32 is no float32; and the
order that complex numbers have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.compat.theano.config import config as settings
from agnesi.core.ir.dims import Dim
from agnesi.core.support.config import config
from agnesi.core.support.errors import DTypeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast, check_unmasked, is_written

_INTEGERS = tuple(map(np.dtype, ("int8", "int16", "int32", "int64")))
#: Floats that do not hold all int32.
_SHORT = tuple(map(np.dtype, ("float16", "float32", "complex64")))


def alike(*operands: Any) -> Any:
    """Operands of the dtypes that Theano joins them by.

    What is no variable is a constant: arrays, lists and NumPy's numbers keep their dtype, Python's
    numbers have the smallest that holds them.  32-bit and longer integers are float64 beside
    shorter floats, which do not hold them, and 16-bit ones float32 beside float16; floatX where
    ``cast_policy`` says so.
    """
    operands = tuple(_entered(x) for x in operands)
    kinds = [x.dtype for x in operands if isinstance(x, Tensor)]
    joint = np.result_type(*kinds) if kinds else None
    operands = tuple(_number(x, joint) if type(x) in (int, float) else x for x in operands)
    kinds = [x.dtype for x in operands if isinstance(x, Tensor)]
    if len(kinds) < 2 or not any(d in _SHORT for d in kinds):
        return operands
    joint = np.result_type(*kinds)
    if joint in kinds:
        return operands
    real = np.zeros((), joint).real.dtype
    if settings.cast_policy == "numpy+floatX" and joint == "float64":
        real = np.dtype(config.symbolic_float)
    return tuple(cast(x, real) if isinstance(x, Tensor) and x.dtype.kind in "iu" else x
                 for x in operands)


def given_array(x: Any, dtype: Any = None) -> np.ndarray:
    """What a program gives as an array; a masked one, whose mask would be ignored, is refused."""
    try:
        check_unmasked(x)
        is_written(x)  # refuses lists of masked arrays
    except DTypeError as error:
        raise DTypeError(at(str(error))) from None
    return np.asarray(x, dtype)


def frozen(x: Any) -> np.ndarray:
    """A read-only copy: what expressions are made of keeps its value in them."""
    found = np.array(x)
    found.flags.writeable = False
    return found


def _entered(x: Any) -> Any:
    """An operand as a tensor; Python's numbers, and what is none, as they are."""
    if isinstance(x, (np.generic, np.ndarray, list, tuple)):
        array = None if _holds_variables(x) else given_array(x)
        return as_tensor(x if array is None or array.dtype.kind not in "biufc" else frozen(array))
    if isinstance(x, Dim):
        x = as_tensor(x)
    return cast(x, x.dtype) if isinstance(x, Tensor) and x.weak else x


def _number(n: float, joint: np.dtype | None) -> Any:
    """One of Python's numbers beside operands: a constant where it makes their dtype wider."""
    least = least_dtype(n)
    if least is None or (joint is not None and np.promote_types(joint, least) == joint):
        return n
    return as_tensor(frozen(np.array(n, least)))


def least_dtype(n: float) -> str | None:
    """The smallest dtype that holds a number, if there is one; NumPy's, but for floatX, where
    ``cast_policy`` says so."""
    if settings.cast_policy == "numpy+floatX":
        integer = isinstance(n, int) and -2 ** 63 <= n < 2 ** 63
        return "int64" if integer else config.symbolic_float if isinstance(n, float) else None
    if isinstance(n, float):
        with np.errstate(over="ignore"):
            short = config.symbolic_float != "float64" or float(np.float32(n)) == n or n != n
        return "float32" if short else "float64"
    return next((k.name for k in _INTEGERS if np.iinfo(k).min <= n <= np.iinfo(k).max), None)


def _holds_variables(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_holds_variables, x))
    return isinstance(x, (Tensor, Dim))


def _ordering(name: str) -> Callable[..., Any]:
    """A comparison that orders complex numbers as NumPy does: by real parts, then imaginary ones.
    """
    plain = getattr(F, name)
    strict = getattr(F, name.removesuffix("_equal"))

    @functools.wraps(plain)
    def compare(a: Any, b: Any) -> Any:
        if not any(isinstance(x, complex) or (isinstance(x, (Tensor, np.ndarray))
                                              and x.dtype.kind == "c") for x in (a, b)):
            return plain(a, b)
        same = F.logical_and(F.equal(F.real(a), F.real(b)), plain(F.imag(a), F.imag(b)))
        return F.logical_or(strict(F.real(a), F.real(b)), same)

    return compare


less, less_equal, greater, greater_equal = map(
    _ordering, ("less", "less_equal", "greater", "greater_equal"))
