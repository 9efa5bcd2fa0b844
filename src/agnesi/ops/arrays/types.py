"""Data types by name and rule, as the array API defines them: what holds what, and how much."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError
from agnesi.core.support.tracing import is_number_of_trace
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import SCALARS, Cast, as_tensor, cast, written

#: Kinds of dtypes under the array API's names.
KINDS: dict[str, tuple[np.dtype, ...]] = {
    "bool": (dtypes.bool_,),
    "signed integer": tuple(d for d in dtypes.INTEGERS if d.kind == "i"),
    "unsigned integer": tuple(d for d in dtypes.INTEGERS if d.kind == "u"),
    "integral": dtypes.INTEGERS,
    "real floating": dtypes.FLOATS,
    "complex floating": dtypes.COMPLEX,
    "numeric": (*dtypes.INTEGERS, *dtypes.FLOATS, *dtypes.COMPLEX),
}


class FloatInfo(NamedTuple):
    """Limits of a floating dtype; of a complex one those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype

    @property
    def tiny(self) -> float:
        """``smallest_normal`` by its older name."""
        return self.smallest_normal

    @property
    def resolution(self) -> float:
        """The greatest power of ten whose multiples differ around 1."""
        return float(f"1e-{int(-math.log10(self.eps))}")


class IntegerInfo(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def _dtype_of(x: Any) -> np.dtype:
    has_one = isinstance(x, (Tensor, np.ndarray, np.generic)) and not is_number_of_trace(x)
    return dtypes.as_dtype(x.dtype if has_one else x)


@planned
@public
def astype(x: TensorLike, /, dtype: DTypeLike, *, copy: bool = True, device: str | None = None,
           out: Tensor | None = None) -> Tensor:
    """The values as another dtype.

    :param dtype: The new type.
    :param copy: Whether to copy where the type is already right.
    :param device: Only "cpu".
    :returns: Of the shape of ``x``. Floats lose their fraction on the way to integers (NaN and what
        does not fit give no particular value), complex numbers their imaginary part, which NumPy's
        ComplexWarning says; as bool all become True where they are not 0.
    :raises TypeError: If there is no such dtype.
    :see: asarray, can_cast, result_type, Tensor.to

    >>> ag.tensor([1.7, 2.2]).astype("int64")
    tensor([1, 2])
    """
    x, kind = as_tensor(x), dtypes.as_dtype(dtype)
    if x.dtype.kind == "c":
        return written(x, kind) if x.dtype != kind or not copy else apply(Cast(kind), x)
    return apply(Cast(kind), x) if copy else cast(x, kind)


@public
def can_cast(from_: DTypeLike | Tensor, to: DTypeLike, /) -> bool:
    """Return whether values of a dtype may stand for those of another: whether promotion leads
    there.

    :param from_: What there is.
    :type from_: dtype or Tensor
    :param to: What is wanted.
    :type to: dtype
    :returns: By the promotion of dtypes, in which int64 and float32 give float32.
    :see: result_type, promote_types, astype

    >>> ag.can_cast(ag.int8, ag.int16), ag.can_cast(ag.float64, ag.float32)
    (True, False)
    """
    target = dtypes.as_dtype(to)
    return dtypes.promote(_dtype_of(from_), target) == target


@public
def finfo(type: DTypeLike | Tensor, /) -> FloatInfo:
    """Limits of a floating or complex dtype, or of a tensor's.

    :param type: A floating or complex dtype, of which the parts are meant.
    :type type: dtype or Tensor
    :returns: With ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` (also ``tiny``),
        ``resolution`` and ``dtype``.
    :raises DTypeError: For other dtypes.
    :see: iinfo, isdtype

    >>> ag.finfo(ag.float32).eps
    1.1920928955078125e-07
    """
    dtype = dtypes.real_of(_dtype_of(type))
    if dtype.kind not in "fV":
        raise DTypeError(f"finfo takes a floating or complex dtype, not {dtype}; see ag.iinfo")
    of = dtypes.limits(dtype)
    return FloatInfo(
        of.bits, float(of.eps), float(of.max), float(of.min), float(of.smallest_normal), dtype
    )


@public
def iinfo(type: DTypeLike | Tensor, /) -> IntegerInfo:
    """Limits of an integer dtype, or of a tensor's.

    :param type: An integer dtype.
    :type type: dtype or Tensor
    :returns: With ``bits``, ``max``, ``min`` and ``dtype``.
    :raises DTypeError: For other dtypes.
    :see: finfo, isdtype

    >>> ag.iinfo("int8").max
    127
    """
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo takes an integer dtype, not {dtype}; see ag.finfo")
    of = np.iinfo(dtype)
    return IntegerInfo(of.bits, int(of.max), int(of.min), dtype)


@public
def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[Any, ...]) -> bool:
    """Return whether a dtype is of a kind.

    :param dtype: The object in question.
    :param kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex
        floating", "numeric", or a dtype itself.
    :type kind: str, dtype, or tuple of them
    :returns: True for a tuple where one of its kinds holds.
    :raises ValueError: If there is no such kind.
    :see: issubdtype, can_cast, result_type

    >>> ag.isdtype(ag.float32, "real floating"), ag.isdtype(ag.int8, (ag.bool, ag.int16))
    (True, False)
    """
    kinds, found = [kind], False
    while kinds:  # tuples may be nested to any depth
        last = kinds.pop()
        if isinstance(last, tuple):
            kinds += last
        else:
            found |= _is_of(dtypes.as_dtype(dtype), last)
    return found


def _is_of(dtype: Any, kind: Any) -> bool:
    if not isinstance(kind, str):
        return dtype == dtypes.as_dtype(kind)
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r} of dtypes; there are {sorted(KINDS)}")
    return (dtypes.float32 if dtype.kind == "V" else dtype) in KINDS[kind]


@public
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype that an operation on all of these has; Python numbers give way to arrays.

    :param *arrays_and_dtypes: What is combined. Two dtypes promote as NumPy's, but integers beside
        floats take the floats' width.
    :type *arrays_and_dtypes: Tensor, dtype or number
    :returns: numpy.dtype.
    :rtype: dtype
    :raises ValueError: If nothing is given.
    :see: promote_types, can_cast, astype

    >>> ag.result_type(ag.int8, ag.ones(2), 1)
    dtype('float32')
    """
    given = [x.dtype.type(0).item() if isinstance(x, Tensor) and x.weak else x
             for x in arrays_and_dtypes]
    strong = [x for x in given if type(x) not in SCALARS]
    scalars = [x for x in given if type(x) in SCALARS]
    if not arrays_and_dtypes:
        raise ValueError("result_type takes at least one array, dtype or number")
    found = _dtype_of(strong[0]) if strong else dtypes.of_scalar(scalars[0])
    for x in strong[1:]:
        found = dtypes.promote(found, _dtype_of(x))
    for scalar in scalars:
        found = dtypes.promote_scalar(found, scalar)
    return found
