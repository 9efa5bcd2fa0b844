"""``theano.scalar``: types of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.compat.theano import tensor
from agnesi.compat.theano.node_ops import name_of
from agnesi.compat.theano.ops.scalarops import *  # noqa: F403
from agnesi.compat.theano.tensor.opclasses import named
from agnesi.compat.theano.types import TensorType
from agnesi.compat.theano.variable import Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at

#: Classes that are not called as their functions are.
_CLASSES = {"TrueDiv": "true_div", "IntDiv": "int_div", "Abs": "abs_", "Pow": "pow",
            "Second": "fill", "Identity": "positive"}


def upcast(*dtypes: str) -> str:
    """The type that holds all of them."""
    return np.result_type(*map(np.dtype, dtypes)).name


def ScalarType(dtype: Any) -> TensorType:  # noqa: N802 - a class there
    """The type of single numbers: that of tensors without axes."""
    return TensorType(dtype, ())


Scalar = ScalarType

_TYPES = {name: ScalarType(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128")}
globals().update(_TYPES)
all_types = tuple(_TYPES)
int_types = tuple(t for n, t in _TYPES.items() if n.startswith("int"))
uint_types = tuple(t for n, t in _TYPES.items() if n.startswith("uint"))
float_types = tuple(t for n, t in _TYPES.items() if n.startswith("float"))
complex_types = tuple(t for n, t in _TYPES.items() if n.startswith("complex"))
integer_types = int_types + uint_types
discrete_types = (_TYPES["bool"], *integer_types)
continuous_types = float_types + complex_types


def as_scalar(x: Any, name: str | None = None) -> Variable:
    """A number or a variable without axes as a variable."""
    found: Variable = tensor.as_tensor_variable(x, name)
    if found.ndim:
        raise TypeError(at(f"as_scalar takes what has no axes, not {found.type}"))
    return found


def __getattr__(name: str) -> Any:
    """``theano.scalar.exp`` and ``Exp``: what elementwise operations do with single numbers."""
    lower = _CLASSES.get(name, name.lower())
    made = None if name.startswith("_") else getattr(tensor, lower, None)
    if not callable(made) or isinstance(made, type):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return named(name, str(name_of(made))) if name[0].isupper() else made


_strictly(__name__)
