"""Types as LLVM spells them."""

from __future__ import annotations

import functools
import re

_VECTOR = re.compile(r"<(\d+) x (.+)>")
_MANY = re.compile(r"[<\[](\d+) x (.+)[>\]]")
_FLOATS = ("half", "bfloat", "float", "double")
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
_SHORT = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


@functools.cache
def width(type_: str) -> int:
    """Number of lanes of a type; 1 for a scalar."""
    found = _VECTOR.fullmatch(type_)
    return int(found[1]) if found else 1


@functools.cache
def scalar(type_: str) -> str:
    """Element type of a vector type, or the type itself."""
    found = _VECTOR.fullmatch(type_)
    return found[2] if found else type_


def vector(type_: str, lanes: int) -> str:
    """The vector type of ``lanes`` elements (the scalar type itself when ``lanes == 1``)."""
    return type_ if lanes == 1 else f"<{lanes} x {type_}>"


@functools.cache
def is_float(type_: str) -> bool:
    """Return whether an IR type is a float or a vector of floats."""
    return scalar(type_) in _FLOATS


def as_bits(type_: str) -> str:
    """A type as values are moved: bfloat16 as integers.

    For processors without it LLVM makes float32 of bfloat16 that is moved, and calls functions
    that no library has to round it again; it does not mask all widths.
    """
    return type_.replace("bfloat", "i16")


def suffix(type_: str) -> str:
    """Overload suffix of an intrinsic: ``v16f32``, ``f64``, ``v8i32``."""
    element = scalar(type_)
    lanes = width(type_)
    short = _SHORT.get(element, element)
    return short if lanes == 1 else f"v{lanes}{short}"


@functools.cache
def nbytes(type_: str) -> int:
    """Bytes of a value in memory."""
    many = _MANY.fullmatch(type_)
    if many:
        return int(many[1]) * nbytes(many[2])
    return _BYTES.get(type_) or -(-int(type_[1:]) // 8)
