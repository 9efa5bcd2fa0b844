"""Torch7 for its programs, line by line: ``x:add(1)`` is ``x.add(1)``, and numbers begin at 1.

Tensors are views of storages; every function writes into a tensor that comes first, if there is one
more than it needs.

Examples
--------
>>> from agnesi.compat import torch7 as torch
>>> x, y = torch.ones(2, 3), torch.ones(3, 4)
>>> z = torch.Tensor(2, 4)
>>> torch.mm(z, x, y) is z, list(z.size())
(True, [2, 4])
"""

from __future__ import annotations

import functools
from typing import Any

from agnesi.compat.torch7 import maths as _maths
from agnesi.compat.torch7.maths import Tensor as Tensor
from agnesi.compat.torch7.maths import manualSeed as manualSeed
from agnesi.compat.torch7.maths import setdefaulttensortype as setdefaulttensortype
from agnesi.compat.torch7.tensor import DEFAULT as _DEFAULT
from agnesi.compat.torch7.tensor import NAMES as _NAMES
from agnesi.compat.torch7.tensor import Storage as Storage
from agnesi.compiler.control import get_num_threads as getnumthreads
from agnesi.compiler.control import set_num_threads as setnumthreads

__all__ = ["Storage", "Tensor", "getnumthreads", "manualSeed", "setdefaulttensortype",
           "setnumthreads", "type"]

_TYPES = {f"{_name}{_kind.__name__}": functools.partial(_kind, dtype=_dtype)
          for _dtype, _name in _NAMES.items() for _kind in (Tensor, Storage)}
_TYPES["CudaTensor"] = _TYPES["FloatTensor"]


def getdefaulttensortype() -> str:
    """The type of tensors that name none."""
    return f"torch.{_NAMES[_DEFAULT[0]]}Tensor"


def type(x: Any) -> Any:
    """The name of a tensor's type, or of another value's class."""
    return x.type() if isinstance(x, Tensor) else x.__class__.__name__


def __getattr__(name: str) -> Any:
    found = _maths.FUNCTIONS.get(name) or _TYPES.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_maths.FUNCTIONS, *_TYPES})
