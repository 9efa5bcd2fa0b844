"""Constructors by dtype, as PyTorch's ``FloatTensor``: of data, or of sizes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Dim, Sizes
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.public import on_host
from agnesi.core.support import dtypes
from agnesi.core.support.config import config
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.ops.base import creation
from agnesi.ops.base.convert import as_tensor, cast

#: The dtype's name by that of the constructor.
NAMES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16", "LongTensor": "int64", "IntTensor": "int32",
    "ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8", "BoolTensor": "bool",
}
#: Constructors by dtype.
OF = {dtype: name for name, dtype in NAMES.items()}

_DOC = """Tensors of {dtype}: ``{name}(data)``, or ``{name}(*sizes)`` filled with zeros.

It names the dtype for :meth:`Tensor.type`, and tensors of that dtype are its instances.

Parameters
----------
*data : array_like or int
    The elements; or integers, or the shape of a tensor, which are sizes. Another tuple is data.
device : str, optional
    Only "cpu", which is the default.

Raises
------
TypeError
    If there are several data.
ValueError
    If a size is negative, or the device is not "cpu".

See Also
--------
tensor, zeros, Tensor.type

Examples
--------
>>> import agnesi as ag
>>> isinstance(ag.{name}([0, 1]), ag.{name}), ag.{name}(2, 3).shape
(True, (2, 3))
"""


def typed_tensor(kind: np.dtype, data: tuple[Any, ...]) -> Tensor:
    """A new tensor of a dtype: of data, or of sizes."""
    if not data or all(isinstance(n, (int, np.integer, Dim)) for n in data):
        return creation.zeros(data or (0,), dtype=kind)
    if len(data) > 1:
        raise TypeError(at(f"{typed(data)} are no sizes, which are integers; elements are in one "
                           "list or tensor"))
    (source,) = data
    if isinstance(source, Sizes):
        return creation.zeros(source, dtype=kind)
    return cast(as_tensor(source), kind) if isinstance(source, Tensor) else (
        creation.tensor(source, dtype=kind))


@strict
def usual_tensor(*data: Any, device: Any = None) -> Tensor:
    """Make a tensor of ``config.default_float``: ``Tensor(...)``."""
    on_host(device)
    return typed_tensor(dtypes.as_dtype(config.default_float), data)


usual_tensor.__name__ = inspect.unwrap(usual_tensor).__name__ = "Tensor"  # as it is called


class Kind(type):
    """Classes of which tensors of a dtype are instances, though none has that type."""

    dtype: np.dtype
    #: What makes a tensor; its errors have the name of the class.
    make: Any

    def __call__(cls, *data: Any, **keywords: Any) -> Tensor:
        found: Tensor = cls.make(*data, **keywords)
        return found

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype


def _made(name: str, dtype: str) -> type:
    def __init__(self: Any, *data: Any, device: object = None) -> None:  # noqa: N807
        """It is there for its signature."""

    def make(*data: Any, device: Any = None) -> Tensor:
        on_host(device)
        return typed_tensor(found.dtype, data)

    make.__name__ = make.__qualname__ = name
    found = Kind(name, (), {"__doc__": _DOC.format(name=name, dtype=dtype), "__init__": __init__,
                             "__module__": __name__})
    found.dtype, found.make = dtypes.as_dtype(dtype), staticmethod(strict(make))
    return found


BFloat16Tensor: type
BoolTensor: type
ByteTensor: type
CharTensor: type
DoubleTensor: type
FloatTensor: type
HalfTensor: type
IntTensor: type
LongTensor: type
ShortTensor: type
__all__ = ["BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor",
           "FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor"]


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _made(name, NAMES[name])
    return found
