"""Lists of dtypes and types, and what compares values."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.compat.theano.types import TensorType, type_of

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integer_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
complex_dtypes = ["complex64", "complex128"]
continuous_dtypes = float_dtypes + complex_dtypes
discrete_dtypes = ["bool", *integer_dtypes]
all_dtypes = ["bool", *integer_dtypes, *continuous_dtypes]


def _types(dtypes: list[str], axes: int) -> tuple[TensorType, ...]:
    return tuple(TensorType(d, (False,) * axes) for d in dtypes)


int_scalar_types, int_vector_types, int_matrix_types = (_types(int_dtypes, n) for n in range(3))
float_scalar_types, float_vector_types, float_matrix_types = (
    _types(["float32", "float64"], n) for n in range(3))
complex_scalar_types, complex_vector_types, complex_matrix_types = (
    _types(complex_dtypes, n) for n in range(3))
int_types = int_scalar_types + int_vector_types + int_matrix_types
float_types = float_scalar_types + float_vector_types + float_matrix_types
complex_types = complex_scalar_types + complex_vector_types + complex_matrix_types
#: ``dscalar``, ``fmatrix``, ``itensor4``, ...: types of a dtype that is in their name.
_SHAPES = {"scalar": (), "vector": (None,), "matrix": (None, None), "row": (1, None),
           "col": (None, 1), **{f"tensor{n}": (None,) * n for n in range(3, 8)}}
_LETTERS = dict(zip("bwilfdcz", (*int_dtypes, "float32", "float64", *complex_dtypes), strict=True))
globals().update({f"{letter}{kind}": type_of(dtype, shape)
                  for letter, dtype in _LETTERS.items() for kind, shape in _SHAPES.items()})

#: Absolute and relative tolerances, by the dtype that is the least exact of two.
_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}


def values_eq_approx(a: Any, b: Any, allow_remove_inf: bool = False,
                     allow_remove_nan: bool = False, rtol: float = 1e-5,
                     atol: float = 1e-8) -> bool:
    """Return whether two arrays are of one type and close, NaN equal to NaN."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool(
        np.allclose(a, b, rtol, atol, equal_nan=True))


def values_eq_approx_always_true(a: Any, b: Any) -> bool:
    """True."""
    return True


def _allclose(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Return whether arrays are equal within what their dtypes can hold."""
    a, b = np.asarray(a), np.asarray(b)
    known = next((t for name, t in _TOLERANCES.items() if name in (a.dtype.name, b.dtype.name)),
                 (1e-8, 1e-5))
    return bool(np.allclose(a, b, atol=known[0] if atol is None else atol,
                            rtol=known[1] if rtol is None else rtol))
