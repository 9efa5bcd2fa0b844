"""Data types and promotion: NumPy's dtype objects under the array API's rules.

Where the array API leaves mixed kinds open, a float (or complex) operand decides over an integer
one, as in PyTorch and JAX: ``int64 + float32`` is ``float32``.  Python scalars are weak.

bfloat16 is that of ``ml_dtypes``; its kind is ``V`` for NumPy, so properties of floats are decided
here. Floats of 16 bits are summed in float32; matrix products of dtypes without register tiles
become products of other dtypes (``rewrite/arrays/product_dtypes.py``).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from agnesi.core.support.config import config as config
from agnesi.core.support.errors import DTypeError, typed
from agnesi.core.support.foreign import has

bool_ = np.dtype("bool")
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{n}") for n in (16, 32, 64))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

FLOATS = (float16, float32, float64)
#: Floats of 16 bits, whose sums are float32; ``bfloat16`` joins them when it is first requested.
HALVES: tuple[np.dtype, ...] = (float16,)
COMPLEX = (complex64, complex128)
INTEGERS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
ALL = (bool_, *INTEGERS, *FLOATS, *COMPLEX)
#: Each by itself, its name and its NumPy type.
_KNOWN: dict[Any, np.dtype] = {key: d for d in ALL for key in (d, d.name, d.type)}
#: By NumPy's kind; that of bfloat16, which is not NumPy's own, is V.
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
_PYTHON_RANK = {bool: 0, int: 1, float: 2, complex: 3}


def __getattr__(name: str) -> np.dtype:
    """``bfloat16``, which ml_dtypes defines for NumPy, at first use."""
    global HALVES
    if name != "bfloat16":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from ml_dtypes import bfloat16 as scalar
    except ImportError:
        raise ImportError(
            "bfloat16 needs the package ml_dtypes: pip install 'agnesi[bfloat16]'"
        ) from None
    found: np.dtype = np.dtype(scalar)
    HALVES = (float16, found)
    globals()[name] = found
    return found


def _bfloat16() -> np.dtype:
    return globals().get("bfloat16") or __getattr__("bfloat16")


@functools.cache
def name_of(dtype: np.dtype) -> str:
    """The name of a dtype, which NumPy puts together again (2 us) each time."""
    return dtype.name


def as_dtype(dtype: Any) -> np.dtype:
    """A supported dtype from a dtype, its name, a Python type or a NumPy scalar type."""
    if dtype is float:
        return config.float_dtype
    if dtype is complex:
        return complex_of(config.float_dtype)
    if isinstance(dtype, (np.dtype, str, type)) and (known := _KNOWN.get(dtype)) is not None:
        return known
    if isinstance(dtype, str) and dtype == "bfloat16":
        return _bfloat16()
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError, RecursionError):
        found = None
    if has(dtype, "__array__") and not isinstance(dtype, type):
        found = None  # NumPy would take that of the number or array
    if found is not None and found.name == "bfloat16":
        return _bfloat16()
    if found is not None and not found.isnative:  # as files hold them
        found = found.newbyteorder("=")
    if found is None or found not in ALL:  # None equals float64 for NumPy
        several = isinstance(dtype, (int, float)) and "; several sizes, or numbers, are one list"
        raise DTypeError(f"unsupported dtype {typed(dtype)}; choose one of {names()}"
                         f"{several or ''}")
    return ALL[ALL.index(found)]  # one object for each, so that `is` finds equals


@functools.cache
def names() -> str:
    """The names of all dtypes, for errors."""
    return ", ".join([*(d.name for d in ALL), "bfloat16"])


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype with parts of a float dtype."""
    return complex128 if dtype == float64 else complex64


def real_of(dtype: np.dtype) -> np.dtype:
    """The float dtype of the parts of a complex dtype; other dtypes as they are."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def computed(dtype: np.dtype) -> np.dtype:
    """The dtype for arithmetic on numbers of a dtype: float32 for floats of 16 bits."""
    return float32 if dtype in HALVES else dtype


def accumulated(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which numbers of ``dtype`` are counted and summed: int64 for integers
    (int8 would count up to 127), float32 for 16-bit floats (float16 counts up to 2048).
    """
    return int64 if dtype.kind in "biu" else computed(dtype)


def limits(dtype: np.dtype) -> Any:
    """NumPy's ``finfo`` of a float dtype, or that of ``ml_dtypes``."""
    if dtype.kind != "V":
        return np.finfo(dtype)
    from ml_dtypes import finfo

    return finfo(dtype)


def is_inexact(dtype: np.dtype) -> bool:
    """Return whether values of this dtype carry gradients: float or complex."""
    return dtype.kind in "fcV"


_PROMOTED: dict[tuple[np.dtype, np.dtype], np.dtype] = {}


def promote(a: np.dtype, b: np.dtype) -> np.dtype:
    """The common dtype of two arrays."""
    if a is b:
        return a
    key = (a, b)
    found = _PROMOTED.get(key)
    if found is None:
        found = _PROMOTED[key] = _promote(a, b)
    return found


def _promote(a: np.dtype, b: np.dtype) -> np.dtype:
    low, high = sorted((a, b), key=lambda d: _RANK[d.kind])
    if "V" in (low.kind, high.kind) and low != high:
        floats = [float32 if d.kind == "V" else d for d in (low, high) if d.kind in "fcV"]
        if len(floats) == 1:
            return high
        return _promote(*[float32 if d == float16 else d for d in floats])
    if high.kind == "c" and low.kind == "f":
        return np.result_type(low, high)
    if _RANK[low.kind] < _RANK[high.kind]:
        return high
    return np.result_type(a, b)


#: A number of Python's of each kind of dtype.
SCALAR_OF = {"b": False, "i": 0, "u": 0, "f": 0.0, "V": 0.0, "c": 0j}


def promote_scalar(dtype: np.dtype, scalar: Any) -> np.dtype:
    """The dtype of an operation between an array of ``dtype`` and a weak Python scalar."""
    rank = _PYTHON_RANK[type(scalar)]
    if rank <= _RANK[dtype.kind]:
        return dtype
    if rank == 1:
        return int64
    return config.float_dtype if rank == 2 else complex_of(floating(dtype))


def fits(dtype: np.dtype, target: np.dtype) -> bool:
    """Return whether values may be written into ``target``, at the cost of digits, not of their
    kind."""
    return _RANK[dtype.kind] <= _RANK[target.kind]


def floating(dtype: np.dtype) -> np.dtype:
    """The dtype itself if float or complex, else the default float."""
    return dtype if dtype.kind in "fcV" else config.float_dtype


#: The largest integer that is an int64 where no dtype is given.
MAX_INT64 = 2**63 - 1


def of_scalar(scalar: Any) -> np.dtype:
    """The dtype that a Python scalar takes on its own."""
    if type(scalar) is int and scalar > MAX_INT64:
        return uint64
    return promote_scalar(bool_, scalar)


def has_memory(x: Any) -> bool:
    """Return whether an object that is no array gives memory of a dtype: one with ``__array__``, a
    memoryview, an ``array.array``."""
    if any([hasattr(x, name) for name in ("__array__", "__array_interface__", "__array_struct__")]):
        return True
    try:
        memoryview(x)
    except TypeError:
        return False
    return True
